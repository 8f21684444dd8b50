package queue_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/tickqueue/queue"
)

// collect runs the collector until what is weakly held is gone, and reports
// whether it goes.
func collect[T any](held ...weak.Pointer[T]) bool {
	for range 20 {
		runtime.GC()
		if !slices.ContainsFunc(held, func(p weak.Pointer[T]) bool { return p.Value() != nil }) {
			return true
		}
		runtime.Gosched() // a goroutine that is about to end may hold it
	}
	return false
}

// heap returns how many bytes are in use.
func heap() int {
	for range 3 {
		runtime.GC()
		runtime.Gosched()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// wantHeap checks that no more is in use than before, but for a little that
// the runtime and package testing take for themselves.
func wantHeap(t *testing.T, before, slack int) {
	t.Helper()
	var after int
	for range 10 {
		if after = heap(); after <= before+slack {
			return
		}
	}
	t.Errorf("%d bytes more in use than before", after-before)
}

type payload [1 << 16]byte

// payloads returns tasks with only weak pointers to them.
func payloads(n int) (tasks []*payload, held []weak.Pointer[payload]) {
	for range n {
		task := new(payload)
		tasks = append(tasks, task)
		held = append(held, weak.Make(task))
	}
	return tasks, held
}

// What a queue has held is collectable though the queue lives on, and has more.
func TestPayloadsAreCollectable(t *testing.T) {
	type q = queue.Queue[*payload, *payload]
	tests := map[string]func(q *q, tasks []*payload){
		"run": func(q *q, tasks []*payload) {
			q.PushAll(tasks)
			q.Resume()
			q.Wait(context.Background())
		},
		"run with tickets": func(q *q, tasks []*payload) {
			for _, task := range tasks {
				q.Submit(task)
			}
			q.Resume()
			q.Wait(context.Background())
		},
		"run by Do": func(q *q, tasks []*payload) {
			q.Resume()
			for _, task := range tasks {
				q.Do(context.Background(), task)
			}
		},
		"failed": func(q *q, tasks []*payload) {
			q.OnError(func(*payload, error) {})
			for _, task := range tasks {
				task[0] = 1
				q.Push(task)
			}
			q.Resume()
			q.Wait(context.Background())
		},
		"panicked": func(q *q, tasks []*payload) {
			for _, task := range tasks {
				task[0] = 2
				q.Submit(task)
			}
			q.Resume()
			q.Wait(context.Background())
		},
		"Goexit": func(q *q, tasks []*payload) {
			for _, task := range tasks {
				task[0] = 3
				q.Submit(task)
			}
			q.Resume()
			q.Wait(context.Background())
		},
		"Remove": func(q *q, tasks []*payload) {
			q.PushAll(tasks)
			q.Remove(func(task *payload) bool { return task[1] == 0 })
		},
		"Remove one by one": func(q *q, tasks []*payload) {
			q.PushAll(tasks)
			for range tasks {
				gone := false
				q.Remove(func(task *payload) bool {
					if gone || task[1] != 0 {
						return false
					}
					gone = true
					return true
				})
			}
		},
		"Clear": func(q *q, tasks []*payload) {
			q.PushAll(tasks)
			q.Clear()
		},
		"Kill": func(q *q, tasks []*payload) {
			q.PushAll(tasks)
			q.Kill()
		},
		"Cancel": func(q *q, tasks []*payload) {
			for _, task := range tasks {
				ticket, _ := q.Submit(task)
				ticket.Cancel()
			}
		},
		"Cancel in the middle": func(q *q, tasks []*payload) {
			var tickets []*queue.Ticket[*payload]
			for i, task := range tasks {
				ticket, _ := q.Submit(task, queue.Priority(i%3))
				tickets = append(tickets, ticket)
				q.Push(&payload{1: 1}, queue.Priority(i%3))
			}
			for _, ticket := range tickets {
				ticket.Cancel()
			}
		},
		"moved and canceled": func(q *q, tasks []*payload) {
			for i, task := range tasks {
				ticket, _ := q.Submit(task)
				ticket.SetPriority(i)
				ticket.SetPriority(-i)
				ticket.Cancel()
			}
		},
		"refused": func(q *q, tasks []*payload) {
			for q.Push(&payload{1: 1}) == nil {
			}
			for _, task := range tasks {
				q.Push(task)
				q.Submit(task)
				q.PushWait(doneContext(), task)
				q.Do(doneContext(), task)
			}
			q.PushAll(tasks)
		},
		"listed": func(q *q, tasks []*payload) {
			q.PushAll(tasks)
			for range q.Waiting() {
			}
			q.Clear()
		},
	}
	for name, use := range tests {
		t.Run(name, func(t *testing.T) {
			worker := func(_ context.Context, task *payload) (*payload, error) {
				switch task[0] {
				case 1:
					return nil, errTask
				case 2:
					panic("boom")
				case 3:
					runtime.Goexit()
				}
				return nil, nil
			}
			q := queue.New(worker, 2, queue.WithCapacity(1000))
			q.Pause()
			q.Push(&payload{1: 1}, queue.Priority(-1)) // something stays
			tasks, held := payloads(50)
			use(q, tasks)
			clear(tasks)
			if !collect(held...) {
				t.Error("payloads are not collectable")
			}
			runtime.KeepAlive(q)
			q.Kill()
		})
	}
}

// Each of several tasks that wait goes by itself, as soon as it is taken.
func TestPayloadGoesWithItsTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := make(chan struct{})
		q := queue.New(func(context.Context, *payload) (*payload, error) {
			<-next
			return nil, nil
		}, 1)
		tasks, held := payloads(20)
		q.PushAll(tasks)
		clear(tasks)
		for i := range held {
			synctest.Wait()
			if i > 0 && !collect(held[:i]...) {
				t.Fatalf("task %d runs, and one before it is not collectable", i)
			}
			for j, p := range held[i+1:] {
				if p.Value() == nil {
					t.Fatalf("task %d is gone before its time", i+1+j)
				}
			}
			next <- struct{}{}
		}
		synctest.Wait()
		if !collect(held...) {
			t.Error("payloads are not collectable")
		}
		runtime.KeepAlive(q)
	})
}

// The worker does not need its task any more, and nobody else holds it: a
// ticket keeps the result alone.
func TestTicketKeepsTheResultAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queue.New(func(_ context.Context, task *payload) (*payload, error) { return new(payload), nil }, 1)
		tasks, held := payloads(1)
		ticket, _ := q.Submit(tasks[0])
		clear(tasks)
		result, err := ticket.Wait(t.Context())
		if err != nil || result == nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if !collect(held...) {
			t.Error("the ticket keeps the task")
		}
		of := weak.Make(result)
		result = nil
		runtime.GC()
		if of.Value() == nil {
			t.Error("the ticket has lost its result")
		}
		runtime.KeepAlive(ticket)
		ticket = nil
		if !collect(of) {
			t.Error("the queue keeps the result")
		}
		runtime.KeepAlive(q)
	})
}

func TestQueueIsCollectable(t *testing.T) {
	type q = queue.Queue[int, int]
	worker := func(context.Context, int) (int, error) { return 0, nil }
	tests := map[string]func() *q{
		"new": func() *q { return queue.New(worker, 1) },
		"used": func() *q {
			q := queue.New(worker, 4)
			q.PushAll(make([]int, 100))
			q.Wait(context.Background())
			return q
		},
		"paused with a backlog": func() *q {
			q := queue.New(worker, 4)
			q.Pause()
			q.PushAll(make([]int, 100))
			return q
		},
		"with hooks": func() *q {
			q := queue.New(worker, 1)
			q.OnDrain(func() { q.Len() })
			q.OnError(func(int, error) { q.Len() })
			q.Push(1)
			q.Wait(context.Background())
			return q
		},
		"with a context": func() *q { return queue.New(worker, 1, queue.WithContext(endless)) },
		"used with a context": func() *q {
			q := queue.New(worker, 1, queue.WithContext(endless))
			q.PushAll(make([]int, 100))
			q.Do(endless, 1)
			ticket, _ := q.Submit(1)
			ticket.Wait(endless)
			q.Wait(endless)
			return q
		},
		"paused with a context": func() *q {
			q := queue.New(worker, 1, queue.WithContext(endless))
			q.Pause()
			q.Submit(1)
			return q
		},
		"with a limiter":        func() *q { return queue.New(worker, 1, queue.WithLimiter(freeLimiter{})) },
		"with a yield interval": func() *q { return queue.New(worker, 1, queue.WithYieldInterval(time.Nanosecond)) },
		"killed": func() *q {
			q := queue.New(worker, 1, queue.WithContext(endless))
			q.Push(1)
			q.Kill()
			q.Wait(context.Background())
			return q
		},
		"shut down": func() *q {
			q := queue.New(worker, 1)
			q.Push(1)
			q.Shutdown(context.Background())
			return q
		},
	}
	for name, make := range tests {
		t.Run(name, func(t *testing.T) {
			if !collect(weak.Make(make())) {
				t.Error("the queue is not collectable")
			}
		})
	}
}

// A lasting context counts what is registered with it.
type lastingContext struct {
	context.Context
	mu         sync.Mutex
	registered int
}

func (c *lastingContext) Done() <-chan struct{} { return make(chan struct{}) }

// AfterFunc is how package context asks a context that is not its own.
func (c *lastingContext) AfterFunc(f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.registered++
	return sync.OnceValue(func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.registered--
		return true
	})
}

func (c *lastingContext) left() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.registered
}

func TestQueuesLeaveNothingWithALastingContext(t *testing.T) {
	ctx := &lastingContext{Context: context.Background()}
	for range 100 {
		q := queue.New(func(context.Context, int) (int, error) { return 0, nil }, 1, queue.WithContext(ctx))
		q.Push(1)
		q.Do(ctx, 1)
		q.Wait(context.Background())
	}
	for range 1000 {
		if ctx.left() == 0 {
			break
		}
		runtime.GC()
		runtime.Gosched() // cleanups have a goroutine of their own
	}
	if n := ctx.left(); n > 0 {
		t.Errorf("%d functions are still registered", n)
	}
}

// A killed queue does not wait for the collector to be forgotten.
func TestKilledQueueLeavesNothingWithALastingContext(t *testing.T) {
	ctx := &lastingContext{Context: context.Background()}
	q := queue.New(func(context.Context, int) (int, error) { return 0, nil }, 1, queue.WithContext(ctx))
	q.Push(1)
	if n := ctx.left(); n != 1 {
		t.Errorf("%d functions are registered, want 1", n)
	}
	q.Kill()
	if n := ctx.left(); n > 0 {
		t.Errorf("%d functions are still registered", n)
	}
	runtime.KeepAlive(q)
}

// The same with a context of package context, which keeps its children.
func TestQueuesLeaveNothingWithAContext(t *testing.T) {
	ctx := t.Context()
	use := func(n int) {
		for range n {
			q := queue.New(func(context.Context, int) (int, error) { return 0, nil }, 1, queue.WithContext(ctx))
			q.Do(ctx, 1)
		}
	}
	use(500)
	before := heap()
	for range max(scaled(4000)/100, 10) {
		use(500)
		heap() // or else the context's list of children grows, and keeps its size
	}
	wantHeap(t, before, 128<<10)
	runtime.KeepAlive(ctx)
}

// Waits whose context ends leave nothing behind, in turn or all at once.
func TestAbandonedWaitsLeaveNothing(t *testing.T) {
	n := scaled(100_000)
	q := queue.New(func(context.Context, int) (int, error) { return 0, nil }, 1, queue.WithCapacity(1))
	q.Pause()
	ticket, _ := q.Submit(1)
	waits := map[string]func(ctx context.Context) error{
		"Wait":        q.Wait,
		"Ticket.Wait": func(ctx context.Context) error { _, err := ticket.Wait(ctx); return err },
		"PushWait":    func(ctx context.Context) error { return q.PushWait(ctx, 2) },
		"Do":          func(ctx context.Context) error { _, err := q.Do(ctx, 2); return err },
	}
	for name, wait := range waits {
		for _, many := range []bool{false, true} {
			t.Run(fmt.Sprint(name, "/", map[bool]string{false: "in turn", true: "at once"}[many]), func(t *testing.T) {
				abandon := func(n int) {
					if !many {
						for range n {
							ctx, cancel := context.WithCancel(context.Background())
							go cancel()
							if err := wait(ctx); err != context.Canceled {
								t.Errorf("%s = %v", name, err)
							}
						}
						return
					}
					ctx, cancel := context.WithCancel(context.Background())
					var wg sync.WaitGroup
					for range n {
						wg.Go(func() { wait(ctx) })
					}
					cancel()
					wg.Wait()
				}
				abandon(100)
				before := heap()
				if many {
					// The runtime keeps the goroutines themselves for later,
					// so only many rounds would show a leak.
					abandon(1000)
					before = heap()
					for range max(n/1000, 1) {
						abandon(1000)
					}
				} else {
					abandon(n)
				}
				wantHeap(t, before, 256<<10)
			})
		}
	}
	if got := slices.Collect(q.Waiting()); !slices.Equal(got, []int{1}) {
		t.Errorf("%v wait", got)
	}
	t.Run("Shutdown", func(t *testing.T) {
		before := heap()
		for range n {
			ctx, cancel := context.WithCancel(context.Background())
			go cancel()
			q.Shutdown(ctx)
			cancel()
		}
		wantHeap(t, before, 128<<10)
	})
	runtime.KeepAlive(ticket)
	q.Kill()
}

// Withdrawn tasks leave nothing in the queue that they waited in.
func TestWithdrawnTasksLeaveNothing(t *testing.T) {
	n := scaled(200_000)
	q := queue.New(func(context.Context, int) (int, error) { return 0, nil }, 1)
	q.Pause()
	q.Push(1)
	ways := map[string]func(i int){
		"Cancel":           func(i int) { ticket, _ := q.Submit(i); ticket.Cancel() },
		"Cancel elsewhere": func(i int) { ticket, _ := q.Submit(i, queue.Priority(i)); ticket.Cancel() },
		"SetPriority":      func(i int) { ticket, _ := q.Submit(i); ticket.SetPriority(i); ticket.Cancel() },
		"Remove": func(i int) {
			q.Push(i, queue.Priority(-i))
			q.Remove(func(task int) bool { return task == i })
		},
		"Front": func(i int) {
			q.Push(i, queue.Front())
			q.Remove(func(task int) bool { return task == i })
		},
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			for i := range 100 {
				way(i + 2)
			}
			before := heap()
			for i := range n {
				way(i + 2)
			}
			wantHeap(t, before, 64<<10)
			if n := q.Len(); n != 1 {
				t.Errorf("%d tasks wait", n)
			}
		})
	}
	q.Kill()
}

func TestHeapIsBackAfterABurst(t *testing.T) {
	bursts := map[string]func(q *queue.Queue[int, int]){
		"one priority": func(q *queue.Queue[int, int]) {
			for i := range scaled(1_000_000) {
				q.Push(i)
			}
		},
		"from the front": func(q *queue.Queue[int, int]) {
			for i := range scaled(1_000_000) {
				q.Push(i, queue.Front())
			}
		},
		"as a slice": func(q *queue.Queue[int, int]) { q.PushAll(make([]int, scaled(1_000_000))) },
		"distinct priorities": func(q *queue.Queue[int, int]) {
			n := scaled(200_000)
			for i := range n {
				q.Push(i, queue.Priority(i*7919%n))
			}
		},
		"tickets": func(q *queue.Queue[int, int]) {
			for i := range scaled(500_000) {
				q.Submit(i, queue.Priority(i%10))
			}
		},
	}
	drains := map[string]func(q *queue.Queue[int, int]){
		"run": func(q *queue.Queue[int, int]) {
			q.Resume()
			q.Wait(context.Background())
		},
		"Clear":  func(q *queue.Queue[int, int]) { q.Clear() },
		"Remove": func(q *queue.Queue[int, int]) { q.Remove(func(int) bool { return true }) },
	}
	for name, burst := range bursts {
		for how, drain := range drains {
			t.Run(name+"/"+how, func(t *testing.T) {
				q := queue.New(func(context.Context, int) (int, error) { return 0, nil }, 2)
				before := heap()
				q.Pause()
				burst(q)
				drain(q)
				if !q.Idle() {
					t.Errorf("%+v", q.Stats())
				}
				wantHeap(t, before, 64<<10)
				q.Resume()
				if _, err := q.Do(t.Context(), 1); err != nil {
					t.Error(err)
				}
				runtime.KeepAlive(q)
			})
		}
	}
}

// A distinct priority for each task leaves no trace, come they one by one or
// all at once.
func TestPrioritiesLeaveNothing(t *testing.T) {
	n := scaled(1_000_000)
	for _, paused := range []bool{false, true} {
		for _, step := range []int{1, -1} {
			t.Run(fmt.Sprint(paused, "/", step), func(t *testing.T) {
				q := queue.New(func(context.Context, int) (int, error) { return 0, nil }, 1)
				before := heap()
				if paused {
					q.Pause()
				}
				for i := range n {
					q.Push(i, queue.Priority(step*(i-n/2)))
				}
				q.Resume()
				q.Wait(t.Context())
				wantHeap(t, before, 64<<10)
				wantCounts(t, q.Stats(), n, 0, 0)
			})
		}
	}
}

// No length is a bad one to push and withdraw at: at most a segment or two is
// made anew there, not one each time, and not one that grows with the queue.
func TestNoLengthIsExpensive(t *testing.T) {
	const (
		times   = 32
		segment = 16 << 10
		// Tickets, and two segments of tasks and of what their tickets need.
		most = times*512 + 4*segment + 8<<10
	)
	allocated := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.TotalAlloc
	}
	for _, front := range []bool{false, true} {
		t.Run(fmt.Sprint(front), func(t *testing.T) {
			q := queue.New(func(context.Context, int) (int, error) { return 0, nil }, 1)
			q.Pause()
			var opts []queue.PushOption
			if front {
				opts = append(opts, queue.Front())
			}
			length := 0
			for ; length < 9000; length++ {
				before := allocated()
				for range times {
					ticket, _ := q.Submit(1, opts...)
					ticket.Cancel()
				}
				if n := allocated() - before; n > most {
					t.Errorf("at length %d: %d bytes for %d tasks", length, n, times)
				}
				q.Push(1, opts...)
			}
			q.Kill()
		})
	}
}

func TestAllocations(t *testing.T) {
	worker := func(context.Context, int) (int, error) { return 0, nil }
	tasks := make([]int, 100)
	tests := []struct {
		name   string
		paused bool
		do     func(q *queue.Queue[int, int])
		want   float64
	}{
		{"Push", true, func(q *queue.Queue[int, int]) { q.Push(1) }, 0},
		{"Push with options", true, func(q *queue.Queue[int, int]) { q.Push(1, queue.Priority(3), queue.Front()) }, 0},
		{"PushAll", true, func(q *queue.Queue[int, int]) { q.PushAll(tasks[:20]) }, 0},
		{"PushWait", true, func(q *queue.Queue[int, int]) { q.PushWait(context.Background(), 1) }, 0},
		{"Submit", true, func(q *queue.Queue[int, int]) { q.Submit(1) }, 1},
		{"Submit and Cancel", true, func(q *queue.Queue[int, int]) { ticket, _ := q.Submit(1); ticket.Cancel() }, 1},
		{"Push and run", false, func(q *queue.Queue[int, int]) { q.Push(1) }, 0},
		{"PushAll and run", false, func(q *queue.Queue[int, int]) { q.PushAll(tasks[:20]) }, 0},
		{"a pair of priorities", false, func(q *queue.Queue[int, int]) {
			q.Push(1, queue.Priority(1))
			q.Push(1, queue.Priority(2))
		}, 0},
		{"Stats", true, func(q *queue.Queue[int, int]) { q.Stats(); q.Len(); q.Idle() }, 0},
		{"steering", true, func(q *queue.Queue[int, int]) { q.Pause(); q.SetConcurrency(3) }, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			q := queue.New(worker, 2)
			q.PushAll(tasks)
			q.Wait(t.Context())
			if test.paused {
				q.Pause()
			}
			// The average is rounded down: what a segment costs is shared by
			// its tasks.
			if got := testing.AllocsPerRun(2000, func() { test.do(q) }); got > test.want {
				t.Errorf("%v allocations, want %v", got, test.want)
			}
			q.Kill()
		})
	}
}
