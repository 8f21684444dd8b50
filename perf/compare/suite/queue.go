package main

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/tickqueue/queue"
)

// burst is the workload of async.js's benchmark: a new queue, n tasks pushed one
// at a time, and the wait until all have run.
func burst(n, concurrency int) func() {
	return func() {
		q := queue.New(nothing, concurrency)
		for i := range n {
			must(q.Push(i))
		}
		must(q.Wait(context.Background()))
	}
}

func init() {
	for _, n := range []int{10, 100, 1000, 30000, 100000, 200000} {
		add(fmt.Sprintf("queue(%d)", n), repeat(burst(n, 1)))
	}
	for _, c := range []int{8, 64} {
		add(fmt.Sprintf("queue(30000)/c=%d", c), repeat(burst(30000, c)))
	}
	add("producers(4)/c=8", repeat(func() {
		q := queue.New(nothing, 8)
		var producers sync.WaitGroup
		for range 4 {
			producers.Go(func() {
				for i := range 10000 {
					must(q.Push(i))
				}
			})
		}
		producers.Wait()
		must(q.Wait(context.Background()))
	}))
	add("push-wait", func(b *testing.B) {
		q := queue.New(nothing, 1)
		repeat(func() {
			must(q.Push(0))
			must(q.Wait(context.Background()))
		})(b)
	})
}
