package queue

import (
	"context"
	"slices"

	"github.com/tickqueue/queue/internal/runlist"
)

// Push appends a task and returns at once; it never runs a worker or a hook.
// It returns [ErrClosed] or [ErrFull] if the queue did not take the task. The
// error of a task goes to the hook of [Queue.OnError]; without one, it is only
// counted, and a panic ends the program.
func (q *Queue[T, R]) Push(task T, opts ...PushOption) error {
	return q.push(task, positionOf(opts), nil)
}

// Submit is [Queue.Push] with a ticket, on which the task's end can be awaited
// and by which it can be canceled.
func (q *Queue[T, R]) Submit(task T, opts ...PushOption) (*Ticket[R], error) {
	e := newEntry(q)
	if err := q.push(task, positionOf(opts), e); err != nil {
		return nil, err
	}
	return &e.Ticket, nil
}

// push appends a task if there is room. It takes the lock.
func (q *Queue[T, R]) push(task T, p position, e *entry[T, R]) error {
	if q.inbox.open.Load() && (q.parent == nil || q.parent.Err() == nil) && q.inbox.push(task, p, e) {
		return nil
	}
	contended := q.lock()
	if err := q.refusal(1); err != nil {
		q.unlock()
		return err
	}
	q.append(task, p, e)
	if contended {
		q.openInbox()
	}
	q.unlock()
	return nil
}

// PushAll is [Queue.Push] for several tasks, in their order, with nothing between
// them. It takes all or none: if there is no room for all, it returns [ErrFull];
// more tasks than the capacity never fit. With no tasks it does nothing but
// return [ErrClosed] if the queue is closed. It does not keep the slice.
func (q *Queue[T, R]) PushAll(tasks []T, opts ...PushOption) error {
	p := positionOf(opts)
	q.lock()
	defer q.unlock()
	if err := q.refusal(len(tasks)); err != nil {
		return err
	}
	if p.front {
		for _, task := range slices.Backward(tasks) {
			q.append(task, p, nil)
		}
		return nil
	}
	for _, task := range tasks {
		q.append(task, p, nil)
	}
	return nil
}

// PushWait is [Queue.Push], but waits for room instead of returning [ErrFull]:
// first come, first served, as a priority counts only once the task is in. It
// returns [ErrClosed] if the queue is closed or becomes so, else the error of ctx
// if that is done, even if there is room. In either case the task was not taken.
// It panics if ctx is nil.
func (q *Queue[T, R]) PushWait(ctx context.Context, task T, opts ...PushOption) error {
	return q.pushWait(ctx, task, positionOf(opts), nil)
}

// Do pushes a task, waiting for room as [Queue.PushWait] does, and waits for
// its result. The worker's context also has the values of ctx and is done when
// ctx is, but not in a cargo queue.
//
// If ctx is done before the task has started, the task is withdrawn and Do returns
// the error of ctx; once it has started, Do returns when the worker does. Do
// returns [ErrClosed] if the queue did not take the task, [ErrDropped] if it was
// removed, cleared or killed, and never [ErrFull]: to refuse work when there is
// no room, use [Queue.Submit]. It panics if ctx is nil.
func (q *Queue[T, R]) Do(ctx context.Context, task T, opts ...PushOption) (R, error) {
	e := newEntry(q)
	e.done = make(chan struct{})
	if ctx != context.Background() { // which carries nothing and is never done
		e.ctx = ctx
	}
	if err := q.pushWait(ctx, task, positionOf(opts), e); err != nil {
		var zero R
		return zero, err
	}
	select {
	case <-e.done:
	case <-ctx.Done():
		e.withdraw(ctx.Err())
		<-e.done
	}
	return e.result, e.err
}

// A pusher is a PushWait or Do that waits for room.
type pusher[T, R any] struct {
	task     T
	position position
	entry    *entry[T, R] // nil for PushWait
	ctx      context.Context
	handle   runlist.Handle[*pusher[T, R], struct{}]
	decided  chan struct{} // closed when the task was taken or refused
	err      error         // why it was refused
}

// pushWait appends a task as soon as there is room. It takes the lock.
func (q *Queue[T, R]) pushWait(ctx context.Context, task T, p position, e *entry[T, R]) error {
	if ctx == nil {
		panic("queue: nil context")
	}
	ctxErr := ctx.Err()
	q.lock()
	err := q.refusal(1)
	if err != ErrClosed && ctxErr != nil {
		err = ctxErr
	}
	if err == nil {
		q.append(task, p, e)
	}
	if err != ErrFull {
		q.unlock()
		return err
	}
	w := &pusher[T, R]{task: task, position: p, entry: e, ctx: ctx, decided: make(chan struct{})}
	q.pushers.PushBack(0, w, &w.handle)
	q.unlock()

	select {
	case <-w.decided:
		return w.err
	case <-ctx.Done():
	}
	q.lock()
	defer q.unlock()
	if w.handle.Held() {
		q.pushers.Remove(&w.handle)
		return ctx.Err()
	}
	return w.err
}

// refusal returns why n tasks cannot be taken now.
func (q *Queue[T, R]) refusal(n int) error {
	switch {
	case q.closed:
		return ErrClosed
	case n > q.room():
		return ErrFull
	}
	return nil
}

// append takes a task.
func (q *Queue[T, R]) append(task T, p position, e *entry[T, R]) {
	if p.front {
		q.waiting.PushFront(p.priority, task, handleOf(e))
	} else {
		q.waiting.PushBack(p.priority, task, handleOf(e))
	}
	q.pushed++
	q.active = true
}

// admit gives room to the pusher that came first. A pusher whose context is done
// is refused, even if it has not noticed yet.
func (q *Queue[T, R]) admit() {
	w, _ := q.pushers.Pop()
	if w.err = w.ctx.Err(); w.err == nil {
		q.append(w.task, w.position, w.entry)
	}
	close(w.decided)
}
