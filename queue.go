package queue

import (
	"context"
	"errors"
	"math"
	"runtime"
	"sync"
	"time"

	"github.com/tickqueue/queue/internal/host"
	"github.com/tickqueue/queue/internal/runlist"
)

var (
	// ErrClosed is returned by every push after Shutdown or Kill, and is the
	// cause with which Kill cancels the workers' context.
	ErrClosed = errors.New("queue: closed")
	// ErrFull is returned when WithCapacity leaves no room for the task, or for
	// all tasks of PushAll.
	ErrFull = errors.New("queue: full")
	// ErrDropped is the error of a task that was canceled, removed, cleared or
	// killed before it started.
	ErrDropped = errors.New("queue: task dropped")
	// ErrGoexit is the error of a task whose worker called runtime.Goexit, as
	// t.FailNow of a test does.
	ErrGoexit = errors.New("queue: worker called runtime.Goexit")
)

// A Queue runs tasks of type T through a worker function with results of type
// R, no more at once than its concurrency. Make one with [New] or [NewCargo].
//
// All methods may be called from any goroutine, from the worker function and
// from hooks. Pushing a task synchronizes before the call of the worker
// function with that task, and that call's return synchronizes before the
// return of whatever reports that the task has settled: [Ticket.Wait],
// [Queue.Do], a receive from [Ticket.Done], [Queue.Wait] and [Queue.Shutdown]
// where they return nil, and the hooks called for it.
//
// A queue that is idle owns no goroutine and no timer. It needs no closing and
// is collected when nothing refers to it.
type Queue[T, R any] struct {
	one      func(context.Context, T) (R, error)   // the worker function of New, or nil
	many     func(context.Context, []T) (R, error) // the worker function of NewCargo, or nil
	payload  int                                   // the most tasks that a worker takes at once
	capacity int                                   // the most tasks that may wait
	buffer   int                                   // workers that must be free for Unsaturated, or defaultBuffer
	limiter  Limiter                               // nil if there is none

	parent context.Context // nil if it is never done
	ctx    context.Context // the workers'
	cancel context.CancelCauseFunc

	stopParent func() bool // stops waiting for the end of parent; nil if there is none

	pass func() // q.process, bound once so that starting it allocates nothing

	_ [cacheLine]byte // so that a push to the inbox reads no line that workers write

	// mu guards the fields below, but for inbox, which has a lock of its own.
	// Unexported methods need it unless they say otherwise.
	mu sync.Mutex

	concurrency int
	low         int // Unsaturated is due when at most so many places are taken
	paused      bool
	closed      bool // pushes are refused
	killed      bool // nothing starts any more and the state hooks are silent; implies closed

	waiting runlist.List[T, *entry[T, R]]
	pushers runlist.List[*pusher[T, R], struct{}] // waiting for room; empty unless the capacity is reached

	isWaitingForProcessing bool // a pass is scheduled and has not begun
	chained                bool // a worker scheduled that pass, so it is not counted

	// A worker holds a place from its start until it leaves. It is busy while
	// it has tasks and parked while it waits for permission to take some: of
	// the limiter or, after a yield, of the host.
	places   int
	busy     workerList[T, R] // in the order in which they took their tasks
	parked   workerList[T, R] // never more than the batches that could start
	limiting int              // parked workers that wait for the limiter
	spare    *worker[T, R]    // the last that left, to be used again; nil in a cargo queue

	pacer pacer
	host  host.Host
	gate  chan struct{} // if non-nil, workers stop here until the host has had its turn

	active    bool          // tasks were accepted since the queue was last idle
	idle      chan struct{} // what calls of Wait receive from; nil if none does
	waits     int           // calls of Wait that were given idle, those that have given up included
	spareIdle chan struct{} // an idle that one call alone had; still full if that gave up or is late
	events    events[T]

	running                            int // tasks of busy workers
	pushed, succeeded, failed, dropped uint64
	passes, yields                     uint64

	// A copy of inbox.open, on a cache line that pushes to the inbox do not write.
	inboxOpen bool
	_         [cacheLine]byte
	inbox     inbox[T, R]
}

// New returns a queue that calls worker for each task, at most concurrency
// calls at a time. The context that worker gets is the queue's own: it is
// canceled by [Queue.Kill] with the cause [ErrClosed], has the parent given by
// [WithContext], and for [Queue.Do] also the values and the end of Do's context.
//
// New panics if worker or an option is nil or concurrency is below 1.
func New[T, R any](worker func(ctx context.Context, task T) (R, error), concurrency int, opts ...Option) *Queue[T, R] {
	if worker == nil {
		panic("queue: nil worker")
	}
	q := newQueue[T, R](concurrency, 1, opts)
	q.one = worker
	return q
}

// NewCargo returns a queue that calls worker with batches: the first payload
// waiting tasks, in order, or all if fewer wait. Tasks of several pushes and
// priorities may share a batch; no worker waits for a batch to fill. What worker
// returns settles each task of its batch. The slice is worker's to keep. The
// concurrency limits calls, not tasks. The context is that of New without what
// Do adds: a batch does not end with the context of one of its tasks.
//
// NewCargo panics if worker or an option is nil or concurrency or payload is
// below 1.
func NewCargo[T, R any](worker func(ctx context.Context, tasks []T) (R, error), concurrency, payload int, opts ...Option) *Queue[T, R] {
	if worker == nil {
		panic("queue: nil worker")
	}
	atLeast(1, payload, "payload")
	q := newQueue[T, R](concurrency, payload, opts)
	q.many = worker
	return q
}

// NoResult adapts a worker function that returns only an error to [New].
// It panics if worker is nil.
func NoResult[T any](worker func(ctx context.Context, task T) error) func(context.Context, T) (struct{}, error) {
	if worker == nil {
		panic("queue: nil worker")
	}
	return func(ctx context.Context, task T) (struct{}, error) {
		return struct{}{}, worker(ctx, task)
	}
}

func newQueue[T, R any](concurrency, payload int, opts []Option) *Queue[T, R] {
	atLeast(1, concurrency, "concurrency")
	o := options{parent: context.Background(), capacity: math.MaxInt, buffer: defaultBuffer}
	for _, opt := range opts {
		if opt == nil {
			panic("queue: nil option")
		}
		opt(&o)
	}
	q := &Queue[T, R]{
		payload:  payload,
		capacity: o.capacity,
		buffer:   o.buffer,
		limiter:  o.limiter,
		pacer:    pacer{interval: o.interval, now: time.Now},
	}
	q.setConcurrency(concurrency)
	q.pass = q.process
	q.setContext(o.parent)
	return q
}

// lock locks the queue, absorbs the inbox, and kills the queue if its parent is
// done. It reports whether it had to wait for the lock.
func (q *Queue[T, R]) lock() (contended bool) {
	if contended = !q.mu.TryLock(); contended {
		lockSlowly(&q.mu, shortPause)
	}
	if q.inboxOpen {
		q.absorb()
	}
	if q.parent != nil {
		q.checkParent()
	}
	return contended
}

// Steps of an empty loop between two tries of lockSlowly. Workers take the long
// pause: whoever has the lock then keeps it, and the cache lines behind it, for
// several tasks; passing them on costs more than a small task.
const (
	shortPause = 30
	longPause  = 1000
)

// lockSlowly locks a mutex that TryLock has found locked. The critical sections
// here are shorter than it takes to put a goroutine to sleep, and sync.Mutex
// sleeps at once on a processor with other goroutines to run; so it tries a few
// times more first.
func lockSlowly(mu *sync.Mutex, pause int) {
	for range 10 {
		for range pause {
		}
		if mu.TryLock() {
			return
		}
	}
	mu.Lock()
}

// unlock draws the consequences of what was changed under the lock and unlocks.
// Whatever changes the state ends here.
func (q *Queue[T, R]) unlock() { q.unlockChained(false) }

// unlockChained is unlock. With chained, a pass that is due now belongs to the
// one before, whose starts it continues.
func (q *Queue[T, R]) unlockChained(chained bool) {
	if q.inboxOpen && q.waiting.Len() == 0 {
		q.absorb()
	}
	for q.pushers.Len() > 0 && q.room() > 0 {
		q.admit()
	}
	for q.parked.len > 0 && q.parked.len > q.startable() { // usually none is, and to see that is cheap
		q.recall(q.parked.tail)
	}
	if q.active && q.isIdle() {
		q.active = false
		q.emit(eventDrain)
		if q.idle != nil {
			q.wake()
		}
	}
	due := !q.isWaitingForProcessing && q.mayStart()
	if due {
		q.isWaitingForProcessing, q.chained = true, chained
	}
	q.mu.Unlock()
	if due {
		go q.pass()
	}
}

// isIdle reports whether nothing waits or runs.
func (q *Queue[T, R]) isIdle() bool { return q.busy.len == 0 && q.waiting.Len() == 0 }

// room returns how many more tasks may wait.
func (q *Queue[T, R]) room() int { return q.capacity - q.waiting.Len() }

// drop settles a waiting task that will not run.
func (q *Queue[T, R]) drop(e *entry[T, R], err error) {
	q.dropped++
	if e != nil {
		var zero R
		e.settle(zero, err)
	}
}

// dropAll takes all waiting tasks out of the queue and returns them in order.
func (q *Queue[T, R]) dropAll() []T {
	if q.waiting.Len() == 0 {
		return nil
	}
	tasks := make([]T, 0, q.waiting.Len())
	for q.waiting.Len() > 0 {
		task, h := q.waiting.Pop()
		tasks = append(tasks, task)
		q.drop(entryOf(h), ErrDropped)
	}
	return tasks
}

// close closes the queue and refuses the pushes that wait for room.
func (q *Queue[T, R]) close() {
	q.closed = true
	if q.inboxOpen {
		q.absorb()
	}
	for q.pushers.Len() > 0 {
		w, _ := q.pushers.Pop()
		w.err = ErrClosed
		close(w.decided)
	}
}

// kill is Kill but for the workers' context.
func (q *Queue[T, R]) kill() []T {
	q.killed = true
	q.events.discard()
	q.close()
	return q.dropAll()
}

// Pause stops further tasks from starting; those that run go on. Calling it
// again changes nothing: one [Queue.Resume] is enough.
func (q *Queue[T, R]) Pause() {
	q.lock()
	q.paused = true
	q.unlock()
}

// Resume lets tasks start again after [Queue.Pause].
func (q *Queue[T, R]) Resume() {
	q.lock()
	q.paused = false
	q.unlock()
}

// SetConcurrency changes how many tasks, or batches of a cargo queue, may run at
// once. With a higher n more start immediately; with a lower one running tasks
// finish, and none starts until fewer than n run; lowering causes no event.
// SetConcurrency panics if n is below 1.
func (q *Queue[T, R]) SetConcurrency(n int) {
	atLeast(1, n, "concurrency")
	q.lock()
	raised := n > q.concurrency
	q.setConcurrency(n)
	if raised {
		q.checkUnsaturated()
	}
	q.unlock()
}

// setConcurrency sets the concurrency and what follows from it.
func (q *Queue[T, R]) setConcurrency(n int) {
	buffer := q.buffer
	if buffer == defaultBuffer {
		buffer = n/4 + min(n%4, 1) // (n+3)/4 could overflow
	}
	q.concurrency, q.low = n, n-min(max(buffer, 1), n)
}

// SetYieldInterval makes the queue give its host a turn whenever tasks have run
// back to back for d, before it starts more. Tasks are never interrupted, and
// neither their order nor the hooks change. 0, the default, turns it off. It
// can be changed at any time, and panics if d is negative.
//
// In a native program the worker calls [runtime.Gosched]. In a js/wasm program
// all workers stop until the event loop has turned once. That happens only when
// every goroutine of the program is blocked: one that stays runnable keeps the
// host from its turn, and with it the queue.
//
// The clock is not read after every task but after every N, where N is 1 at
// first and doubles up to 256 while less than a quarter of d has passed. So
// when tasks suddenly get slower, a turn may come up to 255 tasks late.
func (q *Queue[T, R]) SetYieldInterval(d time.Duration) {
	checkInterval(d)
	q.lock()
	q.pacer.interval = d
	q.pacer.restart()
	q.unlock()
}

// Remove takes the waiting tasks for which match reports true out of the queue
// and returns them in order. They settle with [ErrDropped]. It asks match about
// every waiting task while the queue stands still: match must not call the
// queue. If it panics, nothing is removed. Remove panics if match is nil.
func (q *Queue[T, R]) Remove(match func(task T) bool) []T {
	if match == nil {
		panic("queue: nil match")
	}
	q.lock()
	defer q.unlock()
	var tasks []T
	q.waiting.RemoveFunc(match, func(task T, h *runlist.Handle[T, *entry[T, R]]) {
		tasks = append(tasks, task)
		q.drop(entryOf(h), ErrDropped)
	})
	return tasks
}

// Clear takes all waiting tasks out of the queue and returns them in the order
// in which they would have run. They settle with [ErrDropped]. The queue and
// its hooks can be used as before.
func (q *Queue[T, R]) Clear() []T {
	q.lock()
	defer q.unlock()
	return q.dropAll()
}

// Wait waits until the queue is idle: no task waits or runs. It returns nil at
// the first such moment after its call, even if a hook then pushes more, and
// immediately, whatever the state of ctx, if the queue is idle already. If ctx is
// done first, it returns the error of ctx. After [Queue.Kill] it waits for the
// workers that still run. It does not wait for hooks.
func (q *Queue[T, R]) Wait(ctx context.Context) error {
	q.lock()
	if q.isIdle() {
		q.unlock()
		return nil
	}
	if q.idle == nil {
		q.idle, q.spareIdle = q.spareIdle, nil
		if q.idle == nil || len(q.idle) > 0 { // the last Wait gave up on it, or is late
			q.idle = make(chan struct{}, 1)
		}
	}
	q.waits++
	idle := q.idle
	q.unlock()
	var err error
	if ctx.Done() == nil { // a receive costs half a select
		<-idle
	} else {
		err = await(ctx, idle)
	}
	runtime.KeepAlive(q) // to learn of the parent's end meanwhile
	return err
}

// await receives from done, or returns the error of ctx if that is done first.
func await(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	select {
	case <-done:
		return nil
	default:
		return ctx.Err()
	}
}

// wake tells those who wait that the queue is idle. The channel of one who waits
// alone can be used again, so that pushing and waiting by turns allocates nothing.
func (q *Queue[T, R]) wake() {
	if q.waits == 1 {
		q.idle <- struct{}{}
		q.spareIdle = q.idle
	} else {
		close(q.idle)
	}
	q.idle, q.waits = nil, 0
}

// Shutdown closes the queue, so that every further push returns [ErrClosed],
// those that wait for room included, and waits as [Queue.Wait] does for what
// was accepted. If ctx is done first, it returns the error of ctx and the queue
// goes on draining; pushes that its tasks make are refused, too. A paused queue
// drains when it is resumed.
func (q *Queue[T, R]) Shutdown(ctx context.Context) error {
	q.lock()
	q.close()
	q.unlock()
	return q.Wait(ctx)
}

// Kill closes the queue, drops what waits, cancels the workers' context with
// the cause [ErrClosed], silences the state hooks and returns at once with the
// dropped tasks in the order in which they would have run. They settle with
// [ErrDropped]. Tasks that run settle with what their worker returns.
func (q *Queue[T, R]) Kill() []T {
	q.lock()
	tasks := q.kill()
	q.unlock()
	q.cancel(q.cause())
	if q.stopParent != nil {
		q.stopParent()
	}
	return tasks
}
