package main

import (
	"testing"

	"github.com/tickqueue/queue"
)

func init() {
	add("setPriority(1000)", func(b *testing.B) {
		q := queue.New(nothing, 1)
		q.Pause()
		tickets := make([]*queue.Ticket[struct{}], 1000)
		for i := range tickets {
			t, err := q.Submit(i)
			must(err)
			tickets[i] = t
		}
		var n int
		repeat(func() {
			for i, t := range tickets {
				n++
				t.SetPriority((n + i) % 10)
			}
		})(b)
	})
}
