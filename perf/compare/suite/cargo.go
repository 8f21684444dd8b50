package main

import (
	"context"

	"github.com/tickqueue/queue"
)

func init() {
	add("cargo(30000)/payload=10", repeat(func() {
		q := queue.NewCargo(func(context.Context, []int) (struct{}, error) { return struct{}{}, nil }, 1, 10)
		for i := range 30000 {
			must(q.Push(i))
		}
		must(q.Wait(context.Background()))
	}))
}
