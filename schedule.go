package queue

import (
	"time"

	"github.com/tickqueue/queue/internal/host"
)

// hasWork reports whether a task may start beyond those that parked workers are
// there for.
func (q *Queue[T, R]) hasWork() bool {
	return q.batches() > q.parked.len && !q.paused && !q.killed
}

// batches returns how many calls of the worker function the waiting tasks make.
func (q *Queue[T, R]) batches() int {
	n := q.waiting.Len()
	if q.payload > 1 {
		n = n/q.payload + min(n%q.payload, 1)
	}
	return n
}

// mayStart reports whether one more worker may start.
func (q *Queue[T, R]) mayStart() bool {
	return q.places < q.concurrency && q.hasWork() && q.gate == nil
}

// startable returns how many batches could start if workers were free to take
// them. More parked workers than that are of no use.
func (q *Queue[T, R]) startable() int {
	if q.paused || q.killed {
		return 0
	}
	return min(q.batches(), max(0, q.concurrency-q.busy.len))
}

// process is the pass: it clears the flag and starts what may start. Its goroutine
// becomes a worker; when that has taken its task and more may start, unlocking
// schedules the next pass, and so on. So starts are a chain that holds the lock
// only briefly each time, and each task is the best of its moment. It does not
// need the lock.
func (q *Queue[T, R]) process() {
	q.lock()
	q.isWaitingForProcessing = false
	if !q.chained {
		q.passes++
	}
	if !q.mayStart() {
		q.unlock()
		return
	}
	if q.places == 0 {
		q.pacer.restart()
	}
	q.places++
	w := q.spare
	q.spare = nil
	if w == nil {
		w = &worker[T, R]{q: q}
	}
	if w.take(false) {
		w.run()
	}
}

// turn gives the host a turn before the parked worker that calls it goes on. It
// needs the lock, and lets go of it meanwhile.
//
// A native host runs on other threads too, so only that worker stops. A host that
// shares its only thread with the program turns when every goroutine is blocked,
// so there all workers stop at the gate.
func (q *Queue[T, R]) turn() {
	gate := q.gate
	if gate != nil {
		q.unlockChained(true)
		<-gate
		q.lock()
		return
	}
	q.yields++
	gate = make(chan struct{})
	if host.Single {
		q.gate = gate
	}
	q.pacer.restart()
	q.unlockChained(true)
	q.host.Turn(func() {
		q.lock()
		q.gate = nil
		q.pacer.restart()
		q.unlock()
		close(gate)
	})
	<-gate
	q.lock()
}

// A pacer tells when tasks have run back to back for the yield interval. The
// clock costs more than a small task, so it is read after every so many: one at
// first, twice as many each time as long as less than a quarter of the interval
// has passed. The method is that of JavaScriptKit's event loop for Swift.
type pacer struct {
	interval time.Duration // 0 if off
	now      func() time.Time
	since    time.Time // the start of the drain or the end of the last turn
	every    int       // so many tasks from one reading of the clock to the next
	left     int       // tasks until the next reading
	due      bool      // the host should have a turn before another task starts
}

const maxPace = 256 // the most tasks between two readings

// restart begins a drain, or goes on after a turn.
func (p *pacer) restart() {
	p.due = false
	if p.interval > 0 {
		p.since, p.every, p.left = p.now(), 1, 1
	}
}

// tick is called after each task that leaves others waiting, whichever worker is
// going to take them.
func (p *pacer) tick() {
	if p.left--; p.left > 0 {
		return
	}
	elapsed := p.now().Sub(p.since)
	if elapsed < p.interval/4 {
		p.every = min(2*p.every, maxPace)
	}
	p.left = p.every
	p.due = elapsed >= p.interval
}
