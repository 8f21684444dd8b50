//go:build !unix

package main

import "runtime"

// peakRSS returns the next best thing: the memory that the heap ever took.
func peakRSS() float64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapSys)
}
