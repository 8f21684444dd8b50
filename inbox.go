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
// It is open only while tasks wait. What is in it was pushed after those, so it may
// start before the first of them only if its priority is higher. Whoever takes a
// task therefore compares that task's priority with best; the inbox is absorbed as
// a whole when best is higher, when nothing else waits any more, and by every method
// but Push and Submit. The order of tasks is the same with and without.
//
// It opens when a push has met with contention, and closes when nothing waits or
// the tasks are of many priorities: to sort them twice does not pay.
type inbox[T, R any] struct {
	open atomic.Bool     // changes under both locks
	best atomic.Int64    // the highest priority in list, math.MinInt64 if it is empty
	_    [cacheLine]byte // so that workers, who read best for each task, and pushers do not share a line

	mu   sync.Mutex                     // taken after the queue's, if both are
	list *runlist.List[T, *entry[T, R]] // nil if closed

	spare *runlist.List[T, *entry[T, R]] // empty, to change places with list; needs the queue's lock
}

const (
	cacheLine       = 64
	inboxPriorities = 8 // where there are more, pushes go past the inbox
)

// push puts a task in the inbox, if that is open for it.
func (in *inbox[T, R]) push(task T, p position, e *entry[T, R]) bool {
	if p.front {
		return false
	}
	in.lock()
	ok := in.open.Load() && in.list.Runs() <= inboxPriorities
	if ok {
		in.list.PushBack(p.priority, task, handleOf(e))
		if priority := int64(p.priority); priority > in.best.Load() {
			in.best.Store(priority)
		}
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
// to those that wait.
func (q *Queue[T, R]) openInbox() {
	if q.inboxOpen || q.capacity != math.MaxInt || q.limiter != nil || q.waiting.Len() == 0 || !q.suitsInbox() {
		return
	}
	in := &q.inbox
	in.lock()
	in.list, in.spare = new(runlist.List[T, *entry[T, R]]), new(runlist.List[T, *entry[T, R]])
	q.inboxOpen = true
	in.open.Store(true)
	in.best.Store(math.MinInt64)
	in.mu.Unlock()
}

// suitsInbox reports whether tasks may go to the inbox now.
func (q *Queue[T, R]) suitsInbox() bool {
	return q.waiting.Runs() <= inboxPriorities && q.parked.len == 0 && !q.closed
}

// absorb takes all tasks out of the inbox.
func (q *Queue[T, R]) absorb() {
	in := &q.inbox
	in.lock()
	list := in.list
	in.list, in.spare = in.spare, list
	in.best.Store(math.MinInt64)
	if q.waiting.Len()+list.Len() == 0 || !q.suitsInbox() {
		in.list, in.spare = nil, nil
		q.inboxOpen = false
		in.open.Store(false)
	}
	in.mu.Unlock()
	q.pushed += uint64(list.Len())
	q.waiting.Append(list)
}
