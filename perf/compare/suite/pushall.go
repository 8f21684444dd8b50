package main

import (
	"context"

	"github.com/tickqueue/queue"
)

func init() {
	tasks := make([]int, 30000)
	add("pushAll(30000)", repeat(func() {
		q := queue.New(nothing, 1)
		must(q.PushAll(tasks))
		must(q.Wait(context.Background()))
	}))
}
