package queue_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tickqueue/queue"
	"go.uber.org/goleak"
)

func TestPushRunsNothingItself(t *testing.T) {
	pushes := map[string]func(q *queue.Queue[int, int]){
		"Push":     func(q *queue.Queue[int, int]) { q.Push(1) },
		"PushAll":  func(q *queue.Queue[int, int]) { q.PushAll([]int{1, 2}) },
		"PushWait": func(q *queue.Queue[int, int]) { q.PushWait(context.Background(), 1) },
		"Submit":   func(q *queue.Queue[int, int]) { q.Submit(1) },
		"Do":       func(q *queue.Queue[int, int]) { q.Do(context.Background(), 1) },
	}
	for name, push := range pushes {
		bubble(t, name, func(t *testing.T) {
			var mu sync.Mutex
			var calls []string
			note := func(what string) {
				if isMarked() {
					t.Errorf("%s on the goroutine of the pusher", what)
				}
				mu.Lock()
				defer mu.Unlock()
				calls = append(calls, what)
			}
			q := queue.New(func(context.Context, int) (int, error) {
				note("worker")
				return 0, errTask
			}, 1)
			q.OnEmpty(func() { note("Empty") })
			q.OnError(func(int, error) { note("Error") })
			marked(func() { push(q) })
			synctest.Wait()
			if !slices.Contains(calls, "worker") || !slices.Contains(calls, "Empty") || !slices.Contains(calls, "Error") {
				t.Errorf("calls: %q", calls)
			}
		})
	}
}

// However busy the queue is, and whatever its hooks do, a push comes back.
func TestPushNeverWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		wait := func() { <-stop }
		q := queue.New(func(_ context.Context, task int) (int, error) {
			if task != 0 {
				wait()
			}
			return 0, errTask
		}, 2)
		q.OnEmpty(wait)
		q.OnError(func(int, error) { wait() })
		q.Push(0) // stays in OnError
		q.Push(1) // stays in the worker
		synctest.Wait()
		for i := range 1000 {
			q.Push(i)
			q.PushAll([]int{i, i})
			q.Submit(i)
			q.PushWait(t.Context(), i)
		}
		if s := q.Stats(); s.Waiting != 5000 || s.Running != 2 {
			t.Errorf("%+v", s)
		}
		close(stop)
	})
}

func TestPushFromTaskAtTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q *queue.Queue[int, int]
		q = queue.New(func(_ context.Context, task int) (int, error) {
			if task > 0 {
				if err := q.Push(task - 1); err != nil {
					t.Error(err)
				}
				if s := q.Stats(); s.Running != 1 || s.Waiting != 1 {
					t.Errorf("%+v", s)
				}
			}
			return 0, nil
		}, 1)
		q.Push(100)
		q.Wait(t.Context())
		wantCounts(t, q.Stats(), 101, 0, 0)
	})
}

// With one processor the pusher goes on until it waits, and the pass comes
// after it. The system may still stop it in the middle, so one try of several
// has to do; passes that pushes cause one by one fail all.
func TestPushesInARowCauseOnePass(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, concurrency := range []int{1, 2, 64, 2000} {
		t.Run(fmt.Sprint(concurrency), func(t *testing.T) {
			var passes uint64
			var order []int
			for range 20 {
				var mu sync.Mutex
				order = order[:0]
				q := queue.New(func(_ context.Context, task int) (int, error) {
					mu.Lock()
					defer mu.Unlock()
					order = append(order, task)
					return 0, nil
				}, concurrency)
				runtime.Gosched() // for a fresh slice of time
				for i := range 1000 {
					q.Push(i, queue.Priority(i))
				}
				waiting := q.Len()
				q.Wait(t.Context())
				if passes = q.Stats().Passes; passes == 1 && waiting == 1000 && order[0] == 999 {
					return
				}
			}
			t.Errorf("1000 pushes caused %d passes; %d started first", passes, order[0])
		})
	}
}

func TestPassesAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig[int](t, 2)
		for _, step := range []struct {
			name string
			do   func()
			want uint64
		}{
			{"New", func() {}, 0},
			{"push of nothing", func() { r.push() }, 0},
			{"PushAll", func() { r.push(1, 2, 3, 4) }, 1},
			{"push while no place is free", func() { r.push(5) }, 1},
			{"a task's end", func() { r.finish(1) }, 1},
			{"SetConcurrency", func() { r.SetConcurrency(4) }, 2},
			{"Pause", func() { r.Pause() }, 2},
			{"push while paused", func() { r.push(6, 7) }, 2},
			{"ends while paused", func() { r.finish(2, 3) }, 2},
			{"Resume", func() { r.Resume() }, 3},
			{"Resume again", func() { r.Resume() }, 3},
			{"ends", func() { r.finish(4, 5, 6, 7) }, 3},
			{"push", func() { r.push(8) }, 4},
		} {
			step.do()
			synctest.Wait()
			if got := r.Stats().Passes; got != step.want {
				t.Errorf("%s: %d passes, want %d", step.name, got, step.want)
			}
		}
	})
}

func TestTasksStartWithoutAFurtherPush(t *testing.T) {
	tests := []struct {
		name string
		do   func(r *rig[string])
		want []string // of a, b, c, d: after a has started at concurrency 1
	}{
		{"a task's end", func(r *rig[string]) { r.finish("a") }, []string{"b"}},
		{"a task's failure", func(r *rig[string]) { r.fail("a", errTask) }, []string{"b"}},
		{"SetConcurrency 2", func(r *rig[string]) { r.SetConcurrency(2) }, []string{"b"}},
		{"SetConcurrency 3", func(r *rig[string]) { r.SetConcurrency(3) }, []string{"b", "c"}},
		{"SetConcurrency MaxInt", func(r *rig[string]) { r.SetConcurrency(math.MaxInt) }, []string{"b", "c", "d"}},
		{"SetConcurrency up and down", func(r *rig[string]) {
			r.SetConcurrency(3)
			synctest.Wait()
			r.SetConcurrency(1)
		}, []string{"b", "c"}},
		{"SetConcurrency while paused", func(r *rig[string]) {
			r.Pause()
			r.SetConcurrency(3)
		}, nil},
		{"Pause", func(r *rig[string]) {
			r.Pause()
			r.finish("a")
		}, nil},
		{"Resume", func(r *rig[string]) {
			r.Pause()
			r.SetConcurrency(3)
			r.finish("a")
			r.Resume()
		}, []string{"b", "c", "d"}},
		{"Resume at the limit", func(r *rig[string]) {
			r.Pause()
			r.Resume()
		}, nil},
		{"Cancel makes nothing start", func(r *rig[string]) {
			r.submit("x")
			r.tickets["x"].Cancel()
		}, nil},
	}
	for _, test := range tests {
		bubble(t, test.name, func(t *testing.T) {
			r := newRig[string](t, 1)
			r.push("a", "b", "c", "d")
			r.wantTook("a")
			test.do(r)
			got := r.took()
			slices.Sort(got) // where several start, they do so side by side
			if !slices.Equal(got, test.want) {
				t.Errorf("started %q, want %q", got, test.want)
			}
		})
	}
}

func TestBlockingTasksFillTheQueue(t *testing.T) {
	for _, concurrency := range []int{1, 2, 7, 100, math.MaxInt} {
		for _, pushed := range []int{1, 2, 50, 150} {
			bubble(t, fmt.Sprint(concurrency, "/", pushed), func(t *testing.T) {
				r := newRig[int](t, concurrency)
				for i := range pushed {
					r.Push(i)
				}
				synctest.Wait()
				running := min(concurrency, pushed)
				if s := r.Stats(); s.Running != running || s.Waiting != pushed-running {
					t.Errorf("%d run and %d wait", s.Running, s.Waiting)
				}
			})
		}
	}
}

// A worker about to leave must not miss the push that comes just then.
func TestNoTaskIsStranded(t *testing.T) {
	n := scaled(1_000_000)
	for _, concurrency := range []int{1, 4} {
		t.Run(fmt.Sprint("Wait/", concurrency), func(t *testing.T) {
			q := queue.New(func(context.Context, int) (int, error) { return 0, nil }, concurrency)
			for i := range n {
				q.Push(i)
				q.Wait(context.Background())
			}
			wantCounts(t, q.Stats(), n, 0, 0)
		})
	}
	t.Run("Do", func(t *testing.T) {
		q := queue.New(func(_ context.Context, task int) (int, error) { return -task, nil }, 2)
		for i := range n / 4 {
			if got, err := q.Do(t.Context(), i); got != -i || err != nil {
				t.Fatalf("Do(%d) = %d, %v", i, got, err)
			}
		}
	})
	// A push that comes while the worker returns.
	t.Run("handshake", func(t *testing.T) {
		ran := make(chan int)
		q := queue.New(func(_ context.Context, task int) (int, error) {
			ran <- task
			return 0, nil
		}, 1)
		for i := range n / 4 {
			q.Push(i)
			if got := <-ran; got != i {
				t.Fatalf("%d ran, want %d", got, i)
			}
		}
		q.Wait(t.Context())
	})
}

func TestNothingToDoNeedsNoGoroutine(t *testing.T) {
	tests := []struct {
		name string
		opt  func() queue.Option
		do   func(r *rig[int])
	}{
		{"new", nil, func(r *rig[int]) {}},
		{"paused with a backlog", nil, func(r *rig[int]) {
			r.Pause()
			r.push(1, 2, 3)
		}},
		{"drained", nil, func(r *rig[int]) {
			r.push(1, 2, 3)
			r.finish(1, 2, 3)
		}},
		{"drained with hooks", nil, func(r *rig[int]) {
			r.listen()
			r.OnError(func(int, error) {})
			r.push(1, 2, 3)
			r.finish(1, 2)
			r.fail(3, errTask)
		}},
		{"drained with a yield interval", func() queue.Option { return queue.WithYieldInterval(time.Hour) }, func(r *rig[int]) {
			r.push(1, 2, 3)
			r.finish(1, 2, 3)
		}},
		{"cleared", nil, func(r *rig[int]) {
			r.Pause()
			r.push(1, 2, 3)
			r.Clear()
			r.Resume()
		}},
		{"full", func() queue.Option { return queue.WithCapacity(2) }, func(r *rig[int]) {
			r.Pause()
			r.push(1, 2)
			r.Push(3)
		}},
		{"shut down", nil, func(r *rig[int]) {
			r.push(1)
			r.finish(1)
			r.Shutdown(context.Background())
		}},
		{"killed", nil, func(r *rig[int]) {
			r.push(1, 2, 3)
			r.Kill()
			r.finish(1, 2)
		}},
		{"with a limiter", func() queue.Option { return queue.WithLimiter(freeLimiter{}) }, func(r *rig[int]) {
			r.push(1, 2, 3)
			r.finish(1, 2, 3)
		}},
		{"paused with a limiter", func() queue.Option { return queue.WithLimiter(newTokens()) }, func(r *rig[int]) {
			r.push(1, 2, 3)
			r.Pause()
		}},
		{"context of Do done", nil, func(r *rig[int]) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			r.Pause()
			go r.Do(ctx, 1)
			go r.Wait(ctx)
			synctest.Wait()
			cancel()
		}},
		{"with a context", func() queue.Option { return queue.WithContext(endless) }, func(r *rig[int]) {
			r.push(1, 2, 3)
			r.finish(1, 2, 3)
		}},
	}
	for _, test := range tests {
		bubble(t, test.name, func(t *testing.T) {
			others := goleak.IgnoreCurrent()
			var opts []queue.Option
			if test.opt != nil {
				opts = append(opts, test.opt())
			}
			r := newRig[int](t, 2, opts...)
			test.do(r)
			synctest.Wait()
			if err := goleak.Find(others); err != nil {
				t.Error(err)
			}
			// Nothing may happen by itself either, as it would with a timer.
			before := r.Stats()
			time.Sleep(24 * time.Hour)
			if after := r.Stats(); after != before {
				t.Errorf("%+v after a day, %+v before", after, before)
			}
		})
	}
}

// endless is a context that can be canceled but is not. Its channel is made
// here, so that it belongs to no bubble.
var endless = withDone(context.WithCancel(context.Background()))

func withDone(ctx context.Context, _ context.CancelFunc) context.Context {
	ctx.Done()
	return ctx
}

func TestOneGoroutineForEachRunningTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// Goroutines are told by what the stack says of their origin. Passes of other
		// tests' queues may still have to find that there is nothing to do.
		goroutines := func() (n int) {
			synctest.Wait()
			stacks := make([]byte, 1<<20)
			stacks = stacks[:runtime.Stack(stacks, true)]
			for stack := range bytes.SplitSeq(stacks, []byte("\n\n")) {
				if bytes.Contains(stack, []byte("synctest bubble")) && bytes.Contains(stack, []byte("created by github.com/tickqueue/queue.")) {
					n++
				}
			}
			return n
		}
		r := newRig[int](t, 3)
		r.listen()
		for range 3 {
			r.push(1)
			r.push(2, 3, 4, 5, 6)
			if n := goroutines(); n != 3 {
				t.Errorf("%d goroutines for 3 tasks", n)
			}
			r.finish(1, 2, 3)
			r.Pause()
			r.finish(4, 5)
			if n := goroutines(); n != 1 {
				t.Errorf("%d goroutines for 1 task", n)
			}
			r.finish(6)
			if n := goroutines(); n != 0 {
				t.Errorf("%d goroutines for no task", n)
			}
			r.Resume()
		}
	})
}

func TestYieldingChangesNeitherOrderNorHooks(t *testing.T) {
	for _, interval := range []time.Duration{0, time.Nanosecond, time.Millisecond} {
		for _, concurrency := range []int{1, 4} {
			t.Run(fmt.Sprint(interval, "/", concurrency), func(t *testing.T) {
				var mu sync.Mutex
				var started []int
				var heard []string
				drained := make(chan struct{})
				hear := func(what string) func() { return func() { heard = append(heard, what) } }
				q := queue.New(func(_ context.Context, task int) (int, error) {
					mu.Lock()
					defer mu.Unlock()
					started = append(started, task)
					return 0, nil
				}, concurrency, queue.WithYieldInterval(interval))
				q.OnEmpty(hear("empty"))
				q.OnSaturated(hear("saturated"))
				q.OnUnsaturated(hear("unsaturated"))
				q.OnDrain(func() {
					heard = append(heard, "drain")
					close(drained)
				})
				q.Pause()
				var want []int
				for i := range 2000 {
					q.Push(i, queue.Priority(-i%2))
				}
				want = slices.Collect(q.Waiting())
				q.Resume()
				<-drained
				if concurrency > 1 {
					slices.Sort(started)
					slices.Sort(want)
				} else if want := []string{"saturated", "empty", "unsaturated", "drain"}; !slices.Equal(heard, want) {
					t.Errorf("hooks called: %q, want %q", heard, want)
				}
				if !slices.Equal(started, want) {
					t.Error("tasks started in another order")
				}
				s := q.Stats()
				wantCounts(t, s, 2000, 0, 0)
				if (s.Yields > 0) != (interval == time.Nanosecond) && interval != time.Millisecond {
					t.Errorf("%d yields", s.Yields)
				}
			})
		}
	}
}
