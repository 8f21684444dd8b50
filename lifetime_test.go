package queue_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tickqueue/queue"
)

// Who waits for a queue keeps it, though nothing else does.
func TestWaitKeepsTheQueue(t *testing.T) {
	waits := map[string]func(q *queue.Queue[int, int]) error{
		"Wait":     func(q *queue.Queue[int, int]) error { return q.Wait(context.Background()) },
		"Shutdown": func(q *queue.Queue[int, int]) error { return q.Shutdown(context.WithoutCancel(t.Context())) },
		"Do": func(q *queue.Queue[int, int]) error {
			_, err := q.Do(context.Background(), 2)
			if !errors.Is(err, queue.ErrDropped) {
				return err
			}
			return nil
		},
	}
	for name, wait := range waits {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			pushed, returned := make(chan bool), make(chan error)
			go func() {
				q := queue.New(func(context.Context, int) (int, error) { return 0, nil }, 1, queue.WithContext(ctx))
				q.Pause()
				q.Push(1)
				pushed <- true
				returned <- wait(q)
			}()
			<-pushed
			for range 5 {
				runtime.GC()
				runtime.Gosched()
			}
			cancel()
			if err := <-returned; err != nil {
				t.Error(err)
			}
		})
	}
}

// Who asks the worker's context learns of its end at once, as of that of any
// child: no other goroutine need run before.
func TestWorkerContextEndsAtOnce(t *testing.T) {
	cause := errors.New("cause")
	for _, do := range []bool{false, true} {
		for _, kill := range []bool{false, true} {
			parent, cancel := context.WithCancelCause(t.Context())
			var q *queue.Queue[int, int]
			q = queue.New(func(ctx context.Context, _ int) (int, error) {
				child, stop := context.WithCancel(ctx)
				defer stop()
				want := cause
				if kill {
					q.Kill()
					want = queue.ErrClosed
				} else {
					cancel(cause)
				}
				if ctx.Err() != context.Canceled || context.Cause(ctx) != want {
					t.Errorf("do %t, kill %t: %v because of %v", do, kill, ctx.Err(), context.Cause(ctx))
				}
				select {
				case <-ctx.Done():
				default:
					t.Errorf("do %t, kill %t: not done", do, kill)
				}
				<-child.Done()
				return 0, nil
			}, 1, queue.WithContext(parent))
			if do {
				ctx, stop := context.WithCancel(t.Context())
				q.Do(ctx, 1)
				stop()
			} else {
				q.Push(1)
			}
			q.Wait(t.Context())
			cancel(nil)
		}
	}
}

func TestWorkerContextKnowsTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		q := queue.New(func(ctx context.Context, _ int) (int, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		}, 1, queue.WithContext(parent))
		ticket, err := q.Submit(1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ticket.Wait(context.Background()); err != context.DeadlineExceeded {
			t.Errorf("error %v, want %v", err, context.DeadlineExceeded)
		}
	})
}

// A nil context is misuse, and harms nobody else.
func TestNilContext(t *testing.T) {
	q := queue.New(func(context.Context, int) (int, error) { return 0, nil }, 1)
	var none context.Context
	for name, call := range map[string]func(){
		"PushWait": func() { q.PushWait(none, 1) },
		"Do":       func() { q.Do(none, 1) },
	} {
		func() {
			defer func() {
				if v := recover(); v != "queue: nil context" {
					t.Errorf("%s: panic %v", name, v)
				}
			}()
			call()
		}()
		if n := q.Len(); n != 0 {
			t.Errorf("%s: %d tasks wait", name, n)
		}
	}
}

// Hooks are the same with a yield interval as without.
func TestYieldsChangeNoEdges(t *testing.T) {
	for _, interval := range []time.Duration{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan bool)
			q := queue.New(func(_ context.Context, n int) (int, error) {
				if n > 0 {
					<-release
				}
				return 0, nil
			}, 2, queue.WithYieldInterval(interval))
			edges := ""
			q.OnSaturated(func() { edges += "S" })
			q.OnUnsaturated(func() { edges += "U" })
			q.OnDrain(func() { edges += "D" })
			q.PushAll([]int{0, 1, 2, 3})
			synctest.Wait()
			close(release)
			synctest.Wait()
			if edges != "SUD" {
				t.Errorf("interval %v: edges %q, want %q", interval, edges, "SUD")
			}
		})
	}
}

// A permission that comes for a task just taken back goes to another one.
func TestPermissionIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		permitted, proceed := make(chan bool), make(chan bool)
		limiter := limiterFunc(func(ctx context.Context) error {
			if calls.Add(1) == 2 {
				permitted <- true
				<-proceed // as slow to come back as a processor may be
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		})
		var ran []int
		q := queue.New(func(_ context.Context, n int) (int, error) {
			ran = append(ran, n)
			return 0, nil
		}, 2, queue.WithLimiter(limiter))
		q.Push(1)
		ticket, err := q.Submit(2)
		if err != nil {
			t.Fatal(err)
		}
		<-permitted
		ticket.Cancel()
		proceed <- true
		synctest.Wait()
		if len(ran) != 1 || ran[0] != 1 {
			t.Errorf("ran %v, want [1]", ran)
		}
		if n := calls.Load(); n != 2 {
			t.Errorf("the limiter was asked %d times", n)
		}
		q.Kill()
	})
}
