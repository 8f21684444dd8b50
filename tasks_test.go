package queue_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/tickqueue/queue"
)

// The ways in which a worker can end, by the name of the task.
var endings = map[string]func() (string, error){
	"value":           func() (string, error) { return "result", nil },
	"error":           func() (string, error) { return "", errTask },
	"value and error": func() (string, error) { return "result", errTask },
	"panic":           func() (string, error) { panic("boom") },
	"panic with error": func() (string, error) {
		panic(fmt.Errorf("wrapped: %w", io.ErrUnexpectedEOF))
	},
	"panic nil":     func() (string, error) { panic(nil) },
	"runtime error": func() (string, error) { return strings.Fields("")[0], nil },
	"Goexit":        func() (string, error) { runtime.Goexit(); return "", nil },
	"panic while Goexit": func() (string, error) {
		defer func() { panic("boom") }()
		runtime.Goexit()
		return "", nil
	},
	"Goexit while panic": func() (string, error) {
		defer runtime.Goexit()
		panic("boom")
	},
	"panic recovered while Goexit": func() (string, error) {
		defer func() {
			defer func() { recover() }()
			panic("boom")
		}()
		runtime.Goexit()
		return "", nil
	},
	"panic while panic": func() (string, error) {
		defer func() { panic("boom") }()
		panic("first")
	},
}

func ending(_ context.Context, task string) (string, error) { return endings[task]() }

// checkEnding checks what a task of endings has settled with.
func checkEnding(t *testing.T, task, result string, err error) {
	t.Helper()
	wantResult := ""
	if strings.HasPrefix(task, "value") {
		wantResult = "result"
	}
	if result != wantResult {
		t.Errorf("%s: result %q, want %q", task, result, wantResult)
	}
	panicked, isPanic := errors.AsType[*queue.PanicError](err)
	ok := false
	switch task {
	case "value":
		ok = err == nil
	case "error", "value and error":
		ok = err == errTask
	case "panic", "panic while panic":
		ok = isPanic && panicked.Value == "boom" && panicked.Unwrap() == nil
	case "panic with error":
		ok = isPanic && errors.Is(err, io.ErrUnexpectedEOF) && panicked.Unwrap() == panicked.Value
	case "panic nil":
		_, isNil := errors.AsType[*runtime.PanicNilError](err)
		ok = isPanic && isNil
	case "runtime error":
		_, isRuntime := errors.AsType[runtime.Error](err)
		ok = isPanic && isRuntime
	case "Goexit", "Goexit while panic", "panic recovered while Goexit":
		ok = err == queue.ErrGoexit
	case "panic while Goexit":
		ok = err == queue.ErrGoexit || isPanic && panicked.Value == "boom"
	}
	if !ok {
		t.Errorf("%s: settled with %#v", task, err)
	}
	if !isPanic {
		return
	}
	if !strings.Contains(err.Error(), fmt.Sprint(panicked.Value)) {
		t.Errorf("%s: Error() = %q does not name %v", task, err, panicked.Value)
	}
	if !strings.Contains(string(panicked.Stack), "tasks_test.go") {
		t.Errorf("%s: the stack does not lead to the panic:\n%s", task, panicked.Stack)
	}
}

func TestEveryTaskSettles(t *testing.T) {
	for task := range endings {
		bubble(t, "ticket/"+task, func(t *testing.T) {
			q := queue.New(ending, 1)
			ticket, _ := q.Submit(task)
			after, _ := q.Submit("value")
			result, err := ticket.Wait(t.Context())
			checkEnding(t, task, result, err)
			result, err = after.Wait(t.Context())
			checkEnding(t, "value", result, err)
			failed := 1
			if task == "value" {
				failed = 0
			}
			wantCounts(t, q.Stats(), 2-failed, failed, 0)
		})
		bubble(t, "Do/"+task, func(t *testing.T) {
			q := queue.New(ending, 1)
			for range 3 {
				result, err := q.Do(t.Context(), task)
				checkEnding(t, task, result, err)
			}
			wantCounts(t, q.Stats(), map[bool]int{true: 3}[task == "value"], map[bool]int{false: 3}[task == "value"], 0)
		})
		bubble(t, "OnError/"+task, func(t *testing.T) {
			q := queue.New(ending, 1)
			calls := 0
			q.OnError(func(failed string, err error) {
				calls++
				if failed != task {
					t.Errorf("OnError got task %q, want %q", failed, task)
				}
				if task != "value and error" {
					checkEnding(t, task, "", err)
				}
			})
			q.PushAll([]string{task, "value", task})
			q.Wait(t.Context())
			if task == "value" {
				wantCounts(t, q.Stats(), 3, 0, 0)
			} else if wantCounts(t, q.Stats(), 1, 2, 0); calls != 2 {
				t.Errorf("OnError was called %d times, want twice", calls)
			}
		})
		bubble(t, "cargo/"+task, func(t *testing.T) {
			q := queue.NewCargo(func(ctx context.Context, tasks []string) (string, error) {
				return ending(ctx, tasks[0])
			}, 1, 2)
			q.Pause()
			var tickets []*queue.Ticket[string]
			for range 3 {
				ticket, _ := q.Submit(task)
				tickets = append(tickets, ticket)
			}
			// One ticket is enough for a batch to be heard of, be it the last.
			q.Push(task)
			q.Push(task)
			ticket, _ := q.Submit(task)
			tickets = append(tickets, ticket)
			q.Push("value")
			q.Resume()
			for _, ticket := range tickets {
				result, err := ticket.Wait(t.Context())
				checkEnding(t, task, result, err)
			}
			q.Wait(t.Context())
		})
	}
}

// A place is not lost with a task, whatever becomes of the task.
func TestPlacesOutliveTheirTasks(t *testing.T) {
	var names []string
	for name := range endings {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, concurrency := range []int{1, 3} {
		bubble(t, fmt.Sprint(concurrency), func(t *testing.T) {
			var running, most atomic.Int32
			stop := make(chan struct{})
			q := queue.New(func(ctx context.Context, task string) (string, error) {
				if task == "block" {
					<-stop
					return "", nil
				}
				if n := running.Add(1); n > most.Load() {
					most.Store(n)
				}
				defer running.Add(-1)
				return ending(ctx, task)
			}, concurrency)
			q.OnError(func(task string, err error) {
				if strings.Contains(task, "error") {
					runtime.Goexit()
				}
			})
			n := 0
			for range 20 {
				for _, name := range names {
					if n++; n%2 == 0 {
						q.Submit(name)
					} else {
						q.Push(name)
					}
				}
			}
			q.Wait(t.Context())
			wantCounts(t, q.Stats(), 20, n-20, 0)
			if int(most.Load()) > concurrency {
				t.Errorf("%d ran at once", most.Load())
			}
			q.PushAll(slices.Repeat([]string{"block"}, 5))
			synctest.Wait()
			if n := q.Running(); n != concurrency {
				t.Errorf("%d run at once, want %d", n, concurrency)
			}
			close(stop)
		})
	}
}

// A testing.T in a task ends its goroutine by FailNow.
func TestFailNowInTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queue.New(func(context.Context, int) (int, error) {
			new(testing.T).FailNow()
			return 1, nil
		}, 1)
		if got, err := q.Do(t.Context(), 1); got != 0 || err != queue.ErrGoexit {
			t.Errorf("Do = %d, %v", got, err)
		}
	})
}

func TestDroppedTasks(t *testing.T) {
	drops := map[string]func(r *rig[string]){
		"Cancel": func(r *rig[string]) {
			for task, ticket := range r.tickets {
				if got, want := ticket.Cancel(), task != "running"; got != want {
					t.Errorf("Cancel of %q = %t", task, got)
				}
			}
		},
		"Remove": func(r *rig[string]) { r.Remove(func(string) bool { return true }) },
		"Clear":  func(r *rig[string]) { r.Clear() },
		"Kill":   func(r *rig[string]) { r.Kill() },
	}
	for name, drop := range drops {
		bubble(t, name, func(t *testing.T) {
			r := newRig[string](t, 1)
			r.OnError(func(task string, err error) { t.Errorf("OnError got %q: %v", task, err) })
			r.submit("running", "a", "b")
			r.submitWith("c", queue.Priority(2))
			do := make(chan error, 1)
			if name != "Cancel" {
				go func() {
					_, err := r.Do(context.Background(), "d")
					do <- err
				}()
				synctest.Wait()
			} else {
				do <- queue.ErrDropped
			}
			drop(r)
			for _, task := range []string{"a", "b", "c"} {
				r.wantSettled(task, queue.ErrDropped)
			}
			synctest.Wait()
			select {
			case err := <-do:
				if !errors.Is(err, queue.ErrDropped) {
					t.Errorf("Do = %v", err)
				}
			default:
				t.Error("Do still waits")
			}
			r.wantUnsettled("running")
			r.finish("running")
			r.wantSettled("running", nil)
			r.wantTook("running")
			wantCounts(t, r.Stats(), 1, 0, map[bool]int{true: 3, false: 4}[name == "Cancel"])
			for task, ticket := range r.tickets {
				if ticket.Cancel() || ticket.SetPriority(1) {
					t.Errorf("%q has settled, but can be canceled or moved", task)
				}
			}
		})
	}
}

func TestTicket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig[string](t, 1)
		r.submit("a", "b")
		a, b := r.tickets["a"], r.tickets["b"]
		if done := a.Done(); done != a.Done() {
			t.Error("Done returns different channels")
		}
		if a.Cancel() || a.SetPriority(3) {
			t.Error("a running task was canceled or moved")
		}
		// The end of a wait leaves the task alone.
		for task, ticket := range r.tickets {
			if _, err := ticket.Wait(doneContext()); err != context.Canceled {
				t.Errorf("Wait for %s with a done context = %v", task, err)
			}
			r.wantUnsettled(task)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		waited := make(chan error)
		go func() {
			_, err := b.Wait(ctx)
			waited <- err
		}()
		synctest.Wait()
		cancel(io.EOF)
		if err := <-waited; err != context.Canceled {
			t.Errorf("Wait = %v when its context is done", err)
		}
		r.wantWaiting("b")

		// Several may wait.
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				if got, err := b.Wait(context.Background()); got != "b" || err != errTask {
					t.Errorf("Wait = %q, %v", got, err)
				}
			})
		}
		r.finish("a")
		r.fail("b", errTask)
		wg.Wait()
		r.wantSettled("a", nil)
		r.wantSettled("b", errTask)
		if got, err := b.Wait(doneContext()); got != "b" || err != errTask {
			t.Errorf("Wait for a settled task = %q, %v", got, err)
		}
		if a.Cancel() || b.SetPriority(0) {
			t.Error("a settled task was canceled or moved")
		}
	})
}

// A waiter learns of the end only when the place's hooks have been told and
// the counters agree with it.
func TestSettledMeansCounted(t *testing.T) {
	q := queue.New(func(context.Context, int) (int, error) { return 0, nil }, 2)
	for i := range scaled(100_000) {
		ticket, err := q.Submit(i)
		if err != nil {
			t.Fatal(err)
		}
		if s := q.Stats(); s.Pushed != uint64(i+1) {
			t.Fatalf("accepted, but not counted: %+v", s)
		}
		<-ticket.Done()
		if s := q.Stats(); s.Succeeded != uint64(i+1) || s.Running != 0 || s.Waiting != 0 {
			t.Fatalf("settled, but not counted: %+v", s)
		}
	}
}

func TestErrorsCountThoughNobodyHears(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queue.New(ending, 1)
		q.PushAll([]string{"error", "value", "error", "value and error"})
		q.Wait(t.Context())
		wantCounts(t, q.Stats(), 1, 3, 0)
	})
}

func TestNoResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		q := queue.New(queue.NoResult(func(ctx context.Context, task string) error {
			if ctx.Value(key{}) != "value" {
				t.Error("the context does not get to the worker")
			}
			_, err := ending(ctx, task)
			return err
		}), 1)
		ctx := context.WithValue(t.Context(), key{}, "value")
		for task, want := range map[string]error{"value": nil, "error": errTask} {
			if _, err := q.Do(ctx, task); err != want {
				t.Errorf("Do = %v, want %v", err, want)
			}
		}
	})
}

// What the types are is nobody's business.
func TestTypesOfTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got [][]int
		slicesOf := queue.New(queue.NoResult(func(_ context.Context, task []int) error {
			got = append(got, task)
			return nil
		}), 1)
		slicesOf.Push([]int{1, 2})
		slicesOf.Push(nil)
		slicesOf.PushAll([][]int{{3}, {}, {4, 5}})
		slicesOf.Wait(t.Context())
		if want := "[[1 2] [] [3] [] [4 5]]"; fmt.Sprint(got) != want {
			t.Errorf("%v, want %s", got, want)
		}

		n := 0
		empty := queue.New(queue.NoResult(func(context.Context, struct{}) error {
			n++
			return nil
		}), 1)
		empty.PushAll(make([]struct{}, 10_000))
		empty.Wait(t.Context())
		if n != 10_000 {
			t.Errorf("%d of 10000 empty structs ran", n)
		}

		type big [20 << 10]byte
		sum := 0
		large := queue.New(queue.NoResult(func(_ context.Context, task big) error {
			sum += int(task[0]) + int(task[len(task)-1])
			return nil
		}), 1)
		for i := range 5 {
			large.Push(big{0: byte(i), len(big{}) - 1: 10})
		}
		large.Wait(t.Context())
		if sum != 60 {
			t.Errorf("the sum of large tasks is %d, want 60", sum)
		}

		var order []any
		anything := queue.New(queue.NoResult(func(_ context.Context, task any) error {
			order = append(order, task)
			return nil
		}), 1)
		anything.PushAll([]any{nil, 1, "two", error(nil), func() {} == nil})
		anything.Wait(t.Context())
		if want := "[<nil> 1 two <nil> false]"; fmt.Sprint(order) != want {
			t.Errorf("%v, want %s", order, want)
		}
	})
}

// withStack runs f while no stack may grow beyond so many bytes. What exceeds
// it ends the program.
func withStack(bytes int, f func()) {
	defer debug.SetMaxStack(debug.SetMaxStack(bytes))
	f()
}

func TestManyTasksOnASmallStack(t *testing.T) {
	withStack(256<<10, func() {
		n := scaled(1_000_000)
		for _, concurrency := range []int{1, 4} {
			var ran atomic.Int64
			q := queue.New(func(context.Context, int) (int, error) {
				ran.Add(1)
				return 0, nil
			}, concurrency)
			q.Pause()
			for i := range n {
				q.Push(i)
			}
			q.Resume()
			q.Wait(t.Context())
			if ran.Load() != int64(n) {
				t.Errorf("%d of %d tasks ran", ran.Load(), n)
			}
		}
	})
}

func TestFailuresOnASmallStack(t *testing.T) {
	withStack(256<<10, func() {
		for _, name := range []string{"panic", "Goexit", "error"} {
			q := queue.New(ending, 1)
			q.OnError(func(string, error) {})
			tasks := slices.Repeat([]string{name}, scaled(100_000))
			q.PushAll(tasks)
			q.Wait(t.Context())
			wantCounts(t, q.Stats(), 0, len(tasks), 0)
		}
	})
}

func TestQueuesThatFeedEachOther(t *testing.T) {
	withStack(256<<10, func() {
		n := scaled(1_000_000)
		done := make(chan struct{})
		var a, b *queue.Queue[int, int]
		hop := func(to **queue.Queue[int, int]) func(context.Context, int) (int, error) {
			return func(_ context.Context, left int) (int, error) {
				if left == 0 {
					close(done)
				} else if err := (*to).Push(left - 1); err != nil {
					t.Error(err)
				}
				return 0, nil
			}
		}
		a, b = queue.New(hop(&b), 1), queue.New(hop(&a), 1)
		a.Push(n)
		<-done
		a.Wait(t.Context())
		b.Wait(t.Context())
		if got := a.Stats().Succeeded + b.Stats().Succeeded; got != uint64(n+1) {
			t.Errorf("%d hops, want %d", got, n+1)
		}
	})
}

// Drain hooks push to each other's queues.
func TestHooksThatFeedEachOther(t *testing.T) {
	withStack(256<<10, func() {
		n := scaled(200_000)
		done := make(chan struct{})
		var left atomic.Int64
		left.Store(int64(n))
		nothing := func(context.Context, int) (int, error) { return 0, nil }
		a, b := queue.New(nothing, 1), queue.New(nothing, 1)
		feed := func(q *queue.Queue[int, int]) func() {
			return func() {
				switch left.Add(-1) {
				case 0:
					close(done)
				default:
					q.Push(1)
				}
			}
		}
		a.OnDrain(feed(b))
		b.OnDrain(feed(a))
		a.Push(1)
		<-done
		if got := a.Stats().Succeeded + b.Stats().Succeeded; got != uint64(n) {
			t.Errorf("%d tasks ran, want %d", got, n)
		}
	})
}

// Working, Running and Stats tell the same story, to the task itself too.
func TestRunningTasksAreListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig[string](t, 3)
		r.push("a", "b", "c", "d", "e")
		r.wantWorking("a", "b", "c")
		r.wantWaiting("d", "e")
		r.finish("b")
		r.wantWorking("a", "c", "d")
		r.finish("a")
		r.wantWorking("c", "d", "e")
		r.finish("d")
		r.wantWorking("c", "e")
		r.Push("f")
		synctest.Wait()
		r.wantWorking("c", "e", "f")
		r.fail("c", errTask)
		r.finish("e", "f")
		r.wantWorking()
		wantCounts(t, r.Stats(), 5, 1, 0)

		var q *queue.Queue[int, int]
		q = queue.New(func(_ context.Context, task int) (int, error) {
			if got := slices.Collect(q.Working()); !slices.Equal(got, []int{task}) {
				t.Errorf("%d runs, but Working yields %v", task, got)
			}
			if slices.Contains(slices.Collect(q.Waiting()), task) {
				t.Errorf("%d runs and waits", task)
			}
			if s := q.Stats(); s.Running != 1 || q.Running() != 1 || q.Idle() {
				t.Errorf("%+v while a task runs", s)
			}
			return 0, nil
		}, 1)
		q.PushAll([]int{1, 2, 3, 4})
		q.Wait(t.Context())
	})
}

func TestIteratorsEndWhenTheLoopDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig[int](t, 2)
		r.push(1, 2, 3, 4)
		for range r.Waiting() {
			break
		}
		for range r.Working() {
			break
		}
		waiting := r.Waiting()
		r.wantWaiting(3, 4)
		r.finish(1)
		// It lists what waits when the loop begins.
		if got := slices.Collect(waiting); !slices.Equal(got, []int{4}) {
			t.Errorf("Waiting yields %v", got)
		}
	})
}

// In every snapshot each task is in exactly one place, whatever goes on.
func TestSumInEverySnapshot(t *testing.T) {
	for _, capacity := range []int{200, math.MaxInt} {
		t.Run(fmt.Sprint(capacity), func(t *testing.T) {
			q := queue.New(ending, 4, queue.WithCapacity(capacity))
			q.OnError(func(string, error) {})
			names := []string{"value", "error", "panic", "Goexit"}
			stop := make(chan struct{})
			var watchers, pushers sync.WaitGroup
			for range 2 {
				watchers.Go(func() {
					var last queue.Stats
					for {
						s := q.Stats()
						checkSum(t, s)
						if s.Running > 4 || s.Waiting > capacity {
							t.Errorf("%+v", s)
						}
						if s.Pushed < last.Pushed || s.Succeeded < last.Succeeded || s.Failed < last.Failed || s.Dropped < last.Dropped {
							t.Errorf("%+v after %+v", s, last)
						}
						last = s
						select {
						case <-stop:
							return
						default:
							runtime.Gosched()
						}
					}
				})
			}
			for p := range 4 {
				pushers.Go(func() {
					for i := range scaled(20_000) {
						name := names[i%len(names)]
						switch (p + i) % 7 {
						case 0, 1:
							q.Push(name)
						case 2:
							q.PushAll([]string{name, name, name})
						case 3:
							if ticket, err := q.Submit(name); err == nil && i%2 == 0 {
								ticket.Cancel()
							}
						case 4:
							q.PushWait(t.Context(), name, queue.Front())
						case 5:
							q.Do(t.Context(), name, queue.Priority(1))
						case 6:
							if i%100 == 0 {
								q.Clear()
							} else {
								q.Remove(func(task string) bool { return task == name })
							}
						}
					}
				})
			}
			pushers.Wait()
			close(stop)
			watchers.Wait()
			q.Wait(t.Context())
			s := q.Stats()
			checkSum(t, s)
			if s.Running != 0 || s.Waiting != 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// What a goroutine has pushed, it finds: in the numbers, in the lists, by its
// ticket. However many others push.
func TestPushersSeeWhatTheyHavePushed(t *testing.T) {
	q := queue.New(func(context.Context, int) (int, error) { return 0, nil }, 1)
	q.Pause()
	q.Push(-1)
	var wg sync.WaitGroup
	for p := range 4 {
		wg.Go(func() {
			own := -2 - p
			for i := range scaled(20_000) {
				if i%100 == 0 {
					n := q.Stats().Pushed
					q.Push(own)
					q.Push(own)
					if s := q.Stats(); s.Pushed < n+2 || s.Waiting < 2 {
						t.Errorf("two tasks pushed: %+v", s)
					}
					q.Push(p)
					if got := q.Remove(func(task int) bool { return task == p }); !slices.Equal(got, []int{p}) {
						t.Errorf("Remove took %v, want %d", got, p)
					}
					ticket, _ := q.Submit(own)
					if !ticket.SetPriority(-1) || !ticket.Cancel() {
						t.Error("a task that waits was not moved or canceled")
					}
				}
				q.Push(own)
				if i%1000 == 0 {
					q.Remove(func(task int) bool { return task == own })
				}
			}
		})
	}
	wg.Wait()
	q.Clear()
	checkSum(t, q.Stats())
}

// Cancel and a worker may reach for the same task: one of them gets it.
func TestTaskIsEitherCanceledOrRun(t *testing.T) {
	n := scaled(50_000)
	ran := make([]atomic.Int32, n)
	q := queue.New(func(_ context.Context, task int) (int, error) {
		ran[task].Add(1)
		return task, nil
	}, 2)
	var canceled atomic.Int64
	var wg sync.WaitGroup
	tickets := make(chan *queue.Ticket[int], 64)
	for range 3 {
		wg.Go(func() {
			for ticket := range tickets {
				if ticket.Cancel() {
					canceled.Add(1)
					if _, err := ticket.Wait(doneContext()); err != queue.ErrDropped {
						t.Errorf("a canceled task settled with %v", err)
					}
				} else if task, err := ticket.Wait(t.Context()); err != nil || ran[task].Load() != 1 {
					t.Errorf("a task that was not canceled settled with %v", err)
				}
				if ticket.Cancel() {
					t.Error("a task was canceled twice")
				}
			}
		})
	}
	for i := range n {
		ticket, err := q.Submit(i)
		if err != nil {
			t.Fatal(err)
		}
		tickets <- ticket
	}
	close(tickets)
	wg.Wait()
	q.Wait(t.Context())
	wantCounts(t, q.Stats(), n-int(canceled.Load()), 0, int(canceled.Load()))
}
