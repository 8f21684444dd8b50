package queue

import (
	"context"
	"errors"
	"iter"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/tickqueue/queue/internal/host"
	"github.com/tickqueue/queue/internal/runlist"
)

var (
	// ErrClosed is returned by every push after Shutdown or Kill, and is the
	// cause with which Kill cancels the workers' context.
	ErrClosed = errors.New("queue: closed")
	// ErrFull is returned when as many tasks wait as WithCapacity allows.
	ErrFull = errors.New("queue: full")
	// ErrDropped is what a task settles with that was canceled, removed,
	// cleared or killed before it started.
	ErrDropped = errors.New("queue: task dropped")
	// ErrGoexit is what a task settles with whose worker called runtime.Goexit,
	// as t.FailNow of a test does.
	ErrGoexit = errors.New("queue: worker called runtime.Goexit")
)

// A Queue runs tasks of type T through a worker function with results of type
// R, at most so many at once as its concurrency. Make one with [New] or
// [NewCargo].
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
	one      func(context.Context, T) (R, error)   // the worker function of New
	many     func(context.Context, []T) (R, error) // the worker function of NewCargo
	payload  int                                   // the most tasks that a worker takes at once
	capacity int                                   // the most tasks that may wait
	buffer   int                                   // of WithBuffer
	limiter  Limiter                               // nil if there is none

	parent context.Context // nil if it is never done
	ctx    context.Context // the workers'
	cancel context.CancelCauseFunc

	pass func() // q.process, bound once so that starting it allocates nothing

	mu sync.Mutex // guards everything below; see lock and unlock

	concurrency int
	low         int // as many places taken, or fewer, are Unsaturated
	paused      bool
	closed      bool // pushes are refused
	killed      bool // nothing starts any more and the state hooks are silent; implies closed

	waiting runlist.List[T, *entry[T, R]]
	pushers runlist.List[*pusher[T, R], struct{}] // waiting for room; empty unless the capacity is reached

	isWaitingForProcessing bool // a pass is scheduled and has not begun
	isChained              bool // a worker scheduled that pass, so it is not counted

	// A worker holds a place from its start until it leaves. It is busy while
	// it has tasks and parked while it waits for leave to take some: from the
	// limiter or, after a yield, from the host.
	places int
	busy   workerList[T, R] // in the order in which they took their tasks
	parked workerList[T, R] // never more than the tasks that could start
	spare  *worker[T, R]    // the last one that left

	pacer pacer
	host  host.Host
	gate  chan struct{} // if non-nil, workers stop here until the host has had its turn

	active    bool          // tasks were accepted since the queue was last idle
	idle      chan struct{} // if non-nil, becomes ready when the queue becomes idle
	waits     int           // calls of Wait that have asked for idle
	spareIdle chan struct{} // the idle of before, if one call asked for it
	events    events[T]

	running                            int // tasks of busy workers
	pushed, succeeded, failed, dropped uint64
	passes, yields                     uint64

	// Most pushes find a worker in possession of the lock and of the processor
	// caches that go with it. See inbox.
	inboxIsOpen bool // a copy
	inboxBar    int  // a copy
	_           [cacheLine]byte
	inbox       inbox[T, R]
}

// New returns a queue that calls worker for each task, at most concurrency
// calls at a time. The context that worker gets is the queue's own: it is
// canceled by [Queue.Kill] with the cause [ErrClosed], has the parent given by
// [WithContext], and for [Queue.Do] also the values and the end of Do's context.
//
// New panics if worker is nil or concurrency is below 1.
func New[T, R any](worker func(ctx context.Context, task T) (R, error), concurrency int, opts ...Option) *Queue[T, R] {
	if worker == nil {
		panic("queue: nil worker")
	}
	q := newQueue[T, R](concurrency, 1, opts)
	q.one = worker
	return q
}

// NewCargo returns a queue that calls worker with batches: all waiting tasks at
// that moment, in order, but at most payload. Tasks of several pushes and
// priorities may share a batch; no worker waits for a batch to fill. What
// worker returns settles each task of its batch. The slice is worker's to keep.
// The concurrency limits calls, not tasks.
//
// NewCargo panics if worker is nil or concurrency or payload is below 1.
func NewCargo[T, R any](worker func(ctx context.Context, tasks []T) (R, error), concurrency, payload int, opts ...Option) *Queue[T, R] {
	if worker == nil {
		panic("queue: nil worker")
	}
	atLeast(1, payload, "payload")
	q := newQueue[T, R](concurrency, payload, opts)
	q.many = worker
	return q
}

// NoResult makes a worker without a result one for [New].
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

// lock locks the queue with all that was pushed, and reports whether it had to
// wait for that.
func (q *Queue[T, R]) lock() (contended bool) {
	contended = !q.mu.TryLock() && lockSlowly(&q.mu, short)
	if q.inboxIsOpen {
		q.absorb()
	}
	if q.parent != nil {
		q.checkParent()
	}
	return contended
}

// lockSlowly locks a mutex that is locked. The critical sections here are
// shorter than it takes to put a goroutine to sleep, and sync.Mutex sleeps at
// once on a processor with other goroutines to run; so it tries a few times
// before, and lets the other go on undisturbed between the tries.
func lockSlowly(mu *sync.Mutex, patience int) bool {
	for range 10 {
		for range patience {
		}
		if mu.TryLock() {
			return true
		}
	}
	mu.Lock()
	return true
}

const short, long = 30, 1000

// unlock draws the consequences of what was changed under the lock and unlocks.
// Whatever changes the state ends here.
func (q *Queue[T, R]) unlock() { q.consequences(false) }

// consequences is unlock. With chained, a pass that is due now belongs to the
// one before, as it continues that one's starts.
func (q *Queue[T, R]) consequences(chained bool) {
	if q.inboxIsOpen && q.waiting.Len() == 0 {
		q.absorb()
	}
	for q.pushers.Len() > 0 && q.room() > 0 {
		q.admit()
	}
	for q.parked.len > 0 && q.parked.len > q.startable() {
		q.recall(q.parked.tail)
	}
	if q.active && q.isIdle() {
		q.active = false
		q.emit(drain)
		if q.idle != nil {
			q.wake()
		}
	}
	due := !q.isWaitingForProcessing && q.mayStart()
	if due {
		q.isWaitingForProcessing, q.isChained = true, chained
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

// Push appends a task and returns at once; it never runs a worker or a hook.
// It returns [ErrClosed] or [ErrFull] if the queue did not take the task.
func (q *Queue[T, R]) Push(task T, opts ...PushOption) error {
	return q.push(task, placeOf(opts), nil)
}

// Submit is [Queue.Push] with a ticket, on which the task's end can be awaited
// and by which it can be canceled.
func (q *Queue[T, R]) Submit(task T, opts ...PushOption) (*Ticket[R], error) {
	e := newEntry(q)
	if err := q.push(task, placeOf(opts), e); err != nil {
		return nil, err
	}
	return &e.Ticket, nil
}

// push appends a task if there is room.
func (q *Queue[T, R]) push(task T, p place, e *entry[T, R]) error {
	if q.inbox.isOpen.Load() && (q.parent == nil || q.parent.Err() == nil) && q.inbox.push(task, p, e) {
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

// PushAll is [Queue.Push] for several tasks, in their order, with none of
// others between them. It takes all or none: if there is no room for all, it
// returns [ErrFull]. It does not keep the slice.
func (q *Queue[T, R]) PushAll(tasks []T, opts ...PushOption) error {
	p := placeOf(opts)
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

// PushWait is [Queue.Push], but waits for room: first come, first served. It
// returns [ErrClosed], also if the queue is closed meanwhile, or the error of
// ctx if that is done, even to begin with; the task was not taken then.
func (q *Queue[T, R]) PushWait(ctx context.Context, task T, opts ...PushOption) error {
	return q.pushWait(ctx, task, placeOf(opts), nil)
}

// Do pushes a task, waiting for room as [Queue.PushWait] does, and waits for
// its result. If ctx is done before the task has started, the task is withdrawn
// and Do returns the error of ctx; once it has started, Do returns when the
// worker does.
func (q *Queue[T, R]) Do(ctx context.Context, task T, opts ...PushOption) (R, error) {
	e := newEntry(q)
	e.done = make(chan struct{})
	if ctx != context.Background() { // which carries nothing and is never done
		e.ctx = ctx
	}
	if err := q.pushWait(ctx, task, placeOf(opts), e); err != nil {
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
	task    T
	place   place
	entry   *entry[T, R] // nil for PushWait
	ctx     context.Context
	handle  runlist.Handle[*pusher[T, R], struct{}]
	decided chan struct{} // closed when the task was taken or refused
	err     error         // why it was refused
}

// pushWait appends a task as soon as there is room.
func (q *Queue[T, R]) pushWait(ctx context.Context, task T, p place, e *entry[T, R]) error {
	q.lock()
	err := q.refusal(1)
	if err != ErrClosed && ctx.Err() != nil {
		err = ctx.Err()
	}
	switch err {
	case nil:
		q.append(task, p, e)
		fallthrough
	default:
		q.unlock()
		return err
	case ErrFull:
	}
	w := &pusher[T, R]{task: task, place: p, entry: e, ctx: ctx, decided: make(chan struct{})}
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

// append takes a task. It needs the lock, as do all methods that follow a verb
// and are not exported.
func (q *Queue[T, R]) append(task T, p place, e *entry[T, R]) {
	if p.front {
		q.waiting.PushFront(p.priority, task, handleOf(e))
	} else {
		q.waiting.PushBack(p.priority, task, handleOf(e))
	}
	q.pushed++
	q.active = true
}

// admit gives room to the pusher that came first. A pusher whose context is
// done is turned away here, too, lest it take a place that it no longer wants.
func (q *Queue[T, R]) admit() {
	w, _ := q.pushers.Pop()
	if w.err = w.ctx.Err(); w.err == nil {
		q.append(w.task, w.place, w.entry)
	}
	close(w.decided)
}

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

// close refuses every push from now on, those that wait for room included.
func (q *Queue[T, R]) close() {
	q.closed = true
	if q.inboxIsOpen {
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

// SetConcurrency changes how many tasks, or batches, may run at once. More may
// start at once; if it is fewer than run, those finish and none starts until
// they are fewer. SetConcurrency panics if n is below 1.
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
// queue. If it panics, nothing is removed.
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
// the first such moment after its call, even if a hook pushes more, and at once
// if the queue is idle already, whatever ctx; else the error of ctx when that
// is done. After [Queue.Kill] it waits for the workers that still run.
func (q *Queue[T, R]) Wait(ctx context.Context) error {
	q.lock()
	if q.isIdle() {
		q.unlock()
		return nil
	}
	if q.idle == nil {
		q.idle, q.spareIdle = q.spareIdle, nil
		if q.idle == nil || len(q.idle) > 0 { // or its waiter has given up or is late
			q.idle = make(chan struct{}, 1)
		}
	}
	q.waits++
	idle := q.idle
	q.unlock()
	if ctx.Done() == nil { // a receive costs half a select
		<-idle
		return nil
	}
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
	}
	select {
	case <-idle:
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
// goes on draining. A paused queue drains when it is resumed.
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
	return tasks
}

// Len returns the number of waiting tasks.
func (q *Queue[T, R]) Len() int {
	q.lock()
	defer q.unlock()
	return q.waiting.Len()
}

// Running returns the number of running tasks, in a cargo queue of those in all
// running batches.
func (q *Queue[T, R]) Running() int {
	q.lock()
	defer q.unlock()
	return q.running
}

// Idle reports whether no task waits or runs.
func (q *Queue[T, R]) Idle() bool {
	q.lock()
	defer q.unlock()
	return q.isIdle()
}

// Stats is a snapshot of a queue. In every one, Pushed is the sum of Succeeded,
// Failed, Dropped, Waiting and Running.
type Stats struct {
	Waiting, Running, Concurrency int
	Paused, Closed                bool

	// Tasks since New: accepted, settled without and with an error, and
	// settled without having run because they were taken back.
	Pushed, Succeeded, Failed, Dropped uint64

	// Process passes run, and turns given to the host.
	Passes, Yields uint64
}

// Stats returns a snapshot of the queue.
func (q *Queue[T, R]) Stats() Stats {
	q.lock()
	defer q.unlock()
	return Stats{
		Waiting:     q.waiting.Len(),
		Running:     q.running,
		Concurrency: q.concurrency,
		Paused:      q.paused,
		Closed:      q.closed,
		Pushed:      q.pushed,
		Succeeded:   q.succeeded,
		Failed:      q.failed,
		Dropped:     q.dropped,
		Passes:      q.passes,
		Yields:      q.yields,
	}
}

// Waiting returns an iterator over the tasks that wait when an iteration
// begins, in the order in which they would start. The loop may call the queue.
func (q *Queue[T, R]) Waiting() iter.Seq[T] {
	return func(yield func(T) bool) {
		q.lock()
		tasks := make([]T, 0, q.waiting.Len())
		tasks = slices.AppendSeq(tasks, q.waiting.All())
		q.unlock()
		slices.Values(tasks)(yield)
	}
}

// Working returns an iterator over the tasks that run when an iteration begins,
// in the order in which they started. The loop may call the queue.
func (q *Queue[T, R]) Working() iter.Seq[T] {
	return func(yield func(T) bool) {
		q.lock()
		tasks := make([]T, 0, q.running)
		for w := q.busy.head; w != nil; w = w.next {
			for i := range w.n {
				tasks = append(tasks, w.task(i).task)
			}
		}
		q.unlock()
		slices.Values(tasks)(yield)
	}
}
