package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/tickqueue/queue"
	"github.com/tickqueue/queue/internal/runlist"
	"github.com/tickqueue/queue/perf/internal/measure"
)

// A job is what one process does.
type job struct {
	Kind, Subject string
	N             int           // tasks
	P             int           // priorities, depth, or tasks of a burst
	Times         int           // how often, so that small sizes make a figure
	Limit         time.Duration // after which a naive counterpart gives up
}

// An outcome is what a process has measured, by the keys of the metrics.
type outcome struct {
	Samples map[string]measure.Sample
	Over    bool    `json:",omitempty"` // gave up: the time is a lower bound
	Series  []point `json:",omitempty"`
}

// A point is the heap after so many pushes and pops.
type point struct{ Ops, Bytes float64 }

func one(s measure.Sample) outcome { return outcome{Samples: map[string]measure.Sample{"": s}} }

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func do(j job) (outcome, error) {
	switch j.Kind {
	case "loop", "group", "released", "cycling", "hops":
		return runs(j), nil
	case "scale":
		return one(scale(j)), nil
	case "distinct":
		return one(distinct(j)), nil
	case "three":
		return threeBursts(j), nil
	case "depth":
		return one(depth(j)), nil
	case "bursts":
		return one(bursts(j)), nil
	case "many":
		return many(j), nil
	case "ticks":
		return one(ticks(j)), nil
	case "passes":
		return one(passes(j)), nil
	}
	return outcome{}, fmt.Errorf("no such job: %+v", j)
}

func nothing(context.Context, int) (struct{}, error) { return struct{}{}, nil }

func call(_ context.Context, f func()) (struct{}, error) {
	f()
	return struct{}{}, nil
}

// runs does the workloads of JavaScriptKit's priority runs. There a burst waits
// until the loop that makes it has ended; here the queue is paused so long.
func runs(j job) outcome {
	var push func(priority int, f func())
	var drain func()
	if j.Subject == "scan" {
		l := &scanList{}
		push, drain = l.push, l.drain
	} else {
		q := queue.New(call, 1)
		q.Pause()
		push = func(priority int, f func()) { must(q.Push(f, queue.Priority(priority))) }
		drain = func() {
			q.Resume()
			must(q.Wait(context.Background()))
			q.Pause()
		}
	}
	start := time.Now()
	var gaveUp bool
	all := func(n int, f func(i int)) {
		for i := 0; i < n && !gaveUp; i++ {
			f(i)
			gaveUp = i%64 == 0 && j.Limit > 0 && time.Since(start) > j.Limit
		}
	}
	once := func() {
		switch j.Kind {
		case "loop":
			all(j.N, func(int) { push(0, func() {}) })
		case "group":
			var group sync.WaitGroup
			all(j.N, func(int) {
				group.Add(1)
				push(0, group.Done)
			})
			drain()
			group.Wait()
		case "released":
			// Each task stops at a continuation; one loop releases them all.
			var continuations []func()
			all(j.N, func(int) {
				push(0, func() { continuations = append(continuations, func() {}) })
			})
			drain()
			all(len(continuations), func(i int) { push(0, continuations[i]) })
		case "cycling":
			all(j.N, func(i int) { push(2-i%3, func() {}) })
		case "hops":
			left := j.N
			var hop func()
			hop = func() {
				if left--; left > 0 {
					push(0, hop)
				}
			}
			push(0, hop)
		}
		drain()
	}
	m := one(measure.Timed(j.Times*j.N, func() {
		for range j.Times {
			once()
		}
	}))
	m.Over = gaveUp
	return m
}

// scale pushes N tasks in P priorities.
func scale(j job) measure.Sample {
	return measure.Timed(j.Times*j.N, func() {
		for range j.Times {
			q := queue.New(nothing, 1)
			q.Pause()
			for i := range j.N {
				must(q.Push(i, queue.Priority(i%j.P)))
			}
			q.Resume()
			must(q.Wait(context.Background()))
		}
	})
}

// distinct pushes N tasks in P priorities in random order.
func distinct(j job) measure.Sample {
	random := rand.New(rand.NewPCG(1, 2))
	priorities := make([]int, j.N)
	for i := range priorities {
		priorities[i] = random.IntN(j.P)
	}
	return measure.Timed(j.N, func() {
		q := queue.New(nothing, 1)
		q.Pause()
		for i, p := range priorities {
			must(q.Push(i, queue.Priority(p)))
		}
		q.Resume()
		must(q.Wait(context.Background()))
	})
}

// A record is as large as the smaller of JavaScriptCore's records, 32 bytes, and like
// it has something for the collector to follow. (Larger ones are copied through
// memory by the compiler, and that would be all that one measures.)
type record struct {
	f *int
	_ uint64
	_ uint64
	_ uint64
}

// A container is a bare list under test. The loops are the container's own, so
// that a task costs no call through an interface.
type container interface {
	fresh() // what a new burst begins with
	push(n int, f *int)
	pop(n int)
	pushPop(n int, f *int)
}

func open(subject string) container {
	switch subject {
	case "queue":
		return &segments{}
	case "ring":
		return &growing{}
	case "grown ring":
		return &growing{keep: true}
	}
	panic("no such container: " + subject)
}

type segments struct {
	runlist.List[record, struct{}]
}

func (s *segments) fresh() {}

func (s *segments) push(n int, f *int) {
	for range n {
		s.PushBack(0, record{f: f}, nil)
	}
}

func (s *segments) pop(n int) {
	for range n {
		if t, _ := s.Pop(); t.f == nil {
			panic("a task was lost")
		}
	}
}

func (s *segments) pushPop(n int, f *int) {
	for range n {
		s.PushBack(0, record{f: f}, nil)
		s.Pop()
	}
}

type growing struct {
	ring[record]
	keep bool // its size, from burst to burst
}

func (g *growing) fresh() {
	if !g.keep {
		g.ring = ring[record]{}
	}
}

func (g *growing) push(n int, f *int) {
	for range n {
		g.ring.push(record{f: f})
	}
}

func (g *growing) pop(n int) {
	for range n {
		if g.ring.pop().f == nil {
			panic("a task was lost")
		}
	}
}

func (g *growing) pushPop(n int, f *int) {
	for range n {
		g.ring.push(record{f: f})
		g.ring.pop()
	}
}

// heapNow is what the heap takes of the system, cheap enough to ask often.
func heapNow() float64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"}}
	metrics.Read(s)
	return float64(s[0].Value.Uint64() + s[1].Value.Uint64())
}

// threeBursts fills and empties one container three times, with a collection
// after each.
func threeBursts(j job) outcome {
	c := open(j.Subject)
	m := outcome{Samples: map[string]measure.Sample{}}
	base := measure.Heap()
	f := new(int)
	var ops int
	inParts := func(do func(n int)) {
		const parts = 32
		for i := range parts {
			n := j.N*(i+1)/parts - j.N*i/parts
			do(n)
			ops += n
			m.Series = append(m.Series, point{float64(ops), heapNow()})
		}
	}
	var left float64
	for i := range 3 {
		s := measure.Timed(j.N, func() {
			inParts(func(n int) { c.push(n, f) })
			inParts(c.pop)
		})
		left = max(left, measure.Heap()-base)
		m.Series = append(m.Series, point{float64(ops), heapNow()})
		if i == 0 {
			m.Samples["time"] = s
		}
	}
	m.Samples["peak"] = measure.Sample{Value: peakRSS()}
	m.Samples["left"] = measure.Sample{Value: max(0, left)}
	runtime.KeepAlive(c)
	return m
}

// depth pushes and pops N tasks with P in the container throughout.
func depth(j job) measure.Sample {
	c, f := open(j.Subject), new(int)
	c.push(j.P-1, f)
	return measure.Timed(j.N, func() { c.pushPop(j.N, f) })
}

// bursts pushes and pops N tasks, P at a time.
func bursts(j job) measure.Sample {
	c, f := open(j.Subject), new(int)
	return measure.Timed(j.N, func() {
		for range j.N / j.P {
			c.fresh()
			c.push(j.P, f)
			c.pop(j.P)
		}
	})
}

// many sends N tasks through one queue, all of them waiting at once.
func many(j job) outcome {
	base := measure.Heap()
	var next int
	q := queue.New(func(_ context.Context, task int) (struct{}, error) {
		if task != next {
			panic(fmt.Sprintf("task %d came where %d was due", task, next))
		}
		next++
		return struct{}{}, nil
	}, 1)
	q.Pause()
	push := measure.Timed(j.N, func() {
		for i := range j.N {
			must(q.Push(i))
		}
	})
	held := measure.Heap() - base
	drain := measure.Timed(j.N, func() {
		q.Resume()
		must(q.Wait(context.Background()))
	})
	left := measure.Heap() - base
	if next != j.N || q.Len() > 0 {
		panic("tasks were lost")
	}
	push.Value += drain.Value
	return outcome{Samples: map[string]measure.Sample{
		"time": push, "held": {Value: held / float64(j.N)}, "left": {Value: max(0, left)},
	}}
}

// ticks pushes N tasks in one tick; with P, each has a priority of its own,
// ascending.
func ticks(j job) measure.Sample {
	priority := func(i int) int { return 0 }
	if j.P != 0 {
		priority = func(i int) int { return i }
	}
	return measure.Timed(j.Times*j.N, func() {
		for range j.Times {
			if j.Subject == "pass per push" {
				q := &eagerQueue{worker: func(int) {}}
				for i := range j.N {
					q.push(i, priority(i))
				}
				q.idle.Wait()
				continue
			}
			q := queue.New(nothing, 1)
			for i := range j.N {
				must(q.Push(i, queue.Priority(priority(i))))
			}
			must(q.Wait(context.Background()))
		}
	})
}

// passes counts the passes for N pushes in a row. The first tasks of a process
// may be interrupted for reasons of their own, so that the fewest of some tries
// count.
func passes(j job) measure.Sample {
	fewest := uint64(j.N)
	for range j.Times {
		q := queue.New(nothing, 1)
		for i := range j.N {
			must(q.Push(i))
		}
		must(q.Wait(context.Background()))
		fewest = min(fewest, q.Stats().Passes)
	}
	return measure.Sample{Value: float64(fewest)}
}
