package runlist

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"unsafe"
	"weak"
)

// boundaries returns the numbers of tasks at which a run gets a further segment.
func boundaries[T any]() (depths []int) {
	depth := 0
	for n := minSlots; ; n *= 2 {
		n = min(n, maxSlots[T]())
		depth += n
		depths = append(depths, depth)
		if n == maxSlots[T]() {
			return append(depths, depth+n)
		}
	}
}

func TestBoundaries(t *testing.T) {
	want := []int{4, 12, 28, 60, 124, 252, 508, 1020, 2044, 4091, 6138}
	if got := boundaries[int64](); !slices.Equal(got, want) {
		t.Errorf("boundaries %d, want %d", got, want)
	}
}

func TestFIFOAroundSegmentBoundaries(t *testing.T) {
	var depths []int
	for _, depth := range append(boundaries[int64](), 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2047) {
		depths = append(depths, depth-1, depth, depth+1)
	}
	slices.Sort(depths)
	for _, depth := range slices.Compact(depths) {
		var l List[int64, struct{}]
		pushed, popped := int64(0), int64(0)
		push := func(n int) {
			for range n {
				l.PushBack(0, pushed, nil)
				pushed++
			}
		}
		pop := func(n int) {
			for range n {
				if got, _ := l.Pop(); got != popped {
					t.Fatalf("depth %d: popped %d, want %d", depth, got, popped)
				}
				popped++
			}
		}
		// Filled and drained, once more with what was kept, then in parts so that
		// the list does not drain between the rounds.
		push(depth)
		pop(depth)
		push(depth)
		for range 3 {
			pop(depth - depth/3)
			push(depth)
			pop(depth / 3)
			push(depth / 3)
			pop(depth / 3)
		}
		if err := check(&l); err != nil {
			t.Fatalf("depth %d: %v", depth, err)
		}
		pop(l.Len())
		if err := check(&l); err != nil {
			t.Fatalf("depth %d, drained: %v", depth, err)
		}
	}
}

// In front, segments are filled from their ends.
func TestFrontFillsSegments(t *testing.T) {
	for _, depth := range boundaries[int64]() {
		var back, front List[int64, struct{}]
		for range depth {
			back.PushBack(0, 0, nil)
			front.PushFront(0, 0, nil)
		}
		if got, want := len(segmentsOf(&front)), len(segmentsOf(&back)); got != want {
			t.Errorf("%d tasks take %d segments, want %d", depth, got, want)
		}
	}
}

func TestFrontAroundSegmentBoundaries(t *testing.T) {
	for _, boundary := range boundaries[int64]() {
		for depth := boundary - 1; depth <= boundary+1; depth++ {
			var l List[int64, struct{}]
			for i := range int64(depth) {
				l.PushFront(0, -1-i, nil)
				l.PushBack(0, i, nil)
			}
			if err := check(&l); err != nil {
				t.Fatalf("depth %d: %v", depth, err)
			}
			for want := -int64(depth); want < int64(depth); want++ {
				if got, _ := l.Pop(); got != want {
					t.Fatalf("depth %d: popped %d, want %d", depth, got, want)
				}
			}
		}
	}
}

// Payloads that only the list refers to survive while the depth stays the same
// and the tasks walk through segments.
func TestConstantDepthWalksThroughSegments(t *testing.T) {
	for _, depth := range []int{1, 2, 4, 10, 60, 1_000, 2_048} {
		var l List[*[3]int, struct{}]
		push := func(i int) { l.PushBack(0, &[3]int{i, -i, 2 * i}, nil) }
		for i := range depth {
			push(i)
		}
		for i := range 5_000 {
			push(depth + i)
			if got, _ := l.Pop(); *got != [3]int{i, -i, 2 * i} {
				t.Fatalf("depth %d: popped %d, want %d", depth, *got, i)
			}
			if i%500 == 0 {
				runtime.GC()
				if err := check(&l); err != nil {
					t.Fatalf("depth %d, step %d: %v", depth, i, err)
				}
			}
		}
	}
}

type payload struct {
	id int
	_  *payload // so that the collector looks into it
}

// A fullList is a list with payloads to which nothing else refers.
type fullList struct {
	*List[*payload, struct{}]
	payloads []weak.Pointer[payload]
	handles  []*Handle[*payload, struct{}]
}

func newFullList(tasks, priorities int) *fullList {
	l := &fullList{List: new(List[*payload, struct{}])}
	for i := range tasks {
		p := &payload{id: i}
		h := new(Handle[*payload, struct{}])
		if i%2 == 0 {
			h = nil // in every second slot
		}
		l.payloads = append(l.payloads, weak.Make(p))
		l.handles = append(l.handles, h)
		l.PushBack(-(i % priorities), p, h)
	}
	return l
}

func TestPayloadsAreCollected(t *testing.T) {
	const tasks = 10_000
	ignore := func(*payload, *Handle[*payload, struct{}]) {}
	for _, tt := range []struct {
		name string
		take func(l *fullList)
	}{
		{"popped", func(l *fullList) {
			for range tasks / 3 {
				l.Pop()
			}
		}},
		{"removed", func(l *fullList) {
			for _, i := range rand.Perm(tasks) {
				if i%6 != 0 && l.handles[i] != nil {
					l.Remove(l.handles[i])
				}
			}
		}},
		{"all removed by match", func(l *fullList) {
			l.RemoveFunc(func(*payload) bool { return true }, ignore)
		}},
		{"some removed by match", func(l *fullList) {
			l.RemoveFunc(func(p *payload) bool { return p.id%7 != 0 }, ignore)
		}},
		{"appended and popped", func(l *fullList) {
			from := l.List
			l.List = new(List[*payload, struct{}])
			l.PushBack(0, &payload{}, nil)
			l.Append(from)
			for range tasks / 3 {
				l.Pop()
			}
			runtime.KeepAlive(from)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, priorities := range []int{1, 3, tasks / 2} {
				l := newFullList(tasks, priorities)
				tt.take(l)
				runtime.GC()
				waits := make(map[*payload]bool)
				for p := range l.All() {
					waits[p] = true
				}
				alive := 0
				for i, p := range l.payloads {
					p := p.Value()
					if p == nil {
						continue
					}
					alive++
					if p.id != i || !waits[p] {
						t.Fatalf("%d priorities: payload %d is alive but not in the list", priorities, i)
					}
				}
				if want := l.Len(); alive != want && alive != want-1 { // one more in Append
					t.Fatalf("%d priorities: %d payloads are alive, want %d", priorities, alive, want)
				}
				runtime.KeepAlive(l)
			}
		})
	}
}

// A segment goes when its last task leaves, and nothing of the list stays with
// the handles of tasks that left.
func TestSegmentsAreCollected(t *testing.T) {
	for _, tt := range []struct {
		name string
		fill func(l *fullList, from *fullList)
	}{
		{"pushed", func(l, from *fullList) { *l = *from }},
		{"appended", func(l, from *fullList) { l.Append(from.List) }},
		{"appended in parts", func(l, from *fullList) {
			var part List[*payload, struct{}]
			for i := 0; from.Len() > 0; i++ {
				task, _ := from.Pop()
				part.PushBack(-i%3, task, nil)
				if i%700 == 0 {
					l.Append(&part)
				}
			}
			l.Append(&part)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newFullList(0, 1)
			tt.fill(l, newFullList(50_000, 3))
			var segments []weak.Pointer[segment[*payload, struct{}]]
			for _, s := range segmentsOf(l.List) {
				segments = append(segments, weak.Make(s))
			}
			alive := func() (n int) {
				runtime.GC()
				for _, s := range segments {
					if s.Value() != nil {
						n++
					}
				}
				return n
			}
			for l.Len() > 0 {
				for range min(l.Len(), 5_000) {
					l.Pop()
				}
				if got, want := alive(), len(segmentsOf(l.List)); got > want {
					t.Fatalf("with %d tasks %d segments are alive, want %d", l.Len(), got, want)
				}
			}
			handles := l.handles
			l = nil
			if n := alive(); n > 0 {
				t.Errorf("without the list %d segments are alive", n)
			}
			runtime.KeepAlive(handles)
		})
	}
}

func TestSegmentSizes(t *testing.T) {
	t.Run("struct{}", testSegmentSizes[struct{}])
	t.Run("byte", testSegmentSizes[byte])
	t.Run("int", testSegmentSizes[int])
	t.Run("string", testSegmentSizes[string])
	t.Run("[3]byte", testSegmentSizes[[3]byte])
	t.Run("[100]byte", testSegmentSizes[[100]byte])
	t.Run("[8188]byte", testSegmentSizes[[8_188]byte])
	t.Run("[8189]byte", testSegmentSizes[[8_189]byte])
	t.Run("[16376]byte", testSegmentSizes[[16_376]byte])
	t.Run("[20000]byte", testSegmentSizes[[20_000]byte])
	t.Run("[2000]*int", testSegmentSizes[[2_000]*int])
}

func testSegmentSizes[T comparable](t *testing.T) {
	const limit, header = 16 << 10, 8
	var zero T
	size := int(unsafe.Sizeof(zero))
	pointer := int(unsafe.Sizeof(&zero))
	tasks := max(10, min(10_000, 4_000_000/max(1, size)))
	for _, front := range []bool{false, true} {
		var l List[T, struct{}]
		handles := make([]Handle[T, struct{}], tasks)
		for i := range handles {
			if front {
				l.PushFront(0, zero, &handles[i])
			} else {
				l.PushBack(0, zero, &handles[i])
			}
		}
		segments := segmentsOf(&l)
		largest := 0
		for _, s := range segments {
			n := cap(s.slots)
			largest = max(largest, n)
			if n > 1 && n*size+header > limit {
				t.Errorf("%d slots of %d bytes in a segment", n, size)
			}
			if n := cap(s.handles); n*pointer+header > limit {
				t.Errorf("%d handles of %d bytes in a segment", n, pointer)
			}
		}
		// The limit is used, too.
		if most := max(size, pointer) * (largest + 1); most+header <= limit && size > 0 {
			t.Errorf("the largest segment has %d slots of %d bytes", largest, size)
		}
		if err := check(&l); err != nil {
			t.Fatal(err)
		}
		for range l.Len() {
			if _, h := l.Pop(); h == nil || h.Held() {
				t.Fatal("popped a task without its handle")
			}
		}
		if err := check(&l); err != nil {
			t.Fatal(err)
		}
	}
}

// heap returns how many bytes are alive that f returns.
func heap[L any](f func() L) (bytes int, l L) {
	read := func() int {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	before := read()
	l = f()
	return read() - before, l
}

func TestMemoryOfOnePriority(t *testing.T) {
	const tasks = 1 << 20
	bytes, l := heap(func() *List[int64, struct{}] {
		l := new(List[int64, struct{}])
		for i := range int64(tasks) {
			l.PushBack(0, i, nil)
		}
		return l
	})
	if bytes >= 9*tasks {
		t.Errorf("%d tasks of 8 bytes take %.2f bytes each, want less than 9", tasks, float64(bytes)/tasks)
	}
	drained, _ := heap(func() struct{} {
		for l.Len() > 0 {
			l.Pop()
		}
		return struct{}{}
	})
	if kept := bytes + drained; kept > 64<<10 {
		t.Errorf("the drained list keeps %d bytes", kept)
	}
	if n := len(segmentsOf(l)); n > 1 {
		t.Errorf("the drained list keeps %d segments", n)
	}
}

// Tasks that are copied when lists are joined fill no more than a segment for each
// priority.
func TestAppendCopiesNoMoreThanASegment(t *testing.T) {
	t.Run("64 B", testAppend[[64]byte])
	t.Run("4 KiB", testAppend[[4 << 10]byte])
	t.Run("10 KiB", testAppend[[10 << 10]byte])
	t.Run("40 KiB", testAppend[[40 << 10]byte])
}

func testAppend[T comparable](t *testing.T) {
	for _, tasks := range []int{1, 2, 5, 20, maxCopied, maxCopied + 1} {
		var l, other List[T, struct{}]
		var task T
		for range tasks {
			other.PushBack(0, task, nil)
		}
		segments := segmentsOf(&other)
		l.Append(&other)
		if slices.Equal(segmentsOf(&l), segments) {
			continue // they changed hands
		}
		if tasks > maxSlots[T]() || tasks > maxCopied {
			t.Errorf("%d tasks were copied, of which %d fit a segment", tasks, maxSlots[T]())
		}
	}
}

// What comes in parts, however small, fills the segments as well as half of them.
func TestMemoryOfAppended(t *testing.T) {
	const tasks = 1 << 16
	for _, part := range []int{1, 3, 5, 50, 65, 100, 1_000} {
		bytes, l := heap(func() *List[int64, struct{}] {
			var inbox List[int64, struct{}]
			l := new(List[int64, struct{}])
			for i := range int64(tasks) {
				inbox.PushBack(0, i, nil)
				if inbox.Len() == part {
					l.Append(&inbox)
				}
			}
			return l
		})
		if bytes >= 28*tasks {
			t.Errorf("appended %d at a time, tasks of 8 bytes take %.1f bytes each", part, float64(bytes)/tasks)
		}
		runtime.KeepAlive(l)
	}
}

func TestMemoryOfManyPriorities(t *testing.T) {
	for _, tt := range []struct {
		name             string
		priorities, each int // tasks of each
		fill             func(l *List[int64, struct{}], priorities, each int)
	}{
		{"one task each, at once", 100_000, 1, fillAtOnce},
		{"five tasks each, at once", 20_000, 5, fillAtOnce},
		{"one task each after a large segment became free", 200, 1, fillBesideLarge},
		{"five tasks each after a large segment became free", 200, 5, fillBesideLarge},
		{"twenty tasks each after a large segment became free", 200, 20, fillBesideLarge},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bytes, l := heap(func() *List[int64, struct{}] {
				l := new(List[int64, struct{}])
				tt.fill(l, tt.priorities, tt.each)
				return l
			})
			tasks := tt.priorities * tt.each
			if l.Len() != tasks || l.Runs() != tt.priorities {
				t.Fatalf("%d tasks of %d priorities, want %d of %d", l.Len(), l.Runs(), tasks, tt.priorities)
			}
			if limit := 250 + 50*tt.each; bytes > limit*tt.priorities+64<<10 {
				t.Errorf("%d bytes for each priority, want at most %d", bytes/tt.priorities, limit)
			}
			drained, _ := heap(func() struct{} {
				for l.Len() > 0 {
					l.Pop()
				}
				return struct{}{}
			})
			if kept := bytes + drained; kept > 64<<10 {
				t.Errorf("the drained list keeps %d bytes", kept)
			}
		})
	}
}

// Of a run of which most was removed, in whatever order, little stays.
func fillAtOnce(l *List[int64, struct{}], priorities, each int) {
	for p := range priorities {
		for range each {
			l.PushBack(p, 0, nil)
		}
	}
}

// fillBesideLarge has a run of a higher priority give back a large segment before
// each of the others needs one.
func fillBesideLarge(l *List[int64, struct{}], priorities, each int) {
	const large = 4_100
	for p := range priorities {
		for range each {
			for range large {
				l.PushBack(1, 0, nil)
			}
			for range large - 1 {
				l.Pop()
			}
			l.PushBack(-p, 0, nil)
			l.Pop()
		}
	}
}

func TestMemoryAfterRemoval(t *testing.T) {
	const tasks, left = 100_000, 1_000
	for _, tt := range []struct {
		name  string
		order func(n int) []int
	}{
		{"random", rand.Perm},
		{"from the front", func(n int) []int { return slices.Collect(countTo(n)) }},
		{"from the back", func(n int) []int {
			order := slices.Collect(countTo(n))
			slices.Reverse(order)
			return order
		}},
		{"in strides", func(n int) (order []int) {
			for offset := range 100 {
				for i := offset; i < n; i += 100 {
					order = append(order, i)
				}
			}
			return order
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, priorities := range []int{1, 3} {
				var l List[int, struct{}]
				handles := make([]Handle[int, struct{}], tasks)
				for i := range handles {
					l.PushBack(-(i % priorities), i, &handles[i])
				}
				for n, i := range tt.order(tasks)[:tasks-left] {
					l.Remove(&handles[i])
					if n%1_000 == 0 {
						if err := checkTight(&l); err != nil {
							t.Fatal(err)
						}
					}
				}
				if slots := slotsOf(&l); slots > 4*left+(2+priorities)*maxSlots[int]() {
					t.Errorf("%d priorities: %d slots are left for %d tasks", priorities, slots, l.Len())
				}
				if err := check(&l); err != nil {
					t.Fatal(err)
				}
				last := [3]int{-1, -1, -1} // of each priority
				for i := range l.All() {
					if p := i % priorities; i < last[p] {
						t.Fatalf("task %d comes after %d", i, last[p])
					} else {
						last[p] = i
					}
				}
			}
		})
	}
}

func countTo(n int) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}

// The cost of a push and of the end of a run is the depth of the treap, about
// 40 for 30,000 runs however they came.
func TestDepth(t *testing.T) {
	const runs = 30_000
	for _, tt := range []struct {
		name     string
		priority func(i int) int
	}{
		{"ascending", func(i int) int { return i }},
		{"descending", func(i int) int { return -i }},
		{"from both ends", func(i int) int { return (runs - i) * (i%2*2 - 1) }},
		{"random", func(int) int { return rand.Int() }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var l List[int, struct{}]
			for i := range runs {
				l.PushBack(tt.priority(i), 0, nil)
			}
			if depth := depthOf(&l); depth > 90 {
				t.Errorf("depth %d with %d runs", depth, l.Runs())
			}
			for range runs / 2 {
				l.Pop()
			}
			if depth := depthOf(&l); depth > 90 {
				t.Errorf("depth %d with %d runs", depth, l.Runs())
			}
		})
	}
}

func TestAllocations(t *testing.T) {
	for _, tt := range []struct {
		name string
		f    func(l *List[int, struct{}], i int)
	}{
		{"one task", func(l *List[int, struct{}], i int) {
			l.PushBack(0, i, nil)
			l.Pop()
		}},
		{"one task, in front", func(l *List[int, struct{}], i int) {
			l.PushFront(0, i, nil)
			l.Pop()
		}},
		{"one task, alternating priorities", func(l *List[int, struct{}], i int) {
			l.PushBack(i%2, i, nil)
			l.Pop()
		}},
		{"one task, ever new priorities", func(l *List[int, struct{}], i int) {
			l.PushBack(i, i, nil)
			l.Pop()
		}},
		{"four tasks", func(l *List[int, struct{}], i int) {
			for range 4 {
				l.PushBack(0, i, nil)
			}
			for range 4 {
				l.Pop()
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, depth := range []int{0, 1, 1_000} { // beside the tasks of tt
				var l List[int, struct{}]
				for i := range depth {
					l.PushBack(-1, i, nil)
				}
				i := 0
				tt.f(&l, i) // makes the run
				allocs := testing.AllocsPerRun(5_000, func() {
					i++
					tt.f(&l, i)
				})
				if allocs > 0 {
					t.Errorf("%v allocations beside %d tasks", allocs, depth)
				}
			}
		})
	}

	// The segments themselves are the only allocations of many tasks.
	t.Run("burst", func(t *testing.T) {
		const tasks = 100_000
		allocs := testing.AllocsPerRun(5, func() {
			var l List[int, struct{}]
			for i := range tasks {
				l.PushBack(i%3, i, nil)
			}
			for l.Len() > 0 {
				l.Pop()
			}
		})
		if allocs > tasks/500 {
			t.Errorf("%v allocations for %d tasks", allocs, tasks)
		}
	})

	t.Run("remove and push again", func(t *testing.T) {
		var l List[int, struct{}]
		var handles [100]Handle[int, struct{}]
		for i := range handles {
			l.PushBack(0, i, &handles[i])
		}
		i := 0
		allocs := testing.AllocsPerRun(20_000, func() {
			i++
			h := &handles[i*37%len(handles)]
			l.PushBack(0, l.Remove(h), h)
		})
		if allocs > 0 {
			t.Errorf("%v allocations", allocs)
		}
	})
}

func TestAllStopsWhenTheLoopDoes(t *testing.T) {
	var l List[int, struct{}]
	for i := range 10_000 {
		l.PushBack(-(i % 3), i, nil)
	}
	for _, want := range []int{1, 2, 3, 5_000} {
		n := 0
		for range l.All() {
			if n++; n == want {
				break
			}
		}
		if n != want {
			t.Errorf("%d tasks after a break at %d", n, want)
		}
	}
}

func TestRemoveFuncChangesNothingIfMatchPanics(t *testing.T) {
	var l List[int, struct{}]
	for i := range 5_000 {
		l.PushBack(-(i % 3), i, nil)
	}
	want := slices.Collect(l.All())
	func() {
		defer func() { recover() }()
		l.RemoveFunc(func(i int) bool {
			if i == 4_444 {
				panic("no answer")
			}
			return true
		}, func(i int, _ *Handle[int, struct{}]) { t.Errorf("removed %d", i) })
	}()
	if err := check(&l); err != nil {
		t.Fatal(err)
	}
	if got := slices.Collect(l.All()); !slices.Equal(got, want) {
		t.Errorf("%d tasks are left, want %d", len(got), len(want))
	}
}
