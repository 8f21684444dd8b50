package queue_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tickqueue/queue"
)

type (
	queueKey struct{}
	doKey    struct{}
	bothKey  struct{}
)

// contexts is a queue that hands the context of each worker to the test.
type contexts struct {
	*queue.Queue[string, string]
	mu  sync.Mutex
	ctx map[string]context.Context
	end chan struct{}
}

func newContexts(t *testing.T, opts ...queue.Option) *contexts {
	c := &contexts{ctx: make(map[string]context.Context), end: make(chan struct{})}
	c.Queue = queue.New(func(ctx context.Context, task string) (string, error) {
		c.mu.Lock()
		c.ctx[task] = ctx
		c.mu.Unlock()
		<-c.end
		return task, ctx.Err()
	}, 4, opts...)
	t.Cleanup(func() {
		c.Kill()
		close(c.end)
	})
	return c
}

// of returns the context of the worker that runs a task.
func (c *contexts) of(task string) context.Context {
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ctx[task]
}

func wantCause(t *testing.T, ctx context.Context, want error) {
	t.Helper()
	synctest.Wait()
	if want == nil {
		if ctx.Err() != nil {
			t.Errorf("the context is done: %v", context.Cause(ctx))
		}
		return
	}
	select {
	case <-ctx.Done():
	default:
		t.Error("the context is not done")
	}
	if ctx.Err() == nil || context.Cause(ctx) != want {
		t.Errorf("the context ended with %v, cause %v, want %v", ctx.Err(), context.Cause(ctx), want)
	}
}

func TestContextOfWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newContexts(t)
		c.PushAll([]string{"a", "b"})
		a, b := c.of("a"), c.of("b")
		wantCause(t, a, nil)
		if _, ok := a.Deadline(); ok {
			t.Error("has a deadline")
		}
		c.Kill()
		for _, ctx := range []context.Context{a, b} {
			wantCause(t, ctx, queue.ErrClosed)
			if ctx.Err() != context.Canceled {
				t.Errorf("Err() = %v", ctx.Err())
			}
		}
	})
}

// Kill has canceled the workers' context when it returns, and Shutdown has not.
func TestShutdownLeavesTheContextAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newContexts(t)
		c.Push("a")
		ctx := c.of("a")
		c.Shutdown(doneContext())
		wantCause(t, ctx, nil)
		c.Kill()
		if context.Cause(ctx) != queue.ErrClosed {
			t.Errorf("cause %v", context.Cause(ctx))
		}
	})
}

func TestWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent, cancel := context.WithCancelCause(context.WithValue(t.Context(), queueKey{}, "value"))
		defer cancel(nil)
		deadline := time.Now().Add(time.Hour)
		parent, stop := context.WithDeadline(parent, deadline)
		defer stop()
		c := newContexts(t, queue.WithContext(parent))
		c.Push("a")
		ctx := c.of("a")
		if ctx.Value(queueKey{}) != "value" {
			t.Error("the worker misses the values of the parent")
		}
		if d, ok := ctx.Deadline(); !ok || !d.Equal(deadline) {
			t.Errorf("Deadline() = %v, %t", d, ok)
		}
		wantCause(t, ctx, nil)
		child, stopChild := context.WithCancel(ctx)
		defer stopChild()
		cancel(io.EOF)
		wantCause(t, ctx, io.EOF)
		wantCause(t, child, io.EOF)
		wantCause(t, context.WithoutCancel(ctx), nil)
	})
}

func TestDeadlineOfTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		c := newContexts(t, queue.WithContext(parent))
		c.Push("a")
		ctx := c.of("a")
		time.Sleep(time.Second)
		wantCause(t, ctx, context.DeadlineExceeded)
		if err := c.Push("b"); err != queue.ErrClosed {
			t.Errorf("Push = %v", err)
		}
	})
}

func TestEndOfTheContextKillsTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		r := newRig[string](t, 1, queue.WithContext(parent), queue.WithCapacity(2))
		r.listen()
		r.submit("a", "b", "c")
		r.wantHeard("empty saturated")
		var w waiters
		w.start("PushWait", func() error { return r.PushWait(context.Background(), "d") })
		w.start("Do", func() error { _, err := r.Do(context.Background(), "e"); return err })
		w.start("Wait", func() error { return r.Wait(context.Background()) })
		w.start("Shutdown", func() error {
			<-parent.Done()
			return r.Shutdown(context.Background())
		})
		cancel(io.EOF)
		w.want(t, "PushWait: queue: closed", "Do: queue: closed")
		r.wantSettled("b", queue.ErrDropped)
		r.wantSettled("c", queue.ErrDropped)
		r.wantWaiting()
		if s := r.Stats(); !s.Closed || s.Dropped != 2 {
			t.Errorf("%+v", s)
		}
		if got := r.Kill(); len(got) != 0 {
			t.Errorf("Kill took %q", got)
		}
		r.finish("a")
		w.want(t, "Wait: <nil>", "Shutdown: <nil>")
		r.wantSettled("a", nil)
		r.wantTook("a")
		r.wantHeard("")
	})
}

// All who wait for dropped tasks learn of it, without anyone calling the queue.
func TestEndOfTheContextReachesEveryWaiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent, cancel := context.WithCancel(t.Context())
		defer cancel()
		q := queue.New(func(context.Context, int) (int, error) { return 0, nil }, 1, queue.WithContext(parent))
		q.Pause()
		ticket, _ := q.Submit(1)
		var w waiters
		w.start("Ticket.Wait", func() error { _, err := ticket.Wait(context.Background()); return err })
		w.start("Do", func() error { _, err := q.Do(context.Background(), 2); return err })
		w.start("Wait", func() error { return q.Wait(context.Background()) })
		w.start("Shutdown", func() error { return q.Shutdown(context.Background()) })
		w.want(t)
		cancel()
		w.want(t, "Ticket.Wait: queue: task dropped", "Do: queue: task dropped", "Wait: <nil>", "Shutdown: <nil>")
	})
}

// From the moment at which the context is done, and not a little later.
func TestNothingStartsAfterTheEndOfTheContext(t *testing.T) {
	for _, concurrency := range []int{1, 4} {
		t.Run(fmt.Sprint("in a task/", concurrency), func(t *testing.T) {
			for range scaled(2000) {
				ctx, cancel := context.WithCancel(context.Background())
				var q *queue.Queue[int, int]
				waiting := -1
				q = queue.New(func(_ context.Context, task int) (int, error) {
					if task == 0 {
						cancel()
						waiting = q.Len()
					}
					return 0, nil
				}, concurrency, queue.WithContext(ctx))
				q.PushAll([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9})
				q.Wait(context.Background())
				if waiting != 0 {
					t.Fatalf("%d tasks wait after the end of the context", waiting)
				}
				s := q.Stats()
				checkSum(t, s)
				if concurrency == 1 && s.Dropped != 9 {
					t.Fatalf("%+v", s)
				}
			}
		})
	}
	for name, start := range map[string]func(q *queue.Queue[int, int]){
		"Push":           func(q *queue.Queue[int, int]) { q.Push(2) },
		"Resume":         func(q *queue.Queue[int, int]) { q.Resume() },
		"SetConcurrency": func(q *queue.Queue[int, int]) { q.Resume(); q.SetConcurrency(5) },
	} {
		t.Run(name, func(t *testing.T) {
			for range scaled(2000) {
				ctx, cancel := context.WithCancel(context.Background())
				q := queue.New(func(_ context.Context, task int) (int, error) {
					t.Errorf("%d started", task)
					return 0, nil
				}, 1, queue.WithContext(ctx))
				q.Pause()
				ticket, _ := q.Submit(1)
				cancel()
				if name == "Push" {
					if err := q.Push(2); err != queue.ErrClosed {
						t.Errorf("Push = %v", err)
					}
				} else {
					start(q)
				}
				if _, err := ticket.Wait(context.Background()); err != queue.ErrDropped {
					t.Errorf("settled with %v", err)
				}
				q.Wait(context.Background())
				wantCounts(t, q.Stats(), 0, 0, 1)
			}
		})
	}
}

// A tellingContext is done some time before it tells those registered with it.
type tellingContext struct {
	context.Context
	done chan struct{}
	err  error
	tell func() // nil once it has been stopped
}

func (c *tellingContext) Done() <-chan struct{} { return c.done }

func (c *tellingContext) Err() error { return c.err }

func (c *tellingContext) AfterFunc(f func()) (stop func() bool) {
	c.tell = f
	return func() bool {
		c.tell = nil
		return true
	}
}

// Whoever notices the end of the context first, and whatever is called then: those
// that wait for the end of the workers' context learn of it.
func TestEndOfTheContextReachesTheWorkersAnyhow(t *testing.T) {
	for name, notice := range map[string]func(q *queue.Queue[int, int]){
		"Len":      func(q *queue.Queue[int, int]) { q.Len() },
		"Push":     func(q *queue.Queue[int, int]) { q.Push(2) },
		"Shutdown": func(q *queue.Queue[int, int]) { q.Shutdown(doneContext()) },
		"Kill":     func(q *queue.Queue[int, int]) { q.Kill() },
		"nothing":  func(q *queue.Queue[int, int]) {},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx := &tellingContext{Context: context.Background(), done: make(chan struct{})}
			ended := false
			q := queue.New(func(ctx context.Context, _ int) (int, error) {
				<-ctx.Done()
				ended = true
				return 0, nil
			}, 1, queue.WithContext(ctx))
			q.Push(1)
			synctest.Wait()
			ctx.err = context.Canceled
			notice(q)
			if ctx.tell != nil {
				close(ctx.done)
				ctx.tell()
			}
			synctest.Wait()
			if !ended {
				t.Fatalf("after %s the worker's context is not done", name)
			}
		})
	}
}

func TestContextDoneToBeginWith(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queue.New(func(context.Context, int) (int, error) { return 0, nil }, 1, queue.WithContext(doneContext()))
		if err := q.Push(1); err != queue.ErrClosed {
			t.Errorf("Push = %v", err)
		}
		if err := q.PushAll(nil); err != queue.ErrClosed {
			t.Errorf("PushAll = %v", err)
		}
		if _, err := q.Do(doneContext(), 1); err != queue.ErrClosed {
			t.Errorf("Do = %v", err)
		}
		if s := q.Stats(); !s.Closed || s.Pushed != 0 {
			t.Errorf("%+v", s)
		}
		if err := q.Wait(t.Context()); err != nil {
			t.Errorf("Wait = %v", err)
		}
	})
}

// The workers see the cause of the context even if Kill comes right after it.
func TestKillAfterTheEndOfTheContext(t *testing.T) {
	for range scaled(1000) {
		parent, cancel := context.WithCancelCause(context.Background())
		started, end := make(chan context.Context), make(chan struct{})
		q := queue.New(func(ctx context.Context, task int) (int, error) {
			started <- ctx
			<-end
			return 0, nil
		}, 1, queue.WithContext(parent))
		q.Push(1)
		ctx := <-started
		cancel(io.EOF)
		q.Kill()
		<-ctx.Done()
		if cause := context.Cause(ctx); cause != io.EOF {
			t.Errorf("the worker sees the cause %v, want EOF", cause)
			close(end)
			break
		}
		close(end)
		q.Wait(context.Background())
	}
}

func TestKillBeforeTheEndOfTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent, cancel := context.WithCancelCause(t.Context())
		c := newContexts(t, queue.WithContext(parent))
		c.Push("a")
		ctx := c.of("a")
		c.Kill()
		cancel(io.EOF)
		wantCause(t, ctx, queue.ErrClosed)
		if parent.Err() == nil || context.Cause(parent) != io.EOF {
			t.Error("Kill touched the parent")
		}
	})
}

func TestContextOfDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent := context.WithValue(t.Context(), queueKey{}, "queue")
		parent = context.WithValue(parent, bothKey{}, "queue")
		c := newContexts(t, queue.WithContext(parent))
		do := context.WithValue(context.Background(), doKey{}, "do")
		do = context.WithValue(do, bothKey{}, "do")
		do, cancel := context.WithCancelCause(do)
		var w waiters
		w.start("a", func() error { _, err := c.Do(do, "a"); return err })
		w.start("b", func() error { _, err := c.Do(do, "b"); return err })
		w.start("c", func() error { _, err := c.Do(context.Background(), "c"); return err })
		c.Push("d")
		ctx := c.of("a")
		for key, want := range map[any]any{queueKey{}: "queue", doKey{}: "do", bothKey{}: "do", "none": nil} {
			if got := ctx.Value(key); got != want {
				t.Errorf("Value(%T) = %v, want %v", key, got, want)
			}
		}
		if got := c.of("d").Value(doKey{}); got != nil {
			t.Errorf("another task has the values of Do: %v", got)
		}
		if got := c.of("c").Value(queueKey{}); got != "queue" {
			t.Errorf("a Do without values misses those of the queue: %v", got)
		}
		wantCause(t, ctx, nil)
		child, stop := context.WithCancel(ctx)
		defer stop()
		cancel(io.EOF)
		wantCause(t, ctx, io.EOF)
		wantCause(t, child, io.EOF)
		wantCause(t, c.of("b"), io.EOF)
		wantCause(t, c.of("c"), nil)
		wantCause(t, c.of("d"), nil)
		w.want(t) // Do returns when the worker does
		c.end <- struct{}{}
		c.end <- struct{}{}
		c.end <- struct{}{}
		c.end <- struct{}{}
		w.want(t, "a: context canceled", "b: context canceled", "c: <nil>")
	})
}

// A running Do sees the end of the queue, however that comes.
func TestContextOfDoEndsWithTheQueue(t *testing.T) {
	for name, end := range map[string]func(c *contexts, cancel context.CancelCauseFunc) (cause error){
		"Kill": func(c *contexts, _ context.CancelCauseFunc) error {
			c.Kill()
			return queue.ErrClosed
		},
		"context": func(_ *contexts, cancel context.CancelCauseFunc) error {
			cancel(io.EOF)
			return io.EOF
		},
	} {
		for _, background := range []bool{false, true} {
			bubble(t, fmt.Sprint(name, "/", background), func(t *testing.T) {
				parent, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				c := newContexts(t, queue.WithContext(parent))
				do := context.Background()
				if !background {
					var stop context.CancelFunc
					do, stop = context.WithTimeout(t.Context(), time.Hour)
					defer stop()
				}
				go c.Do(do, "a")
				ctx := c.of("a")
				wantCause(t, ctx, nil)
				wantCause(t, ctx, end(c, cancel))
				if do.Err() != nil {
					t.Error("the context of Do itself was canceled")
				}
			})
		}
	}
}

func TestDeadlineOfDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		for _, test := range []struct{ queue, do, want time.Duration }{
			{0, 0, 0}, {0, 2, 2}, {1, 0, 1}, {1, 2, 1}, {2, 1, 1},
		} {
			with := func(hours time.Duration) context.Context {
				ctx := context.Context(context.WithValue(t.Context(), doKey{}, 1))
				if hours > 0 {
					var stop context.CancelFunc
					ctx, stop = context.WithDeadline(ctx, now.Add(hours*time.Hour))
					t.Cleanup(stop)
				}
				return ctx
			}
			c := newContexts(t, queue.WithContext(with(test.queue)))
			go c.Do(with(test.do), "a")
			got, ok := c.of("a").Deadline()
			if ok != (test.want > 0) || ok && !got.Equal(now.Add(test.want*time.Hour)) {
				t.Errorf("%+v: deadline %v, %t", test, got.Sub(now), ok)
			}
		}
	})
}

func TestDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig[string](t, 1)
		var w waiters
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		do := func(ctx context.Context, task string, opts ...queue.PushOption) {
			w.start(task, func() error {
				got, err := r.Do(ctx, task, opts...)
				if err == nil && got != task {
					t.Errorf("Do(%q) = %q", task, got)
				}
				return err
			})
		}
		do(ctx, "a")
		do(ctx, "b")
		do(context.Background(), "c")
		do(context.Background(), "d", queue.Priority(1))
		r.wantWaiting("d", "b", "c")
		// What waits is withdrawn; what runs is not.
		cancel(io.EOF)
		w.want(t, "b: context canceled")
		r.wantWaiting("d", "c")
		r.finish("a")
		w.want(t, "a: <nil>")
		r.fail("d", errTask)
		w.want(t, "d: task failed")
		r.finish("c")
		w.want(t, "c: <nil>")
		r.wantTook("a", "d", "c")
		wantCounts(t, r.Stats(), 2, 1, 1)
	})
}

// A Do whose context is done before its task starts never runs, however the
// end of the one and the start of the other meet.
func TestWithdrawnDoNeverRuns(t *testing.T) {
	for name, withdraw := range map[string]func(r *rig[string], cancel func()){
		"at rest":        func(r *rig[string], cancel func()) { cancel(); synctest.Wait(); r.Resume() },
		"as it starts":   func(r *rig[string], cancel func()) { cancel(); r.Resume() },
		"after a finish": func(r *rig[string], cancel func()) { r.Resume(); cancel() },
	} {
		bubble(t, name, func(t *testing.T) {
			r := newRig[string](t, 1)
			r.listen()
			if name == "after a finish" {
				r.push("first")
			}
			r.Pause()
			ctx, cancel := context.WithCancel(t.Context())
			var w waiters
			w.start("do", func() error { _, err := r.Do(ctx, "do"); return err })
			r.wantHeard(map[bool]string{true: "empty saturated"}[name == "after a finish"])
			withdraw(r, cancel)
			w.want(t, "do: context canceled")
			if name == "after a finish" {
				r.finish("first")
				r.wantTook("first")
				r.wantHeard("unsaturated drain")
				return
			}
			r.wantTook()
			r.wantHeard("drain")
			wantCounts(t, r.Stats(), 0, 0, 1)
		})
	}
	// Others are not kept by one that was withdrawn.
	bubble(t, "before others", func(t *testing.T) {
		r := newRig[string](t, 1)
		r.Pause()
		ctx, cancel := context.WithCancel(t.Context())
		var w waiters
		for i := range 3 {
			w.start(fmt.Sprint(i), func() error { _, err := r.Do(ctx, fmt.Sprint(i)); return err })
		}
		r.push("other")
		cancel()
		r.Resume()
		r.wantTook("other")
		w.want(t, "0: context canceled", "1: context canceled", "2: context canceled")
	})
}

func TestDoUnderLoad(t *testing.T) {
	var ran atomic.Int64
	q := queue.New(func(_ context.Context, task int) (int, error) {
		ran.Add(1)
		return -task, nil
	}, 3, queue.WithCapacity(4))
	var succeeded atomic.Int64
	var wg sync.WaitGroup
	for p := range 8 {
		wg.Go(func() {
			for i := range scaled(20_000) {
				ctx, cancel := context.WithCancel(t.Context())
				if p%2 == 0 {
					go cancel()
				}
				got, err := q.Do(ctx, i)
				switch {
				case err == nil && got == -i:
					succeeded.Add(1)
				case !errors.Is(err, context.Canceled):
					t.Errorf("Do = %d, %v", got, err)
				}
				cancel()
			}
		})
	}
	wg.Wait()
	q.Wait(t.Context())
	if ran.Load() != succeeded.Load() {
		t.Errorf("%d ran, %d succeeded", ran.Load(), succeeded.Load())
	}
	checkSum(t, q.Stats())
}
