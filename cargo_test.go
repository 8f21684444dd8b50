package queue_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/tickqueue/queue"
)

// A cargo is a queue whose batches run until the test ends them; see rig.
type cargo struct {
	*queue.Queue[int, int]
	mu      sync.Mutex
	started [][]int
	ends    map[int]chan error // by the first task of the batch
}

func newCargo(t *testing.T, concurrency, payload int, opts ...queue.Option) *cargo {
	c := &cargo{ends: make(map[int]chan error)}
	c.Queue = queue.NewCargo(func(_ context.Context, tasks []int) (int, error) {
		end := make(chan error, 1)
		c.mu.Lock()
		c.started = append(c.started, slices.Clone(tasks))
		c.ends[tasks[0]] = end
		c.mu.Unlock()
		err := <-end
		first := tasks[0]
		clear(tasks) // the slice is the worker's
		return 100 + first, err
	}, concurrency, payload, opts...)
	t.Cleanup(func() {
		c.Kill()
		for _, end := range c.ends {
			close(end)
		}
	})
	return c
}

func (c *cargo) finish(first int, err error) {
	c.mu.Lock()
	end := c.ends[first]
	delete(c.ends, first)
	c.mu.Unlock()
	end <- err
	synctest.Wait()
}

func (c *cargo) wantTook(t *testing.T, want string) {
	t.Helper()
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if got := fmt.Sprint(c.started); got != want {
		t.Errorf("batches %s, want %s", got, want)
	}
	c.started = nil
}

func TestCargo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCargo(t, 1, 3)
		c.PushAll([]int{1, 2})
		c.wantTook(t, "[[1 2]]") // does not wait for a third
		c.Push(3)
		c.Push(4)
		c.Push(5, queue.Priority(1))
		c.PushAll([]int{6, 7}, queue.Front())
		c.wantTook(t, "[]")
		c.finish(1, nil)
		c.wantTook(t, "[[5 6 7]]")
		c.Push(8, queue.Priority(-1))
		c.Push(9)
		if got := slices.Collect(c.Working()); !slices.Equal(got, []int{5, 6, 7}) {
			t.Errorf("Working yields %v", got)
		}
		if s := c.Stats(); s.Running != 3 || s.Waiting != 4 || c.Running() != 3 || c.Idle() {
			t.Errorf("%+v", s)
		}
		checkSum(t, c.Stats())
		c.finish(5, nil)
		c.wantTook(t, "[[3 4 9]]")
		c.finish(3, nil)
		c.wantTook(t, "[[8]]")
		c.finish(8, nil)
		wantCounts(t, c.Stats(), 9, 0, 0)
	})
}

func TestConcurrencyOfCargoCountsBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCargo(t, 2, 2)
		c.PushAll([]int{1, 2, 3, 4, 5, 6, 7})
		synctest.Wait()
		if s := c.Stats(); s.Running != 4 || s.Waiting != 3 {
			t.Errorf("%+v", s)
		}
		c.SetConcurrency(3)
		synctest.Wait()
		if got := slices.Collect(c.Working()); !slices.Equal(got, []int{1, 2, 3, 4, 5, 6}) {
			t.Errorf("Working yields %v", got)
		}
		c.SetConcurrency(1)
		c.finish(1, nil)
		c.finish(5, nil)
		if n := c.Len(); n != 1 {
			t.Errorf("%d wait", n)
		}
		c.finish(3, nil)
		if got := slices.Collect(c.Working()); !slices.Equal(got, []int{7}) {
			t.Errorf("Working yields %v", got)
		}
	})
}

// What the batch returns is what each of its tasks settles with.
func TestResultOfCargo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCargo(t, 1, 3)
		var mu sync.Mutex
		var failed []string
		c.OnError(func(task int, err error) {
			mu.Lock()
			defer mu.Unlock()
			failed = append(failed, fmt.Sprint(task, ": ", err))
		})
		c.Pause()
		var tickets []*queue.Ticket[int]
		for task := range 6 {
			ticket, err := c.Submit(task)
			if err != nil {
				t.Fatal(err)
			}
			tickets = append(tickets, ticket)
		}
		c.Resume()
		c.wantTook(t, "[[0 1 2]]")
		if tickets[0].Cancel() || tickets[2].SetPriority(1) {
			t.Error("a task that runs was canceled or moved")
		}
		if !tickets[4].Cancel() {
			t.Error("a task that waits was not canceled")
		}
		c.finish(0, nil)
		c.finish(3, errTask)
		for task, ticket := range tickets {
			got, err := ticket.Wait(doneContext())
			want, wantErr := 100, error(nil)
			switch task {
			case 3, 5:
				want, wantErr = 103, errTask
			case 4:
				want, wantErr = 0, queue.ErrDropped
			}
			if got != want || err != wantErr {
				t.Errorf("%d settled with %d, %v; want %d, %v", task, got, err, want, wantErr)
			}
		}
		if got, want := fmt.Sprint(failed), "[3: task failed 5: task failed]"; got != want {
			t.Errorf("OnError got %s, want %s", got, want)
		}
		wantCounts(t, c.Stats(), 3, 2, 1)
	})
}

// A Goexit in OnError costs the other tasks of the batch nothing.
func TestGoexitInOnErrorOfCargo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queue.NewCargo(func(context.Context, []int) (int, error) { return 0, errTask }, 1, 4)
		var told []int
		q.OnError(func(task int, err error) {
			told = append(told, task)
			runtime.Goexit()
		})
		q.PushAll([]int{1, 2, 3, 4, 5, 6})
		q.Wait(t.Context())
		if want := []int{1, 2, 3, 4, 5, 6}; !slices.Equal(told, want) {
			t.Errorf("OnError got %v, want %v", told, want)
		}
		wantCounts(t, q.Stats(), 0, 6, 0)
	})
}

// Every task is in exactly one batch, in order, whatever the sizes.
func TestCargoLosesNothing(t *testing.T) {
	for _, payload := range []int{1, 2, 3, 7, 100, 2047, 2048, 5000, 1 << 20} {
		for _, tasks := range []int{1, 2, 6, 7, 8, 100, 4095, 5000, 5001} {
			bubble(t, fmt.Sprint(payload, "/", tasks), func(t *testing.T) {
				next, batches := 0, 0
				q := queue.NewCargo(func(_ context.Context, batch []int) (int, error) {
					batches++
					if len(batch) == 0 || len(batch) > payload {
						t.Errorf("a batch of %d", len(batch))
					}
					for _, task := range batch {
						if task != next {
							t.Fatalf("%d comes, want %d", task, next)
						}
						next++
					}
					return 0, nil
				}, 1, payload)
				q.Pause()
				for task := range tasks {
					q.Push(task)
				}
				q.Resume()
				q.Wait(t.Context())
				if want := (tasks + payload - 1) / payload; next != tasks || batches != want {
					t.Errorf("%d tasks in %d batches, want %d in %d", next, batches, tasks, want)
				}
				wantCounts(t, q.Stats(), tasks, 0, 0)
			})
		}
	}
}

func TestCargoUnderLoad(t *testing.T) {
	n := scaled(50_000)
	seen := make([]int, 4*n)
	var mu sync.Mutex
	q := queue.NewCargo(func(_ context.Context, batch []int) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		for _, task := range batch {
			seen[task]++
		}
		return 0, nil
	}, 3, 7)
	var wg sync.WaitGroup
	for p := range 4 {
		wg.Go(func() {
			for i := range n {
				q.Push(p*n + i)
			}
		})
	}
	wg.Wait()
	q.Wait(t.Context())
	if i := slices.IndexFunc(seen, func(n int) bool { return n != 1 }); i >= 0 {
		t.Errorf("task %d ran %d times", i, seen[i])
	}
	wantCounts(t, q.Stats(), 4*n, 0, 0)
}

func TestHooksOfCargo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCargo(t, 2, 2)
		r := &rig[int]{t: t}
		r.Queue = queue.New(r.work, 1) // for its list of hooks
		c.OnDrain(func() { r.hear("drain") })
		c.OnEmpty(func() { r.hear("empty") })
		c.OnSaturated(func() { r.hear("saturated") })
		c.OnUnsaturated(func() { r.hear("unsaturated") })
		for _, step := range []struct {
			do   func()
			want string
		}{
			{func() { c.PushAll([]int{1, 2}) }, "empty"},
			{func() { c.PushAll([]int{3}) }, "empty saturated"},
			{func() { c.PushAll([]int{4, 5, 6}) }, ""},
			{func() { c.finish(1, nil) }, ""},
			{func() { c.finish(3, nil) }, "empty"},
			{func() { c.finish(6, nil) }, "unsaturated"},
			{func() { c.finish(4, nil) }, "drain"},
		} {
			step.do()
			r.wantHeard(step.want)
		}
	})
}

func TestKillOfCargo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCargo(t, 1, 2)
		c.PushAll([]int{1, 2, 3, 4, 5})
		c.wantTook(t, "[[1 2]]")
		if got := c.Kill(); !slices.Equal(got, []int{3, 4, 5}) {
			t.Errorf("Kill took %v", got)
		}
		c.finish(1, nil)
		c.wantTook(t, "[]")
		wantCounts(t, c.Stats(), 2, 0, 3)
	})
}

// Capacity counts tasks, and a batch makes room for several at once.
func TestCapacityOfCargo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCargo(t, 1, 3, queue.WithCapacity(3))
		c.PushAll([]int{1, 2, 3})
		c.wantTook(t, "[[1 2 3]]")
		c.PushAll([]int{4, 5, 6})
		if err := c.Push(7); err != queue.ErrFull {
			t.Errorf("Push = %v", err)
		}
		var w waiters
		for task := 7; task < 11; task++ {
			w.start(fmt.Sprint(task), func() error { return c.PushWait(context.Background(), task) })
		}
		c.finish(1, nil)
		c.wantTook(t, "[[4 5 6]]")
		w.want(t, "7: <nil>", "8: <nil>", "9: <nil>")
		c.finish(4, nil)
		c.wantTook(t, "[[7 8 9]]")
		w.want(t, "10: <nil>")
		c.finish(7, nil)
		c.wantTook(t, "[[10]]")
	})
}

// The batch is not of one task, so neither is its context.
func TestContextOfCargo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		gate := make(chan struct{})
		q := queue.NewCargo(func(ctx context.Context, batch []int) (int, error) {
			<-gate
			if ctx.Value(key{}) != nil || ctx.Err() != nil {
				t.Errorf("the batch has the context of a Do: %v", ctx)
			}
			return len(batch), nil
		}, 1, 5)
		q.Pause()
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
		var wg sync.WaitGroup
		for task := range 3 {
			wg.Go(func() {
				if n, err := q.Do(ctx, task); n != 3 || err != nil {
					t.Errorf("Do = %d, %v", n, err)
				}
			})
		}
		synctest.Wait()
		q.Resume()
		synctest.Wait()
		cancel()
		synctest.Wait()
		close(gate)
		wg.Wait()
	})
}

// A task withdrawn by its Do is in no batch.
func TestBatchWithoutWithdrawnTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCargo(t, 1, 3)
		c.Pause()
		ctx, cancel := context.WithCancel(t.Context())
		var w waiters
		for task := range 6 {
			if task%2 == 0 {
				c.Push(task)
			} else {
				w.start(fmt.Sprint(task), func() error { _, err := c.Do(ctx, task); return err })
			}
		}
		cancel()
		c.Resume()
		c.wantTook(t, "[[0 2 4]]")
		w.want(t, "1: context canceled", "3: context canceled", "5: context canceled")
		c.finish(0, nil)
		wantCounts(t, c.Stats(), 3, 0, 3)
	})
}
