package queue

import (
	"context"
	"sync/atomic"

	"github.com/tickqueue/queue/internal/runlist"
)

// A Ticket stands for a task given to [Queue.Submit]. Its methods may be called
// from any goroutine.
type Ticket[R any] struct {
	task submitted // the entry that this ticket is a part of

	// Guarded by the queue's lock. Once settled is true, result and err do not
	// change, and whoever has seen that, or done closed, may read them without.
	settled atomic.Bool
	done    chan struct{} // nil until somebody asks
	result  R
	err     error
}

// submitted is what a ticket, which knows no T, needs of its entry.
type submitted interface {
	lock()
	unlock()
	withdraw(err error) bool
	setPriority(n int) bool
}

// Wait waits until the task has settled and returns its result: what the worker
// returned, or a [*PanicError], [ErrGoexit], the error of the limiter, or
// [ErrDropped] if the task was taken back. Once it has settled, Wait returns that
// whatever the state of ctx. If ctx is done before, Wait returns the error of ctx,
// and the task goes on.
func (t *Ticket[R]) Wait(ctx context.Context) (R, error) {
	if !t.settled.Load() {
		if err := await(ctx, t.Done()); err != nil {
			var zero R
			return zero, err
		}
	}
	return t.result, t.err
}

// Done returns a channel that is closed when the task has settled. The channel
// alone does not keep a queue with a parent: keep the ticket as long.
func (t *Ticket[R]) Done() <-chan struct{} {
	t.task.lock()
	defer t.task.unlock()
	if t.done == nil {
		t.done = make(chan struct{})
		if t.settled.Load() {
			close(t.done)
		}
	}
	return t.done
}

// Cancel withdraws the task if it has not started: it settles with [ErrDropped]
// and its room is free at once. It reports whether it did. A running task is not
// interrupted.
func (t *Ticket[R]) Cancel() bool { return t.task.withdraw(ErrDropped) }

// SetPriority moves the task to the tail of priority n, also if it has that
// priority already. It reports whether the task was still waiting.
func (t *Ticket[R]) SetPriority(n int) bool { return t.task.setPriority(n) }

// An entry is what the queue keeps of a task about whose end somebody wants to
// know. It is one allocation together with its ticket.
type entry[T, R any] struct {
	Ticket[R]
	q      *Queue[T, R]
	ctx    context.Context                 // of Do, unless that is Background; else nil
	handle runlist.Handle[T, *entry[T, R]] // in q.waiting while the task waits
}

func newEntry[T, R any](q *Queue[T, R]) *entry[T, R] {
	e := &entry[T, R]{q: q}
	e.task = e
	e.handle.Value = e
	return e
}

func entryOf[T, R any](h *runlist.Handle[T, *entry[T, R]]) *entry[T, R] {
	if h == nil {
		return nil
	}
	return h.Value
}

func handleOf[T, R any](e *entry[T, R]) *runlist.Handle[T, *entry[T, R]] {
	if e == nil {
		return nil
	}
	return &e.handle
}

func (e *entry[T, R]) lock()   { e.q.lock() }
func (e *entry[T, R]) unlock() { e.q.unlock() }

// settle gives the task its end. It needs the lock.
func (e *entry[T, R]) settle(result R, err error) {
	e.result, e.err = result, err
	e.settled.Store(true)
	if e.done != nil {
		close(e.done)
	}
}

// withdraw drops the task if it waits. It takes the lock.
func (e *entry[T, R]) withdraw(err error) bool {
	q := e.q
	q.lock()
	defer q.unlock()
	if !e.handle.Held() {
		return false
	}
	q.waiting.Remove(&e.handle)
	q.drop(e, err)
	return true
}

// setPriority moves the task if it waits. It takes the lock.
func (e *entry[T, R]) setPriority(n int) bool {
	q := e.q
	q.lock()
	defer q.unlock()
	if !e.handle.Held() {
		return false
	}
	q.waiting.PushBack(n, q.waiting.Remove(&e.handle), &e.handle)
	return true
}
