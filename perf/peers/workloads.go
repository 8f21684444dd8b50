package main

import (
	"fmt"
	"math"
	"math/bits"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tickqueue/queue/perf/internal/measure"
	"github.com/tickqueue/queue/perf/internal/report"
)

// A job is what one process does. Node's processes get the same.
type job struct {
	Workload, Subject string
	N, C              int
	Spin              int // turns of spin a task, where it works
}

// An outcome holds a sample for each metric of the workload, and the latencies
// by powers of two of a nanosecond where it takes them.
type outcome struct {
	Samples map[string]measure.Sample
	Counts  []int `json:",omitempty"`
}

type workload struct {
	name     string
	n, quick int // tasks
	c        int
	spin     time.Duration // work a task
	metrics  []report.Metric
	run      func(open opener, j job) outcome
	fits     func(s subject) bool // nil if all do
	node     bool                 // bench.mjs has it too
}

// An opener makes a subject's pool for the concurrency of the job.
type opener func(w work) pool

var workloads = []workload{
	{name: "burst/c=1", n: 1_000_000, quick: 300_000, c: 1, metrics: report.PerTask, run: burst, node: true},
	{name: "burst/c=8", n: 1_000_000, quick: 300_000, c: 8, metrics: report.PerTask, run: burst, node: true},
	{name: "burst/c=64", n: 1_000_000, quick: 300_000, c: 64, metrics: report.PerTask, run: burst, node: true},
	{name: "producers=4/c=8", n: 1_000_000, quick: 50_000, c: 8, metrics: report.PerTask, run: producers},
	{name: "push-wait/c=1", n: 200_000, quick: 20_000, c: 1, metrics: report.PerTask, run: pushWaits, node: true,
		fits: func(s subject) bool { return s.name != "conc" }},
	{name: "results/c=8", n: 500_000, quick: 30_000, c: 8, metrics: report.PerTask, run: results, node: true},
	{name: "priorities=3/c=1", n: 1_000_000, quick: 100_000, c: 1, metrics: report.PerTask, run: priorities, node: true,
		fits: func(s subject) bool {
			return s.name == "queue" || s.name == "heap" || s.kind == inNode && s.name != "fastq"
		}},
	{name: "work=1us/c=8", n: 200_000, quick: 20_000, c: 8, spin: time.Microsecond, metrics: report.PerTask, run: burst},
	{name: "work=10us/c=8", n: 40_000, quick: 4_000, c: 8, spin: 10 * time.Microsecond, metrics: report.PerTask, run: burst},
	{name: "work=100us/c=8", n: 4_000, quick: 400, c: 8, spin: 100 * time.Microsecond, metrics: report.PerTask, run: burst},
	{name: "backlog", n: 1_000_000, quick: 200_000, c: 1, run: backlog, node: true,
		metrics: []report.Metric{{Key: "time", Unit: "ns/task"}, {Key: "held", Unit: "bytes"}, {Key: "kept", Unit: "bytes"}},
		fits:    func(s subject) bool { return !s.bounded }},
	{name: "latency", n: 50_000, quick: 3_000, c: 8, run: latency,
		metrics: []report.Metric{{Key: "p50", Unit: "ns"}, {Key: "p90", Unit: "ns"}, {Key: "p99", Unit: "ns"}, {Key: "max", Unit: "ns"}}},
	{name: "idle", n: 1_000, quick: 1_000, c: 8, run: idle, metrics: []report.Metric{{Unit: "goroutines"}}},
}

// do is what a process of one subject in Go does.
func do(j job) (outcome, error) {
	w := slices.IndexFunc(workloads, func(w workload) bool { return w.name == j.Workload })
	s := slices.IndexFunc(subjects, func(s subject) bool { return s.name == j.Subject })
	if w < 0 || s < 0 {
		return outcome{}, fmt.Errorf("no workload %q or no subject %q", j.Workload, j.Subject)
	}
	run := workloads[w].run
	open := func(w work) pool { return subjects[s].open(j.C, w) }
	if j.Workload != "idle" && j.Workload != "backlog" {
		// Warm up threads and code, not the pool that is measured.
		warm := j
		warm.N = max(1, j.N/20)
		run(open, warm)
	}
	return run(open, j), nil
}

func one(s measure.Sample) outcome { return outcome{Samples: map[string]measure.Sample{"": s}} }

// spin works for so many turns; sink keeps the compiler from seeing through it.
func spin(turns int) {
	x := uint64(turns) | 1
	for range turns {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	if x == 0 {
		sink.Add(1)
	}
}

var sink atomic.Int64

// calibrate returns the turns of spin that take a microsecond. The fastest of
// many tries is the one that nobody disturbed.
func calibrate() float64 {
	const turns = 100_000
	best := time.Duration(math.MaxInt64)
	for range 20 {
		start := time.Now()
		spin(turns)
		best = min(best, time.Since(start))
	}
	return turns / (float64(best.Nanoseconds()) / 1000)
}

// same is the work of tasks that are all alike.
func same(j job) work {
	if j.Spin == 0 {
		return work{func(int) {}, true}
	}
	return work{func(int) { spin(j.Spin) }, true}
}

func burst(open opener, j job) outcome {
	p := open(same(j))
	return one(measure.Timed(j.N, func() {
		for i := range j.N {
			p.push(i)
		}
		p.finish()
	}))
}

func producers(open opener, j job) outcome {
	const number = 4
	p := open(same(j))
	return one(measure.Timed(j.N, func() {
		var wg sync.WaitGroup
		for range number {
			wg.Go(func() {
				for i := range j.N / number {
					p.push(i)
				}
			})
		}
		wg.Wait()
		p.finish()
	}))
}

func pushWaits(open opener, j job) outcome {
	p := open(same(j))
	by := p.(waiter)
	s := measure.Timed(j.N, func() {
		for i := range j.N {
			by.pushWait(i)
		}
	})
	p.finish()
	return one(s)
}

func results(open opener, j job) outcome {
	var all []int
	p := open(work{do: func(i int) { all[i] = i }})
	var sum int
	s := measure.Timed(j.N, func() {
		if r, ok := p.(resulter); ok {
			sum = r.results(j.N)
			return
		}
		all = make([]int, j.N)
		for i := range all {
			p.push(i)
		}
		p.finish()
		for _, i := range all {
			sum += i
		}
	})
	if sum != j.N*(j.N-1)/2 {
		panic(fmt.Sprintf("%s: results are missing", j.Subject))
	}
	return one(s)
}

func priorities(open opener, j job) outcome {
	p := open(same(j))
	by := p.(prioritizer)
	return one(measure.Timed(j.N, func() {
		for i := range j.N {
			by.pushPriority(i, i%3)
		}
		p.finish()
	}))
}

// backlog lets the tasks pile up behind one that does not end, and looks at the
// heap before, while all wait, and when all have run and the pool is still there.
func backlog(open opener, j job) outcome {
	gate, opened, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var ran atomic.Int64
	p := open(work{func(int) {
		switch ran.Add(1) {
		case 1:
			close(opened)
			<-gate
		case int64(j.N) + 1:
			close(done)
		}
	}, true})
	p.push(0)
	<-opened
	base := measure.Heap()
	push := measure.Timed(j.N, func() {
		for i := range j.N {
			p.push(i)
		}
	})
	held := measure.Heap() - base
	drain := measure.Timed(j.N, func() {
		close(gate)
		<-done
	})
	kept := measure.Heap() - base
	p.finish()
	push.Value += drain.Value
	push.Allocs += drain.Allocs
	push.Bytes += drain.Bytes
	return outcome{Samples: map[string]measure.Sample{"time": push, "held": {Value: held}, "kept": {Value: max(0, kept)}}}
}

// pace is the time between two pushes of a steady load that leaves the workers
// idle for most of it.
const pace = 20 * time.Microsecond

func latency(open opener, j job) outcome {
	base := time.Now()
	delays := make([]time.Duration, j.N) // until it starts, minus when it was pushed
	p := open(work{do: func(i int) { delays[i] += time.Since(base) }})
	for i := range delays {
		due := time.Duration(i) * pace
		for time.Since(base) < due {
			runtime.Gosched() // sleeping is coarser than the pace
		}
		delays[i] = -time.Since(base)
		p.push(i)
	}
	p.finish()
	m := outcome{Samples: map[string]measure.Sample{}, Counts: make([]int, 64)}
	for _, d := range delays {
		m.Counts[bits.Len64(uint64(d))]++
	}
	slices.Sort(delays)
	for key, quantile := range map[string]float64{"p50": 0.5, "p90": 0.9, "p99": 0.99, "max": 1} {
		i := int(math.Ceil(quantile*float64(len(delays)))) - 1
		m.Samples[key] = measure.Sample{Value: float64(max(1, delays[i].Nanoseconds()))}
	}
	return m
}

// idle counts the goroutines that a pool without work holds on to. Those that a
// package starts when it is imported are not among them.
func idle(open opener, j job) outcome {
	var wg sync.WaitGroup
	p := open(work{func(int) { wg.Done() }, true})
	for i := range j.N {
		wg.Add(1)
		p.push(i)
	}
	wg.Wait()
	// Long enough for goroutines that are on their way out, shorter than any
	// pool's idle timeout.
	time.Sleep(50 * time.Millisecond)
	n := runtime.NumGoroutine() - baseline
	p.finish()
	return one(measure.Sample{Value: float64(n)})
}

// baseline counts what runs before any pool is opened: main, and what the
// peers' packages start on their own.
var baseline = runtime.NumGoroutine()
