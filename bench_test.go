package queue_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/tickqueue/queue"
)

func nop(context.Context, int) (struct{}, error) { return struct{}{}, nil }

var benchConcurrencies = []int{1, 8, 64}

// wantIdle waits until a queue has run what was pushed.
func wantIdle[T, R any](b *testing.B, q *queue.Queue[T, R]) {
	if err := q.Wait(context.Background()); err != nil {
		b.Fatal(err)
	}
}

// perTask reports what a benchmark costs per task if an iteration is of several.
func perTask(b *testing.B, tasks int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(tasks), "ns/task")
}

// BenchmarkBurst pushes one task after another while workers run them, and waits
// for the last one.
func BenchmarkBurst(b *testing.B) {
	const tasks = 100_000
	for _, c := range benchConcurrencies {
		b.Run(fmt.Sprintf("c=%d", c), func(b *testing.B) {
			b.ReportAllocs()
			q := queue.New(nop, c)
			for b.Loop() {
				for range tasks {
					q.Push(1)
				}
				wantIdle(b, q)
			}
			perTask(b, tasks)
		})
	}
}

// BenchmarkBacklog has all tasks wait before the first one starts.
func BenchmarkBacklog(b *testing.B) {
	const tasks = 100_000
	for _, c := range benchConcurrencies {
		b.Run(fmt.Sprintf("c=%d", c), func(b *testing.B) {
			b.ReportAllocs()
			q := queue.New(nop, c)
			for b.Loop() {
				q.Pause()
				for range tasks {
					q.Push(1)
				}
				q.Resume()
				wantIdle(b, q)
			}
			perTask(b, tasks)
		})
	}
}

// BenchmarkProducers pushes from several goroutines at once.
func BenchmarkProducers(b *testing.B) {
	const producers, tasks = 4, 25_000
	for _, c := range benchConcurrencies {
		b.Run(fmt.Sprintf("c=%d", c), func(b *testing.B) {
			b.ReportAllocs()
			q := queue.New(nop, c)
			for b.Loop() {
				var wg sync.WaitGroup
				for range producers {
					wg.Go(func() {
						for range tasks {
							q.Push(1)
						}
					})
				}
				wg.Wait()
				wantIdle(b, q)
			}
			perTask(b, producers*tasks)
		})
	}
}

// BenchmarkOneByOne pushes a task when the one before has ended.
func BenchmarkOneByOne(b *testing.B) {
	for _, c := range benchConcurrencies {
		b.Run(fmt.Sprintf("c=%d", c), func(b *testing.B) {
			b.ReportAllocs()
			q := queue.New(nop, c)
			for b.Loop() {
				q.Push(1)
				wantIdle(b, q)
			}
			perTask(b, 1)
		})
	}
}

// BenchmarkPriorities pushes tasks of so many priorities in random order.
func BenchmarkPriorities(b *testing.B) {
	const tasks = 100_000
	for _, distinct := range []int{1, 3, 1_000, 100_000} {
		b.Run(fmt.Sprintf("distinct=%d", distinct), func(b *testing.B) {
			b.ReportAllocs()
			priorities := rand.New(rand.NewPCG(1, 2)).Perm(tasks)
			for i := range priorities {
				priorities[i] %= distinct
			}
			q := queue.New(nop, 1)
			for b.Loop() {
				for _, p := range priorities {
					q.Push(1, queue.Priority(p))
				}
				wantIdle(b, q)
			}
			perTask(b, tasks)
		})
	}
}

// BenchmarkSubmit submits tasks and awaits each: at once, or when all have been
// submitted.
func BenchmarkSubmit(b *testing.B) {
	for _, tasks := range []int{1, 1_000} {
		for _, c := range benchConcurrencies {
			b.Run(fmt.Sprintf("tasks=%d/c=%d", tasks, c), func(b *testing.B) {
				b.ReportAllocs()
				q := queue.New(nop, c)
				tickets := make([]*queue.Ticket[struct{}], tasks)
				for b.Loop() {
					for i := range tickets {
						tickets[i], _ = q.Submit(i)
					}
					for _, ticket := range tickets {
						if _, err := ticket.Wait(context.Background()); err != nil {
							b.Fatal(err)
						}
					}
				}
				perTask(b, tasks)
			})
		}
	}
}

// BenchmarkDo has goroutines that each do one task after another, with a context
// that is never done and with one that may be.
func BenchmarkDo(b *testing.B) {
	for _, ctx := range []struct {
		name string
		context.Context
	}{{"background", context.Background()}, {"cancelable", b.Context()}} {
		for _, c := range benchConcurrencies {
			b.Run(fmt.Sprintf("ctx=%s/c=%d", ctx.name, c), func(b *testing.B) {
				b.ReportAllocs()
				q := queue.New(nop, c)
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						if _, err := q.Do(ctx.Context, 1); err != nil {
							b.Error(err)
						}
					}
				})
				perTask(b, 1)
			})
		}
	}
}

// BenchmarkPushAll pushes so many tasks at once and waits for them.
func BenchmarkPushAll(b *testing.B) {
	for _, n := range []int{10, 1_000, 100_000} {
		b.Run(fmt.Sprintf("tasks=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			q := queue.New(nop, 1)
			tasks := make([]int, n)
			for b.Loop() {
				q.PushAll(tasks)
				wantIdle(b, q)
			}
			perTask(b, n)
		})
	}
}

// BenchmarkCargo runs tasks in batches of at most so many.
func BenchmarkCargo(b *testing.B) {
	const tasks = 10_000
	for _, payload := range []int{1, 10, 1_000} {
		b.Run(fmt.Sprintf("payload=%d", payload), func(b *testing.B) {
			b.ReportAllocs()
			q := queue.NewCargo(func(context.Context, []int) (struct{}, error) {
				return struct{}{}, nil
			}, 1, payload)
			for b.Loop() {
				for i := range tasks {
					q.Push(i)
				}
				wantIdle(b, q)
			}
			perTask(b, tasks)
		})
	}
}

// BenchmarkCancel submits tasks that wait and cancels them in random order.
func BenchmarkCancel(b *testing.B) {
	for _, tasks := range []int{1_000, 100_000} {
		b.Run(fmt.Sprintf("tasks=%d", tasks), func(b *testing.B) {
			b.ReportAllocs()
			order := rand.New(rand.NewPCG(1, 2)).Perm(tasks)
			tickets := make([]*queue.Ticket[struct{}], tasks)
			q := queue.New(nop, 1)
			q.Pause()
			for b.Loop() {
				for i := range tickets {
					tickets[i], _ = q.Submit(i)
				}
				for _, i := range order {
					if !tickets[i].Cancel() {
						b.Fatal("a waiting task was not canceled")
					}
				}
			}
			perTask(b, tasks)
		})
	}
}
