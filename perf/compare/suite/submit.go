package main

import (
	"context"
	"testing"

	"github.com/tickqueue/queue"
)

func init() {
	ctx := context.Background()
	add("submit-wait", func(b *testing.B) {
		q := queue.New(nothing, 1)
		repeat(func() {
			t, err := q.Submit(0)
			must(err)
			_, err = t.Wait(ctx)
			must(err)
		})(b)
	})
	add("submit(1000)", func(b *testing.B) {
		q := queue.New(nothing, 8)
		tickets := make([]*queue.Ticket[struct{}], 1000)
		repeat(func() {
			for i := range tickets {
				t, err := q.Submit(i)
				must(err)
				tickets[i] = t
			}
			for _, t := range tickets {
				_, err := t.Wait(ctx)
				must(err)
			}
		})(b)
	})
}
