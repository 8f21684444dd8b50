package queue_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tickqueue/queue"
)

// freeLimiter lets everything pass.
type freeLimiter struct{}

func (freeLimiter) Wait(context.Context) error { return nil }

type limiterFunc func(ctx context.Context) error

func (f limiterFunc) Wait(ctx context.Context) error { return f(ctx) }

// tokens is a limiter whose tokens the test hands out. What it is sent is what
// one call of Wait returns.
type tokens struct {
	ch chan error

	mu          sync.Mutex
	waiters     int
	most, taken int
}

func newTokens() *tokens { return &tokens{ch: make(chan error, 1000)} }

func (l *tokens) Wait(ctx context.Context) error {
	l.mu.Lock()
	l.waiters++
	l.most = max(l.most, l.waiters)
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		l.waiters--
		l.mu.Unlock()
	}()
	select {
	case err := <-l.ch:
		l.mu.Lock()
		l.taken++
		l.mu.Unlock()
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// give hands out n tokens and waits for their consequences.
func (l *tokens) give(n int) {
	for range n {
		l.ch <- nil
		synctest.Wait()
	}
}

func (l *tokens) waiting() int {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.waiters
}

func TestLimiterIsAskedBeforeATaskIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTokens()
		r := newRig[string](t, 1, queue.WithLimiter(l))
		r.push("early")
		r.wantTook()
		r.wantWaiting("early")
		r.Push("urgent", queue.Priority(1))
		l.give(1)
		r.wantTook("urgent")
		r.wantWaiting("early")
		r.finish("urgent")
		r.wantTook()
		r.Push("front", queue.Front())
		l.give(1)
		r.wantTook("front")
		r.finish("front")
		l.give(1)
		r.wantTook("early")
		r.finish("early")
		wantCounts(t, r.Stats(), 3, 0, 0)
	})
}

// Neither more workers than tasks wait for the limiter, nor more than there are
// places for.
func TestLimiterWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTokens()
		r := newRig[string](t, 3, queue.WithLimiter(l))
		for _, step := range []struct {
			name string
			do   func()
			want int
		}{
			{"nothing", func() {}, 0},
			{"one task", func() { r.submit("a") }, 1},
			{"two tasks", func() { r.submit("b") }, 2},
			{"one canceled", func() { r.tickets["a"].Cancel() }, 1},
			{"more tasks than places", func() { r.submit("c", "d", "e", "f") }, 3},
			{"b runs", func() { l.give(1) }, 2},
			{"c runs", func() { l.give(1) }, 1},
			{"b done", func() { r.finish("b") }, 2},
			{"paused", func() { r.Pause() }, 0},
			{"pushed while paused", func() { r.submit("g") }, 0},
			{"resumed", func() { r.Resume() }, 2},
			{"limit lowered", func() { r.SetConcurrency(2) }, 1},
			{"limit below what runs", func() { r.SetConcurrency(1) }, 0},
			{"limit raised", func() { r.SetConcurrency(100) }, 4},
			{"removed", func() { r.Remove(func(task string) bool { return task != "g" }) }, 1},
			{"cleared", func() { r.Clear() }, 0},
			{"pushed again", func() { r.submit("h", "i") }, 2},
			{"killed", func() { r.Kill() }, 0},
		} {
			step.do()
			if got := l.waiting(); got != step.want {
				t.Errorf("%s: %d wait for the limiter, want %d", step.name, got, step.want)
			}
			if n := r.Len(); l.waiting() > n {
				t.Errorf("%s: %d workers wait for %d tasks", step.name, l.waiting(), n)
			}
		}
		if l.taken != 2 {
			t.Errorf("%d tokens taken for 2 tasks", l.taken)
		}
	})
}

func TestWithdrawnTasksTakeNoTokens(t *testing.T) {
	for _, concurrency := range []int{1, 4, 100} {
		bubble(t, fmt.Sprint(concurrency), func(t *testing.T) {
			l := newTokens()
			ran := 0
			var mu sync.Mutex
			q := queue.New(func(context.Context, int) (int, error) {
				mu.Lock()
				defer mu.Unlock()
				ran++
				return 0, nil
			}, concurrency, queue.WithLimiter(l))
			var wg sync.WaitGroup
			for i := range 50 {
				ticket, _ := q.Submit(i)
				ctx, cancel := context.WithCancel(t.Context())
				wg.Go(func() { q.Do(ctx, i) })
				synctest.Wait()
				switch i % 4 {
				case 0:
					ticket.Cancel()
				case 1:
					q.Remove(func(task int) bool { return task == i })
				case 2:
					q.Clear()
				}
				cancel()
				wg.Wait()
				synctest.Wait()
			}
			waiting := q.Len()
			l.give(waiting)
			if ran != waiting || l.taken != ran || q.Len() != 0 {
				t.Errorf("%d tokens for %d tasks, %d ran", l.taken, waiting, ran)
			}
			q.Push(1)
			l.give(1)
			if ran != waiting+1 {
				t.Error("a token went to nobody")
			}
		})
	}
}

func TestErrorOfLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTokens()
		r := newRig[string](t, 1, queue.WithLimiter(l))
		var reported []string
		r.OnError(func(task string, err error) { reported = append(reported, fmt.Sprint(task, ": ", err)) })
		r.submit("a", "b")
		r.submitWith("best", queue.Priority(1))
		errLimiter := errors.New("no more today")
		l.ch <- errLimiter
		synctest.Wait()
		r.wantSettled("best", errLimiter)
		r.wantUnsettled("a")
		r.wantTook()
		if want := []string{"best: no more today"}; !slices.Equal(reported, want) {
			t.Errorf("OnError got %q, want %q", reported, want)
		}
		l.give(1)
		r.wantTook("a")
		r.finish("a")
		l.ch <- errLimiter
		synctest.Wait()
		r.wantSettled("b", errLimiter)
		wantCounts(t, r.Stats(), 1, 2, 0)
		r.submit("c")
		l.give(1)
		r.wantTook("c")
	})
}

func TestErrorOfLimiterBecauseOfKill(t *testing.T) {
	for _, concurrency := range []int{1, 3} {
		bubble(t, fmt.Sprint(concurrency), func(t *testing.T) {
			l := newTokens()
			r := newRig[int](t, concurrency, queue.WithLimiter(l))
			r.OnError(func(task int, err error) { t.Errorf("OnError got %d: %v", task, err) })
			r.submit(1, 2, 3)
			if got, want := r.Kill(), []int{1, 2, 3}; !slices.Equal(got, want) {
				t.Errorf("Kill took %v, want %v", got, want)
			}
			synctest.Wait()
			for task := range 3 {
				r.wantSettled(task+1, queue.ErrDropped)
			}
			wantCounts(t, r.Stats(), 0, 0, 3)
		})
	}
}

// A limiter may come back with an error of its own at the moment when the
// context of the queue ends, and before anything else has noticed.
func TestErrorOfLimiterWhenTheContextEnds(t *testing.T) {
	for _, own := range []error{nil, errTask} {
		for _, concurrency := range []int{1, 3} {
			bubble(t, fmt.Sprint(own, "/", concurrency), func(t *testing.T) {
				for range scaled(1000) {
					ctx, cancel := context.WithCancel(context.Background())
					q := queue.New(func(_ context.Context, task int) (int, error) {
						t.Errorf("%d started", task)
						return 0, nil
					}, concurrency, queue.WithContext(ctx), queue.WithLimiter(limiterFunc(func(context.Context) error {
						cancel()
						return own
					})))
					q.Pause()
					for i := range 5 {
						q.Push(i)
					}
					q.Resume()
					q.Wait(context.Background())
					wantCounts(t, q.Stats(), 0, 0, 5)
				}
			})
		}
	}
}

// A task whose Do has given up does not wait any more, so the error of the
// limiter is for the next one.
// A limiter that knows a deadline refuses what could not start in time. The tasks
// are to wait until that time, and to be dropped then.
func TestLimiterDoesNotKnowTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		q := queue.New(func(context.Context, int) (int, error) { return 0, nil }, 1, queue.WithContext(ctx),
			queue.WithLimiter(limiterFunc(func(ctx context.Context) error {
				if _, ok := ctx.Deadline(); ok {
					return context.DeadlineExceeded
				}
				<-ctx.Done()
				return ctx.Err()
			})))
		ticket, err := q.Submit(1)
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if _, err := ticket.Wait(t.Context()); err != queue.ErrDropped || time.Since(start) != time.Hour {
			t.Errorf("the task settled with %v after %v, want ErrDropped after an hour", err, time.Since(start))
		}
	})
}

func TestErrorOfLimiterIsNotForAWithdrawnTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range scaled(1000) {
			ctx, cancel := context.WithCancel(t.Context())
			calls := 0
			q := queue.New(func(_ context.Context, task int) (int, error) { return task, nil }, 1,
				queue.WithLimiter(limiterFunc(func(context.Context) error {
					if calls++; calls > 1 {
						return nil
					}
					cancel()
					return errTask
				})))
			q.Pause()
			var w waiters
			w.start("do", func() error { _, err := q.Do(ctx, 1); return err })
			ticket, _ := q.Submit(2)
			q.Resume()
			w.want(t, "do: context canceled")
			if _, err := ticket.Wait(t.Context()); err != errTask {
				t.Errorf("the next task settled with %v", err)
			}
			wantCounts(t, q.Stats(), 0, 1, 1)
			if t.Failed() {
				break
			}
		}
	})
}

// The limiter sees that no task is left for it, whatever took the task away.
func TestContextOfLimiterEndsWithTheTask(t *testing.T) {
	takes := map[string]func(q *queue.Queue[int, int], ticket *queue.Ticket[int], cancel func()){
		"Cancel": func(_ *queue.Queue[int, int], ticket *queue.Ticket[int], _ func()) { ticket.Cancel() },
		"Remove": func(q *queue.Queue[int, int], _ *queue.Ticket[int], _ func()) {
			q.Remove(func(int) bool { return true })
		},
		"Clear":   func(q *queue.Queue[int, int], _ *queue.Ticket[int], _ func()) { q.Clear() },
		"Kill":    func(q *queue.Queue[int, int], _ *queue.Ticket[int], _ func()) { q.Kill() },
		"Pause":   func(q *queue.Queue[int, int], _ *queue.Ticket[int], _ func()) { q.Pause() },
		"context": func(_ *queue.Queue[int, int], _ *queue.Ticket[int], cancel func()) { cancel() },
	}
	for name, take := range takes {
		bubble(t, name, func(t *testing.T) {
			var ended error
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			q := queue.New(func(context.Context, int) (int, error) { return 0, nil }, 1,
				queue.WithContext(ctx),
				queue.WithLimiter(limiterFunc(func(ctx context.Context) error {
					<-ctx.Done()
					ended = ctx.Err()
					return ended
				})))
			ticket, _ := q.Submit(1)
			synctest.Wait()
			if ended != nil {
				t.Fatal("the limiter's context was done to begin with")
			}
			take(q, ticket, cancel)
			synctest.Wait()
			if ended == nil {
				t.Error("the limiter still waits")
			}
			q.Kill()
		})
	}
}

func TestGoexitInLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		r := newRig[int](t, 1, queue.WithLimiter(limiterFunc(func(context.Context) error {
			if calls++; calls == 1 {
				runtime.Goexit()
			}
			return nil
		})))
		r.submit(1, 2)
		r.wantSettled(1, queue.ErrGoexit)
		r.wantTook(2)
		r.finish(2)
		r.wantSettled(2, nil)
		wantCounts(t, r.Stats(), 1, 1, 0)
	})
}

func TestLimiterCallsTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q *queue.Queue[string, string]
		var order []string
		pushed := false
		q = queue.New(func(_ context.Context, task string) (string, error) {
			order = append(order, task)
			return "", nil
		}, 1, queue.WithLimiter(limiterFunc(func(context.Context) error {
			if !pushed {
				pushed = true
				q.Push("better", queue.Priority(1))
			}
			return nil
		})))
		q.Push("first")
		q.Wait(t.Context())
		if want := []string{"better", "first"}; !slices.Equal(order, want) {
			t.Errorf("order = %q, want %q", order, want)
		}
	})
}

func TestHooksWithLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTokens()
		r := newRig[string](t, 2, queue.WithLimiter(l))
		r.listen()
		r.push("a", "b", "c")
		r.wantHeard("")
		l.give(1)
		r.wantHeard("")
		l.give(1)
		r.wantHeard("saturated")
		r.finish("a")
		r.wantHeard("")
		l.give(1)
		r.wantHeard("empty")
		r.finish("b")
		r.wantHeard("unsaturated")
		r.finish("c")
		r.wantHeard("drain")
	})
}

// One token starts one batch.
func TestLimiterOfCargo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTokens()
		var batches [][]int
		q := queue.NewCargo(func(_ context.Context, tasks []int) (int, error) {
			batches = append(batches, tasks)
			return 0, nil
		}, 1, 3, queue.WithLimiter(l))
		q.PushAll([]int{1, 2})
		synctest.Wait()
		q.PushAll([]int{3, 4, 5})
		l.give(1)
		if got := fmt.Sprint(batches); got != "[[1 2 3]]" {
			t.Errorf("batches %s", got)
		}
		l.give(1)
		if got := fmt.Sprint(batches); got != "[[1 2 3] [4 5]]" {
			t.Errorf("batches %s", got)
		}
		if n := l.waiting(); n != 0 || l.taken != 2 {
			t.Errorf("%d wait for the limiter, %d tokens taken", n, l.taken)
		}
	})
}

// A batch needs one permission, whatever it holds: no more workers ask for one than
// batches wait.
func TestLimiterIsAskedForBatches(t *testing.T) {
	for _, test := range []struct{ payload, tasks, want int }{
		{1, 3, 3}, {1, 9, 4}, {3, 1, 1}, {3, 3, 1}, {3, 4, 2}, {3, 7, 3}, {3, 12, 4}, {3, 100, 4}, {math.MaxInt, 100, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newTokens()
			calls := 0
			q := queue.NewCargo(func(context.Context, []int) (int, error) {
				calls++
				return 0, nil
			}, 4, test.payload, queue.WithLimiter(l))
			for i := range test.tasks {
				q.Push(i)
			}
			if n := l.waiting(); n != test.want {
				t.Errorf("payload %d: %d workers ask the limiter for %d tasks, want %d", test.payload, n, test.tasks, test.want)
			}
			for !q.Idle() {
				l.give(1)
			}
			if l.taken != calls {
				t.Errorf("payload %d: %d tokens for %d calls", test.payload, l.taken, calls)
			}
		})
	}
}
