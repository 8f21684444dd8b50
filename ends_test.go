package queue_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tickqueue/queue"
)

func TestWaitOnIdleQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waits := map[string]func(q *queue.Queue[int, int], ctx context.Context) error{
			"Wait":     (*queue.Queue[int, int]).Wait,
			"Shutdown": (*queue.Queue[int, int]).Shutdown,
		}
		states := map[string]func(q *queue.Queue[int, int]){
			"new":     func(q *queue.Queue[int, int]) {},
			"drained": func(q *queue.Queue[int, int]) { q.Push(1); q.Wait(t.Context()) },
			"paused":  func(q *queue.Queue[int, int]) { q.Pause() },
			"cleared": func(q *queue.Queue[int, int]) { q.Pause(); q.Push(1); q.Clear(); q.Resume() },
			"closed":  func(q *queue.Queue[int, int]) { q.Shutdown(t.Context()) },
			"killed":  func(q *queue.Queue[int, int]) { q.Pause(); q.Push(1); q.Kill() },
			"pushed nothing": func(q *queue.Queue[int, int]) {
				q.PushAll(nil)
			},
		}
		for wait, f := range waits {
			for state, prepare := range states {
				for _, ctx := range []context.Context{t.Context(), doneContext()} {
					q := queue.New(func(context.Context, int) (int, error) { return 0, nil }, 1)
					prepare(q)
					if !q.Idle() {
						t.Errorf("%s: not idle", state)
					}
					if err := f(q, ctx); err != nil {
						t.Errorf("%s: %s = %v", state, wait, err)
					}
				}
			}
		}
	})
}

// What was accepted before Wait is called is waited for, though no pass may
// have seen it yet.
func TestWaitCoversEarlierPushes(t *testing.T) {
	pushes := map[string]func(q *queue.Queue[int, int]){
		"Push":     func(q *queue.Queue[int, int]) { q.Push(1) },
		"PushAll":  func(q *queue.Queue[int, int]) { q.PushAll([]int{1}) },
		"PushWait": func(q *queue.Queue[int, int]) { q.PushWait(context.Background(), 1) },
		"Submit":   func(q *queue.Queue[int, int]) { q.Submit(1) },
	}
	for name, push := range pushes {
		t.Run(name, func(t *testing.T) {
			for _, end := range []func(*queue.Queue[int, int], context.Context) error{
				(*queue.Queue[int, int]).Wait,
				(*queue.Queue[int, int]).Shutdown,
			} {
				for range scaled(5000) {
					var ran atomic.Bool
					q := queue.New(func(context.Context, int) (int, error) {
						ran.Store(true)
						return 0, nil
					}, 1)
					push(q)
					if q.Idle() && !ran.Load() {
						t.Fatal("accepted, but not counted")
					}
					if err := end(q, t.Context()); err != nil || !ran.Load() {
						t.Fatalf("released before the task had run: %v", err)
					}
				}
			}
		})
	}
}

func TestWaitWaitsForWhatWaitsAndRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig[string](t, 1)
		var w waiters
		r.push("a", "b")
		ctx, cancel := context.WithCancelCause(t.Context())
		w.start("1", func() error { return r.Wait(ctx) })
		w.start("2", func() error { return r.Wait(context.Background()) })
		w.start("3", func() error { return r.Wait(doneContext()) })
		w.want(t, "3: context canceled")
		cancel(io.EOF)
		w.want(t, "1: context canceled")
		r.finish("a")
		w.want(t)
		r.Push("c")
		r.Pause()
		r.finish("b")
		w.want(t)
		r.Resume()
		synctest.Wait()
		w.want(t)
		r.finish("c")
		w.want(t, "2: <nil>")

		timeout, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		r.push("d")
		if err := r.Wait(timeout); err != context.DeadlineExceeded {
			t.Errorf("Wait = %v", err)
		}
		r.finish("d")
		wantCounts(t, r.Stats(), 4, 0, 0)
	})
}

// The last waiting task taken out of the queue ends a wait as well.
func TestWaitEndsWhenTheRestIsTakenOut(t *testing.T) {
	for name, take := range map[string]func(r *rig[int]){
		"Cancel": func(r *rig[int]) { r.tickets[1].Cancel() },
		"Remove": func(r *rig[int]) { r.Remove(func(int) bool { return true }) },
		"Clear":  func(r *rig[int]) { r.Clear() },
		"Kill":   func(r *rig[int]) { r.Kill() },
	} {
		for _, shutdown := range []bool{false, true} {
			bubble(t, fmt.Sprint(name, "/", shutdown), func(t *testing.T) {
				r := newRig[int](t, 1)
				r.Pause()
				r.submit(1)
				var w waiters
				w.start("wait", func() error {
					if shutdown {
						return r.Shutdown(context.Background())
					}
					return r.Wait(context.Background())
				})
				w.want(t)
				take(r)
				w.want(t, "wait: <nil>")
			})
		}
	}
}

func TestWaitReturnsAtTheFirstIdleMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig[int](t, 1)
		refilled := false
		r.OnDrain(func() {
			refilled = true
			r.Push(2)
		})
		r.push(1)
		var w waiters
		w.start("wait", func() error { return r.Wait(context.Background()) })
		r.finish(1)
		r.wantWorking(2)
		w.want(t, "wait: <nil>")
		if !refilled {
			t.Error("the hook was not called")
		}
		r.OnDrain(nil)
		r.finish(2)
	})
}

// A hook that refills the queue each time it drains does not keep Wait.
func TestWaitDespiteEndlessRefill(t *testing.T) {
	q := queue.New(func(context.Context, int) (int, error) { return 0, nil }, 1)
	q.OnDrain(func() { q.Push(1) })
	q.Push(1)
	for range 100 {
		q.Wait(t.Context())
	}
	q.Kill()
	q.Wait(t.Context())
}

func TestQueueCanBeUsedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig[int](t, 2)
		r.listen()
		for round := range 3 {
			r.push(1, 2, 3)
			r.wantWorking(1, 2)
			r.wantWaiting(3)
			var w waiters
			w.start("wait", func() error { return r.Wait(context.Background()) })
			r.finish(1, 2)
			w.want(t)
			r.finish(3)
			w.want(t, "wait: <nil>")
			r.wantHeard("saturated empty unsaturated drain")
			r.wantTook(1, 2, 3)
			wantCounts(t, r.Stats(), 3*(round+1), 0, 0)
		}
	})
}

func TestQueueCanBeUsedAfterClear(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig[int](t, 1)
		r.listen()
		for round := range 3 {
			r.submit(1, 2, 3)
			r.wantHeard("empty saturated")
			if got := r.Clear(); !slices.Equal(got, []int{2, 3}) {
				t.Errorf("Clear took %v", got)
			}
			r.wantSettled(2, queue.ErrDropped)
			r.wantSettled(3, queue.ErrDropped)
			r.wantHeard("")
			r.push(4)
			r.finish(1)
			r.wantHeard("empty")
			r.finish(4)
			r.wantHeard("unsaturated drain")
			wantCounts(t, r.Stats(), 2*(round+1), 0, 2*(round+1))
			if got := r.Clear(); len(got) != 0 {
				t.Errorf("Clear of an idle queue took %v", got)
			}
			r.wantHeard("")
		}
	})
}

func TestRemove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig[int](t, 1)
		r.submit(0, 1, 2, 3, 4, 5, 6)
		var asked []int
		got := r.Remove(func(task int) bool {
			asked = append(asked, task)
			return task%2 == 0
		})
		if !slices.Equal(got, []int{2, 4, 6}) {
			t.Errorf("Remove took %v", got)
		}
		if !slices.Equal(asked, []int{1, 2, 3, 4, 5, 6}) {
			t.Errorf("match was asked about %v", asked)
		}
		r.wantWaiting(1, 3, 5)
		r.wantSettled(4, queue.ErrDropped)
		r.wantUnsettled(3)
		if got := r.Remove(func(int) bool { return false }); len(got) != 0 {
			t.Errorf("Remove took %v", got)
		}
		r.finish(0, 1, 3, 5)
		wantCounts(t, r.Stats(), 4, 0, 3)
	})
}

func TestShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig[string](t, 1)
		r.listen()
		r.submit("a", "b", "c")
		ctx, cancel := context.WithCancelCause(t.Context())
		var w waiters
		w.start("early", func() error { return r.Shutdown(ctx) })
		w.start("late", func() error { return r.Shutdown(context.Background()) })
		w.start("wait", func() error { return r.Wait(context.Background()) })
		w.want(t)
		if s := r.Stats(); !s.Closed {
			t.Errorf("%+v", s)
		}
		if err := r.Push("d"); err != queue.ErrClosed {
			t.Errorf("Push = %v", err)
		}
		cancel(io.EOF)
		w.want(t, "early: context canceled")
		// It goes on draining, and can be steered.
		r.finish("a")
		r.wantTook("a", "b")
		r.tickets["c"].SetPriority(3)
		r.finish("b", "c")
		w.want(t, "late: <nil>", "wait: <nil>")
		r.wantHeard("empty saturated empty unsaturated drain")
		if err := r.Shutdown(doneContext()); err != nil {
			t.Errorf("Shutdown again = %v", err)
		}
		for _, task := range []string{"a", "b", "c"} {
			r.wantSettled(task, nil)
		}
		wantCounts(t, r.Stats(), 3, 0, 0)
	})
}

func TestShutdownOfAPausedQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig[int](t, 1)
		r.Pause()
		r.push(1)
		timeout, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if err := r.Shutdown(timeout); err != context.DeadlineExceeded {
			t.Errorf("Shutdown = %v", err)
		}
		r.wantWaiting(1)
		r.Resume()
		r.wantWorking(1)
		r.finish(1)
		wantCounts(t, r.Stats(), 1, 0, 0)
	})
}

func TestKill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig[string](t, 2)
		r.listen()
		r.submit("a", "b", "c", "d")
		r.submitWith("front", queue.Front())
		r.submitWith("high", queue.Priority(1))
		r.tickets["c"].SetPriority(0)
		r.wantHeard("empty empty saturated")
		var w waiters
		w.start("wait", func() error { return r.Wait(context.Background()) })
		w.start("shutdown", func() error { return r.Shutdown(context.Background()) })
		if got := r.Kill(); !slices.Equal(got, []string{"high", "front", "d", "c"}) {
			t.Errorf("Kill took %q", got)
		}
		if s := r.Stats(); !s.Closed || s.Waiting != 0 || s.Running != 2 {
			t.Errorf("%+v", s)
		}
		if err := r.Push("e"); err != queue.ErrClosed {
			t.Errorf("Push = %v", err)
		}
		for _, task := range []string{"c", "d", "front", "high"} {
			r.wantSettled(task, queue.ErrDropped)
		}
		r.wantUnsettled("a")
		w.want(t)
		if got := r.Kill(); len(got) != 0 {
			t.Errorf("Kill again took %q", got)
		}
		r.SetConcurrency(10)
		r.Resume()
		r.finish("a")
		w.want(t)
		r.fail("b", errTask)
		w.want(t, "wait: <nil>", "shutdown: <nil>")
		r.wantSettled("a", nil)
		r.wantSettled("b", errTask)
		r.wantHeard("")
		r.wantTook("a", "b")
		wantCounts(t, r.Stats(), 1, 1, 4)
	})
}

func TestOnErrorIsCalledAfterKill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig[string](t, 1)
		var failed []string
		r.OnError(func(task string, err error) { failed = append(failed, task) })
		r.push("a", "b")
		r.Kill()
		r.fail("a", errTask)
		if !slices.Equal(failed, []string{"a"}) {
			t.Errorf("OnError got %q", failed)
		}
	})
}

// Whoever submits while others end the queue gets an error or a ticket, and
// every ticket settles.
func TestSubmitRacesWithTheEnd(t *testing.T) {
	ends := map[string]func(q *queue.Queue[int, int], cancel func()){
		"Shutdown": func(q *queue.Queue[int, int], _ func()) { q.Shutdown(doneContext()) },
		"Kill":     func(q *queue.Queue[int, int], _ func()) { q.Kill() },
		"context":  func(_ *queue.Queue[int, int], cancel func()) { cancel() },
		"Shutdown and Kill": func(q *queue.Queue[int, int], _ func()) {
			go q.Kill()
			q.Shutdown(doneContext())
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			for round := range scaled(2000) {
				ctx, cancel := context.WithCancel(t.Context())
				capacity := 5
				if round%2 == 0 {
					capacity = math.MaxInt
				}
				var ran, accepted, succeeded, dropped atomic.Int64
				var q *queue.Queue[int, int]
				q = queue.New(func(context.Context, int) (int, error) {
					if ran.Add(1) == 10 {
						end(q, cancel)
					}
					return 0, nil
				}, 2, queue.WithCapacity(capacity), queue.WithContext(ctx))
				var wg sync.WaitGroup
				settle := func(err error) {
					accepted.Add(1)
					switch err {
					case nil:
						succeeded.Add(1)
					case queue.ErrDropped:
						dropped.Add(1)
					default:
						t.Errorf("settled with %v", err)
					}
				}
				for p := range 4 {
					wg.Go(func() {
						for i := 0; ; i++ {
							if p == 0 {
								if _, err := q.Do(context.Background(), i); err == queue.ErrClosed {
									return
								} else {
									settle(err)
								}
								continue
							}
							ticket, err := q.Submit(i)
							switch err {
							case nil:
								// Some leave others waiting, so that there is a backlog.
								if p == 1 || i%5 == 0 {
									_, err := ticket.Wait(context.Background())
									settle(err)
								} else {
									wg.Go(func() {
										_, err := ticket.Wait(context.Background())
										settle(err)
									})
								}
							case queue.ErrFull:
								runtime.Gosched()
							case queue.ErrClosed:
								return
							default:
								t.Errorf("Submit = %v", err)
								return
							}
						}
					})
				}
				wg.Wait()
				q.Wait(context.Background())
				cancel()
				if ran.Load() != succeeded.Load() {
					t.Errorf("%d ran, %d succeeded", ran.Load(), succeeded.Load())
				}
				s := q.Stats()
				wantCounts(t, s, int(succeeded.Load()), 0, int(dropped.Load()))
				if s.Pushed != uint64(accepted.Load()) {
					t.Errorf("%d accepted, %+v", accepted.Load(), s)
				}
			}
		})
	}
}

// Whoever knows that the queue has ended is refused, however many push.
func TestNoPushIsAcceptedAfterTheEnd(t *testing.T) {
	ends := map[string]func(q *queue.Queue[int, int], cancel func()){
		"Shutdown": func(q *queue.Queue[int, int], _ func()) { q.Shutdown(doneContext()) },
		"Kill":     func(q *queue.Queue[int, int], _ func()) { q.Kill() },
		"context":  func(_ *queue.Queue[int, int], cancel func()) { cancel() },
	}
	for name, end := range ends {
		for _, paused := range []bool{false, true} {
			t.Run(fmt.Sprint(name, "/", paused), func(t *testing.T) {
				for range scaled(1000) {
					ctx, cancel := context.WithCancel(context.Background())
					var ran, accepted atomic.Int64
					q := queue.New(func(context.Context, int) (int, error) {
						ran.Add(1)
						return 0, nil
					}, 1, queue.WithContext(ctx))
					if paused {
						q.Pause()
					}
					var ended atomic.Bool
					var wg sync.WaitGroup
					for p := range 4 {
						wg.Go(func() {
							for i := range 200 {
								if p == 0 && i == 100 {
									end(q, cancel)
									ended.Store(true)
								}
								late := ended.Load()
								var err error
								if i%2 == 0 {
									err = q.Push(i)
								} else {
									_, err = q.Submit(i)
								}
								switch {
								case err == nil && late:
									t.Errorf("a push was accepted after %s", name)
								case err == nil:
									accepted.Add(1)
								case err != queue.ErrClosed:
									t.Errorf("error %v", err)
								}
							}
						})
					}
					wg.Wait()
					if name != "Shutdown" && q.Len() != 0 {
						t.Errorf("%d wait after %s", q.Len(), name)
					}
					q.Resume()
					q.Wait(context.Background())
					cancel()
					s := q.Stats()
					wantCounts(t, s, int(ran.Load()), 0, int(accepted.Load()-ran.Load()))
					if t.Failed() {
						return
					}
				}
			})
		}
	}
}

func TestStormOfEverything(t *testing.T) {
	for range scaled(200) / 2 {
		q := queue.New(func(context.Context, int) (int, error) { return 0, nil }, 3, queue.WithCapacity(50))
		var accepted atomic.Int64
		var wg sync.WaitGroup
		for p := range 4 {
			wg.Go(func() {
				for i := range 500 {
					if i%2 == 0 {
						if q.PushWait(t.Context(), i) == nil {
							accepted.Add(1)
						}
					} else if q.Push(i, queue.Priority(p)) == nil {
						accepted.Add(1)
					}
				}
			})
		}
		wg.Go(func() {
			for i := range 200 {
				q.Pause()
				q.SetConcurrency(i%5 + 1)
				q.Resume()
				checkSum(t, q.Stats())
			}
			if q.Shutdown(doneContext()); !q.Stats().Closed {
				t.Error("not closed")
			}
			q.Kill()
		})
		wg.Wait()
		q.Wait(t.Context())
		s := q.Stats()
		checkSum(t, s)
		if s.Pushed != uint64(accepted.Load()) || !q.Idle() {
			t.Errorf("%d accepted: %+v", accepted.Load(), s)
		}
	}
}

// A call is a method that is called from somewhere inside the queue.
type call struct {
	name string
	call func(q *queue.Queue[string, string], ticket *queue.Ticket[string])
}

func calls() []call {
	type q = queue.Queue[string, string]
	type ticket = queue.Ticket[string]
	exhaust := func(seq iter.Seq[string]) {
		for range seq {
		}
	}
	return []call{
		{"Push", func(q *q, _ *ticket) { q.Push("new") }},
		{"Push Front", func(q *q, _ *ticket) { q.Push("new", queue.Front(), queue.Priority(1)) }},
		{"PushAll", func(q *q, _ *ticket) { q.PushAll([]string{"new", "new"}) }},
		{"PushWait", func(q *q, _ *ticket) { q.PushWait(context.Background(), "new") }},
		{"Submit", func(q *q, _ *ticket) { q.Submit("new") }},
		{"Submit and Wait", func(q *q, _ *ticket) {
			if ticket, err := q.Submit("new"); err == nil {
				ticket.Wait(context.Background())
			}
		}},
		{"Do", func(q *q, _ *ticket) { q.Do(context.Background(), "new") }},
		{"Ticket.Wait", func(_ *q, ticket *ticket) { ticket.Wait(doneContext()) }},
		{"Ticket.Done", func(_ *q, ticket *ticket) { ticket.Done() }},
		{"Ticket.Cancel", func(_ *q, ticket *ticket) { ticket.Cancel() }},
		{"Ticket.SetPriority", func(_ *q, ticket *ticket) { ticket.SetPriority(1) }},
		{"Pause and Resume", func(q *q, _ *ticket) { q.Pause(); q.Resume() }},
		{"Pause", func(q *q, _ *ticket) { q.Pause() }},
		{"Resume", func(q *q, _ *ticket) { q.Resume() }},
		{"SetConcurrency up", func(q *q, _ *ticket) { q.SetConcurrency(20) }},
		{"SetConcurrency down", func(q *q, _ *ticket) { q.SetConcurrency(1) }},
		{"SetYieldInterval", func(q *q, _ *ticket) { q.SetYieldInterval(time.Millisecond) }},
		{"Remove", func(q *q, _ *ticket) { q.Remove(func(task string) bool { return task == "waits" }) }},
		{"Clear", func(q *q, _ *ticket) { q.Clear() }},
		{"Wait", func(q *q, _ *ticket) { q.Wait(doneContext()) }},
		{"Shutdown", func(q *q, _ *ticket) { q.Shutdown(doneContext()) }},
		{"Kill", func(q *q, _ *ticket) { q.Kill() }},
		{"Len", func(q *q, _ *ticket) { q.Len() }},
		{"Running", func(q *q, _ *ticket) { q.Running() }},
		{"Idle", func(q *q, _ *ticket) { q.Idle() }},
		{"Stats", func(q *q, _ *ticket) { q.Stats() }},
		{"Waiting", func(q *q, _ *ticket) { exhaust(q.Waiting()) }},
		{"Working", func(q *q, _ *ticket) { exhaust(q.Working()) }},
		{"OnDrain", func(q *q, _ *ticket) { q.OnDrain(nil) }},
		{"OnSaturated", func(q *q, _ *ticket) { q.OnSaturated(func() {}) }},
		{"OnUnsaturated", func(q *q, _ *ticket) { q.OnUnsaturated(nil) }},
		{"OnEmpty", func(q *q, _ *ticket) { q.OnEmpty(func() {}) }},
		{"OnError", func(q *q, _ *ticket) { q.OnError(func(string, error) {}) }},
		{"Goexit", func(*q, *ticket) { runtime.Goexit() }},
	}
}

// Every method can be called from everywhere.
func TestMethodsCalledFromInside(t *testing.T) {
	// A caller has f called once, from some place.
	type caller struct {
		name string
		set  func(q *queue.Queue[string, string], f func())
	}
	callers := []caller{
		{"worker", nil},
		{"limiter", nil},
		{"OnDrain", func(q *queue.Queue[string, string], f func()) { q.OnDrain(f) }},
		{"OnSaturated", func(q *queue.Queue[string, string], f func()) { q.OnSaturated(f) }},
		{"OnUnsaturated", func(q *queue.Queue[string, string], f func()) { q.OnUnsaturated(f) }},
		{"OnEmpty", func(q *queue.Queue[string, string], f func()) { q.OnEmpty(f) }},
		{"OnError", func(q *queue.Queue[string, string], f func()) { q.OnError(func(string, error) { f() }) }},
		{"Waiting", nil},
		{"Working", nil},
	}
	for _, caller := range callers {
		for _, call := range calls() {
			switch {
			case call.name == "Goexit" && (caller.name == "Waiting" || caller.name == "Working"):
				continue // would end the test
			case caller.name == "limiter" && (call.name == "Do" || call.name == "Submit and Wait"):
				continue // the place that is to take the last task waits for that task
			}
			bubble(t, caller.name+"/"+call.name, func(t *testing.T) {
				var q *queue.Queue[string, string]
				var ticket *queue.Ticket[string]
				var called, returned atomic.Bool
				end := make(chan struct{}) // what runs before the loops begin
				f := func() {
					if called.CompareAndSwap(false, true) {
						close(end)
						call.call(q, ticket)
						returned.Store(true)
					}
				}
				var opts []queue.Option
				if caller.name == "limiter" {
					opts = append(opts, queue.WithLimiter(limiterFunc(func(context.Context) error {
						f()
						return nil
					})))
				}
				var meet sync.WaitGroup // so that the queue is saturated
				meet.Add(2)
				q = queue.New(func(_ context.Context, task string) (string, error) {
					if task == "calls" {
						switch caller.name {
						case "worker":
							f()
						case "limiter":
						case "Waiting", "Working":
							<-end
						default:
							meet.Done()
							meet.Wait()
						}
					}
					return task, errTask
				}, 2, opts...)
				q.OnError(func(string, error) {})
				q.Pause()
				q.PushAll([]string{"calls", "calls"})
				ticket, _ = q.Submit("waits")
				q.Push("waits")
				if caller.set != nil {
					caller.set(q, f)
				}
				q.Resume()
				synctest.Wait()
				switch caller.name {
				case "Waiting":
					for range q.Waiting() {
						f()
					}
				case "Working":
					for range q.Working() {
						f()
					}
				}
				synctest.Wait()
				if !called.Load() {
					t.Fatal("nothing was called")
				}
				if !returned.Load() && call.name != "Goexit" {
					t.Fatal("the call did not return")
				}

				// The queue works as before, if it is still open.
				q.Resume()
				q.OnError(func(string, error) {})
				if err := q.Wait(t.Context()); err != nil {
					t.Error(err)
				}
				checkSum(t, q.Stats())
				_, err := q.Do(t.Context(), "after")
				if call.name == "Kill" || call.name == "Shutdown" {
					if err != queue.ErrClosed {
						t.Errorf("Do = %v", err)
					}
				} else if err != errTask {
					t.Errorf("Do = %v", err)
				}
				if err := q.Shutdown(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// A task that waits for all others with a context of its own gets an answer.
func TestStopFromInsideATask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q *queue.Queue[int, int]
		q = queue.New(func(ctx context.Context, task int) (int, error) {
			timeout, stop := context.WithTimeout(ctx, time.Second)
			defer stop()
			return 0, q.Shutdown(timeout)
		}, 1)
		if _, err := q.Do(t.Context(), 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Shutdown in a task = %v", err)
		}
		if err := q.Push(1); err != queue.ErrClosed {
			t.Errorf("Push = %v", err)
		}
		if err := q.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
