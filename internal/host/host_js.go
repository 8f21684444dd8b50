package host

import "syscall/js"

// Single reports whether the host shares the program's only thread.
const Single = true

// A Host gives turns. The zero value is ready for use. It owns something of the
// event loop, a callback and what that hangs on, only while a turn is awaited.
// Turn must not be called by several goroutines at once.
type Host struct {
	post func(then func()) // chosen at the first turn
}

// Turn returns at once. It gives the event loop a turn, which begins when all
// goroutines are blocked, and then calls then, which must not block.
func (h *Host) Turn(then func()) {
	if h.post == nil {
		h.post = choose()
	}
	h.post(then)
}

// choose returns the fastest way back from the event loop that there is.
func choose() func(then func()) {
	switch {
	case isFunction("setImmediate"): // Node.js, Bun
		return immediate
	case isFunction("MessageChannel"): // browsers, their workers, Deno
		return message
	}
	return timeout
}

// isFunction asks for the type because an element of a page whose id is name
// makes a global variable, too.
func isFunction(name string) bool {
	return js.Global().Get(name).Type() == js.TypeFunction
}

func immediate(then func()) {
	js.Global().Call("setImmediate", once(then))
}

// message is not delayed, while a browser makes nested timers wait for 4 ms.
func message(then func()) {
	channel := js.Global().Get("MessageChannel").New()
	in, out := channel.Get("port1"), channel.Get("port2")
	in.Set("onmessage", once(func() {
		in.Call("close") // closes both; Node.js does not end while one is open
		then()
	}))
	out.Call("postMessage", nil)
}

func timeout(then func()) {
	js.Global().Call("setTimeout", once(then), 0)
}

// once returns a callback that releases itself when it is called.
func once(then func()) js.Func {
	var f js.Func
	f = js.FuncOf(func(js.Value, []js.Value) any {
		f.Release()
		then()
		return nil
	})
	return f
}
