package queue

import "github.com/tickqueue/queue/internal/runlist"

// An event is a change of state that a hook can be called for.
type event int

const (
	drain event = iota
	saturated
	unsaturated
	empty
	eventKinds
)

// events are the hooks of a queue and what they have yet to be told.
type events[T any] struct {
	hooks      [eventKinds]func()
	onError    func(task T, err error)
	pending    runlist.List[event, struct{}]
	delivering bool // the goroutine that calls hooks exists; true while events are pending
	saturated  bool // Saturated was the last of its pair
}

func (e *events[T]) discard() {
	for e.pending.Len() > 0 {
		e.pending.Pop()
	}
}

// OnDrain sets the hook that is called when the queue becomes idle, once per
// busy spell, whatever made it idle: the end of a task, or [Queue.Remove],
// [Queue.Clear] or [Ticket.Cancel]. nil removes it.
//
// What holds for this hook holds for OnSaturated, OnUnsaturated and OnEmpty as
// well. Hooks can be set at any time and from anywhere; each setting replaces
// the one before. They are called one at a time in the order of the changes, on
// a goroutine of their own with no lock held, and may call any method; a slow
// one delays later ones, never a task. The hook called is the one that is set
// at the moment of the call. [Queue.Kill] discards the calls that are still to
// come; [Queue.Wait] and [Queue.Shutdown] do not wait for them. A hook that panics
// ends the program.
func (q *Queue[T, R]) OnDrain(f func()) { q.setHook(drain, f) }

// OnSaturated sets the hook that is called when the last free worker has taken
// a task. Saturated and Unsaturated alternate.
// See [Queue.OnDrain] for what holds for all hooks.
func (q *Queue[T, R]) OnSaturated(f func()) { q.setHook(saturated, f) }

// OnUnsaturated sets the hook that is called when, after a Saturated, running
// workers have come down to the concurrency less the buffer of [WithBuffer].
// See [Queue.OnDrain] for what holds for all hooks.
func (q *Queue[T, R]) OnUnsaturated(f func()) { q.setHook(unsaturated, f) }

// OnEmpty sets the hook that is called when the last waiting task has started.
// See [Queue.OnDrain] for what holds for all hooks.
func (q *Queue[T, R]) OnEmpty(f func()) { q.setHook(empty, f) }

// OnError sets the hook that is called for each task that fails, in a cargo queue
// for each of the batch: with the error that the worker returned, a [*PanicError],
// [ErrGoexit], or the error of the limiter; not for a task that was dropped. nil
// removes it. Unlike the others, it is called on the worker's goroutine, before
// the task settles and before its place is free; calls may be concurrent. It may
// call any method, and is called after [Queue.Kill], too.
func (q *Queue[T, R]) OnError(f func(task T, err error)) {
	q.lock()
	q.events.onError = f
	q.unlock()
}

func (q *Queue[T, R]) setHook(e event, f func()) {
	q.lock()
	q.events.hooks[e] = f
	q.unlock()
}

// emit has the hook of an event called. Where no hook is set, that is nothing,
// unless earlier calls are still to come: meanwhile one may be set.
func (q *Queue[T, R]) emit(e event) {
	if q.events.hooks[e] != nil || q.events.delivering {
		q.enqueue(e)
	}
}

func (q *Queue[T, R]) enqueue(e event) {
	if q.killed {
		return
	}
	q.events.pending.PushBack(0, e, nil)
	if !q.events.delivering {
		q.events.delivering = true
		go q.deliver()
	}
}

// deliver calls hooks until there are no more events.
func (q *Queue[T, R]) deliver() {
	returned := false
	defer func() {
		if returned {
			return
		}
		if v := recover(); v != nil {
			panic(v)
		}
		go q.deliver() // a hook called runtime.Goexit
	}()
	for hook := range q.undelivered {
		if hook != nil {
			hook()
		}
	}
	returned = true
}

// undelivered yields the hook to call for each event.
func (q *Queue[T, R]) undelivered(yield func(func()) bool) {
	for {
		q.lock()
		if q.events.pending.Len() == 0 {
			q.events.delivering = false
			q.unlock()
			return
		}
		e, _ := q.events.pending.Pop()
		hook := q.events.hooks[e]
		q.unlock()
		if !yield(hook) {
			return
		}
	}
}

// checkUnsaturated is called when there are fewer places taken, or more to take.
func (q *Queue[T, R]) checkUnsaturated() {
	if q.events.saturated && q.places <= q.low {
		q.events.saturated = false
		q.emit(unsaturated)
	}
}

// setConcurrency sets the concurrency and what follows from it.
func (q *Queue[T, R]) setConcurrency(n int) {
	buffer := q.buffer
	if buffer == defaultBuffer {
		buffer = n/4 + min(n%4, 1)
	}
	q.concurrency, q.low = n, n-min(max(buffer, 1), n)
}
