package main

import (
	"context"
	"testing"

	"github.com/tickqueue/queue"
)

func init() {
	add("do", func(b *testing.B) {
		q := queue.New(nothing, 1)
		repeat(func() {
			_, err := q.Do(context.Background(), 0)
			must(err)
		})(b)
	})
}
