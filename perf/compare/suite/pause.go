package main

import (
	"context"
	"testing"

	"github.com/tickqueue/queue"
)

func init() {
	add("pause-resume(1000)", func(b *testing.B) {
		q := queue.New(nothing, 1)
		repeat(func() {
			q.Pause()
			for i := range 1000 {
				must(q.Push(i))
			}
			q.Resume()
			must(q.Wait(context.Background()))
		})(b)
	})
}
