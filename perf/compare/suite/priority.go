package main

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/tickqueue/queue"
)

func prioritized(n int, priority func(i int) int) func() {
	return func() {
		q := queue.New(nothing, 1)
		for i := range n {
			must(q.Push(i, queue.Priority(priority(i))))
		}
		must(q.Wait(context.Background()))
	}
}

func init() {
	for _, n := range []int{10, 100, 1000, 30000, 50000} {
		ascending := func(i int) int { return i }
		add(fmt.Sprintf("priorityQueue(%d)", n), repeat(prioritized(n, ascending)))
	}
	const n = 30000
	// The same order for both versions: a seed of our own.
	random := rand.New(rand.NewPCG(1, 2)).Perm(n)
	for _, p := range []struct {
		name string
		of   func(i int) int
	}{
		{"equal", func(int) int { return 1 }},
		{"descending", func(i int) int { return -i }},
		{"random", func(i int) int { return random[i] }},
		{"cycling", func(i int) int { return i % 3 }},
	} {
		add(fmt.Sprintf("priorityQueue(%d)/%s", n, p.name), repeat(prioritized(n, p.of)))
	}
}
