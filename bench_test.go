package queue_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/tickqueue/queue"
)

func nop(context.Context, int) (struct{}, error) { return struct{}{}, nil }

func BenchmarkBurst(b *testing.B) {
	for _, c := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("c=%d", c), func(b *testing.B) {
			b.ReportAllocs()
			q := queue.New(nop, c)
			i := 0
			for b.Loop() {
				q.Push(i)
				i++
			}
			q.Wait(context.Background())
		})
	}
}

func BenchmarkPushWaitIdle(b *testing.B) {
	for _, c := range []int{1, 8} {
		b.Run(fmt.Sprintf("c=%d", c), func(b *testing.B) {
			b.ReportAllocs()
			q := queue.New(nop, c)
			for b.Loop() {
				q.Push(1)
				q.Wait(context.Background())
			}
		})
	}
}
