//go:build js

// Command app draws a part of the Mandelbrot set tile by tile, the middle first.
// It runs in a page or in a dedicated worker, which steers it by the global
// variable fractal.
package main

import (
	"context"
	"syscall/js"
	"time"

	"github.com/tickqueue/queue"
)

func main() {
	var a app
	js.Global().Set("fractal", map[string]any{
		"width":  width,
		"height": height,
		"side":   side,
		"start":  method(a.start),
		"pause":  method(func([]js.Value) any { a.tiles.Pause(); return nil }),
		"resume": method(func([]js.Value) any { a.tiles.Resume(); return nil }),
		"kill":   method(func([]js.Value) any { a.tiles.Kill(); return nil }),
		"stats":  method(a.stats),
	})
	select {} // callbacks do the rest
}

// method makes a function callable from JavaScript for as long as the app lives.
func method(f func(args []js.Value) any) js.Func {
	return js.FuncOf(func(_ js.Value, args []js.Value) any { return f(args) })
}

// app is a fractal being drawn. JavaScript calls start before all else.
type app struct {
	tiles *queue.Queue[tile, struct{}]
}

// start draws anew. Its arguments are the yield interval in milliseconds, a
// function to call with each tile's x, y and pixels, and one to call at the end.
func (a *app) start(args []js.Value) any {
	interval := time.Duration(args[0].Float() * float64(time.Millisecond))
	paint, finish := args[1], args[2]
	if a.tiles != nil {
		a.tiles.Kill()
	}
	a.tiles = queue.New(queue.NoResult(func(_ context.Context, t tile) error {
		pixels := t.draw()
		array := js.Global().Get("Uint8ClampedArray").New(len(pixels))
		js.CopyBytesToJS(array, pixels)
		paint.Invoke(t.x, t.y, array)
		return nil
	}), 1, queue.WithYieldInterval(interval))
	a.tiles.OnDrain(func() { finish.Invoke() })
	for y := 0; y < height; y += side {
		for x := 0; x < width; x += side {
			t := tile{x, y}
			a.tiles.Push(t, queue.Priority(-t.distance()))
		}
	}
	return nil
}

func (a *app) stats([]js.Value) any {
	s := a.tiles.Stats()
	return map[string]any{
		"waiting": s.Waiting,
		"running": s.Running,
		"done":    s.Succeeded,
		"turns":   s.Yields,
		"paused":  s.Paused,
		"killed":  s.Closed,
	}
}
