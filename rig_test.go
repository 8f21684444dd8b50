package queue_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/tickqueue/queue"
)

var errTask = errors.New("task failed")

// scaled makes a number of repetitions smaller where each one costs much more.
func scaled(n int) int {
	if raceEnabled {
		n /= 25
	}
	if runtime.GOOS == "js" {
		n /= 20
	}
	if testing.Short() {
		n /= 10
	}
	return max(n, 100)
}

// bubble is a subtest in a synctest bubble.
func bubble(t *testing.T, name string, f func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

// doneContext returns a context that is done to begin with.
func doneContext() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// A rig is a queue whose tasks run until the test ends them. It belongs in a
// synctest bubble. Its own verbs return when all goroutines have come to rest,
// so it is certain what has started and which hooks have been called by then.
type rig[T comparable] struct {
	*queue.Queue[T, T]
	t *testing.T

	mu      sync.Mutex
	running map[T]chan error
	started []T      // since took was last called
	hooks   []string // called since heard was last called
	over    bool     // tasks end at once

	tickets map[T]*queue.Ticket[T]
}

func newRig[T comparable](t *testing.T, concurrency int, opts ...queue.Option) *rig[T] {
	r := &rig[T]{t: t, running: make(map[T]chan error), tickets: make(map[T]*queue.Ticket[T])}
	r.Queue = queue.New(r.work, concurrency, opts...)
	t.Cleanup(func() {
		r.Kill()
		r.mu.Lock()
		r.over = true
		for _, end := range r.running {
			close(end)
		}
		r.mu.Unlock()
	})
	return r
}

// work is the worker function. Its result is the task.
func (r *rig[T]) work(_ context.Context, task T) (T, error) {
	end := make(chan error, 1)
	r.mu.Lock()
	r.started = append(r.started, task)
	if r.over {
		close(end)
	}
	r.running[task] = end
	r.mu.Unlock()
	err := <-end
	r.mu.Lock()
	delete(r.running, task)
	r.mu.Unlock()
	return task, err
}

// push pushes tasks, all at once.
func (r *rig[T]) push(tasks ...T) {
	r.t.Helper()
	if err := r.PushAll(tasks); err != nil {
		r.t.Fatalf("PushAll(%v) = %v", tasks, err)
	}
	synctest.Wait()
}

// submit submits tasks, one after another, and keeps their tickets.
func (r *rig[T]) submit(tasks ...T) {
	r.t.Helper()
	for _, task := range tasks {
		r.submitWith(task)
	}
}

func (r *rig[T]) submitWith(task T, opts ...queue.PushOption) {
	r.t.Helper()
	ticket, err := r.Submit(task, opts...)
	if err != nil {
		r.t.Fatalf("Submit(%v) = %v", task, err)
	}
	r.tickets[task] = ticket
	synctest.Wait()
}

// finish ends running tasks, one after another, without an error.
func (r *rig[T]) finish(tasks ...T) {
	r.t.Helper()
	for _, task := range tasks {
		r.fail(task, nil)
	}
}

// fail ends a running task with an error.
func (r *rig[T]) fail(task T, err error) {
	r.t.Helper()
	r.mu.Lock()
	end := r.running[task]
	r.mu.Unlock()
	if end == nil {
		r.t.Fatalf("%v does not run", task)
	}
	end <- err
	synctest.Wait()
}

// took returns the tasks that have started since it was last called.
func (r *rig[T]) took() []T {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	tasks := r.started
	r.started = nil
	return tasks
}

// wantTook checks which tasks have started since took was last called.
func (r *rig[T]) wantTook(want ...T) {
	r.t.Helper()
	if got := r.took(); !slices.Equal(got, want) {
		r.t.Errorf("started %v, want %v", got, want)
	}
}

// wantWaiting checks which tasks wait, in their order.
func (r *rig[T]) wantWaiting(want ...T) {
	r.t.Helper()
	synctest.Wait()
	if got := slices.Collect(r.Waiting()); !slices.Equal(got, want) {
		r.t.Errorf("%v wait, want %v", got, want)
	}
	if n := r.Len(); n != len(want) {
		r.t.Errorf("Len() = %d, want %d", n, len(want))
	}
}

// wantWorking checks which tasks run, in the order of their starts.
func (r *rig[T]) wantWorking(want ...T) {
	r.t.Helper()
	synctest.Wait()
	if got := slices.Collect(r.Working()); !slices.Equal(got, want) {
		r.t.Errorf("%v run, want %v", got, want)
	}
	if n := r.Running(); n != len(want) {
		r.t.Errorf("Running() = %d, want %d", n, len(want))
	}
}

// wantSettled checks what a submitted task has settled with.
func (r *rig[T]) wantSettled(task T, want error) {
	r.t.Helper()
	select {
	case <-r.tickets[task].Done():
	default:
		r.t.Errorf("%v has not settled", task)
		return
	}
	// The context is done, so this does not wait.
	result, err := r.tickets[task].Wait(doneContext())
	if !errors.Is(err, want) {
		r.t.Errorf("%v settled with %v, want %v", task, err, want)
	}
	if err == nil && result != task {
		r.t.Errorf("%v has the result of %v", task, result)
	}
}

// wantUnsettled checks that a submitted task has not settled.
func (r *rig[T]) wantUnsettled(task T) {
	r.t.Helper()
	synctest.Wait()
	select {
	case <-r.tickets[task].Done():
		r.t.Errorf("%v has settled", task)
	default:
	}
}

// listen sets the state hooks. They write down their names.
func (r *rig[T]) listen() {
	r.OnDrain(func() { r.hear("drain") })
	r.OnSaturated(func() { r.hear("saturated") })
	r.OnUnsaturated(func() { r.hear("unsaturated") })
	r.OnEmpty(func() { r.hear("empty") })
}

func (r *rig[T]) hear(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hooks = append(r.hooks, name)
}

// wantHeard checks which hooks were called, in order, since it was last called.
func (r *rig[T]) wantHeard(want string) {
	r.t.Helper()
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	if got := strings.Join(r.hooks, " "); got != want {
		r.t.Errorf("hooks called: %q, want %q", got, want)
	}
	r.hooks = nil
}

// checkSum checks that every task accepted is accounted for.
func checkSum(t *testing.T, s queue.Stats) {
	t.Helper()
	sum := s.Succeeded + s.Failed + s.Dropped + uint64(s.Waiting) + uint64(s.Running)
	if s.Pushed != sum {
		t.Errorf("Pushed = %d, but the tasks are %d: %+v", s.Pushed, sum, s)
	}
}

// wantCounts checks how the tasks of an idle queue have ended.
func wantCounts(t *testing.T, s queue.Stats, succeeded, failed, dropped int) {
	t.Helper()
	checkSum(t, s)
	if s.Waiting != 0 || s.Running != 0 {
		t.Errorf("queue is not idle: %+v", s)
	}
	if s.Succeeded != uint64(succeeded) || s.Failed != uint64(failed) || s.Dropped != uint64(dropped) {
		t.Errorf("%d succeeded, %d failed, %d dropped; want %d, %d, %d",
			s.Succeeded, s.Failed, s.Dropped, succeeded, failed, dropped)
	}
}

// marked calls f with a mark on the stack.
//
//go:noinline
func marked(f func()) {
	f()
	runtime.KeepAlive(f)
}

// isMarked reports whether it is called, however deeply, by marked.
func isMarked() bool {
	pcs := make([]uintptr, 100)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	for {
		frame, more := frames.Next()
		if strings.HasSuffix(frame.Function, ".marked") {
			return true
		}
		if !more {
			return false
		}
	}
}
