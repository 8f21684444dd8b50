package queue

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tickqueue/queue/internal/host"
)

// A script is a clock that stands still but for what tasks take, and notes
// after how many tasks it is read. Here tasks run one at a time, each when the
// lock has changed hands since the one before, so it needs no lock of its own.
type script struct {
	time  time.Time
	tasks int
	reads []int // sorted, without repetitions
}

func newScript() *script { return &script{time: time.Now()} }

func (s *script) now() time.Time {
	if len(s.reads) == 0 || s.reads[len(s.reads)-1] != s.tasks {
		s.reads = append(s.reads, s.tasks)
	}
	return s.time
}

// run runs a task that takes d.
func (s *script) run(d time.Duration) {
	s.tasks++
	s.time = s.time.Add(d)
}

var paces = []struct {
	name     string
	interval time.Duration
	takes    func(task int) time.Duration // counted from 1
	tasks    int
	reads    []int // after so many tasks
	turns    []int // after so many tasks
}{
	{
		name:     "tasks that take no time",
		interval: 16 * time.Millisecond,
		takes:    func(int) time.Duration { return 0 },
		tasks:    1300,
		reads:    []int{0, 1, 3, 7, 15, 31, 63, 127, 255, 511, 767, 1023, 1279},
	},
	{
		name:     "slow tasks",
		interval: 16 * time.Millisecond,
		takes:    func(int) time.Duration { return 6 * time.Millisecond },
		tasks:    7,
		reads:    []int{0, 1, 2, 3, 4, 5, 6, 7},
		turns:    []int{3, 6},
	},
	{
		name:     "every task longer than the interval",
		interval: 16 * time.Millisecond,
		takes:    func(int) time.Duration { return time.Second },
		tasks:    4,
		reads:    []int{0, 1, 2, 3, 4},
		turns:    []int{1, 2, 3, 4},
	},
	{
		name:     "the pace is kept from a quarter of the interval on, and starts over after a turn",
		interval: 16 * time.Millisecond,
		takes:    func(int) time.Duration { return time.Millisecond },
		tasks:    30,
		reads:    []int{0, 1, 3, 7, 11, 15, 19, 20, 22, 26, 30},
		turns:    []int{19},
	},
	{
		name:     "exactly a quarter is not less than one",
		interval: 16 * time.Millisecond,
		takes:    func(int) time.Duration { return 4 * time.Millisecond },
		tasks:    6,
		reads:    []int{0, 1, 2, 3, 4, 5, 6},
		turns:    []int{4},
	},
	{
		name:     "many small tasks, then slow ones",
		interval: 16 * time.Millisecond,
		takes:    func(task int) time.Duration { return time.Duration(task/61) * time.Second },
		tasks:    65,
		reads:    []int{0, 1, 3, 7, 15, 31, 63, 64, 65},
		turns:    []int{63, 64, 65},
	},
	{
		name:     "the shortest interval",
		interval: 1,
		takes:    func(task int) time.Duration { return time.Duration(task % 2) },
		tasks:    5,
		reads:    []int{0, 1, 2, 3, 4, 5},
		turns:    []int{1, 3, 5},
	},
	{
		name:  "off",
		takes: func(int) time.Duration { return time.Hour },
		tasks: 5,
	},
}

func TestPacer(t *testing.T) {
	for _, test := range paces {
		t.Run(test.name, func(t *testing.T) {
			s := newScript()
			p := pacer{interval: test.interval, now: s.now}
			var turns []int
			p.restart()
			for s.tasks < test.tasks {
				s.run(test.takes(s.tasks + 1))
				if p.interval > 0 {
					p.tick()
				}
				if p.due {
					turns = append(turns, s.tasks)
					p.restart()
				}
			}
			if !slices.Equal(s.reads, test.reads) {
				t.Errorf("clock read after %v tasks, want %v", s.reads, test.reads)
			}
			if !slices.Equal(turns, test.turns) {
				t.Errorf("turns after %v tasks, want %v", turns, test.turns)
			}
		})
	}
}

// A queue runs its tasks at the pace of the pacer, however they came to wait,
// and each drain begins anew.
func TestPaceOfQueue(t *testing.T) {
	for _, test := range paces {
		t.Run(test.name, func(t *testing.T) {
			s := newScript()
			// No clock is read after the last task of a drain.
			reads := slices.DeleteFunc(slices.Clone(test.reads), func(n int) bool { return n == test.tasks })
			turns := slices.DeleteFunc(slices.Clone(test.turns), func(n int) bool { return n == test.tasks })
			var q *Queue[struct{}, struct{}]
			chained := false
			q = New(func(context.Context, struct{}) (struct{}, error) {
				s.run(test.takes(s.tasks + 1))
				if chained && s.tasks < test.tasks {
					q.Push(struct{}{})
				}
				return struct{}{}, nil
			}, 1, WithYieldInterval(test.interval))
			q.pacer.now = s.now

			for drain := range uint64(3) {
				s.tasks, s.reads = 0, nil
				chained = drain == 1
				if chained {
					q.Push(struct{}{})
				} else {
					q.PushAll(make([]struct{}, test.tasks))
				}
				q.Wait(t.Context())
				if !slices.Equal(s.reads, reads) {
					t.Errorf("drain %d: clock read after %v tasks, want %v", drain, s.reads, reads)
				}
				if n := q.Stats().Yields; n != (drain+1)*uint64(len(turns)) {
					t.Errorf("drain %d: %d turns, want %d more than before", drain, n, len(turns))
				}
			}
		})
	}
}

func TestSetYieldIntervalInDrain(t *testing.T) {
	s := newScript()
	var q *Queue[int, int]
	q = New(func(_ context.Context, task int) (int, error) {
		switch task {
		case 10:
			q.SetYieldInterval(16 * time.Millisecond)
		case 40:
			q.SetYieldInterval(0)
		}
		s.run(time.Millisecond)
		return 0, nil
	}, 1)
	q.pacer.now = s.now
	tasks := make([]int, 60)
	for i := range tasks {
		tasks[i] = i + 1
	}
	q.PushAll(tasks)
	q.Wait(t.Context())
	// The clock is read when the interval is set, before task 10 counts, and then
	// as from the start of a drain. There is a turn after task 28.
	if want := []int{9, 10, 12, 16, 20, 24, 28, 29, 31, 35, 39}; !slices.Equal(s.reads, want) {
		t.Errorf("clock read after %v tasks, want %v", s.reads, want)
	}
	if n := q.Stats().Yields; n != 1 {
		t.Errorf("%d turns, want 1", n)
	}
}

// The interval is that of the queue, whichever of its workers run the tasks.
func TestPaceOfSeveralWorkers(t *testing.T) {
	const tasks, concurrency = 400, 4
	s := newScript()
	var mu sync.Mutex
	q := New(func(context.Context, int) (int, error) {
		mu.Lock()
		s.run(time.Millisecond)
		mu.Unlock()
		return 0, nil
	}, concurrency, WithYieldInterval(16*time.Millisecond))
	q.pacer.now = func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return s.now()
	}
	q.PushAll(make([]int, tasks))
	q.Wait(t.Context())
	// Alone, a worker gives a turn after each 19 tasks. Several may each be in
	// the midst of one when the clock is read.
	n := q.Stats().Yields
	if n < tasks/(19+concurrency)-1 || n > tasks/16 {
		t.Errorf("%d turns in %d tasks", n, tasks)
	}
}

// Tasks that a limiter lets through at once run back to back, and the last few
// tasks, too few for all workers, do so as those before.
func TestPaceToTheEnd(t *testing.T) {
	const tasks = 30
	for _, test := range []struct {
		name        string
		concurrency int
		opts        []Option
	}{
		{"one worker", 1, nil},
		{"several workers", 8, nil},
		{"limiter", 1, []Option{WithLimiter(unlimited{})}},
		{"limiter and several workers", 8, []Option{WithLimiter(unlimited{})}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.concurrency > 1 && !host.Single {
				t.Skip("where others run meanwhile, the end of a worker's turn counts for all")
			}
			s := newScript()
			var turns []uint64
			var q *Queue[int, struct{}]
			q = New(func(context.Context, int) (struct{}, error) {
				turns = append(turns, q.Stats().Yields)
				s.run(time.Millisecond)
				return struct{}{}, nil
			}, test.concurrency, append(test.opts, WithYieldInterval(4*time.Millisecond))...)
			q.pacer.now = s.now
			q.PushAll(make([]int, tasks))
			q.Wait(t.Context())
			for i, n := range turns {
				if n != uint64(i/4) {
					t.Fatalf("turns before each task: %d, want one more after each four", turns)
				}
			}
		})
	}
}

// On one processor another goroutine that is ready to run gets its turns in the
// midst of a drain, and waits for its end otherwise.
func TestTurnOnOneProcessor(t *testing.T) {
	if host.Single {
		t.Skip("the host is another one")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const tasks = 50
	s := newScript()
	var mu sync.Mutex
	var order []string
	note := func(what string) {
		mu.Lock()
		order = append(order, what)
		mu.Unlock()
	}
	q := New(func(context.Context, int) (int, error) {
		s.run(time.Millisecond)
		note("task")
		return 0, nil
	}, 1, WithYieldInterval(time.Millisecond))
	q.pacer.now = s.now

	var wg sync.WaitGroup
	done := false
	wg.Go(func() {
		for end := false; !end; runtime.Gosched() {
			mu.Lock()
			end = done
			order = append(order, "other")
			mu.Unlock()
		}
	})
	q.PushAll(make([]int, tasks))
	q.Wait(t.Context())
	mu.Lock()
	done = true
	mu.Unlock()
	wg.Wait()

	if n := q.Stats().Yields; n != tasks-1 {
		t.Errorf("%d turns, want one between each two tasks", n)
	}
	// Once in 61 times the scheduler takes a goroutine that has yielded before
	// those that are next, and a slow machine may cost one its slice of time.
	others, between := 0, order[slices.Index(order, "task"):]
	for i, what := range between[1:] {
		if what == "task" && between[i] != "task" {
			others++
		}
	}
	if others < tasks/2 {
		t.Errorf("another goroutine ran between %d pairs of tasks only: %q", others, order)
	}
}

// 64 workers of 200 µs beside a goroutine that waits for a message every
// millisecond, on one processor: how late the messages are.
func BenchmarkMessageDelay(b *testing.B) {
	for _, interval := range []time.Duration{0, 16 * time.Millisecond, time.Millisecond} {
		b.Run(fmt.Sprint("interval=", interval), func(b *testing.B) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
			q := New(func(context.Context, int) (struct{}, error) {
				for start := time.Now(); time.Since(start) < 200*time.Microsecond; {
				}
				return struct{}{}, nil
			}, 64, WithYieldInterval(interval))
			var delays []time.Duration
			for b.Loop() {
				q.PushAll(make([]int, 10_000))
				done := make(chan struct{})
				go func() {
					q.Wait(context.Background())
					close(done)
				}()
				delays = slices.AppendSeq(delays, messages(done))
			}
			slices.Sort(delays)
			b.ReportMetric(float64(delays[len(delays)*95/100])/1e6, "ms-p95")
			b.ReportMetric(float64(delays[len(delays)-1])/1e6, "ms-max")
			b.ReportMetric(float64(q.Stats().Yields)/float64(b.N), "turns/op")
		})
	}
}

// messages waits for a message every millisecond until done is closed, and
// yields how late each was.
func messages(done <-chan struct{}) func(yield func(time.Duration) bool) {
	return func(yield func(time.Duration) bool) {
		due := time.Now()
		for {
			due = due.Add(time.Millisecond)
			timer := time.NewTimer(time.Until(due))
			select {
			case <-done:
				timer.Stop()
				return
			case <-timer.C:
			}
			late := time.Since(due)
			if !yield(late) {
				return
			}
			// Messages that are late by more are not waited for any more.
			due = due.Add(late.Truncate(time.Millisecond))
		}
	}
}

// A task that pushes the next one, 1,000,000 times: what it costs to have an
// interval set. The two take turns, so what else the machine does hits both.
func BenchmarkHops(b *testing.B) {
	const hops = 1_000_000
	var q *Queue[int, struct{}]
	q = New(func(_ context.Context, left int) (struct{}, error) {
		if left > 0 {
			q.Push(left - 1)
		}
		return struct{}{}, nil
	}, 1)
	run := func(interval time.Duration) time.Duration {
		q.SetYieldInterval(interval)
		start := time.Now()
		q.Push(hops - 1)
		q.Wait(context.Background())
		return time.Since(start)
	}
	var off, on []time.Duration
	var ratios []float64
	for b.Loop() {
		off = append(off, run(0))
		on = append(on, run(16*time.Millisecond))
		ratios = append(ratios, float64(on[len(on)-1])/float64(off[len(off)-1]))
	}
	b.ReportMetric(float64(median(off))/hops, "ns/hop-off")
	b.ReportMetric(float64(median(on))/hops, "ns/hop-on")
	b.ReportMetric(median(ratios), "on/off")
}

func median[T cmp.Ordered](s []T) T {
	slices.Sort(s)
	return s[len(s)/2]
}
