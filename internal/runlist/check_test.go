package runlist

import (
	"errors"
	"fmt"
	"slices"
)

// check returns what is wrong with the structure of a list, or nil. All
// knowledge of the representation that tests have is here, but for segmentsOf.
func check[T, V comparable](l *List[T, V]) error {
	var zero T

	var runs []*run[T, V]
	for r := l.top; r != nil; r = r.below {
		if len(runs) > l.len {
			return fmt.Errorf("more than %d runs for %d tasks", l.len, l.len)
		}
		var above *run[T, V]
		if len(runs) > 0 {
			above = runs[len(runs)-1]
			if above.priority <= r.priority {
				return fmt.Errorf("run %d is below run %d", r.priority, above.priority)
			}
		}
		if r.above != above {
			return fmt.Errorf("run %d is linked to %p above, want %p", r.priority, r.above, above)
		}
		runs = append(runs, r)
	}

	var inOrder []*run[T, V]
	var walk func(r, parent *run[T, V]) error
	walk = func(r, parent *run[T, V]) error {
		switch {
		case r == nil:
			return nil
		case r.parent != parent:
			return fmt.Errorf("run %d has the parent %p, want %p", r.priority, r.parent, parent)
		case parent != nil && parent.weight < r.weight:
			return fmt.Errorf("run %d weighs more than its parent %d", r.priority, parent.priority)
		case len(inOrder) > len(runs):
			return errors.New("the treap has more runs than the list")
		}
		if err := walk(r.higher, r); err != nil {
			return err
		}
		inOrder = append(inOrder, r)
		return walk(r.lower, r)
	}
	if err := walk(l.root, nil); err != nil {
		return err
	}
	if !slices.Equal(inOrder, runs) {
		return fmt.Errorf("the treap has %d runs in another order than the %d of the list", len(inOrder), len(runs))
	}
	if l.runs != len(runs) {
		return fmt.Errorf("%d runs are counted, want %d", l.runs, len(runs))
	}
	if l.last != nil && !slices.Contains(runs, l.last) {
		return fmt.Errorf("the run last pushed to, %d, is gone", l.last.priority)
	}
	for i, r := range l.recent {
		if r != nil && (!slices.Contains(runs, r) || l.recentFor(r.priority) != &l.recent[i]) {
			return fmt.Errorf("a run pushed to lately, %d, is gone or out of place", r.priority)
		}
	}
	n := 0
	for r := l.spare.run; r != nil; r = r.below {
		if slices.Contains(runs, r) {
			return fmt.Errorf("run %d is spare and in use", r.priority)
		}
		if *r != (run[T, V]{below: r.below}) {
			return errors.New("a spare run is not cleared")
		}
		if n++; n > maxSpares {
			return fmt.Errorf("more than %d spare runs", maxSpares)
		}
	}
	if l.spare.runs != n {
		return fmt.Errorf("%d spare runs are counted, want %d", l.spare.runs, n)
	}
	spares := l.spares()
	smalls := len(spares)
	if l.spare.large != nil {
		smalls--
	}
	slots := 0
	for _, s := range spares {
		slots += len(s.slots)
	}
	if slots > 2*maxSlots[T]() {
		return fmt.Errorf("the spare segments have %d slots, want no more than two segments", slots)
	}
	if l.spare.smalls != smalls || smalls > maxSpares {
		return fmt.Errorf("%d small spare segments are counted, want %d and at most %d", l.spare.smalls, smalls, maxSpares)
	}

	tasks := 0
	segments := 0
	for _, r := range runs {
		if r.head == nil {
			return fmt.Errorf("run %d is empty", r.priority)
		}
		var prev *segment[T, V]
		for s := r.head; s != nil; prev, s = s, s.next {
			fault := func(format string, args ...any) error {
				return fmt.Errorf("run %d, segment of %d: %s", r.priority, len(s.slots), fmt.Sprintf(format, args...))
			}
			segments++
			switch {
			case slices.Contains(spares, s):
				return fault("spare and in use")
			case s.run != r && (s == r.head || s == r.tail):
				return fault("belongs to another run")
			case s.prev != prev:
				return fault("linked to %p before, want %p", s.prev, prev)
			case s.first < 0 || s.first > s.end || s.end > len(s.slots):
				return fault("slots %d up to %d", s.first, s.end)
			case s.handles != nil && len(s.handles) != len(s.slots):
				return fault("%d handles", len(s.handles))
			case s.tasks == 0 && l.len > 0:
				return fault("has no task")
			}
			n := 0
			for i, task := range s.slots {
				var h *Handle[T, V]
				if s.handles != nil {
					h = s.handles[i]
				}
				isUsed := s.first <= i && i < s.end
				switch {
				case !isUsed && h != nil:
					return fault("slot %d has a handle, slots %d up to %d are in use", i, s.first, s.end)
				case (!isUsed || h == &l.hole) && task != zero:
					return fault("slot %d holds on to something", i)
				case !isUsed || h == &l.hole:
					continue
				case h != nil && (h.segment != s || h.slot != i):
					return fault("the handle of slot %d is at slot %d", i, h.slot)
				}
				n++
			}
			if s.tasks != n {
				return fault("%d tasks, want %d", s.tasks, n)
			}
			tasks += n
		}
		if r.tail != prev {
			return fmt.Errorf("run %d does not end in its tail", r.priority)
		}
	}
	if l.len != tasks {
		return fmt.Errorf("length %d, want %d", l.len, tasks)
	}
	if l.hole != (Handle[T, V]{}) {
		return errors.New("the mark of holes is used as a handle")
	}

	for _, s := range spares {
		if s.run != nil || s.prev != nil || s.first != 0 || s.end != 0 || s.tasks != 0 {
			return errors.New("a spare segment is not cleared")
		}
		if slices.ContainsFunc(s.slots, func(task T) bool { return task != zero }) ||
			slices.ContainsFunc(s.handles, func(h *Handle[T, V]) bool { return h != nil }) {
			return errors.New("a spare segment holds on to something")
		}
		segments++
	}
	if l.len == 0 {
		if segments > 1 && l.top != nil { // or it was joined to another, and keeps spares for more
			return fmt.Errorf("an empty list keeps %d segments", segments)
		}
		if len(runs) == 1 && (runs[0].head.first != 0 || runs[0].head.end != 0) {
			return fmt.Errorf("an empty list starts over at slot %d", runs[0].head.first)
		}
	}
	return nil
}

// checkTight returns what is wrong with a list from which tasks were only removed
// since it was filled: of two segments side by side, the first cannot take in the
// tasks of both without being more than half full.
func checkTight[T, V any](l *List[T, V]) error {
	for r := l.top; r != nil; r = r.below {
		for s := r.head; s.next != nil; s = s.next {
			if s.tasks+s.next.tasks <= len(s.slots)/2 {
				return fmt.Errorf("run %d: segments of %d and %d with %d and %d tasks side by side",
					r.priority, len(s.slots), len(s.next.slots), s.tasks, s.next.tasks)
			}
		}
	}
	return nil
}

// spares returns the segments that the list keeps for later.
func (l *List[T, V]) spares() (segments []*segment[T, V]) {
	for s := l.spare.small; s != nil && len(segments) <= maxSpares; s = s.next {
		segments = append(segments, s)
	}
	if s := l.spare.large; s != nil {
		segments = append(segments, s)
	}
	return segments
}

// segmentsOf returns the segments of a list in order, and the spare ones.
func segmentsOf[T, V any](l *List[T, V]) (segments []*segment[T, V]) {
	for r := l.top; r != nil; r = r.below {
		for s := r.head; s != nil; s = s.next {
			segments = append(segments, s)
		}
	}
	return append(segments, l.spares()...)
}

// slotsOf returns how many tasks the segments of a list have room for.
func slotsOf[T, V any](l *List[T, V]) (slots int) {
	for _, s := range segmentsOf(l) {
		slots += len(s.slots)
	}
	return slots
}

// depthOf returns the length of the longest path from the root of the treap.
func depthOf[T, V any](l *List[T, V]) int {
	var depth func(r *run[T, V]) int
	depth = func(r *run[T, V]) int {
		if r == nil {
			return 0
		}
		return 1 + max(depth(r.higher), depth(r.lower))
	}
	return depth(l.root)
}
