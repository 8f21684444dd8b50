package queue

import (
	"context"
	"fmt"
	"time"
)

// An Option configures a queue; see [New] and [NewCargo].
type Option func(*options)

type options struct {
	parent   context.Context
	capacity int // math.MaxInt if unbounded
	buffer   int // defaultBuffer if not set
	interval time.Duration
	limiter  Limiter
}

// defaultBuffer stands for a quarter of the concurrency.
const defaultBuffer = -1

// WithContext makes ctx the parent of the workers' context. When ctx is done
// the queue is killed as by [Queue.Kill], but the workers' context is canceled
// with the cause of ctx, and nothing returns the dropped tasks. So for tasks that
// should drain when ctx is done, use [Queue.Shutdown] instead.
//
// If the type of ctx is not one of package context, that package needs a goroutine
// to wait for its end, until [Queue.Kill] or until the queue is collected.
// WithContext panics if ctx is nil.
func WithContext(ctx context.Context) Option {
	if ctx == nil {
		panic("queue: nil context")
	}
	return func(o *options) { o.parent = ctx }
}

// WithCapacity lets at most n tasks wait; running tasks do not count. A pushed
// task waits until a pass has started it, also while workers are free, so an
// idle queue takes n tasks in a row, not n plus the concurrency. When that many
// wait, [Queue.Push], [Queue.PushAll] and [Queue.Submit] return [ErrFull], and
// [Queue.PushWait] and [Queue.Do] wait for room; such a task is not in the queue
// yet, so its priority does not count. By default there is no limit.
// WithCapacity panics if n is below 1.
func WithCapacity(n int) Option {
	atLeast(1, n, "capacity")
	return func(o *options) { o.capacity = n }
}

// WithBuffer sets how many workers must be free for [Queue.OnUnsaturated]:
// its hook is called when running workers come down to the concurrency less n.
// An n of 0 acts as 1, and an n above the concurrency, which may change, as the
// concurrency. By default it is a quarter of the concurrency, rounded up.
// WithBuffer panics if n is negative.
func WithBuffer(n int) Option {
	atLeast(0, n, "buffer")
	return func(o *options) { o.buffer = n }
}

// WithYieldInterval is [Queue.SetYieldInterval] before the first task.
// It panics if d is negative.
func WithYieldInterval(d time.Duration) Option {
	checkInterval(d)
	return func(o *options) { o.interval = d }
}

// WithLimiter makes workers wait for l before they take a task, once a task, or
// once a batch in a cargo queue. A task counts as waiting meanwhile, and can be
// canceled. WithLimiter panics if l is nil.
func WithLimiter(l Limiter) Option {
	if l == nil {
		panic("queue: nil limiter")
	}
	return func(o *options) { o.limiter = l }
}

// A Limiter limits the rate at which tasks start. Wait blocks until one more may
// start; several goroutines call it at once. Its context is canceled when no
// waiting task is left for the call, which should then return without using up a
// permission; it has no deadline, so a Limiter need not refuse ahead of time.
//
// If Wait returns an error while a task waits, the best waiting task settles with
// it without running; runtime.Goexit in Wait counts as [ErrGoexit], and a panic
// ends the program.
//
// A *rate.Limiter of golang.org/x/time/rate is one.
type Limiter interface {
	Wait(ctx context.Context) error
}

// A PushOption says where among the waiting tasks a pushed one goes.
// The zero value changes nothing.
type PushOption struct {
	position
	prioritized bool // position has a priority to set
}

// A position is where a task goes.
type position struct {
	priority int
	front    bool // before the tasks of its priority
}

// Priority sets the priority of a task. A higher priority starts first; the
// default is 0. If it is given more than once, the last one counts.
func Priority(n int) PushOption {
	return PushOption{position: position{priority: n}, prioritized: true}
}

// Front puts a task before those of its own priority that wait already.
func Front() PushOption {
	return PushOption{position: position{front: true}}
}

func positionOf(opts []PushOption) (p position) {
	for _, o := range opts {
		if o.prioritized {
			p.priority = o.priority
		}
		p.front = p.front || o.front
	}
	return p
}

// atLeast panics if n is below the least value that makes sense.
func atLeast(least, n int, what string) {
	if n < least {
		panic(fmt.Sprintf("queue: %s %d is below %d", what, n, least))
	}
}

func checkInterval(d time.Duration) {
	if d < 0 {
		panic(fmt.Sprintf("queue: yield interval %v is negative", d))
	}
}
