package main

import (
	"testing"

	"github.com/tickqueue/queue"
)

func init() {
	add("cancel(1000)", func(b *testing.B) {
		q := queue.New(nothing, 1)
		q.Pause()
		tickets := make([]*queue.Ticket[struct{}], 1000)
		repeat(func() {
			for i := range tickets {
				t, err := q.Submit(i)
				must(err)
				tickets[i] = t
			}
			// From the middle outwards, so that neither end is the easy one.
			for i := range tickets {
				tickets[(i+len(tickets)/2)%len(tickets)].Cancel()
			}
		})(b)
	})
}
