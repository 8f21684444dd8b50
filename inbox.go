package queue

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/tickqueue/queue/internal/runlist"
)

// An inbox takes pushes under a lock of its own, so that a goroutine that
// pushes and workers that take tasks do not fight over one lock and the cache
// lines behind it.
//
// Only pushes that can wait go there: the inbox is open while tasks of its one
// priority wait and start before all in it. So whoever takes a task need not look
// into it; before that is no longer so, the inbox is absorbed as a whole, as it
// is by every method but Push and Submit. The order of tasks is the same with and
// without. With several priorities it would not pay: whoever takes the last task
// of the highest one would have to look each time.
//
// It opens when a push has met with contention, and closes when nothing waits.
type inbox[T, R any] struct {
	isOpen atomic.Bool // changes under both locks

	mu   sync.Mutex // taken after the queue's, if both are
	bar  int        // the priority taken; changes under both locks
	list runlist.List[T, *entry[T, R]]
}

const cacheLine = 64

// push puts a task in the inbox, if that is open for it.
func (in *inbox[T, R]) push(task T, p position, e *entry[T, R]) bool {
	if p.front {
		return false
	}
	in.lock()
	ok := in.isOpen.Load() && p.priority == in.bar
	if ok {
		in.list.PushBack(p.priority, task, handleOf(e))
	}
	in.mu.Unlock()
	return ok
}

func (in *inbox[T, R]) lock() {
	if !in.mu.TryLock() {
		lockSlowly(&in.mu, shortPause)
	}
}

// openInbox opens the inbox if there is no more to pushing a task than to add it
// to those that wait. It needs the lock, as does absorb.
func (q *Queue[T, R]) openInbox() {
	if q.inboxIsOpen || q.capacity != math.MaxInt || q.limiter != nil || !q.suitsInbox() {
		return
	}
	in := &q.inbox
	in.lock()
	q.setInbox(true)
	in.mu.Unlock()
}

// suitsInbox reports whether tasks may go to the inbox now.
func (q *Queue[T, R]) suitsInbox() bool {
	return q.waiting.Len() > 0 && q.waiting.Runs() == 1 && q.parked.len == 0 && !q.closed
}

// absorb takes all tasks out of the inbox.
func (q *Queue[T, R]) absorb() {
	in := &q.inbox
	in.lock()
	q.pushed += uint64(in.list.Len())
	q.waiting.Append(&in.list)
	q.setInbox(q.suitsInbox())
	in.mu.Unlock()
}

// setInbox opens or closes the inbox. It needs both locks.
func (q *Queue[T, R]) setInbox(open bool) {
	in := &q.inbox
	if open {
		q.inboxBar = q.waiting.Top()
		in.bar = q.inboxBar
	} else {
		in.list = runlist.List[T, *entry[T, R]]{}
	}
	if open != q.inboxIsOpen {
		q.inboxIsOpen = open
		in.isOpen.Store(open)
	}
}
