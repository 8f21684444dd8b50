package queue_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tickqueue/queue"
)

func TestMisusePanics(t *testing.T) {
	worker := func(context.Context, int) (int, error) { return 0, nil }
	batches := func(context.Context, []int) (int, error) { return 0, nil }
	var none context.Context
	for name, misuse := range map[string]func(){
		"New nil worker":                func() { queue.New[int, int](nil, 1) },
		"New concurrency 0":             func() { queue.New(worker, 0) },
		"New concurrency -1":            func() { queue.New(worker, -1) },
		"New concurrency MinInt":        func() { queue.New(worker, math.MinInt) },
		"NewCargo nil worker":           func() { queue.NewCargo[int, int](nil, 1, 1) },
		"NewCargo concurrency 0":        func() { queue.NewCargo(batches, 0, 1) },
		"NewCargo payload 0":            func() { queue.NewCargo(batches, 1, 0) },
		"NewCargo payload -1":           func() { queue.NewCargo(batches, 1, -1) },
		"NoResult nil":                  func() { queue.NoResult[int](nil) },
		"WithCapacity 0":                func() { queue.New(worker, 1, queue.WithCapacity(0)) },
		"WithCapacity -1":               func() { queue.New(worker, 1, queue.WithCapacity(-1)) },
		"WithBuffer -1":                 func() { queue.New(worker, 1, queue.WithBuffer(-1)) },
		"WithYieldInterval -1":          func() { queue.New(worker, 1, queue.WithYieldInterval(-1)) },
		"WithLimiter nil":               func() { queue.New(worker, 1, queue.WithLimiter(nil)) },
		"WithContext nil":               func() { queue.New(worker, 1, queue.WithContext(none)) },
		"nil option":                    func() { queue.New(worker, 1, nil) },
		"SetConcurrency 0":              func() { queue.New(worker, 1).SetConcurrency(0) },
		"SetConcurrency -1":             func() { queue.New(worker, 1).SetConcurrency(-1) },
		"SetYieldInterval -1":           func() { queue.New(worker, 1).SetYieldInterval(-1) },
		"SetConcurrency 0 when killed":  func() { q := queue.New(worker, 1); q.Kill(); q.SetConcurrency(0) },
		"SetYieldInterval -1 when shut": func() { q := queue.New(worker, 1); q.Shutdown(t.Context()); q.SetYieldInterval(-1) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if v := recover(); !strings.HasPrefix(fmt.Sprint(v), "queue: ") {
					t.Errorf("panicked with %v", v)
				}
			}()
			misuse()
			t.Error("did not panic")
		})
	}
}

func TestQueueOutlivesMisuse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig[int](t, 2)
		r.push(1, 2, 3)
		for _, misuse := range []func(){
			func() { r.SetConcurrency(0) },
			func() { r.SetYieldInterval(-time.Second) },
			func() { r.Remove(nil) },
			func() { r.Remove(func(int) bool { panic(io.EOF) }) },
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Error("did not panic")
					}
				}()
				misuse()
			}()
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			r.Remove(func(int) bool { runtime.Goexit(); return true })
		}()
		<-done
		r.wantWaiting(3)
		r.wantWorking(1, 2)
		if n := r.Stats().Concurrency; n != 2 {
			t.Errorf("concurrency is %d", n)
		}
		r.finish(1, 2, 3)
		wantCounts(t, r.Stats(), 3, 0, 0)
	})
}

func TestValidExtremes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		worker := func(context.Context, int) (int, error) { return 0, nil }
		q := queue.New(worker, math.MaxInt, queue.WithCapacity(math.MaxInt), queue.WithBuffer(math.MaxInt),
			queue.WithYieldInterval(math.MaxInt64))
		if n := q.Stats().Concurrency; n != math.MaxInt {
			t.Errorf("concurrency is %d", n)
		}
		q.PushAll(make([]int, 1000))
		q.SetConcurrency(1)
		q.SetConcurrency(math.MaxInt)
		q.Wait(t.Context())
		wantCounts(t, q.Stats(), 1000, 0, 0)

		cargo := queue.NewCargo(func(_ context.Context, tasks []int) (int, error) { return 0, nil },
			math.MaxInt, math.MaxInt)
		cargo.PushAll(make([]int, 1000))
		cargo.Wait(t.Context())
		wantCounts(t, cargo.Stats(), 1000, 0, 0)
	})
}

func TestCapacity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig[int](t, 2, queue.WithCapacity(3))
		r.push(1, 2)
		r.push(3, 4, 5) // running tasks do not count
		full := func() {
			t.Helper()
			before := r.Stats()
			if err := r.Push(9); err != queue.ErrFull {
				t.Errorf("Push = %v", err)
			}
			if ticket, err := r.Submit(9, queue.Front(), queue.Priority(9)); err != queue.ErrFull || ticket != nil {
				t.Errorf("Submit = %v, %v", ticket, err)
			}
			if err := r.PushAll([]int{9}); err != queue.ErrFull {
				t.Errorf("PushAll = %v", err)
			}
			if err := r.PushAll([]int{}); err != nil {
				t.Errorf("PushAll of nothing = %v", err)
			}
			if after := r.Stats(); after != before {
				t.Errorf("what was refused left traces: %+v, before %+v", after, before)
			}
		}
		full()
		r.finish(1)
		// Two too many for one place: none of them.
		if err := r.PushAll([]int{6, 7}); err != queue.ErrFull {
			t.Errorf("PushAll = %v", err)
		}
		r.wantWaiting(4, 5)
		r.push(6)
		full()
		r.Pause()
		r.finish(2, 3)
		full()
		if err := r.PushAll([]int{6, 7, 8, 9}); err != queue.ErrFull {
			t.Errorf("PushAll of more than the capacity = %v", err)
		}
		r.wantWaiting(4, 5, 6)
		r.Clear()
		r.push(6, 7, 8)
		full()
	})
}

func TestWhatIsTakenBackMakesRoom(t *testing.T) {
	ways := map[string]func(r *rig[int]){
		"Cancel": func(r *rig[int]) {
			if !r.tickets[3].Cancel() {
				t.Error("Cancel = false")
			}
		},
		"Remove": func(r *rig[int]) { r.Remove(func(task int) bool { return task == 3 }) },
		"Clear":  func(r *rig[int]) { r.Clear() },
		"Resume": func(r *rig[int]) {
			r.finish(1)
			r.Resume()
			synctest.Wait()
		},
		"SetConcurrency": func(r *rig[int]) {
			r.SetConcurrency(2)
			r.Resume()
			synctest.Wait()
		},
	}
	for name, way := range ways {
		bubble(t, name, func(t *testing.T) {
			r := newRig[int](t, 1, queue.WithCapacity(2))
			r.submit(1)
			r.Pause()
			r.submit(2, 3)
			if err := r.Push(4); err != queue.ErrFull {
				t.Fatalf("Push = %v", err)
			}
			way(r)
			if err := r.Push(4); err != nil {
				t.Errorf("Push = %v", err)
			}
		})
		bubble(t, name+" admits", func(t *testing.T) {
			r := newRig[int](t, 1, queue.WithCapacity(2))
			r.submit(1)
			r.Pause()
			r.submit(2, 3)
			var w waiters
			for _, task := range []int{4, 5, 6} {
				w.start(fmt.Sprint(task), func() error { return r.PushWait(context.Background(), task) })
			}
			w.want(t)
			way(r)
			if name == "Clear" {
				w.want(t, "4: <nil>", "5: <nil>")
			} else {
				w.want(t, "4: <nil>")
			}
			if err := r.Push(7); err != queue.ErrFull {
				t.Errorf("Push = %v though others wait for room", err)
			}
			r.Kill()
		})
	}
}

// waiters are calls that wait for room. Each writes down how it ended.
type waiters struct {
	mu    sync.Mutex
	ended []string
}

func (w *waiters) start(name string, call func() error) {
	go func() {
		err := call()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.ended = append(w.ended, fmt.Sprint(name, ": ", err))
	}()
	synctest.Wait()
}

// want checks which calls have ended, and how, since the last look.
func (w *waiters) want(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	slices.Sort(w.ended)
	slices.Sort(want)
	if !slices.Equal(w.ended, want) {
		t.Errorf("ended: %q, want %q", w.ended, want)
	}
	w.ended = nil
}

func TestRoomIsGivenFirstComeFirstServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig[string](t, 1, queue.WithCapacity(1))
		r.push("running")
		r.push("waiting")
		r.took()
		var w waiters
		w.start("a", func() error { return r.PushWait(context.Background(), "a") })
		// Who waits for room is served in turn, whatever the priority.
		w.start("b", func() error { return r.PushWait(context.Background(), "b", queue.Priority(5)) })
		w.start("c", func() error { _, err := r.Do(context.Background(), "c"); return err })
		w.start("d", func() error { return r.PushWait(context.Background(), "d", queue.Front()) })
		w.want(t)
		r.wantWaiting("waiting")
		r.finish("running")
		w.want(t, "a: <nil>")
		r.wantWaiting("a")
		if err := r.Push("barging", queue.Priority(9)); err != queue.ErrFull {
			t.Errorf("Push = %v though others wait for room", err)
		}
		r.finish("waiting")
		w.want(t, "b: <nil>")
		r.finish("a")
		w.want(t) // c has room, but Do goes on until it has run
		r.wantWaiting("c")
		r.finish("b")
		w.want(t, "d: <nil>")
		r.finish("c")
		w.want(t, "c: <nil>")
		r.finish("d")
		r.wantTook("waiting", "a", "b", "c", "d")
		wantCounts(t, r.Stats(), 6, 0, 0)
	})
}

// Once admitted, tasks are ordered as if they had been pushed then.
func TestAdmittedTasksAreOrdered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig[string](t, 1, queue.WithCapacity(3))
		r.Pause()
		r.push("a", "b", "c")
		var w waiters
		for name, opts := range map[string][]queue.PushOption{
			"front": {queue.Front()},
			"high":  {queue.Priority(1)},
			"low":   {queue.Priority(-1)},
		} {
			w.start(name, func() error { return r.PushWait(context.Background(), name, opts...) })
		}
		r.Clear()
		w.want(t, "front: <nil>", "high: <nil>", "low: <nil>")
		r.wantWaiting("high", "front", "low")
	})
}

func TestWaitersForRoom(t *testing.T) {
	tests := []struct {
		name string
		do   func(r *rig[string], cancel map[string]context.CancelFunc)
		want []string // of the waiters a, b, c
		wait []string // tasks that wait then
	}{
		{"the front one gives up", func(r *rig[string], cancel map[string]context.CancelFunc) {
			cancel["a"]()
			synctest.Wait()
			r.Clear()
		}, []string{"a: context canceled", "b: <nil>"}, []string{"b"}},
		{"the middle one gives up", func(r *rig[string], cancel map[string]context.CancelFunc) {
			cancel["b"]()
			synctest.Wait()
			r.Clear()
			synctest.Wait()
			r.Clear()
		}, []string{"a: <nil>", "b: context canceled", "c: <nil>"}, []string{"c"}},
		{"all give up", func(r *rig[string], cancel map[string]context.CancelFunc) {
			for _, c := range cancel {
				c()
			}
		}, []string{"a: context canceled", "b: context canceled", "c: context canceled"}, []string{"waiting"}},
		{"one gives up as there is room", func(r *rig[string], cancel map[string]context.CancelFunc) {
			cancel["a"]()
			r.Clear()
		}, []string{"a: context canceled", "b: <nil>"}, []string{"b"}},
		{"two give up as there is room", func(r *rig[string], cancel map[string]context.CancelFunc) {
			cancel["a"]()
			cancel["b"]()
			r.Clear()
		}, []string{"a: context canceled", "b: context canceled", "c: <nil>"}, []string{"c"}},
		{"Kill", func(r *rig[string], cancel map[string]context.CancelFunc) {
			if got := r.Kill(); !slices.Equal(got, []string{"waiting"}) {
				t.Errorf("Kill took %q", got)
			}
		}, []string{"a: queue: closed", "b: queue: closed", "c: queue: closed"}, nil},
		{"Shutdown", func(r *rig[string], cancel map[string]context.CancelFunc) {
			r.Shutdown(doneContext())
		}, []string{"a: queue: closed", "b: queue: closed", "c: queue: closed"}, []string{"waiting"}},
		{"Kill after all gave up", func(r *rig[string], cancel map[string]context.CancelFunc) {
			for _, c := range cancel {
				c()
			}
			synctest.Wait()
			r.Kill()
		}, []string{"a: context canceled", "b: context canceled", "c: context canceled"}, nil},
	}
	for _, test := range tests {
		for _, do := range []bool{false, true} {
			bubble(t, fmt.Sprint(test.name, "/", map[bool]string{false: "PushWait", true: "Do"}[do]), func(t *testing.T) {
				r := newRig[string](t, 1, queue.WithCapacity(1))
				r.Pause()
				r.push("waiting")
				var w waiters
				cancel := make(map[string]context.CancelFunc)
				for _, name := range []string{"a", "b", "c"} {
					ctx, c := context.WithCancel(t.Context())
					defer c()
					cancel[name] = c
					w.start(name, func() error {
						if do {
							_, err := r.Do(ctx, name)
							return err
						}
						return r.PushWait(ctx, name)
					})
				}
				test.do(r, cancel)
				want := slices.Clone(test.want)
				if do {
					// Do comes back when the task has settled. One that was
					// taken is dropped or still waits.
					for i, end := range want {
						if name, ok := strings.CutSuffix(end, ": <nil>"); ok {
							want[i] = name + ": queue: task dropped"
						}
					}
					want = slices.DeleteFunc(want, func(end string) bool {
						return slices.Contains(test.wait, strings.TrimSuffix(end, ": queue: task dropped"))
					})
				}
				w.want(t, want...)
				r.wantWaiting(test.wait...)
				r.wantTook()
				r.Kill()
			})
		}
	}
}

func TestRefusals(t *testing.T) {
	pushes := []struct {
		name string
		push func(r *rig[int], ctx context.Context) error
	}{
		{"PushWait", func(r *rig[int], ctx context.Context) error { return r.PushWait(ctx, 1) }},
		{"Do", func(r *rig[int], ctx context.Context) error { _, err := r.Do(ctx, 1); return err }},
	}
	all := append([]struct {
		name string
		push func(r *rig[int], ctx context.Context) error
	}{
		{"Push", func(r *rig[int], _ context.Context) error { return r.Push(1) }},
		{"PushAll", func(r *rig[int], _ context.Context) error { return r.PushAll([]int{1, 2}) }},
		{"PushAll of nothing", func(r *rig[int], _ context.Context) error { return r.PushAll(nil) }},
		{"PushAll of too much", func(r *rig[int], _ context.Context) error { return r.PushAll(make([]int, 100)) }},
		{"Submit", func(r *rig[int], _ context.Context) error {
			ticket, err := r.Submit(1)
			if err != nil && ticket != nil {
				t.Error("Submit returns a ticket and an error")
			}
			return err
		}},
	}, pushes...)

	// A context that is done is refused, room or no room.
	for _, push := range pushes {
		for _, full := range []bool{false, true} {
			bubble(t, fmt.Sprint(push.name, "/context/", full), func(t *testing.T) {
				r := newRig[int](t, 1, queue.WithCapacity(1))
				r.Pause()
				if full {
					r.push(0)
				}
				before := r.Stats()
				ctx, cancel := context.WithCancelCause(t.Context())
				cancel(io.EOF)
				if err := push.push(r, ctx); err != context.Canceled {
					t.Errorf("error %v", err)
				}
				ctx, stop := context.WithTimeout(t.Context(), -1)
				defer stop()
				if err := push.push(r, ctx); err != context.DeadlineExceeded {
					t.Errorf("error %v", err)
				}
				if after := r.Stats(); after != before {
					t.Errorf("what was refused left traces: %+v, before %+v", after, before)
				}
			})
		}
	}

	// On a closed queue that is what counts.
	closes := map[string]func(r *rig[int]){
		"Shutdown": func(r *rig[int]) { r.Shutdown(doneContext()) },
		"Kill":     func(r *rig[int]) { r.Kill() },
	}
	for name, closeQueue := range closes {
		for _, push := range all {
			for _, full := range []bool{false, true} {
				bubble(t, fmt.Sprint(push.name, "/", name, "/", full), func(t *testing.T) {
					r := newRig[int](t, 1, queue.WithCapacity(1))
					r.Pause()
					if full {
						r.push(0)
					}
					closeQueue(r)
					before := r.Stats()
					for _, ctx := range []context.Context{t.Context(), doneContext()} {
						if err := push.push(r, ctx); err != queue.ErrClosed {
							t.Errorf("error %v", err)
						}
					}
					if after := r.Stats(); after != before {
						t.Errorf("what was refused left traces: %+v, before %+v", after, before)
					}
				})
			}
		}
	}
}

// As many are accepted as there is room for, however many push at once.
func TestCapacityUnderLoad(t *testing.T) {
	for range scaled(1000) {
		const capacity = 100
		q := queue.New(func(context.Context, int) (int, error) { return 0, nil }, 1, queue.WithCapacity(capacity))
		q.Pause()
		q.Push(-1)
		var accepted atomic.Int64
		var wg sync.WaitGroup
		for p := range 4 {
			wg.Go(func() {
				for i := range capacity {
					var err error
					switch p {
					case 0:
						_, err = q.Submit(i)
					case 1:
						err = q.Push(i, queue.Front())
					default:
						err = q.Push(i)
					}
					if err == nil {
						accepted.Add(1)
					} else if err != queue.ErrFull {
						t.Errorf("error %v", err)
					}
				}
			})
		}
		wg.Wait()
		if n := q.Len(); n != capacity || accepted.Load() != capacity-1 {
			t.Fatalf("%d wait and %d were accepted, want %d", n, accepted.Load()+1, capacity)
		}
		q.Clear()
	}
}

// The room is whole again after a storm of whatever takes and gives it.
func TestRoomIsWholeAfterAStorm(t *testing.T) {
	const capacity = 10
	q := queue.New(ending, 2, queue.WithCapacity(capacity))
	q.OnError(func(string, error) {})
	var wg sync.WaitGroup
	for p := range 6 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(p), 0))
			for range scaled(20_000) {
				task := []string{"value", "error", "Goexit", "panic"}[rnd.IntN(4)]
				switch rnd.IntN(9) {
				case 0:
					q.Push(task)
				case 1:
					q.PushAll([]string{task, task, task})
				case 2:
					if ticket, err := q.Submit(task, queue.Priority(rnd.IntN(3))); err == nil {
						ticket.Cancel()
					}
				case 3:
					q.Remove(func(other string) bool { return other == task })
				case 4:
					q.Clear()
				case 5:
					ctx, cancel := context.WithCancel(t.Context())
					go cancel()
					q.PushWait(ctx, task)
					cancel()
				case 6:
					ctx, cancel := context.WithCancel(t.Context())
					go cancel()
					q.Do(ctx, task)
					cancel()
				case 7:
					q.PushWait(t.Context(), task)
				case 8:
					q.Pause()
					q.Resume()
				}
				if n := q.Len(); n > capacity {
					t.Errorf("%d tasks wait", n)
				}
			}
		})
	}
	wg.Wait()
	q.Wait(t.Context())
	checkSum(t, q.Stats())
	q.Pause()
	for i := range capacity {
		if err := q.Push("value"); err != nil {
			t.Errorf("push %d of %d: %v", i+1, capacity, err)
		}
	}
	if err := q.Push("value"); err != queue.ErrFull {
		t.Errorf("push %d: %v", capacity+1, err)
	}
	q.Resume()
	q.Wait(t.Context())
}

// Whoever makes room admits the next, in order, also under load.
func TestPushWaitUnderLoad(t *testing.T) {
	var ran atomic.Int64
	q := queue.New(func(context.Context, int) (int, error) {
		ran.Add(1)
		return 0, nil
	}, 2, queue.WithCapacity(3))
	var accepted atomic.Int64
	var wg sync.WaitGroup
	for p := range 8 {
		wg.Go(func() {
			for i := range scaled(20_000) {
				ctx, cancel := context.WithCancel(t.Context())
				if p%2 == 0 && i%3 == 0 {
					go cancel()
				}
				if err := q.PushWait(ctx, i); err == nil {
					accepted.Add(1)
				} else if !errors.Is(err, context.Canceled) {
					t.Errorf("PushWait = %v", err)
				}
				cancel()
			}
		})
	}
	wg.Wait()
	q.Wait(t.Context())
	if ran.Load() != accepted.Load() {
		t.Errorf("%d accepted, %d ran", accepted.Load(), ran.Load())
	}
	wantCounts(t, q.Stats(), int(accepted.Load()), 0, 0)
}

func TestConcurrencyIsTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig[int](t, 4)
		r.push(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)
		r.wantWorking(1, 2, 3, 4)
		// Lowered, it lets none start until enough have ended.
		r.SetConcurrency(2)
		r.wantWorking(1, 2, 3, 4)
		r.finish(1)
		r.wantWorking(2, 3, 4)
		r.finish(3)
		r.wantWorking(2, 4)
		r.finish(2)
		r.wantWorking(4, 5)
		r.SetConcurrency(1)
		r.finish(4)
		r.wantWorking(5)
		r.finish(5)
		r.wantWorking(6)
		// To and fro while a pass may be on its way.
		for range 100 {
			r.SetConcurrency(3)
			r.SetConcurrency(1)
			r.Pause()
			r.Resume()
			r.SetConcurrency(2)
			r.SetConcurrency(1)
		}
		synctest.Wait()
		if n := r.Running(); n > 3 {
			t.Errorf("%d run", n)
		}
	})
}

// Pausing, resuming and resizing under load never let more run than allowed.
func TestLimitHoldsUnderLoad(t *testing.T) {
	for _, most := range []int{1, 3, 8} {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			var running atomic.Int64
			q := queue.New(func(_ context.Context, task int) (int, error) {
				if n := running.Add(1); n > int64(most) {
					t.Errorf("%d run at once", n)
				}
				if task%10 == 0 {
					runtime.Gosched()
				}
				running.Add(-1)
				return 0, nil
			}, most)
			stop := make(chan struct{})
			var steerers, pushers sync.WaitGroup
			for s := range 3 {
				steerers.Go(func() {
					for i := 0; ; i++ {
						switch s {
						case 0:
							q.SetConcurrency(i%most + 1)
						case 1:
							q.Pause()
							q.Resume()
						case 2:
							if st := q.Stats(); st.Running > most || st.Concurrency > most {
								t.Errorf("%+v", st)
							} else {
								checkSum(t, st)
							}
						}
						select {
						case <-stop:
							return
						default:
							runtime.Gosched()
						}
					}
				})
			}
			for range 4 {
				pushers.Go(func() {
					for i := range scaled(20_000) {
						q.Push(i)
					}
				})
			}
			pushers.Wait()
			close(stop)
			steerers.Wait()
			q.Resume()
			q.Wait(t.Context())
			wantCounts(t, q.Stats(), 4*scaled(20_000), 0, 0)
		})
	}
}

// While the limit only rises, no snapshot shows more than it allows.
func TestSnapshotsWhileTheLimitRises(t *testing.T) {
	q := queue.New(func(context.Context, int) (int, error) {
		runtime.Gosched()
		return 0, nil
	}, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range scaled(20_000) {
			q.Push(i)
			q.SetConcurrency(1 + i/100)
		}
	})
	wg.Go(func() {
		for range scaled(50_000) {
			if s := q.Stats(); s.Running > s.Concurrency {
				t.Errorf("%+v", s)
			}
		}
	})
	wg.Wait()
	q.Wait(t.Context())
}

func TestPauseIsAFlag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig[int](t, 2)
		r.Resume()
		r.Pause()
		r.Pause()
		r.push(1, 2, 3)
		r.wantTook()
		if s := r.Stats(); !s.Paused {
			t.Errorf("%+v", s)
		}
		r.Resume()
		r.wantWorking(1, 2)
		if s := r.Stats(); s.Paused {
			t.Errorf("%+v", s)
		}
		r.Pause()
		r.finish(1)
		r.wantWorking(2)
		r.Resume()
		r.Resume()
		r.wantWorking(2, 3)
	})
}

func TestPauseInATaskStopsThePass(t *testing.T) {
	for _, concurrency := range []int{1, 2, 64} {
		bubble(t, fmt.Sprint(concurrency), func(t *testing.T) {
			var q *queue.Queue[int, int]
			var left atomic.Int64
			q = queue.New(func(_ context.Context, task int) (int, error) {
				if task == 0 {
					q.Pause()
					left.Store(int64(q.Len()))
				}
				return 0, nil
			}, concurrency)
			tasks := make([]int, 100)
			for i := range tasks {
				tasks[i] = i
			}
			for range 100 {
				q.PushAll(tasks)
				synctest.Wait()
				if n := q.Len(); n != int(left.Load()) {
					t.Fatalf("%d waited when a task had paused the queue, %d wait now", left.Load(), n)
				}
				if concurrency == 1 && left.Load() != 99 {
					t.Fatalf("%d wait, want 99", left.Load())
				}
				q.Clear()
				q.Resume()
			}
		})
	}
}
