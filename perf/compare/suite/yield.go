package main

import (
	"context"
	"time"

	"github.com/tickqueue/queue"
)

func init() {
	add("queue(30000)/yield", repeat(func() {
		q := queue.New(nothing, 1, queue.WithYieldInterval(16*time.Millisecond))
		for i := range 30000 {
			must(q.Push(i))
		}
		must(q.Wait(context.Background()))
	}))
}
