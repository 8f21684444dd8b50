package queue

// OpenInbox opens the inbox of a queue, as a push does that has to wait for the
// lock, and reports whether it is open.
func OpenInbox[T, R any](q *Queue[T, R]) bool {
	q.lock()
	defer q.unlock()
	q.openInbox()
	return q.inboxOpen
}
