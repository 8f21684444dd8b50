//go:build !js

package host

import (
	"runtime"
	"sync/atomic"
	"testing"
)

func TestTurn(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var ran atomic.Bool
	go ran.Store(true)
	var h Host
	// Once in 61 times the scheduler takes the goroutine that yields before the
	// one that is next, but never twice in a row.
	for turns := 1; ; turns++ {
		var called bool
		h.Turn(func() { called = true })
		if !called {
			t.Fatal("Turn did not call its argument")
		}
		if ran.Load() {
			return
		}
		if turns == 2 {
			t.Fatal("another goroutine that was ready to run got no turn")
		}
	}
}

func TestTurnAllocatesNothing(t *testing.T) {
	var h Host
	if n := testing.AllocsPerRun(100, func() { h.Turn(func() {}) }); n != 0 {
		t.Errorf("a turn costs %v allocations", n)
	}
}
