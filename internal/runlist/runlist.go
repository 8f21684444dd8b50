// Package runlist provides the list in which a queue keeps its waiting tasks:
// sorted by descending priority, first in first out within a priority.
//
// The tasks of one priority form a run. A run keeps its tasks by value in linked
// segments of at most 16 KiB, or of one task that is larger, so that no allocation
// grows with the list and memory goes back to the collector while the list
// empties. A push steps over whole runs, never over tasks: the runs are the nodes
// of a treap (Seidel and Aragon, Randomized Search Trees, 1996) and are linked in
// order besides.
//
// With P distinct priorities in the list, a push costs O(log P), and O(1) if its
// run is, or would be, next to the run last pushed to; Pop and Remove cost O(1),
// and O(log P) where they end a run. These bounds hold in expectation, over the
// random shape of the treap. Pop touches one segment, Remove one and its two
// neighbors, of which it may move up to half a segment of tasks.
//
// A List has no locks: its methods must not run concurrently.
package runlist

import (
	"iter"
	"unsafe"
)

const (
	segmentBytes   = 16 << 10 // of a segment's slots, as the allocator counts
	allocatorBytes = 8        // what the allocator may put before an object with pointers
	maxCopied      = 64       // tasks that are better copied than left in segments of their own, if one segment holds them
	minSlots       = 4        // of the first segment of a run; the following ones double
	maxSpares      = 8        // runs, and at most as many segments of minSlots, kept for new priorities
)

// A List is an ordered list of tasks. The zero value is an empty list.
// A List must not be copied after its first use.
type List[T, V any] struct {
	len  int
	runs int        // distinct priorities; 1 in an empty list that had tasks
	root *run[T, V] // of the treap
	top  *run[T, V] // highest priority; an empty list keeps one run, to be relabeled
	last *run[T, V] // last pushed to; nil if that run is gone

	// Runs pushed to lately, by the low bits of their priorities: a few
	// priorities that take turns need no search.
	recent [8]*run[T, V] // the length is a power of two

	spare spares[T, V]

	hole Handle[T, V] // its address marks a slot whose task was removed
}

// spares are what a list keeps of what has left it, so that priorities that come
// and go allocate little: no more than two segments of full size would hold. A
// drained list keeps no segments here.
type spares[T, V any] struct {
	run    *run[T, V] // to be relabeled; linked by below
	runs   int
	small  *segment[T, V] // of minSlots, to begin a run; linked by next
	smalls int
	large  *segment[T, V] // the larger segment last emptied
}

// A Handle finds a task again for as long as the task is in a list.
// Its zero value is not in a list.
type Handle[T, V any] struct {
	Value V // the caller's

	segment *segment[T, V] // nil when the task is not in a list
	slot    int
}

// A segment is a part of a run: the slots from first up to end hold tasks and
// holes, all others are zero.
type segment[T, V any] struct {
	run        *run[T, V] // valid for the first and the last of a run
	prev, next *segment[T, V]
	first, end int
	tasks      int // slots that hold a task: at least one, but in an empty list
	slots      []T
	handles    []*Handle[T, V] // of the slots; nil until one has a handle or is a hole
}

// Held reports whether the task of h is in a list.
func (h *Handle[T, V]) Held() bool { return h.segment != nil }

// Len returns the number of tasks in the list.
func (l *List[T, V]) Len() int { return l.len }

// Runs returns the number of distinct priorities in the list. A list that has
// become empty counts its last one still.
func (l *List[T, V]) Runs() int { return l.runs }

// Top returns the priority of the first task. The list must not be empty.
func (l *List[T, V]) Top() int { return l.top.priority }

// PushBack puts a task behind those of its priority.
// The handle may be nil; otherwise it must not be in a list.
func (l *List[T, V]) PushBack(priority int, task T, h *Handle[T, V]) {
	r := *l.recentFor(priority)
	if r == nil || r.priority != priority {
		r = l.runFor(priority)
	} else if r != l.last { // saves a write barrier
		l.last = r
	}
	s := r.tail
	if s == nil || s.end == len(s.slots) {
		s = l.newSegment(r, s)
		l.link(s, r.tail, nil)
	}
	if h != nil {
		s.setHandle(s.end, h)
		h.segment, h.slot = s, s.end
	}
	s.slots[s.end] = task // as put does; this is the path of every push
	s.end++
	s.tasks++
	l.len++
}

// PushFront puts a task before those of its priority.
// The handle may be nil; otherwise it must not be in a list.
func (l *List[T, V]) PushFront(priority int, task T, h *Handle[T, V]) {
	r := l.runFor(priority)
	s := r.head
	if s == nil || s.first == 0 && s.tasks > 0 {
		s = l.newSegment(r, s)
		l.link(s, nil, r.head)
	}
	if s.tasks == 0 {
		s.first, s.end = len(s.slots), len(s.slots)
	}
	s.first--
	l.put(s, s.first, task, h)
}

// Pop takes the first task out of the list, which must not be empty, and
// returns it with its handle, if it has one.
func (l *List[T, V]) Pop() (task T, h *Handle[T, V]) {
	s := l.top.head
	if s.handles != nil {
		h = l.popHandle(s)
	}
	var zero T
	slot := &s.slots[s.first]
	task, *slot = *slot, zero
	s.first++
	l.len--
	if s.tasks--; s.tasks == 0 {
		l.unlink(s)
	}
	return task, h
}

// popHandle steps over the holes at the front of a segment and takes the handle
// of the first task away.
func (l *List[T, V]) popHandle(s *segment[T, V]) *Handle[T, V] {
	for s.handles[s.first] == &l.hole {
		s.handles[s.first] = nil
		s.first++
	}
	h := s.handles[s.first]
	if h != nil {
		s.handles[s.first], h.segment = nil, nil
	}
	return h
}

// Remove takes the task of h, which must be in the list, out of it.
func (l *List[T, V]) Remove(h *Handle[T, V]) T {
	s := h.segment
	task, _ := l.take(s, h.slot, &l.hole)
	next := s.next
	l.tighten(s)
	if next != nil {
		l.tighten(next)
	}
	return task
}

// RemoveFunc takes the tasks for which match reports true out of the list and
// passes each, with its handle, to removed, which must not use the list. It asks
// match about all tasks, in order, before it changes anything.
func (l *List[T, V]) RemoveFunc(match func(T) bool, removed func(T, *Handle[T, V])) {
	var matched List[bool, struct{}] // the answers, in the order of the tasks
	for task := range l.All() {
		matched.PushBack(0, match(task), nil)
	}
	for r := l.top; r != nil; {
		below := r.below
		for s := r.head; s != nil; {
			next := s.next
			for i := s.first; i < s.end; i++ {
				if !s.isTask(i, &l.hole) {
					continue
				}
				if is, _ := matched.Pop(); is {
					removed(l.take(s, i, &l.hole))
				}
			}
			l.tighten(s)
			s = next
		}
		r = below
	}
}

// All returns an iterator over the tasks in order.
// The list must not change while it runs.
func (l *List[T, V]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		for r := l.top; r != nil; r = r.below {
			for s := r.head; s != nil; s = s.next {
				for i := s.first; i < s.end; i++ {
					if s.isTask(i, &l.hole) && !yield(s.slots[i]) {
						return
					}
				}
			}
		}
	}
}

// Append moves all tasks of other, from which none may have been removed but by
// Pop, behind those of their priorities. For each priority of other it costs at
// most maxCopied pushes, and no more than fill a segment: longer runs change hands
// whole.
func (l *List[T, V]) Append(other *List[T, V]) {
	if other.len == 0 {
		return
	}
	for from := other.top; from != nil; {
		if from.isShort() {
			for s := from.head; s != nil; {
				for i := s.first; i < s.end; i++ {
					task, h := other.take(s, i, nil)
					l.PushBack(from.priority, task, h)
				}
				next := s.next
				other.keep(s)
				s = next
			}
		} else {
			l.appendSegments(from)
		}
		below := from.below
		other.keepRun(from) // inner segments still point to it, which nobody follows
		from = below
	}
	l.len += other.len
	other.len, other.runs, other.root, other.top, other.last = 0, 0, nil, nil, nil
	clear(other.recent[:])
}

// isShort reports whether the tasks of r are better copied than left where they are.
func (r *run[T, V]) isShort() bool {
	n, most := 0, min(maxCopied, maxSlots[T]())
	for s := r.head; s != nil && n <= most; s = s.next {
		n += s.tasks
	}
	return n <= most
}

// appendSegments puts the segments of a run of another list behind those of its
// priority.
func (l *List[T, V]) appendSegments(from *run[T, V]) {
	r := l.runFor(from.priority)
	if r.head != nil && r.head.tasks == 0 { // of an empty list
		l.keep(r.head)
		r.head = nil
	}
	if r.head == nil {
		r.head = from.head
	} else {
		r.tail.next, from.head.prev = from.head, r.tail
	}
	r.tail = from.tail
	r.head.run, r.tail.run = r, r
}

// isTask reports whether a slot from first up to end holds a task.
func (s *segment[T, V]) isTask(slot int, hole *Handle[T, V]) bool {
	return s.handles == nil || s.handles[slot] != hole
}

// put fills a slot.
func (l *List[T, V]) put(s *segment[T, V], slot int, task T, h *Handle[T, V]) {
	s.slots[slot] = task
	s.tasks++
	l.len++
	if h != nil {
		s.setHandle(slot, h)
		h.segment, h.slot = s, slot
	}
}

// take empties a slot, leaving mark for its handle: nil or the address of hole.
func (l *List[T, V]) take(s *segment[T, V], slot int, mark *Handle[T, V]) (task T, h *Handle[T, V]) {
	var zero T
	task, s.slots[slot] = s.slots[slot], zero
	s.tasks--
	l.len--
	if s.handles != nil {
		h = s.handles[slot]
	}
	if h != nil {
		h.segment = nil
	}
	if h != nil || mark != nil {
		s.setHandle(slot, mark)
	}
	return task, h
}

func (s *segment[T, V]) setHandle(slot int, h *Handle[T, V]) {
	if s.handles == nil {
		s.handles = make([]*Handle[T, V], len(s.slots))
	}
	s.handles[slot] = h
}

// maxSlots returns how many tasks a full-sized segment holds: at least one,
// and so few that their handles fit a segment, too.
func maxSlots[T any]() int {
	var task T
	size := max(unsafe.Sizeof(task), unsafe.Sizeof(&task))
	return max(1, (segmentBytes-allocatorBytes)/int(size))
}

// newSegment returns an empty segment for r, twice as large as the one beside
// which it will be, which is nil if it is r's first.
func (l *List[T, V]) newSegment(r *run[T, V], beside *segment[T, V]) *segment[T, V] {
	n := minSlots
	if beside != nil {
		n = 2 * len(beside.slots)
	}
	n = min(n, maxSlots[T]())
	var s *segment[T, V]
	switch large := l.spare.large; {
	case n == minSlots && l.spare.small != nil:
		s = l.spare.small
		l.spare.small = s.next
		l.spare.smalls--
	case n == minSlots && n < maxSlots[T](): // in one piece, as runs may be short and many
		small := new(struct {
			segment[T, V]
			array [minSlots]T
		})
		s = &small.segment
		s.slots = small.array[:]
	case large != nil && n <= len(large.slots) && len(large.slots) <= 2*n: // a larger one might stay mostly empty
		s = large
		l.spare.large = nil
	default:
		s = &segment[T, V]{slots: make([]T, n)}
	}
	s.run = r
	return s
}

// link puts a segment between two neighbors in its run, nil at an end.
func (l *List[T, V]) link(s, prev, next *segment[T, V]) {
	s.prev, s.next = prev, next
	if prev != nil {
		prev.next = s
	} else {
		s.run.head = s
	}
	if next != nil {
		next.prev = s
	} else {
		s.run.tail = s
	}
}

// unlink takes a segment without tasks out of its run, and the run out of the
// list if that was its last. The last run of all stays with its last segment,
// so that a list that is empty every other moment is not built anew each time.
func (l *List[T, V]) unlink(s *segment[T, V]) {
	r := s.run
	if l.len == 0 {
		s.clear()
		l.spare.small, l.spare.smalls, l.spare.large = nil, 0, nil
		return
	}
	switch prev, next := s.prev, s.next; {
	case prev == nil && next == nil:
		l.removeRun(r)
	case prev == nil:
		r.head, next.prev, next.run = next, nil, r
	case next == nil:
		r.tail, prev.next, prev.run = prev, nil, r
	default:
		prev.next, next.prev = next, prev
	}
	l.keep(s)
}

// keep keeps a segment without tasks for the next one of its size.
func (l *List[T, V]) keep(s *segment[T, V]) {
	s.clear()
	s.run, s.prev, s.next = nil, nil, nil
	if len(s.slots) != minSlots {
		l.spare.large = s
	} else if l.spare.smalls < min(maxSpares, maxSlots[T]()/minSlots) {
		s.next = l.spare.small
		l.spare.small = s
		l.spare.smalls++
	}
}

// clear makes a segment without tasks start over at its first slot.
func (s *segment[T, V]) clear() {
	if s.handles != nil {
		clear(s.handles[s.first:s.end]) // of holes
	}
	s.first, s.end = 0, 0
}

// tighten gives back s if it holds no task, or if its tasks and those of the
// segment before it fill at most half of that one, to which they move then.
// So a run of which most was removed keeps no more than a few times the
// segments that it needs.
func (l *List[T, V]) tighten(s *segment[T, V]) {
	if s.tasks == 0 {
		l.unlink(s)
		return
	}
	p := s.prev
	if p == nil || p.tasks+s.tasks > len(p.slots)/2 {
		return
	}
	end := p.end
	p.end = 0
	l.move(p, p, p.first, end)
	p.first = 0
	l.move(p, s, s.first, s.end)
	l.unlink(s)
}

// move appends the tasks in the slots of a segment from first up to end to p,
// which may be that segment itself.
func (l *List[T, V]) move(p, s *segment[T, V], first, end int) {
	for i := first; i < end; i++ {
		if s.isTask(i, &l.hole) {
			task, h := l.take(s, i, nil)
			l.put(p, p.end, task, h)
			p.end++
		} else {
			s.handles[i] = nil
		}
	}
}
