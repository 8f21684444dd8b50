package queue

import (
	"context"
	"runtime"
	"time"
	"weak"
)

// setContext makes the context of the workers. It does not need the lock.
//
// A parent that outlives the queue must keep neither the queue nor anything of
// it. So the workers' context is not its child; instead a function that holds
// only a weak pointer is registered with it, until the queue is collected.
func (q *Queue[T, R]) setContext(parent context.Context) {
	if parent.Done() == nil {
		q.ctx, q.cancel = context.WithCancelCause(parent)
		return
	}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(parent))
	q.ctx, q.cancel, q.parent = &workContext[T, R]{ctx, q}, cancel, parent
	p := weak.Make(q)
	q.stopParent = context.AfterFunc(parent, func() {
		if q := p.Value(); q != nil {
			q.lock() // which kills the queue
			q.unlock()
			q.cancel(q.cause())
		}
	})
	runtime.AddCleanup(q, func(stop func() bool) { stop() }, q.stopParent)
}

// checkParent kills the queue if its parent, which must not be nil, is done.
// Whoever locks does this first, so nobody sees a queue that outlives its parent.
func (q *Queue[T, R]) checkParent() {
	if !q.killed && q.parent.Err() != nil {
		q.kill()
	}
}

// cause returns why the queue was killed. It does not need the lock.
func (q *Queue[T, R]) cause() error {
	if q.parent != nil && q.parent.Err() != nil {
		return context.Cause(q.parent)
	}
	return ErrClosed
}

// A workContext is the workers' context of a queue with a parent. It refers to the
// queue, so that the queue, through which the parent's end reaches it, lives as
// long; and its methods look at the parent themselves, so that its end shows at
// once.
type workContext[T, R any] struct {
	context.Context
	q *Queue[T, R]
}

func (c *workContext[T, R]) Deadline() (time.Time, bool) { return c.q.parent.Deadline() }

func (c *workContext[T, R]) Done() <-chan struct{} { return c.current().Done() }

func (c *workContext[T, R]) Value(key any) any { return c.current().Value(key) }

func (c *workContext[T, R]) Err() error {
	err := c.current().Err()
	if err != nil && context.Cause(c.Context) != ErrClosed {
		return c.q.parent.Err()
	}
	return err
}

// current returns the inner context, canceled if the parent is done.
func (c *workContext[T, R]) current() context.Context {
	if c.q.parent.Err() != nil {
		c.q.cancel(c.q.cause())
	}
	return c.Context
}

// join returns a context with the values of do and of the queue, do's first,
// which is done as soon as one of the two is. It must be released. It does not
// need the lock.
func (q *Queue[T, R]) join(do context.Context) (ctx context.Context, release func()) {
	ctx, cancel := context.WithCancelCause(do)
	stop := context.AfterFunc(q.ctx, func() { cancel(context.Cause(q.ctx)) })
	return &joinedContext{ctx, q.ctx, cancel}, func() {
		stop()
		cancel(nil)
	}
}

// A joinedContext is a child of Do's context that ends with the queue's, too.
type joinedContext struct {
	context.Context
	queue  context.Context
	cancel context.CancelCauseFunc
}

func (c *joinedContext) Deadline() (time.Time, bool) {
	d, ok := c.Context.Deadline()
	if queue, has := c.queue.Deadline(); has && (!ok || queue.Before(d)) {
		return queue, true
	}
	return d, ok
}

func (c *joinedContext) Done() <-chan struct{} { return c.current().Done() }

func (c *joinedContext) Err() error { return c.current().Err() }

func (c *joinedContext) Value(key any) any {
	if v := c.current().Value(key); v != nil {
		return v
	}
	return c.queue.Value(key)
}

// current returns the inner context, canceled if the queue's is done.
func (c *joinedContext) current() context.Context {
	if c.queue.Err() != nil {
		c.cancel(context.Cause(c.queue))
	}
	return c.Context
}
