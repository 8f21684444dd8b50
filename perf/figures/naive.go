package main

import (
	"sync"

	"github.com/tickqueue/queue/internal/runlist"
)

// The naive counterparts: what each of the four designs replaced.

// A scanList is a list sorted by descending priority, in which a push walks task
// by task from the head to its place.
type scanList struct{ head *scanTask }

type scanTask struct {
	priority int
	run      func()
	next     *scanTask
}

func (l *scanList) push(priority int, run func()) {
	p := &l.head
	for *p != nil && (*p).priority >= priority {
		p = &(*p).next
	}
	*p = &scanTask{priority, run, *p}
}

func (l *scanList) drain() {
	for l.head != nil {
		t := l.head
		l.head = t.next
		t.run()
	}
}

// A ring doubles its one buffer when it is full and never gives memory back.
type ring[T any] struct {
	slots     []T // a power of two
	head, len int
}

func (r *ring[T]) push(task T) {
	if r.len == len(r.slots) {
		grown := make([]T, max(16, 2*len(r.slots)))
		n := copy(grown, r.slots[r.head:])
		copy(grown[n:], r.slots[:r.head])
		r.slots, r.head = grown, 0
	}
	r.slots[(r.head+r.len)&(len(r.slots)-1)] = task
	r.len++
}

func (r *ring[T]) pop() T {
	var zero T
	task := r.slots[r.head]
	r.slots[r.head] = zero
	r.head = (r.head + 1) & (len(r.slots) - 1)
	r.len--
	return task
}

// An eagerQueue schedules a pass for every push. Its tasks wait in the queue's
// own list, so that the passes are all that it does otherwise.
type eagerQueue struct {
	worker func(task int)
	idle   sync.WaitGroup

	mu      sync.Mutex
	waiting runlist.List[int, struct{}]
	running bool // concurrency is 1
}

func (q *eagerQueue) push(task, priority int) {
	q.idle.Add(1)
	q.mu.Lock()
	q.waiting.PushBack(priority, task, nil)
	q.mu.Unlock()
	go q.process()
}

func (q *eagerQueue) process() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.running && q.waiting.Len() > 0 {
		task, _ := q.waiting.Pop()
		q.running = true
		q.mu.Unlock()
		q.worker(task)
		q.idle.Done()
		q.mu.Lock()
		q.running = false
	}
}
