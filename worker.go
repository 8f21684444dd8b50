package queue

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
)

// A PanicError is the error of a task whose worker panicked.
type PanicError struct {
	Value any    // of the panic
	Stack []byte // of the panicking goroutine, as by debug.Stack
}

// Error names the value of the panic.
func (e *PanicError) Error() string { return fmt.Sprintf("queue: worker panicked: %v", e.Value) }

// Unwrap returns the value of the panic if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// A stage is what a worker does. User code may panic or end its goroutine, so
// the stage says where to go on.
type stage int

const (
	stageTaking    stage = iota // settle what was taken and take more, or leave
	stageLimiting               // wait for the limiter
	stageLimited                // the limiter has answered
	stageCalling                // call the worker function
	stageReporting              // tell OnError
)

// A worker runs one task, or batch, after another. Its goroutine owns it, but
// for what says that it needs the lock.
type worker[T, R any] struct {
	q     *Queue[T, R]
	stage stage

	n        int           // how many tasks it runs; as the two below, changes under the lock only
	first    taken[T, R]   // the first of them
	rest     []taken[T, R] // the others, in a cargo queue
	result   R             // of the tasks
	err      error         // of the tasks, or of the limiter
	reported int           // tasks whose error OnError was told

	prev, next *worker[T, R]      // in busy or parked; needs the lock
	busy       bool               // in busy; needs the lock
	goingOn    bool               // has settled a task and kept its place, so the next one is no edge; never with a limiter; needs the lock
	recalled   bool               // lost its place while it was parked; needs the lock
	limit      context.Context    // for the limiter while w waits for it
	stopLimit  context.CancelFunc // cancels limit; nil unless w waits for the limiter; needs the lock
}

// taken is a task that has left the waiting ones.
type taken[T, R any] struct {
	task  T
	entry *entry[T, R] // nil if nobody has a ticket
}

// run is the life of a worker that has a place, or what is left of it: if user
// code panics or ends the goroutine, another one goes on at the same stage.
func (w *worker[T, R]) run() {
	q := w.q
	left := false
	defer func() {
		if !left {
			w.rescue(recover())
		}
	}()
	for {
		switch w.stage {
		case stageCalling:
			if e := w.first.entry; q.one != nil && (e == nil || e.ctx == nil) {
				w.result, w.err = q.one(q.ctx, w.first.task)
			} else {
				w.call()
			}
			w.stage = stageReporting
			fallthrough
		case stageReporting:
			if w.err != nil {
				w.report()
			}
			w.stage = stageTaking
			fallthrough
		case stageTaking:
			if !q.mu.TryLock() { // unlike q.lock, this leaves the inbox alone
				lockSlowly(&q.mu, longPause)
			}
			if q.parent != nil {
				q.checkParent()
			}
			settled := w.n > 0
			if settled {
				w.settle()
			}
			if !w.take(settled) {
				left = true
				return
			}
		case stageLimiting:
			w.err = q.limiter.Wait(w.limit)
			w.stage = stageLimited
			fallthrough
		case stageLimited:
			q.lock()
			if !w.takeLimited() {
				left = true
				return
			}
		}
	}
}

// rescue keeps a panic with value v, or runtime.Goexit if v is nil, from costing
// the tasks their end or the queue a place. Even after recover this goroutine may
// be about to end, as a deferred function may have panicked during Goexit; so
// another one goes on.
func (w *worker[T, R]) rescue(v any) {
	switch {
	case v != nil && (w.stage != stageCalling || !w.isHeard()):
		panic(v) // it is not the worker function's, or nobody can learn of it
	case v != nil:
		w.err = &PanicError{Value: v, Stack: debug.Stack()}
	default:
		w.err = cmp.Or(w.err, ErrGoexit)
	}
	switch w.stage {
	case stageCalling:
		w.stage = stageReporting
	case stageLimiting:
		w.stage = stageLimited
	}
	go w.run()
}

// isHeard reports whether somebody can learn of an error of the running tasks.
func (w *worker[T, R]) isHeard() bool {
	for i := range w.n {
		if w.task(i).entry != nil {
			return true
		}
	}
	w.q.lock()
	defer w.q.unlock()
	return w.q.events.onError != nil
}

// task returns a task that w runs.
func (w *worker[T, R]) task(i int) *taken[T, R] {
	if i == 0 {
		return &w.first
	}
	return &w.rest[i-1]
}

// settle ends the tasks that w has run. It needs the lock.
func (w *worker[T, R]) settle() {
	q := w.q
	if e := w.first.entry; e != nil {
		e.settle(w.result, w.err)
	}
	w.first = taken[T, R]{}
	if len(w.rest) > 0 {
		for _, t := range w.rest {
			if t.entry != nil {
				t.entry.settle(w.result, w.err)
			}
		}
		clear(w.rest)
		w.rest = w.rest[:0]
	}
	if w.err == nil {
		q.succeeded += uint64(w.n)
	} else {
		q.failed += uint64(w.n)
		w.err, w.reported = nil, 0
	}
	q.running -= w.n
	w.n = 0
	w.goingOn = q.limiter == nil
	var zero R
	w.result = zero
}

// take has w, which holds a place and no tasks, claim some, wait for the limiter,
// or leave. It reports whether w goes on. settled says that w has just settled
// tasks. It needs the lock, and unlocks.
func (w *worker[T, R]) take(settled bool) bool {
	q := w.q
	mayYield := settled // a worker fresh from a pass has come by the scheduler
	if settled && q.pacer.interval > 0 && q.waiting.Len() > 0 {
		q.pacer.tick()
	}
	for q.hasWork() && q.places <= q.concurrency {
		switch {
		case q.gate != nil || mayYield && q.pacer.due:
			mayYield = true
			w.park()
			q.turn()
			if w.recalled {
				q.unlock()
				return false
			}
			q.parked.remove(w)
		case q.limiter != nil:
			w.park()
			// Kill recalls w; a deadline of the parent is no reason to fail tasks before it.
			w.limit, w.stopLimit = context.WithCancel(context.WithoutCancel(q.ctx))
			q.limiting++
			w.stage = stageLimiting
			q.unlockChained(true)
			return true
		case w.claim():
			q.unlockChained(true)
			return true
		}
	}
	w.leave()
	q.unlockChained(true)
	return false
}

// takeLimited is take after the limiter has answered.
func (w *worker[T, R]) takeLimited() bool {
	q := w.q
	w.stopLimit()
	for {
		if p := q.parked.tail; w.recalled && w.err == nil && p != nil {
			// w has a permission: it takes the place of another that is parked.
			w.recalled = false
			q.places++
			q.recall(p)
			q.parked.add(w)
			q.limiting++
		}
		if w.recalled {
			q.unlock()
			return false
		}
		if q.gate == nil && !q.pacer.due {
			break
		}
		q.turn()
	}
	q.parked.remove(w)
	q.limiting--
	w.limit, w.stopLimit = nil, nil
	if !q.hasWork() || q.places > q.concurrency || !w.claim() { // as locking may have brought about
		w.err = nil
		return w.take(false)
	}
	q.unlockChained(true)
	return true
}

// claim takes the best waiting tasks for the worker function, or one to settle
// with the error that the limiter gave. It reports false if there are none: all
// that waited may have had contexts that are done. It needs the lock.
func (w *worker[T, R]) claim() bool {
	q := w.q
	most := q.payload
	if w.err != nil {
		most = 1
	}
	n := 0
	for n < most && q.waiting.Len() > 0 {
		if q.inboxOpen && q.inbox.best.Load() > int64(q.waiting.Top()) {
			q.absorb()
		}
		task, h := q.waiting.Pop()
		if q.inboxOpen && q.waiting.Len() == 0 {
			q.absorb()
		}
		e := entryOf(h)
		if e != nil && e.ctx != nil && e.ctx.Err() != nil {
			q.drop(e, e.ctx.Err())
			continue
		}
		if n == 0 {
			w.first = taken[T, R]{task, e}
		} else {
			w.rest = append(w.rest, taken[T, R]{task, e})
		}
		n++
	}
	if n == 0 {
		return false
	}
	w.n = n
	q.running += n
	if q.busy.tail != w {
		w.markBusy()
	}
	if w.err != nil {
		w.stage = stageReporting
		return true
	}
	if q.waiting.Len() == 0 {
		q.emit(eventEmpty)
	}
	if q.places-q.limiting == q.concurrency && !w.goingOn && !q.events.saturated {
		q.events.saturated = true
		q.emit(eventSaturated)
	}
	w.stage = stageCalling
	return true
}

// markBusy makes w the last of the busy workers. It needs the lock.
func (w *worker[T, R]) markBusy() {
	busy := &w.q.busy
	if w.busy {
		busy.remove(w)
	}
	busy.add(w)
	w.busy = true
}

// park makes w, which has a place and no tasks, one of the parked workers.
// It needs the lock.
func (w *worker[T, R]) park() {
	q := w.q
	w.markFree()
	q.parked.add(w)
	if q.inboxOpen {
		q.absorb()
	}
}

// leave gives up the place of w. It needs the lock.
func (w *worker[T, R]) leave() {
	q := w.q
	w.markFree()
	q.places--
	q.checkUnsaturated()
	if q.payload == 1 { // else rest may be large
		w.goingOn = false
		q.spare = w
	}
}

// markFree takes w off the busy workers. It needs the lock.
func (w *worker[T, R]) markFree() {
	if w.busy {
		w.q.busy.remove(w)
		w.busy = false
	}
}

// recall takes the place of a parked worker, for whom no task is left.
// It needs the lock.
func (q *Queue[T, R]) recall(w *worker[T, R]) {
	q.parked.remove(w)
	w.recalled = true
	if w.stopLimit != nil {
		w.stopLimit()
		q.limiting--
	}
	q.places--
	q.checkUnsaturated()
}

// call calls the worker function with a batch, or with the context of Do.
func (w *worker[T, R]) call() {
	q := w.q
	if q.many != nil {
		batch := make([]T, w.n)
		for i := range batch {
			batch[i] = w.task(i).task
		}
		w.result, w.err = q.many(q.ctx, batch)
		return
	}
	ctx, release := q.join(w.first.entry.ctx)
	defer release()
	w.result, w.err = q.one(ctx, w.first.task)
}

// report tells OnError of the error of the tasks that w has run.
func (w *worker[T, R]) report() {
	q := w.q
	for w.reported < w.n {
		task := w.task(w.reported).task
		w.reported++ // first, as the hook may end the goroutine
		q.lock()
		hook := q.events.onError
		q.unlock()
		if hook != nil {
			hook(task, w.err)
		}
	}
}

// A workerList is a list of workers in the order in which they were added.
type workerList[T, R any] struct {
	head, tail *worker[T, R]
	len        int
}

func (l *workerList[T, R]) add(w *worker[T, R]) {
	w.prev, w.next = l.tail, nil
	if l.tail != nil {
		l.tail.next = w
	} else {
		l.head = w
	}
	l.tail = w
	l.len++
}

func (l *workerList[T, R]) remove(w *worker[T, R]) {
	if w.prev != nil {
		w.prev.next = w.next
	} else {
		l.head = w.next
	}
	if w.next != nil {
		w.next.prev = w.prev
	} else {
		l.tail = w.prev
	}
	w.prev, w.next = nil, nil
	l.len--
}
