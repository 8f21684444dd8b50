package queue_test

import (
	"context"
	"runtime"
	"slices"
	"syscall/js"
	"testing"
	"time"
	"weak"

	"github.com/tickqueue/queue"
	"go.uber.org/goleak"
)

// busy keeps the only thread for d.
func busy(d time.Duration) {
	for start := time.Now(); time.Since(start) < d; {
	}
}

// setTimeout has the event loop call f after so many milliseconds and returns a
// channel that is closed then.
func setTimeout(f func(), ms int) <-chan struct{} {
	done := make(chan struct{})
	var callback js.Func
	callback = js.FuncOf(func(js.Value, []js.Value) any {
		callback.Release()
		f()
		close(done)
		return nil
	})
	js.Global().Call("setTimeout", callback, ms)
	return done
}

// replace sets global variables of the host until the test is over.
func replace(t *testing.T, value any, names ...string) {
	t.Helper()
	for _, name := range names {
		original := js.Global().Get(name)
		t.Cleanup(func() { js.Global().Set(name, original) })
		js.Global().Set(name, value)
	}
}

// better are the continuations before the one that is wanted.
var better = map[string][]string{
	"setImmediate":   nil,
	"MessageChannel": {"setImmediate"},
	"setTimeout":     {"setImmediate", "MessageChannel"},
}

func TestHostTurns(t *testing.T) {
	const tasks = 20
	for _, test := range []struct {
		name    string
		hidden  []string
		options []queue.Option
		before  time.Duration // set before the first task, if any
		during  time.Duration // set by the third task, if any
		yields  bool
	}{
		{name: "default"},
		{name: "off", options: []queue.Option{queue.WithYieldInterval(0)}},
		{name: "option", options: []queue.Option{queue.WithYieldInterval(5 * time.Millisecond)}, yields: true},
		{name: "set before the drain", before: 5 * time.Millisecond, yields: true},
		{name: "set during the drain", during: 5 * time.Millisecond, yields: true},
		{name: "setTimeout", hidden: better["setTimeout"], before: 5 * time.Millisecond, yields: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			replace(t, js.Undefined(), test.hidden...)
			done := 0
			var q *queue.Queue[int, struct{}]
			q = queue.New(func(_ context.Context, task int) (struct{}, error) {
				if task == 2 && test.during > 0 {
					q.SetYieldInterval(test.during)
				}
				busy(3 * time.Millisecond)
				done++
				return struct{}{}, nil
			}, 1, test.options...)
			if test.before > 0 {
				q.SetYieldInterval(test.before)
			}
			doneThen := 0
			fired := setTimeout(func() { doneThen = done }, 0)
			q.PushAll(numbers(tasks))
			q.Wait(t.Context())
			<-fired
			switch yields := q.Stats().Yields; {
			case test.yields && (doneThen == tasks || yields == 0):
				t.Errorf("the host's timer fired after %d of %d tasks; %d turns", doneThen, tasks, yields)
			case !test.yields && (doneThen < tasks || yields > 0):
				t.Errorf("the host's timer fired after %d of %d tasks; %d turns", doneThen, tasks, yields)
			}
		})
	}
}

func numbers(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}

// Whatever the host has to go on with, the drain goes on, in order.
func TestOrderAcrossTurns(t *testing.T) {
	type task struct {
		name     string
		priority int
		then     []task // pushed when it runs
		front    bool
	}
	for _, test := range []struct {
		name  string
		tasks []task
		want  []string
	}{
		{
			"equal priorities",
			[]task{{name: "a"}, {name: "b"}, {name: "c"}, {name: "d"}, {name: "e"}},
			[]string{"a", "b", "c", "d", "e"},
		},
		{
			"mixed priorities",
			[]task{
				{name: "low 1", priority: -1}, {name: "a"}, {name: "high 1", priority: 7},
				{name: "low 2", priority: -1}, {name: "b"}, {name: "high 2", priority: 7},
			},
			[]string{"high 1", "high 2", "a", "b", "low 1", "low 2"},
		},
		{
			"a run whose first task has already run",
			[]task{
				{name: "a", priority: 1, then: []task{
					{name: "d", priority: 1},
					{name: "front", priority: 1, front: true},
					{name: "urgent", priority: 2},
				}},
				{name: "b", priority: 1, then: []task{{name: "e", priority: 1}}},
				{name: "c", priority: 1},
				{name: "last"},
			},
			[]string{"a", "urgent", "front", "b", "c", "d", "e", "last"},
		},
	} {
		for continuation, hidden := range better {
			t.Run(test.name+"/"+continuation, func(t *testing.T) {
				replace(t, js.Undefined(), hidden...)
				var order []string
				var q *queue.Queue[task, struct{}]
				push := func(tasks []task) {
					for _, task := range tasks {
						if task.front {
							q.Push(task, queue.Priority(task.priority), queue.Front())
						} else {
							q.Push(task, queue.Priority(task.priority))
						}
					}
				}
				q = queue.New(func(_ context.Context, task task) (struct{}, error) {
					order = append(order, task.name)
					push(task.then)
					busy(time.Millisecond)
					return struct{}{}, nil
				}, 1, queue.WithYieldInterval(1))
				push(test.tasks)
				q.Wait(t.Context())
				if !slices.Equal(order, test.want) {
					t.Errorf("order = %q, want %q", order, test.want)
				}
				if n := q.Stats().Yields; n != uint64(len(test.want)-1) {
					t.Errorf("%d turns, want one between each two tasks", n)
				}
			})
		}
	}
}

// The host goes on between the tasks of two queues, and the tasks of neither
// wait for the end of the other.
func TestTwoQueuesTakeTurnsWithTheHost(t *testing.T) {
	const tasks = 20
	var done [2]int
	var queues [2]*queue.Queue[int, struct{}]
	for i := range queues {
		queues[i] = queue.New(func(context.Context, int) (struct{}, error) {
			busy(3 * time.Millisecond)
			done[i]++
			return struct{}{}, nil
		}, 2, queue.WithYieldInterval(5*time.Millisecond))
	}
	var doneThen [2]int
	fired := setTimeout(func() { doneThen = done }, 20)
	for _, q := range queues {
		q.PushAll(numbers(tasks))
	}
	for _, q := range queues {
		q.Wait(t.Context())
	}
	<-fired
	for i, n := range doneThen {
		if n == 0 || n == tasks {
			t.Errorf("queue %d had done %d of %d tasks when the host's timer fired", i, n, tasks)
		}
	}
}

// A gatekeeper is a host that keeps the program from its turns' end until the
// test wants it, in place of setImmediate.
type gatekeeper struct {
	real   js.Value
	closed chan js.Value // receives the continuation when a gate has closed
	turns  int
}

func keepGates(t *testing.T) *gatekeeper {
	g := &gatekeeper{real: js.Global().Get("setImmediate"), closed: make(chan js.Value, 100)}
	f := js.FuncOf(func(_ js.Value, args []js.Value) any {
		g.turns++
		g.closed <- args[0]
		return nil
	})
	t.Cleanup(f.Release)
	replace(t, f, "setImmediate")
	return g
}

// open ends a turn. The gate is open as soon as the test waits for something.
func (g *gatekeeper) open(continuation js.Value) { g.real.Invoke(continuation) }

// finish opens what closes until the queue comes to rest.
func (g *gatekeeper) finish() {
	for settle(); len(g.closed) > 0; settle() {
		g.open(<-g.closed)
	}
}

// settle returns when all other goroutines have come to rest and the host has
// turned.
func settle() { <-setTimeout(func() {}, 0) }

// gated is a queue that stops at the gate after every task and writes down what
// it starts.
type gated struct {
	*queue.Queue[string, string]
	started []string
}

func newGated(concurrency int, opts ...queue.Option) *gated {
	g := new(gated)
	g.Queue = queue.New(func(_ context.Context, task string) (string, error) {
		g.started = append(g.started, task)
		busy(time.Millisecond)
		return task, nil
	}, concurrency, append(opts, queue.WithYieldInterval(1))...)
	return g
}

func (g *gated) wantStarted(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(g.started, want) {
		t.Errorf("started %q, want %q", g.started, want)
	}
}

func TestPushesWhileTheGateIsClosedOnlyAppend(t *testing.T) {
	host := keepGates(t)
	q := newGated(2)
	passes := func() uint64 { return q.Stats().Passes }
	q.PushAll([]string{"a", "b"})
	closed := <-host.closed
	before := passes()
	<-setTimeout(func() {
		if n := q.Running(); n != 0 {
			t.Errorf("%d tasks run while the host has its turn", n)
		}
		q.Push("c")
		q.PushAll([]string{"d", "e"})
		q.Push("urgent", queue.Priority(1))
	}, 0)
	settle()
	q.wantStarted(t, "a")
	if got := slices.Collect(q.Waiting()); !slices.Equal(got, []string{"urgent", "b", "c", "d", "e"}) {
		t.Errorf("%q wait", got)
	}
	if n := passes(); n != before {
		t.Errorf("%d passes while the gate was closed", n-before)
	}
	host.open(closed)
	host.finish()
	q.wantStarted(t, "a", "urgent", "b", "c", "d", "e")
}

// Workers whose tasks end while the gate is closed stop there, too.
func TestAllWorkersStopAtOneGate(t *testing.T) {
	host := keepGates(t)
	started := 0
	var end [3]chan struct{}
	q := queue.New(func(_ context.Context, task int) (struct{}, error) {
		started++
		if task < len(end) {
			end[task] = make(chan struct{})
			<-end[task]
		}
		busy(time.Millisecond)
		return struct{}{}, nil
	}, len(end), queue.WithYieldInterval(1))
	q.PushAll(numbers(10))
	settle()
	for i := range end {
		close(end[i])
		settle()
	}
	if started != len(end) || q.Running() != 0 || host.turns != 1 {
		t.Errorf("%d started, %d run, %d turns; want %d, 0, 1", started, q.Running(), host.turns, len(end))
	}
	host.finish()
	if s := q.Stats(); s.Yields != uint64(host.turns) || s.Succeeded != 10 || !q.Idle() {
		t.Errorf("%d turns given: %+v", host.turns, s)
	}
}

func TestKillWhileTheGateIsClosed(t *testing.T) {
	for _, test := range []struct {
		name string
		kill func(q *gated, cancel context.CancelCauseFunc)
		want error
	}{
		{"Kill", func(q *gated, _ context.CancelCauseFunc) {
			if got := q.Kill(); !slices.Equal(got, []string{"b", "c"}) {
				t.Errorf("Kill() = %q", got)
			}
		}, queue.ErrClosed},
		{"context", func(_ *gated, cancel context.CancelCauseFunc) { cancel(errTask) }, errTask},
	} {
		t.Run(test.name, func(t *testing.T) {
			leaks := goleak.IgnoreCurrent()
			host := keepGates(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			q := newGated(2, queue.WithContext(ctx))
			q.OnDrain(func() { t.Error("OnDrain's hook called after the end") })
			var tickets []*queue.Ticket[string]
			for _, task := range []string{"a", "b", "c"} {
				ticket, _ := q.Submit(task)
				tickets = append(tickets, ticket)
			}
			blocked := make(chan error, 1)
			closed := <-host.closed
			go func() { blocked <- q.Wait(context.Background()) }()
			settle()

			test.kill(q, cancel)
			for i, ticket := range tickets {
				_, err := ticket.Wait(t.Context())
				if want := []error{nil, queue.ErrDropped, queue.ErrDropped}[i]; err != want {
					t.Errorf("ticket %d: %v, want %v", i, err, want)
				}
			}
			if err := <-blocked; err != nil {
				t.Errorf("Wait() = %v", err)
			}
			if err := q.Push("d"); err != queue.ErrClosed {
				t.Errorf("Push() = %v", err)
			}
			host.open(closed)
			settle()
			q.wantStarted(t, "a")
			wantCounts(t, q.Stats(), 1, 0, 2)
			cancel(nil)
			if err := goleak.Find(leaks, goleak.IgnoreAnyFunction("runtime.handleEvent")); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestStateChangesWhileTheGateIsClosed(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(q *gated)
		then   []string // start once the gate is open
		last   func(q *gated)
		rest   []string // start after last
	}{
		{
			name:   "Pause",
			change: func(q *gated) { q.Pause() },
			last:   func(q *gated) { q.Resume() },
			rest:   []string{"b", "c", "d"},
		},
		{
			name:   "Pause and Resume",
			change: func(q *gated) { q.Pause(); q.Resume() },
			then:   []string{"b", "c", "d"},
		},
		{
			name:   "SetConcurrency upwards",
			change: func(q *gated) { q.SetConcurrency(5) },
			then:   []string{"b", "c", "d"},
		},
		{
			name:   "SetConcurrency downwards",
			change: func(q *gated) { q.SetConcurrency(1) },
			then:   []string{"b", "c", "d"},
		},
		{
			name:   "SetYieldInterval to off",
			change: func(q *gated) { q.SetYieldInterval(0) },
			then:   []string{"b", "c", "d"},
		},
		{
			name:   "SetYieldInterval to on",
			change: func(q *gated) { q.SetYieldInterval(time.Hour) },
			then:   []string{"b", "c", "d"},
		},
		{
			name:   "Clear",
			change: func(q *gated) { q.Clear() },
			last:   func(q *gated) { q.Push("e") },
			rest:   []string{"e"},
		},
		{
			name:   "Clear and Push",
			change: func(q *gated) { q.Clear(); q.Push("e") },
			then:   []string{"e"},
		},
		{
			name:   "Remove",
			change: func(q *gated) { q.Remove(func(task string) bool { return task != "d" }) },
			then:   []string{"d"},
		},
		{
			name:   "Shutdown",
			change: func(q *gated) { q.Shutdown(doneContext()) },
			then:   []string{"b", "c", "d"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			host := keepGates(t)
			q := newGated(2)
			q.PushAll([]string{"a", "b", "c", "d"})
			closed := <-host.closed
			test.change(q)
			settle()
			q.wantStarted(t, "a")
			host.open(closed)
			host.finish()
			q.wantStarted(t, slices.Concat([]string{"a"}, test.then)...)
			if test.last != nil {
				test.last(q)
				host.finish()
			}
			q.wantStarted(t, slices.Concat([]string{"a"}, test.then, test.rest)...)
			if !q.Idle() {
				t.Errorf("queue is not idle: %+v", q.Stats())
			}
			checkSum(t, q.Stats())
		})
	}
}

// A turn that is not needed any more for tasks is still the host's: tasks pushed
// meanwhile wait for its end.
func TestQueueOfWhichNothingIsLeftAtTheGate(t *testing.T) {
	host := keepGates(t)
	q := newGated(1)
	q.PushAll([]string{"a", "b"})
	closed := <-host.closed
	q.Clear()
	if err := q.Wait(doneContext()); err != nil {
		t.Errorf("Wait() = %v for an idle queue", err)
	}
	q.Push("c")
	settle()
	q.wantStarted(t, "a")
	host.open(closed)
	q.Wait(t.Context())
	q.wantStarted(t, "a", "c")
}

// Tasks that a limiter lets through at once run back to back as others do.
func TestTurnsWithLimiter(t *testing.T) {
	const tasks = 20
	q := queue.New(func(context.Context, int) (struct{}, error) {
		busy(3 * time.Millisecond)
		return struct{}{}, nil
	}, 1, queue.WithLimiter(open{}), queue.WithYieldInterval(5*time.Millisecond))
	doneThen := uint64(0)
	fired := setTimeout(func() { doneThen = q.Stats().Succeeded }, 0)
	q.PushAll(numbers(tasks))
	q.Wait(t.Context())
	<-fired
	if doneThen == tasks {
		t.Error("the host's timer fired after all tasks")
	}
}

// A worker that the limiter lets through while the gate is closed stops there, too.
func TestPermissionWhileTheGateIsClosed(t *testing.T) {
	host := keepGates(t)
	limiter := newTokens()
	q := newGated(2, queue.WithLimiter(limiter))
	q.PushAll([]string{"a", "b", "c"})
	settle() // two workers wait for the limiter
	limiter.ch <- nil
	closed := <-host.closed
	limiter.ch <- nil
	settle()
	q.wantStarted(t, "a")
	q.Push("urgent", queue.Priority(1))
	host.open(closed)
	limiter.ch <- nil
	limiter.ch <- nil
	host.finish()
	q.wantStarted(t, "a", "urgent", "b", "c")
}

// A worker that has a permission but whose task was taken back takes the place of
// another that is parked, whatever that one waits for, and stops at the gate like it.
func TestPermissionOfATaskTakenBackWhileTheGateIsClosed(t *testing.T) {
	t.Run("two that wait for the limiter", func(t *testing.T) {
		host := keepGates(t)
		limiter := newTokens()
		q := newGated(3, queue.WithLimiter(limiter))
		q.Push("a")
		var tickets []*queue.Ticket[string]
		for _, task := range []string{"b", "c", "d", "e"} {
			ticket, _ := q.Submit(task)
			tickets = append(tickets, ticket)
		}
		settle() // three workers wait for the limiter
		limiter.ch <- nil
		closed := <-host.closed
		limiter.ch <- nil
		limiter.ch <- nil
		for _, ticket := range tickets[:3] {
			ticket.Cancel()
		}
		settle()
		q.wantStarted(t, "a")
		host.open(closed)
		host.finish()
		q.wantStarted(t, "a", "e")
	})
	t.Run("one that waits for the host", func(t *testing.T) {
		host := keepGates(t)
		var calls []chan struct{}
		limiter := limiterFunc(func(ctx context.Context) error {
			granted := make(chan struct{})
			calls = append(calls, granted)
			select {
			case <-granted:
				return nil
			case <-ctx.Done():
				<-granted // it comes in the same moment
				return nil
			}
		})
		end := make(chan struct{})
		var started []string
		q := queue.New(func(_ context.Context, task string) (string, error) {
			started = append(started, task)
			if task == "a" {
				<-end
				busy(time.Millisecond)
			}
			return task, nil
		}, 3, queue.WithLimiter(limiter), queue.WithYieldInterval(1))
		q.Push("a")
		settle()
		close(calls[0])
		settle()
		q.Push("b")
		ticket, _ := q.Submit("c")
		settle()   // two workers wait for the limiter
		close(end) // the first of all goes to the gate
		close(calls[2])
		ticket.Cancel() // and then one of the two finds that it has lost its task
		q.Push("d")
		host.finish()
		if len(started) != 2 {
			t.Errorf("%q started, want two tasks for two permissions", started)
		}
		for _, granted := range calls[3:] {
			close(granted)
		}
		close(calls[1])
		q.Kill()
	})
}

// open is a limiter that limits nothing.
type open struct{}

func (open) Wait(ctx context.Context) error { return ctx.Err() }

func TestNothingIsMadeOfTheHostUntilATurn(t *testing.T) {
	prototype := js.Global().Get("Go").Get("prototype")
	makeFuncWrapper := prototype.Get("_makeFuncWrapper")
	counted := js.Global().Get("Function").New("original", `
		const counted = function(id) {
			counted.count++;
			return original.call(this, id);
		};
		counted.count = 0;
		return counted;
	`).Invoke(makeFuncWrapper)
	prototype.Set("_makeFuncWrapper", counted)
	defer prototype.Set("_makeFuncWrapper", makeFuncWrapper)
	callbacks := func() int { return counted.Get("count").Int() }

	q := queue.New(func(context.Context, int) (struct{}, error) { return struct{}{}, nil }, 2,
		queue.WithYieldInterval(time.Hour))
	q.PushAll(numbers(1000))
	q.Wait(t.Context())
	if n := callbacks(); n != 0 {
		t.Errorf("%d callbacks were made without a turn", n)
	}
	q.SetYieldInterval(1)
	q.PushAll(numbers(1000))
	q.Wait(t.Context())
	if n := callbacks(); n == 0 || n != int(q.Stats().Yields) {
		t.Errorf("%d callbacks were made in %d turns", n, q.Stats().Yields)
	}
}

func TestQueueIsCollectedAfterTurns(t *testing.T) {
	q := func() weak.Pointer[queue.Queue[string, string]] {
		q := newGated(2)
		q.PushAll([]string{"a", "b", "c"})
		q.Wait(t.Context())
		return weak.Make(q.Queue)
	}()
	for range 10 { // what its last goroutine left on its stack goes with the stack
		settle()
		runtime.GC()
	}
	if q.Value() != nil {
		t.Error("an idle queue is kept")
	}
}
