package queue

import "github.com/tickqueue/queue/internal/runlist"

// An event is a change of state that a hook can be called for.
type event int

const (
	eventDrain event = iota
	eventSaturated
	eventUnsaturated
	eventEmpty
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
func (q *Queue[T, R]) OnDrain(f func()) { q.setHook(eventDrain, f) }

// OnSaturated sets the hook that is called when the last free worker has taken
// a task. Saturated and Unsaturated alternate.
// See [Queue.OnDrain] for what holds for all hooks.
func (q *Queue[T, R]) OnSaturated(f func()) { q.setHook(eventSaturated, f) }

// OnUnsaturated sets the hook that is called when, after a Saturated, running
// workers have come down to the concurrency less the buffer of [WithBuffer], or
// a higher concurrency makes it so. A worker that waits for the limiter before its
// next task counts as running here. See [Queue.OnDrain] for what holds for all hooks.
func (q *Queue[T, R]) OnUnsaturated(f func()) { q.setHook(eventUnsaturated, f) }

// OnEmpty sets the hook that is called when the last waiting task has started.
// See [Queue.OnDrain] for what holds for all hooks.
func (q *Queue[T, R]) OnEmpty(f func()) { q.setHook(eventEmpty, f) }

// OnError sets the hook that is called for each task that fails, in a cargo queue
// for each of the batch: with the error that the worker returned, a [*PanicError],
// [ErrGoexit], or the error of the limiter; not for a task that was dropped. nil
// removes it. Unlike the others, it is called on the worker's goroutine, before
// the task settles and before its place is free; calls may be concurrent. It may
// call any method, and is called after [Queue.Kill], too. It hears of a Do whose
// worker fails because its context is done like of any other. A panic in it ends
// the program.
func (q *Queue[T, R]) OnError(f func(task T, err error)) {
	q.lock()
	q.events.onError = f
	q.unlock()
}

// setHook sets a hook. It takes the lock.
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

// enqueue is the rest of emit, which so can be inlined.
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

// deliver calls hooks until there are no more events. It does not need the lock.
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
	for {
		hook, ok := q.nextHook()
		if !ok {
			break
		}
		if hook != nil {
			hook()
		}
	}
	returned = true
}

// nextHook takes the next event and returns its hook, nil if none is set now, or
// reports false if there are no more events. It takes the lock.
func (q *Queue[T, R]) nextHook() (hook func(), ok bool) {
	q.lock()
	defer q.unlock()
	if q.events.pending.Len() == 0 {
		q.events.delivering = false
		return nil, false
	}
	e, _ := q.events.pending.Pop()
	return q.events.hooks[e], true
}

// checkUnsaturated emits Unsaturated if it is due. Whoever gives up a place or
// raises the concurrency calls it.
func (q *Queue[T, R]) checkUnsaturated() {
	if q.events.saturated && q.places <= q.low {
		q.events.saturated = false
		q.emit(eventUnsaturated)
	}
}
