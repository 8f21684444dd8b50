package queue_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/tickqueue/queue"
)

// An act is a step of a scenario.
type act func(r *rig[string])

func pushes(tasks ...string) act { return func(r *rig[string]) { r.push(tasks...) } }
func submits(tasks ...string) act {
	return func(r *rig[string]) {
		r.submit(tasks...)
	}
}
func finishes(tasks ...string) act { return func(r *rig[string]) { r.finish(tasks...) } }
func fails(task string) act        { return func(r *rig[string]) { r.fail(task, errTask) } }
func limit(n int) act              { return func(r *rig[string]) { r.SetConcurrency(n) } }
func cancels(tasks ...string) act {
	return func(r *rig[string]) {
		for _, task := range tasks {
			r.tickets[task].Cancel()
		}
	}
}
func pauses(r *rig[string])  { r.Pause() }
func resumes(r *rig[string]) { r.Resume() }
func clears(r *rig[string])  { r.Clear() }
func kills(r *rig[string])   { r.Kill() }
func removes(task string) act {
	return func(r *rig[string]) { r.Remove(func(other string) bool { return other == task }) }
}
func shuts(r *rig[string]) { r.Shutdown(doneContext()) }

func TestStateHooks(t *testing.T) {
	type step struct {
		do    act
		heard string
	}
	tests := []struct {
		name        string
		concurrency int
		opts        []queue.Option
		steps       []step
	}{
		{"one worker", 1, nil, []step{
			{pushes("a"), "empty saturated"},
			{pushes("b"), ""},
			{pushes("c"), ""},
			{finishes("a"), ""}, // straight from one task to the next
			{finishes("b"), "empty"},
			{finishes("c"), "unsaturated drain"},
			{pushes("d"), "empty saturated"},
			{fails("d"), "unsaturated drain"},
		}},
		{"two workers", 2, nil, []step{
			{pushes("a"), "empty"},
			{pushes("b"), "empty saturated"},
			{pushes("c", "d"), ""},
			{finishes("b"), ""},
			{finishes("a"), "empty"},
			{finishes("c"), "unsaturated"},
			{pushes("e"), "empty saturated"},
			{finishes("e"), "unsaturated"},
			{finishes("d"), "drain"},
		}},
		{"never saturated", 3, nil, []step{
			{pushes("a"), "empty"},
			{pushes("b"), "empty"},
			{finishes("a"), ""},
			{pushes("c"), "empty"},
			{finishes("b", "c"), "drain"},
		}},
		{"more tasks than places at once", 2, nil, []step{
			{pushes("a", "b", "c"), "saturated"},
			{finishes("a"), "empty"},
			{finishes("b"), "unsaturated"},
			{finishes("c"), "drain"},
		}},
		{"as many tasks as places at once", 2, nil, []step{
			{pushes("a", "b"), "empty saturated"},
			{finishes("a", "b"), "unsaturated drain"},
		}},
		{"nothing pushed", 1, nil, []step{
			{pushes(), ""},
			{pushes("a"), "empty saturated"},
			{pushes(), ""},
			{pushes("b"), ""},
			{pushes(), ""},
			{finishes("a", "b"), "empty unsaturated drain"},
			{pushes(), ""},
		}},

		{"default buffer is a quarter, rounded up", 5, nil, []step{
			{pushes("a", "b", "c", "d", "e"), "empty saturated"},
			{finishes("a"), ""},
			{finishes("b"), "unsaturated"},
			{pushes("f"), "empty"},
			{pushes("g"), "empty saturated"},
			{finishes("c"), ""},
			{pushes("h"), "empty"}, // full again, but not unsaturated in between
			{finishes("d", "e"), "unsaturated"},
		}},
		{"default buffer of 4", 4, nil, []step{
			{pushes("a", "b", "c", "d"), "empty saturated"},
			{finishes("a"), "unsaturated"},
			{finishes("b", "c"), ""},
		}},
		{"buffer 0 acts as 1", 2, []queue.Option{queue.WithBuffer(0)}, []step{
			{pushes("a", "b"), "empty saturated"},
			{finishes("a"), "unsaturated"},
		}},
		{"buffer 0 and limit lowered", 4, []queue.Option{queue.WithBuffer(0)}, []step{
			{pushes("a", "b", "c", "d"), "empty saturated"},
			{limit(2), ""},
			{finishes("a", "b"), ""},
			{finishes("c"), "unsaturated"},
		}},
		{"buffer 2", 4, []queue.Option{queue.WithBuffer(2)}, []step{
			{pushes("a", "b", "c", "d"), "empty saturated"},
			{finishes("a"), ""},
			{finishes("b"), "unsaturated"},
			{finishes("c", "d"), "drain"},
		}},
		{"buffer as large as the concurrency", 3, []queue.Option{queue.WithBuffer(3)}, []step{
			{pushes("a", "b", "c"), "empty saturated"},
			{finishes("a", "b"), ""},
			{finishes("c"), "unsaturated drain"},
		}},
		{"buffer beyond the concurrency", 2, []queue.Option{queue.WithBuffer(math.MaxInt)}, []step{
			{pushes("a", "b"), "empty saturated"},
			{finishes("a"), ""},
			{pushes("c"), "empty"},
			{finishes("b"), ""},
			{finishes("c"), "unsaturated drain"},
		}},

		{"limit raised while saturated", 2, nil, []step{
			{pushes("a", "b"), "empty saturated"},
			{limit(3), "unsaturated"},
			{pushes("c"), "empty saturated"},
			{limit(4), "unsaturated"},
			{finishes("a"), ""},
		}},
		{"limit raised, but not enough for the buffer", 2, []queue.Option{queue.WithBuffer(2)}, []step{
			{pushes("a", "b"), "empty saturated"},
			{limit(3), ""},
			{limit(4), "unsaturated"},
		}},
		{"limit raised while tasks wait", 2, nil, []step{
			{pushes("a", "b", "c", "d", "e"), "saturated"},
			{limit(4), "unsaturated saturated"},
			{limit(6), "unsaturated empty"},
			{pushes("f"), "empty saturated"},
		}},
		{"limit lowered", 4, nil, []step{
			{pushes("a", "b", "c"), "empty"},
			{limit(3), ""},
			{limit(2), ""},
			{pushes("d"), ""},
			{finishes("a"), ""},
			{finishes("b"), "empty"},
			{finishes("c", "d"), "drain"},
		}},
		{"limit lowered while saturated", 4, nil, []step{
			{pushes("a", "b", "c", "d"), "empty saturated"},
			{limit(2), ""},
			{finishes("a"), ""},
			{finishes("b"), ""},
			{finishes("c"), "unsaturated"},
			{pushes("e"), "empty saturated"},
		}},
		{"saturated against the limit of the moment", 8, nil, []step{
			{pushes("a"), "empty"},
			{limit(2), ""},
			{pushes("b"), "empty saturated"},
			{finishes("a"), "unsaturated"},
			{limit(1), ""},
			{finishes("b"), "drain"},
			{pushes("c"), "empty saturated"},
		}},
		{"limit raised and lowered again", 2, nil, []step{
			{pushes("a", "b"), "empty saturated"},
			{limit(8), "unsaturated"},
			{limit(2), ""},
			{finishes("a"), ""},
			{pushes("c"), "empty saturated"},
		}},

		{"drained by Cancel", 1, nil, []step{
			{pauses, ""},
			{submits("a", "b"), ""},
			{cancels("a"), ""},
			{cancels("b"), "drain"},
			{cancels("a", "b"), ""},
			{submits("c"), ""},
			{cancels("c"), "drain"},
		}},
		{"drained by Remove", 1, nil, []step{
			{pauses, ""},
			{pushes("a", "b"), ""},
			{removes("x"), ""},
			{removes("b"), ""},
			{removes("a"), "drain"},
			{removes("a"), ""},
		}},
		{"drained by Clear", 1, nil, []step{
			{clears, ""},
			{pauses, ""},
			{pushes("a", "b"), ""},
			{clears, "drain"},
			{clears, ""},
			{resumes, ""},
			{pushes("c"), "empty saturated"},
			{pushes("d"), ""},
			{clears, ""},
			{finishes("c"), "unsaturated drain"},
		}},
		{"last waiting task canceled is no start", 1, nil, []step{
			{submits("a"), "empty saturated"},
			{submits("b"), ""},
			{cancels("b"), ""},
			{finishes("a"), "unsaturated drain"},
		}},
		{"paused", 2, nil, []step{
			{pushes("a", "b", "c"), "saturated"},
			{pauses, ""},
			{finishes("a"), "unsaturated"},
			{finishes("b"), ""},
			{resumes, "empty"},
			{finishes("c"), "drain"},
		}},
		{"shut down", 1, nil, []step{
			{pushes("a", "b"), "saturated"},
			{shuts, ""},
			{finishes("a"), "empty"},
			{finishes("b"), "unsaturated drain"},
		}},
		{"killed", 1, nil, []step{
			{pushes("a", "b"), "saturated"},
			{kills, ""},
			{finishes("a"), ""},
		}},
		{"unlimited", math.MaxInt, nil, []step{
			{pushes("a"), "empty"},
			{pushes("b"), "empty"},
			{limit(2), ""},
			{limit(math.MaxInt), ""},
			{finishes("a", "b"), "drain"},
		}},
		{"from the limit to no limit", 1, nil, []step{
			{pushes("a"), "empty saturated"},
			{limit(math.MaxInt), "unsaturated"},
			{finishes("a"), "drain"},
		}},
		{"full", 1, []queue.Option{queue.WithCapacity(1)}, []step{
			{pushes("a"), "empty saturated"},
			{pushes("b"), ""},
			{func(r *rig[string]) { r.Push("c") }, ""},
			{finishes("a"), "empty"},
			{finishes("b"), "unsaturated drain"},
		}},
		{"admitted by the start of the last waiting task", 1, []queue.Option{queue.WithCapacity(1)}, []step{
			{pushes("a"), "empty saturated"},
			{pushes("b"), ""},
			{func(r *rig[string]) { go r.PushWait(context.Background(), "c") }, ""},
			{finishes("a"), "empty"},
			{finishes("b"), "empty"},
			{finishes("c"), "unsaturated drain"},
		}},
		{"admitted by Clear: never idle", 1, []queue.Option{queue.WithCapacity(1)}, []step{
			{pauses, ""},
			{pushes("a"), ""},
			{func(r *rig[string]) { go r.PushWait(context.Background(), "b") }, ""},
			{clears, ""},
			{clears, "drain"},
		}},
	}
	for _, test := range tests {
		bubble(t, test.name, func(t *testing.T) {
			r := newRig[string](t, test.concurrency, test.opts...)
			r.listen()
			for i, step := range test.steps {
				step.do(r)
				r.wantHeard(step.heard)
				if t.Failed() {
					t.Fatalf("in step %d", i+1)
				}
				checkSum(t, r.Stats())
			}
		})
	}
}

// Which edges there are is up to the scheduler, but they alternate, Saturated
// first, and hooks are called one at a time.
func TestSaturatedAndUnsaturatedAlternate(t *testing.T) {
	for _, concurrency := range []int{1, 2, 8} {
		bubble(t, fmt.Sprint(concurrency), func(t *testing.T) {
			q := queue.New(func(context.Context, int) (int, error) { return 0, nil }, concurrency)
			var calling atomic.Int32
			alone := func(f func()) func() {
				return func() {
					if calling.Add(1) != 1 {
						t.Error("two hooks at a time")
					}
					f()
					calling.Add(-1)
				}
			}
			saturated, drains := false, 0
			q.OnEmpty(alone(func() {}))
			q.OnSaturated(alone(func() {
				if saturated {
					t.Error("Saturated twice")
				}
				saturated = true
			}))
			q.OnUnsaturated(alone(func() {
				if !saturated {
					t.Error("Unsaturated without Saturated")
				}
				saturated = false
			}))
			q.OnDrain(alone(func() {
				if saturated {
					t.Error("Drain before Unsaturated")
				}
				drains++
			}))
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					for i := range scaled(20_000) {
						if i%10 == 0 {
							q.Wait(t.Context())
						}
						q.Push(i)
					}
				})
			}
			wg.Wait()
			synctest.Wait()
			if saturated || drains == 0 {
				t.Errorf("in the end: saturated is %t after %d drains", saturated, drains)
			}
		})
	}
}

// Each busy spell ends with one Drain.
func TestOneDrainForEachBusySpell(t *testing.T) {
	for _, concurrency := range []int{1, 2, 8} {
		t.Run(fmt.Sprint(concurrency), func(t *testing.T) {
			q := queue.New(func(context.Context, int) (int, error) { return 0, nil }, concurrency)
			drained := make(chan struct{}, 10)
			q.OnDrain(func() { drained <- struct{}{} })
			for range scaled(20_000) {
				q.PushAll([]int{1, 2, 3, 4, 5})
				<-drained
				if !q.Idle() || len(drained) > 0 {
					t.Fatalf("Drain was called too early or too often: %+v", q.Stats())
				}
			}
		})
	}
}

// The state that a hook finds is that after the change, if no other has come.
func TestHooksSeeTheChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig[string](t, 2)
		see := func(name string, check func(s queue.Stats) bool) func() {
			return func() {
				r.hear(name)
				if s := r.Stats(); !check(s) {
					t.Errorf("%s: %+v", name, s)
				}
			}
		}
		r.OnEmpty(see("empty", func(s queue.Stats) bool { return s.Waiting == 0 && s.Running > 0 }))
		r.OnSaturated(see("saturated", func(s queue.Stats) bool { return s.Running == 2 }))
		r.OnUnsaturated(see("unsaturated", func(s queue.Stats) bool { return s.Running == 1 }))
		r.OnDrain(see("drain", func(s queue.Stats) bool { return s.Waiting == 0 && s.Running == 0 }))
		r.push("a")
		r.push("b")
		r.push("c")
		r.finish("a", "b", "c")
		r.wantHeard("empty empty saturated empty unsaturated drain")
	})
}

func TestHooksHaveAGoroutineOfTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q *queue.Queue[int, int]
		hear := func(name string) func() {
			return func() {
				if isMarked() {
					t.Errorf("%s on the goroutine of a caller", name)
				}
			}
		}
		q = queue.New(func(_ context.Context, task int) (int, error) {
			marked(func() {
				if task > 0 {
					q.Push(task - 1)
					q.SetConcurrency(task)
				}
			})
			return 0, nil
		}, 1)
		q.OnDrain(hear("Drain"))
		q.OnEmpty(hear("Empty"))
		q.OnSaturated(hear("Saturated"))
		q.OnUnsaturated(hear("Unsaturated"))
		marked(func() {
			q.Push(3)
			q.Wait(t.Context())
			q.Pause()
			ticket, _ := q.Submit(1)
			ticket.Cancel()
			q.Push(1)
			q.Clear()
			q.Push(1)
			q.Remove(func(int) bool { return true })
			q.Resume()
			q.Do(t.Context(), 2)
			q.SetConcurrency(9)
			q.Shutdown(t.Context())
		})
	})
}

func TestSlowHookDelaysHooksButNoTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig[string](t, 1)
		r.listen()
		gate := make(chan struct{})
		r.OnEmpty(func() {
			r.hear("empty")
			<-gate
		})
		r.push("a")
		r.wantHeard("empty")
		r.push("b", "c")
		r.finish("a", "b", "c")
		r.wantTook("a", "b", "c")
		if err := r.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		r.push("d")
		r.finish("d")
		r.wantHeard("")
		close(gate)
		r.wantHeard("saturated empty unsaturated drain empty saturated unsaturated drain")
	})
}

func TestHookOfTheMomentOfDelivery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig[string](t, 1)
		gate := make(chan struct{})
		r.OnEmpty(func() { <-gate })
		r.OnSaturated(func() { t.Error("a hook was called that had been replaced") })
		r.OnUnsaturated(func() { t.Error("a hook was called that had been removed") })
		r.push("a")
		r.finish("a")
		// All but the first are still to come.
		r.OnSaturated(func() { r.hear("replaced") })
		r.OnUnsaturated(nil)
		r.OnDrain(func() {
			r.hear("drain")
			r.OnDrain(func() { r.hear("drain too") })
		})
		gate <- struct{}{}
		r.wantHeard("replaced drain")
		r.OnEmpty(nil)
		r.push("b")
		r.finish("b")
		r.wantHeard("replaced drain too")
		r.OnSaturated(nil)
		r.OnDrain(nil)
		r.push("c")
		r.finish("c")
		r.wantHeard("")
	})
}

func TestKillDiscardsWhatIsNotDelivered(t *testing.T) {
	for _, inHook := range []bool{false, true} {
		bubble(t, fmt.Sprint(inHook), func(t *testing.T) {
			r := newRig[string](t, 1)
			r.listen()
			gate := make(chan struct{})
			r.OnEmpty(func() {
				<-gate
				if inHook {
					r.Kill()
				}
			})
			r.push("a")
			r.finish("a")
			r.push("b")
			if !inHook {
				r.Kill()
			}
			close(gate)
			r.wantHeard("")
			r.finish("b")
			r.wantHeard("")
			r.listen()
			r.wantHeard("")
		})
	}
}

func TestHooksThatPush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 2
		var running, most atomic.Int32
		q := queue.New(func(context.Context, int) (int, error) {
			if n := running.Add(1); n > most.Load() {
				most.Store(n)
			}
			runtime.Gosched()
			running.Add(-1)
			return 0, nil
		}, limit)
		drains := 0
		q.OnDrain(func() {
			if drains++; drains < 100 {
				q.PushAll(make([]int, 5))
			}
		})
		left := 100
		q.OnEmpty(func() {
			if left--; left > 0 {
				q.Push(1)
			}
		})
		q.Push(1)
		synctest.Wait()
		if most.Load() > limit {
			t.Errorf("%d ran at once", most.Load())
		}
		if drains < 100 || !q.Idle() {
			t.Errorf("%d drains: %+v", drains, q.Stats())
		}
		wantCounts(t, q.Stats(), 1+99*5+99, 0, 0)
	})
}

// A Drain hook that pushes nothing is not called for that.
func TestDrainHookThatPushesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queue.New(func(context.Context, int) (int, error) { return 0, nil }, 1)
		drains := 0
		q.OnDrain(func() {
			drains++
			q.PushAll(nil)
			q.PushAll([]int{}, queue.Front())
		})
		q.PushAll(nil)
		q.Push(1)
		synctest.Wait()
		if drains != 1 {
			t.Errorf("%d drains", drains)
		}
		if s := q.Stats(); s.Pushed != 1 || s.Passes != 1 {
			t.Errorf("%+v", s)
		}
	})
}

func TestGoexitInHooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig[string](t, 1)
		exit := func(name string) func() {
			return func() {
				r.hear(name)
				runtime.Goexit()
			}
		}
		r.OnEmpty(exit("empty"))
		r.OnSaturated(exit("saturated"))
		r.OnUnsaturated(exit("unsaturated"))
		r.OnDrain(exit("drain"))
		for range 3 {
			r.push("a")
			r.finish("a")
			r.wantHeard("empty saturated unsaturated drain")
		}
	})
}

func TestOnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig[string](t, 1)
		r.OnError(func(task string, err error) {
			// Neither has the task settled nor is its place free.
			r.wantUnsettledNow(task)
			if s := r.Stats(); s.Running != 1 || s.Failed != 0 {
				t.Errorf("in OnError: %+v", s)
			}
			if got := slices.Collect(r.Working()); !slices.Equal(got, []string{task}) {
				t.Errorf("in OnError Working yields %q", got)
			}
			if err != errTask {
				t.Errorf("OnError got %v", err)
			}
			r.hear(task)
		})
		r.submit("a", "b")
		r.finish("a")
		r.wantHeard("")
		r.OnError(func(task string, err error) { r.hear("other " + task) })
		r.fail("b", errTask)
		r.wantHeard("other b")
		r.OnError(nil)
		r.submit("c")
		r.fail("c", errTask)
		r.wantHeard("")
		wantCounts(t, r.Stats(), 1, 2, 0)
	})
	synctest.Test(t, func(t *testing.T) {
		r := newRig[string](t, 1)
		gate := make(chan struct{})
		r.OnError(func(task string, err error) {
			r.wantUnsettledNow(task)
			if s := r.Stats(); s.Running != 1 || s.Failed != 0 {
				t.Errorf("in OnError: %+v", s)
			}
			if got := slices.Collect(r.Working()); !slices.Equal(got, []string{task}) {
				t.Errorf("in OnError Working yields %q", got)
			}
			r.hear(fmt.Sprint(task, ": ", err))
			<-gate
		})
		r.submit("a", "b")
		r.fail("a", errTask)
		r.wantHeard("a: task failed")
		r.wantUnsettled("a")
		r.wantTook("a") // b has to wait for the place
		close(gate)
		r.wantTook("b")
		r.wantSettled("a", errTask)
	})
}

// wantUnsettledNow is wantUnsettled for use inside the queue.
func (r *rig[T]) wantUnsettledNow(task T) {
	r.t.Helper()
	select {
	case <-r.tickets[task].Done():
		r.t.Errorf("%v has settled", task)
	default:
	}
}

func TestOnErrorIsCalledOnTheGoroutineOfTheWorker(t *testing.T) {
	// The head of a stack names the goroutine: "goroutine 7 [running]:".
	goroutine := func() string {
		stack := make([]byte, 64)
		name, _, _ := strings.Cut(string(stack[:runtime.Stack(stack, false)]), " [")
		return name
	}
	synctest.Test(t, func(t *testing.T) {
		var worker, hook string
		q := queue.New(func(context.Context, int) (int, error) {
			worker = goroutine()
			return 0, errTask
		}, 1)
		q.OnError(func(int, error) { hook = goroutine() })
		q.Do(t.Context(), 1)
		if !strings.HasPrefix(worker, "goroutine ") || worker != hook {
			t.Errorf("worker on %s, OnError on %s", worker, hook)
		}
	})
}

func TestOnErrorIsConcurrent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		gate := make(chan struct{})
		q := queue.New(func(context.Context, int) (int, error) { return 0, errTask }, 3)
		q.OnError(func(int, error) {
			calls.Add(1)
			<-gate
		})
		q.PushAll(make([]int, 5))
		synctest.Wait()
		if n := calls.Load(); n != 3 {
			t.Errorf("%d calls at once, want 3", n)
		}
		close(gate)
		q.Wait(t.Context())
		if n := calls.Load(); n != 5 {
			t.Errorf("%d calls, want 5", n)
		}
	})
}

func TestOnErrorSeesTheErrorOfTheWorker(t *testing.T) {
	type detail struct{ error }
	synctest.Test(t, func(t *testing.T) {
		returned := &detail{errors.New("detail")}
		var seen error
		q := queue.New(func(context.Context, int) (int, error) { return 0, returned }, 1)
		q.OnError(func(_ int, err error) { seen = err })
		_, err := q.Do(t.Context(), 1)
		if seen != error(returned) || err != error(returned) {
			t.Errorf("OnError got %#v, Do %#v", seen, err)
		}
	})
}

func TestGoexitInOnError(t *testing.T) {
	for name := range endings {
		if strings.HasPrefix(name, "value") {
			continue
		}
		bubble(t, name, func(t *testing.T) {
			q := queue.New(ending, 1)
			calls := 0
			q.OnError(func(string, error) {
				calls++
				runtime.Goexit()
			})
			first, _ := q.Submit(name)
			second, _ := q.Submit("value")
			q.Push(name)
			result, err := first.Wait(t.Context())
			checkEnding(t, name, result, err)
			result, err = second.Wait(t.Context())
			checkEnding(t, "value", result, err)
			q.Wait(t.Context())
			if calls != 2 {
				t.Errorf("OnError was called %d times, want 2", calls)
			}
			wantCounts(t, q.Stats(), 1, 2, 0)
		})
	}
}

// Hooks may be set while they are called.
func TestHooksSetUnderLoad(t *testing.T) {
	q := queue.New(func(context.Context, int) (int, error) { return 0, errTask }, 4)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ {
			f := func() { q.Len() }
			if i%2 == 0 {
				f = nil
			}
			q.OnDrain(f)
			q.OnEmpty(f)
			q.OnSaturated(f)
			q.OnUnsaturated(f)
			q.OnError(func(int, error) { q.Len() })
			select {
			case <-stop:
				return
			default:
				runtime.Gosched()
			}
		}
	})
	for i := range scaled(50_000) {
		q.Push(i)
		if i%5 == 0 {
			q.Wait(t.Context())
		}
	}
	close(stop)
	wg.Wait()
	q.Wait(t.Context())
	q.Kill()
}
