package main

import (
	"context"

	"github.com/tickqueue/queue"
)

func init() {
	add("unshift(1000)", repeat(func() {
		q := queue.New(nothing, 1)
		for i := range 1000 {
			must(q.Push(i, queue.Front()))
		}
		must(q.Wait(context.Background()))
	}))
}
