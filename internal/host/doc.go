// Package host lets what shares the processor with a queue run: other goroutines
// natively, the event loop on js/wasm.
package host
