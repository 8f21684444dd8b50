// Package queue runs tasks in the background of a program: a worker function,
// a limit to how many run at once, and a queue with priorities of those that
// wait. A higher priority starts first.
//
//	q := queue.New(queue.NoResult(send), 8) // send(ctx, mail) error
//	q.OnError(func(m mail, err error) { log.Print(m.to, ": ", err) })
//	q.Push(m)
//	q.Push(reset, queue.Priority(1))
//	err := q.Wait(ctx)
//
// It is modeled on queue, priorityQueue, cargo and cargoQueue of async.js.
//
// # Order
//
// Tasks start by descending priority, and within one priority in the order in
// which they were pushed. [Front] puts a task before those of its priority;
// [Ticket.SetPriority] moves a waiting one to the tail of another.
//
// The order is strict at any concurrency: when a task starts, no task waits that
// should have started before it. No worker takes a task before it is free to
// run it.
//
// # The tick
//
// A push only appends. If a worker is free and no process pass is scheduled yet,
// it schedules one: a goroutine that starts what may start. So pushes in a row
// share one pass, and the first task to start is the best of them all. That is
// certain with GOMAXPROCS=1 only: with more processors a pass may begin while
// pushes go on. If you need it, use [Queue.PushAll], or [Queue.Pause] and
// [Queue.Resume].
//
// When a task ends, on Resume, and when the concurrency rises, what may start
// then starts at once, without a further push.
//
// # Results
//
// Every accepted task settles exactly once: with what the worker function
// returned; with a [*PanicError] if it panicked; with [ErrGoexit] if it called
// [runtime.Goexit]; with the error of the limiter; or with [ErrDropped] if it was
// taken back before it started. [Queue.Submit] gives a [Ticket] on which to await
// that, [Queue.Do] waits itself and returns the error of its context if that was
// why the task was taken back, and [Queue.OnError] hears of all that failed.
//
// A panic that nobody can learn of, because the task came by Push, PushAll or
// PushWait and no OnError hook is set, ends the program like any other.
//
// A running task can be canceled through its context only: by the context given
// to Do, or by [Queue.Kill].
//
// # Hooks
//
// Hooks tell of edges, not of levels. OnEmpty: the last waiting task has
// started. OnSaturated: the last free worker has taken a task. OnUnsaturated:
// after that, enough are free again. OnDrain: the queue has become idle. A
// worker that goes from one task straight to the next is no edge. See
// [Queue.OnDrain] for how they are called.
//
// # Bounds
//
// By default any number of tasks may wait. With [WithCapacity], Push, PushAll
// and Submit return [ErrFull] when there is no room, while PushWait and Do wait
// for it, first come, first served: a task that waits for room is not in the queue
// yet, and its priority counts only once it is. No push overtakes one that waits. A
// pushed task waits until a pass has started it, also while workers are free.
//
// # Ends
//
// [Queue.Wait] waits for the queue to be idle, [Queue.Shutdown] also refuses
// further pushes, and [Queue.Kill] drops what waits and cancels the context of
// what runs, with the cause [ErrClosed]. So a graceful stop is
//
//	if q.Shutdown(deadline) != nil { // two contexts
//		lost := q.Kill()
//		q.Wait(grace) // for the workers to return
//	}
//
// When the parent given by [WithContext] is done, the queue is killed: do not make
// that the context of a signal after which tasks should drain. A queue that is
// idle needs none of this: it owns no goroutine and no timer.
//
// # Concurrency
//
// Everything may be called from anywhere: from any goroutine, from the worker
// function, from hooks. Only the function given to [Queue.Remove] and the methods
// of contexts given to the queue must not call it: they may run under its lock. No
// other code of the program does. A call that waits for its own caller cannot end:
// a task that waits for its queue to be idle, for room in it, or for a result that
// depends on its own place.
//
// In a testing/synctest bubble, use queues that were made there.
//
// # Memory
//
// Waiting tasks are kept by value, those of one priority together, in segments
// of at most 16 KiB, or of one task that is larger. A push allocates nothing per
// task, [Queue.Submit] once; only a task whose priority no other waiting task has
// may cost more. No allocation grows with the queue. A segment goes when its last
// task leaves: while tasks wait no more than two are kept for reuse, and a drained
// queue keeps one. The slot of a task that was taken holds nothing, so the task
// can be collected as soon as it has settled.
//
// With P distinct priorities waiting, a push costs O(log P), and O(1) next to the
// priority last pushed to. Starting or canceling a task costs O(1), and O(log P) if
// it was the last of its priority. These bounds hold in expectation, over the
// random shape of the tree of priorities.
package queue
