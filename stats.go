package queue

import (
	"iter"
	"slices"
)

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
	Waiting     int  // tasks that wait
	Running     int  // tasks that run, in a cargo queue those of all running batches
	Concurrency int  // calls of the worker function that may run at once
	Paused      bool // by Pause
	Closed      bool // by Shutdown, Kill or the end of the parent

	Pushed    uint64 // tasks accepted since New
	Succeeded uint64 // of those, settled without an error
	Failed    uint64 // settled with one, that of a limiter included
	Dropped   uint64 // taken back before they started, also by a Do whose context was done

	Passes uint64 // process passes begun; starts that workers chain on belong to theirs
	Yields uint64 // turns given to the host
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
