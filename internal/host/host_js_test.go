package host

import (
	"fmt"
	"runtime"
	"slices"
	"syscall/js"
	"testing"
	"weak"
)

// spies counts calls of the host's continuations and keeps what was given to
// them. It is a JavaScript object, as Go functions called there would get in
// between.
type spies struct{ js.Value }

// spy replaces the continuations by ones that note their use. Those that are
// hidden are missing.
func spy(t *testing.T, hidden ...string) spies {
	global := js.Global()
	names := []string{"setImmediate", "MessageChannel", "setTimeout", "console"}
	for _, name := range names {
		original := global.Get(name)
		t.Cleanup(func() { global.Set(name, original) })
	}
	s := spies{global.Get("Function").New(`
		const log = {used: [], callbacks: [], errors: [], open: 0};
		const {setImmediate, MessageChannel, setTimeout, console} = globalThis;
		globalThis.setImmediate = (f, ...args) => {
			log.used.push("setImmediate");
			log.callbacks.push(f);
			return setImmediate(f, ...args);
		};
		globalThis.MessageChannel = class extends MessageChannel {
			constructor() {
				super();
				log.used.push("MessageChannel");
				log.open++;
				const {port1, port2} = this;
				port1.close = () => {
					log.callbacks.push(port1.onmessage);
					log.open--;
					MessagePort.prototype.close.call(port1);
				};
			}
		};
		globalThis.setTimeout = (f, delay, ...args) => {
			if (delay === 0) { // the runtime asks for 1 ms at least
				log.used.push("setTimeout");
				log.callbacks.push(f);
			}
			return setTimeout(f, delay, ...args);
		};
		globalThis.console = {...console, error: (...args) => log.errors.push(args.join(" "))};
		return log;
	`).Invoke()}
	for _, name := range hidden {
		global.Set(name, js.Undefined())
	}
	return s
}

func (s spies) strings(key string) (list []string) {
	for i := range s.Get(key).Length() {
		list = append(list, s.Get(key).Index(i).String())
	}
	return list
}

// turn returns after a turn.
func turn(h *Host) {
	called := make(chan struct{})
	h.Turn(func() { close(called) })
	<-called
}

func TestTurn(t *testing.T) {
	for _, test := range []struct {
		want   string
		hidden []string
	}{
		{"setImmediate", nil},
		{"setImmediate", []string{"MessageChannel"}},
		{"MessageChannel", []string{"setImmediate"}},
		{"setTimeout", []string{"setImmediate", "MessageChannel"}},
	} {
		t.Run(test.want, func(t *testing.T) {
			s := spy(t, test.hidden...)
			var h Host
			const turns = 3
			for range turns {
				called := make(chan struct{}, 2) // room for a call too many
				returned := false
				h.Turn(func() {
					if !returned {
						t.Error("Turn called its argument itself")
					}
					called <- struct{}{}
				})
				returned = true
				<-called
			}
			if used := s.strings("used"); !slices.Equal(used, slices.Repeat([]string{test.want}, turns)) {
				t.Errorf("used %q", used)
			}
			if n := s.Get("open").Int(); n != 0 {
				t.Errorf("%d channels are still open", n)
			}

			// That is all syscall/js tells of a callback that was released.
			callbacks := s.Get("callbacks")
			for i := range callbacks.Length() {
				callbacks.Index(i).Invoke()
			}
			errors := s.strings("errors")
			if !slices.Equal(errors, slices.Repeat([]string{"call to released function"}, turns)) {
				t.Errorf("calls of the callbacks after the turns gave %q", errors)
			}
		})
	}
}

func TestChosenOnce(t *testing.T) {
	s := spy(t, "setImmediate")
	var h, other Host
	turn(&h)
	js.Global().Set("setImmediate", js.Global().Get("Function").New("f", "setTimeout(f, 1)"))
	turn(&h)
	turn(&other)
	if used := s.strings("used"); !slices.Equal(used, []string{"MessageChannel", "MessageChannel"}) {
		t.Errorf("used %q", used)
	}
}

// An element of a page with the id setImmediate is such an object.
func TestOtherGlobal(t *testing.T) {
	s := spy(t)
	js.Global().Set("setImmediate", js.ValueOf(map[string]any{}))
	turn(new(Host))
	if used := s.strings("used"); !slices.Equal(used, []string{"MessageChannel"}) {
		t.Errorf("used %q", used)
	}
}

func TestKeepsNothing(t *testing.T) {
	for _, hidden := range [][]string{nil, {"setImmediate"}, {"setImmediate", "MessageChannel"}} {
		t.Run(fmt.Sprint("without ", hidden), func(t *testing.T) {
			spy(t, hidden...)
			var h Host
			kept := func() weak.Pointer[[1 << 10]byte] {
				payload := new([1 << 10]byte)
				called := make(chan struct{})
				h.Turn(func() {
					payload[0]++
					close(called)
				})
				<-called
				return weak.Make(payload)
			}()
			runtime.GC()
			if kept.Value() != nil {
				t.Error("what the argument of Turn refers to is kept after the turn")
			}
			runtime.KeepAlive(h)
		})
	}
}
