package runlist

import "math/rand/v2"

// A run holds the tasks of one priority. It is a node of two structures: the
// list of all runs in order and a treap, a binary search tree that is a heap
// by random weights and thereby balanced.
type run[T, V any] struct {
	priority              int
	higher, lower, parent *run[T, V] // beside the priority, as a search needs them together
	weight                uint32     // no greater than the parent's

	above, below *run[T, V] // neighbors in order
	head, tail   *segment[T, V]
}

// runFor returns the run of a priority, a new one if there is none, and makes
// it the run last pushed to.
func (l *List[T, V]) runFor(priority int) *run[T, V] {
	var r *run[T, V]
	if l.top != nil && l.top.head.tasks == 0 { // in an empty list
		r = l.top
		*l.recentFor(r.priority) = nil
		r.priority = priority
	} else if found, above, below := l.find(priority); found != nil {
		r = found
	} else {
		r = l.insertRun(priority, above, below)
	}
	l.last = r
	*l.recentFor(priority) = r
	return r
}

// recentFor returns the place in recent for a priority.
func (l *List[T, V]) recentFor(priority int) **run[T, V] {
	return &l.recent[priority&(len(l.recent)-1)]
}

// find returns the run of a priority, or the two neighbors it would have.
func (l *List[T, V]) find(priority int) (r, above, below *run[T, V]) {
	if r = l.last; r != nil {
		if r.priority == priority {
			return r, nil, nil
		}
		if priority > r.priority {
			above, below = r.above, r
		} else {
			above, below = r, r.below
		}
		switch {
		case above != nil && above.priority == priority:
			return above, nil, nil
		case below != nil && below.priority == priority:
			return below, nil, nil
		case (above == nil || above.priority > priority) && (below == nil || below.priority < priority):
			return nil, above, below
		}
	}
	above, below = nil, nil
	for r = l.root; r != nil && r.priority != priority; {
		if priority > r.priority {
			r, below = r.higher, r
		} else {
			r, above = r.lower, r
		}
	}
	return r, above, below
}

// insertRun makes a run between two neighbors.
func (l *List[T, V]) insertRun(priority int, above, below *run[T, V]) *run[T, V] {
	r := l.spare.run
	if r == nil {
		r = new(run[T, V])
	} else {
		l.spare.run = r.below
		l.spare.runs--
	}
	*r = run[T, V]{priority: priority, above: above, below: below, weight: rand.Uint32()}
	if above != nil {
		above.below = r
	} else {
		l.top = r
	}
	if below != nil {
		below.above = r
	}
	// Of two neighbors one is an ancestor of the other, so the place between
	// them is free at the one that is further down.
	switch {
	case above != nil && above.lower == nil:
		r.parent, above.lower = above, r
	case below != nil:
		r.parent, below.higher = below, r
	default:
		l.root = r
	}
	for r.parent != nil && r.parent.weight < r.weight {
		l.rotateUp(r)
	}
	l.runs++
	return r
}

// removeRun takes a run without tasks out of the list.
func (l *List[T, V]) removeRun(r *run[T, V]) {
	if r.above != nil {
		r.above.below = r.below
	} else {
		l.top = r.below
	}
	if r.below != nil {
		r.below.above = r.above
	}
	for r.higher != nil && r.lower != nil {
		if r.higher.weight > r.lower.weight {
			l.rotateUp(r.higher)
		} else {
			l.rotateUp(r.lower)
		}
	}
	child := r.higher
	if child == nil {
		child = r.lower
	}
	l.replaceChild(r, child)
	l.runs--
	if l.last == r {
		l.last = nil
	}
	if recent := l.recentFor(r.priority); *recent == r {
		*recent = nil
	}
	l.keepRun(r)
}

// keepRun keeps a run that has left the list, to be used for another priority.
func (l *List[T, V]) keepRun(r *run[T, V]) {
	*r = run[T, V]{}
	if l.spare.runs < maxSpares {
		r.below = l.spare.run
		l.spare.run = r
		l.spare.runs++
	}
}

// rotateUp swaps the places of r and its parent in the treap.
func (l *List[T, V]) rotateUp(r *run[T, V]) {
	p := r.parent
	l.replaceChild(p, r)
	var child *run[T, V] // from r to p
	if p.higher == r {
		child, r.lower = r.lower, p
		p.higher = child
	} else {
		child, r.higher = r.higher, p
		p.lower = child
	}
	if child != nil {
		child.parent = p
	}
	p.parent = r
}

// replaceChild puts child, which may be nil, in the place of r in the treap.
func (l *List[T, V]) replaceChild(r, child *run[T, V]) {
	p := r.parent
	switch {
	case p == nil:
		l.root = child
	case p.higher == r:
		p.higher = child
	default:
		p.lower = child
	}
	if child != nil {
		child.parent = p
	}
}
