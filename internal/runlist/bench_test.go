package runlist

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// A ring is what a list of one priority is measured against: a buffer that
// doubles when it is full.
type ring[T any] struct {
	slots      []T
	first, len int
}

func (r *ring[T]) Len() int { return r.len }

func (r *ring[T]) Push(task T) {
	if r.len == len(r.slots) {
		r.grow()
	}
	r.slots[(r.first+r.len)&(len(r.slots)-1)] = task
	r.len++
}

func (r *ring[T]) grow() {
	slots := make([]T, max(minSlots, 2*len(r.slots)))
	n := copy(slots, r.slots[r.first:])
	copy(slots[n:], r.slots[:r.first])
	r.slots, r.first = slots, 0
}

func (r *ring[T]) Pop() T {
	var zero T
	task := r.slots[r.first]
	r.slots[r.first] = zero
	r.first = (r.first + 1) & (len(r.slots) - 1)
	r.len--
	return task
}

// perTask reports what a benchmark costs per task.
func perTask(b *testing.B, tasks int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(tasks), "ns/task")
}

var (
	benchDepths = []int{1, 10, 1_000, 100_000}
	benchBursts = []int{100, 1_000, 100_000, 1_000_000}
)

// BenchmarkDepth pushes a task and pops one at a steady depth.
func BenchmarkDepth(b *testing.B) {
	for _, depth := range benchDepths {
		b.Run(fmt.Sprintf("of=list/depth=%d", depth), func(b *testing.B) {
			b.ReportAllocs()
			var l List[int, struct{}]
			for i := range depth - 1 {
				l.PushBack(0, i, nil)
			}
			for b.Loop() {
				l.PushBack(0, 1, nil)
				l.Pop()
			}
			perTask(b, 1)
		})
		b.Run(fmt.Sprintf("of=ring/depth=%d", depth), func(b *testing.B) {
			b.ReportAllocs()
			var r ring[int]
			for i := range depth - 1 {
				r.Push(i)
			}
			for b.Loop() {
				r.Push(1)
				r.Pop()
			}
			perTask(b, 1)
		})
	}
}

// BenchmarkBurst fills and drains what it filled and drained before. So the
// ring has grown already, and keeps what it needs for the largest burst.
func BenchmarkBurst(b *testing.B) {
	for _, burst := range benchBursts {
		b.Run(fmt.Sprintf("of=list/tasks=%d", burst), func(b *testing.B) {
			b.ReportAllocs()
			var l List[int, struct{}]
			for b.Loop() {
				burstOfList(&l, burst)
			}
			perTask(b, burst)
		})
		b.Run(fmt.Sprintf("of=ring/tasks=%d", burst), func(b *testing.B) {
			b.ReportAllocs()
			var r ring[int]
			for b.Loop() {
				burstOfRing(&r, burst)
			}
			perTask(b, burst)
		})
	}
}

// BenchmarkFirstBurst fills and drains what is new. So the ring has to grow; the
// bytes per operation show the memory that both need.
func BenchmarkFirstBurst(b *testing.B) {
	for _, burst := range benchBursts {
		b.Run(fmt.Sprintf("of=list/tasks=%d", burst), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				burstOfList(new(List[int, struct{}]), burst)
			}
			perTask(b, burst)
		})
		b.Run(fmt.Sprintf("of=ring/tasks=%d", burst), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				burstOfRing(new(ring[int]), burst)
			}
			perTask(b, burst)
		})
	}
}

func burstOfList(l *List[int, struct{}], tasks int) {
	for i := range tasks {
		l.PushBack(0, i, nil)
	}
	for l.Len() > 0 {
		l.Pop()
	}
}

func burstOfRing(r *ring[int], tasks int) {
	for i := range tasks {
		r.Push(i)
	}
	for r.Len() > 0 {
		r.Pop()
	}
}

// BenchmarkPriorities fills a list in random order of so many priorities and
// drains it.
func BenchmarkPriorities(b *testing.B) {
	const tasks = 100_000
	for _, distinct := range []int{1, 3, 1_000, 100_000} {
		b.Run(fmt.Sprintf("distinct=%d", distinct), func(b *testing.B) {
			b.ReportAllocs()
			priorities := randomPriorities(tasks, distinct)
			var l List[int, struct{}]
			for b.Loop() {
				for i, p := range priorities {
					l.PushBack(p, i, nil)
				}
				for l.Len() > 0 {
					l.Pop()
				}
			}
			perTask(b, tasks)
		})
	}
}

// randomPriorities returns all of so many priorities equally often and in
// random order, the same in every run.
func randomPriorities(tasks, distinct int) []int {
	priorities := rand.New(rand.NewPCG(1, 2)).Perm(tasks)
	for i := range priorities {
		priorities[i] %= distinct
	}
	return priorities
}

// BenchmarkRemove removes all tasks in random order.
func BenchmarkRemove(b *testing.B) {
	for _, tasks := range []int{1_000, 100_000} {
		b.Run(fmt.Sprintf("tasks=%d", tasks), func(b *testing.B) {
			b.ReportAllocs()
			order := rand.New(rand.NewPCG(1, 2)).Perm(tasks)
			handles := make([]Handle[int, struct{}], tasks)
			var l List[int, struct{}]
			for b.Loop() {
				for i := range handles {
					l.PushBack(0, i, &handles[i])
				}
				for _, i := range order {
					l.Remove(&handles[i])
				}
			}
			perTask(b, tasks)
		})
	}
}

// BenchmarkAppend moves tasks from one list to another, so many at a time.
func BenchmarkAppend(b *testing.B) {
	for _, part := range []int{1, 10, 100, 10_000} {
		b.Run(fmt.Sprintf("tasks=%d", part), func(b *testing.B) {
			b.ReportAllocs()
			var l, inbox List[int, struct{}]
			for b.Loop() {
				for i := range part {
					inbox.PushBack(0, i, nil)
				}
				l.Append(&inbox)
				for l.Len() > part {
					l.Pop()
				}
			}
			perTask(b, part)
		})
	}
}
