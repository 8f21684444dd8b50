// Package host gives the host of the program, what runs beside a queue on the
// same processor, a turn.
package host

import "syscall/js"

// Single reports whether the host shares the program's only thread.
const Single = true

// Turn returns at once. It gives the event loop a turn, which begins when all
// goroutines are blocked, and then calls then.
//
// The continuation is setImmediate where there is one (Node.js, Bun), else a
// MessageChannel (browsers, workers, Deno), else setTimeout, which browsers
// delay by 4 ms when it is nested.
func Turn(then func()) {
	var callback js.Func
	callback = js.FuncOf(func(js.Value, []js.Value) any {
		callback.Release()
		then()
		return nil
	})
	global := js.Global()
	if global.Get("setImmediate").Truthy() {
		global.Call("setImmediate", callback)
		return
	}
	if constructor := global.Get("MessageChannel"); constructor.Truthy() {
		channel := constructor.New()
		channel.Get("port1").Set("onmessage", callback)
		channel.Get("port2").Call("postMessage", nil)
		return
	}
	global.Call("setTimeout", callback, 0)
}
