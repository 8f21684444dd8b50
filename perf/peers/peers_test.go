package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tickqueue/queue/perf/internal/measure"
	"github.com/tickqueue/queue/perf/internal/report"
)

func TestMain(m *testing.M) {
	measure.Serve(do)
	os.Exit(m.Run())
}

// TestJobs lets every subject do every workload that fits it, only smaller.
func TestJobs(t *testing.T) {
	for _, w := range workloads {
		for _, s := range subjects {
			if s.kind == inNode || w.fits != nil && !w.fits(s) {
				continue
			}
			m, err := do(job{Workload: w.name, Subject: s.name, N: 400, C: w.c, Spin: 10})
			if err != nil {
				t.Fatal(err)
			}
			check(t, w, s, m)
		}
	}
}

func check(t *testing.T, w workload, s subject, m outcome) {
	t.Helper()
	for _, metric := range w.metrics {
		got, ok := m.Samples[metric.Key]
		positive := strings.HasPrefix(metric.Unit, "ns")
		if !ok || positive && got.Value <= 0 {
			t.Errorf("%s of %s: %q is %+v", w.name, s.name, metric.Key, got)
		}
	}
}

// TestTasks counts: a subject that drops tasks would look fast.
func TestTasks(t *testing.T) {
	for _, s := range subjects {
		if s.open == nil {
			continue
		}
		const n = 1000
		for _, alike := range []bool{true, false} {
			ran := make(chan int, n)
			p := s.open(3, work{func(i int) { ran <- i }, alike})
			for i := range n {
				p.push(i)
			}
			p.finish()
			close(ran)
			var count int
			distinct := map[int]bool{}
			for i := range ran {
				count++
				distinct[i] = true
			}
			if count != n || !alike && len(distinct) != n {
				t.Errorf("%s ran %d tasks, %d of them distinct, of %d", s.name, count, len(distinct), n)
			}
		}
	}
}

// TestPushWait looks whether the task has run when the wait is over.
func TestPushWait(t *testing.T) {
	for _, s := range subjects {
		if s.open == nil {
			continue
		}
		var ran int
		p := s.open(1, work{func(int) { ran++ }, true})
		if by, ok := p.(waiter); ok {
			for i := range 100 {
				if by.pushWait(i); ran != i+1 {
					t.Fatalf("%s: %d tasks have run after %d waits", s.name, ran, i+1)
				}
			}
		}
		p.finish()
	}
}

func TestHeapOrder(t *testing.T) {
	gate := make(chan struct{})
	started := make(chan struct{})
	var got []int
	p := openHeap(1, work{do: func(i int) {
		if i < 0 {
			close(started)
			<-gate
			return
		}
		got = append(got, i)
	}}).(*heapPool)
	p.push(-1)
	<-started
	for i, priority := range []int{0, 5, 0, 9, 5, -1} {
		p.pushPriority(i, priority)
	}
	close(gate)
	p.finish()
	if want := []int{3, 1, 4, 0, 2, 5}; !slices.Equal(got, want) {
		t.Errorf("ran %v, want %v", got, want)
	}
}

func TestNode(t *testing.T) {
	dir, err := installNode(t.Context())
	if err != nil {
		t.Skip(err)
	}
	for _, w := range workloads {
		for _, s := range subjects {
			if s.kind != inNode || !w.node || w.fits != nil && !w.fits(s) {
				continue
			}
			var m outcome
			if err := runNode(t.Context(), dir, job{Workload: w.name, Subject: s.name, N: 1000, C: w.c}, &m); err != nil {
				t.Fatalf("%s of %s: %v", w.name, s.name, err)
			}
			check(t, w, s, m)
		}
	}
}

func TestWithoutNode(t *testing.T) {
	t.Setenv("PATH", "")
	var out bytes.Buffer
	if status := run(t.Context(), []string{"-quick", "-n", "1", "-g", "idle", "-s", "async"}, &out, io.Discard); status != 0 {
		t.Errorf("status %d", status)
	}
	if n := strings.Count(out.String(), "async, fastq and p-queue are left out"); n != 1 {
		t.Errorf("said %d times that Node's are left out:\n%s", n, &out)
	}
}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out.json")
	var out bytes.Buffer
	args := []string{"-quick", "-n", "1", "-g", "burst|latency", "-s", "pond|channel", "-json", path, "-svg", dir}
	if status := run(t.Context(), args, &out, &out); status != 0 {
		t.Fatalf("status %d:\n%s", status, &out)
	}
	for _, want := range []string{"burst/c=64, ns/task", "1.00×", "latency, % of tasks", ": burst/c=8, queue to pond: "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, &out)
		}
	}
	records, err := report.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range records {
		names = append(names, r.Workload+" "+r.Subject+" "+r.Unit)
	}
	for _, want := range []string{"burst/c=1 queue ns/task", "burst/c=8 channel ns/task", "burst/c=64 pond ns/task", "latency/p99 queue ns"} {
		if !slices.Contains(names, want) {
			t.Errorf("no record %q among %q", want, names)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "bursts.svg")); err != nil || !bytes.Contains(text, []byte("<svg")) {
		t.Errorf("bursts.svg: %v", err)
	}
}

func TestNothingToDo(t *testing.T) {
	var out bytes.Buffer
	if status := run(t.Context(), []string{"-g", "nothing", "-s", "pond"}, &out, &out); status != 2 || !strings.Contains(out.String(), "no workload is left") {
		t.Errorf("status %d:\n%s", status, &out)
	}
}

func TestVerdicts(t *testing.T) {
	m := measurement{records: report.Records{}, subjects: subjects}
	for name, v := range map[string]float64{
		"burst/c=1 queue": 60, "burst/c=1 pond": 121, "burst/c=1 gopool": 150, "burst/c=1 channel": 70,
		"burst/c=8 queue": 60, "burst/c=8 pond": 119,
		"push-wait/c=1 queue": 400, "push-wait/c=1 ants": 390,
		"priorities=3/c=1 queue": 77,
	} {
		workload, subject, _ := strings.Cut(name, " ")
		m.records[report.Key{Workload: workload, Subject: subject}] = &report.Record{Workload: workload, Subject: subject, Samples: []float64{v}}
	}
	var out bytes.Buffer
	m.verdicts(&out)
	const want = `
holds: burst/c=1, queue to pond: 0.50, at most 0.50
holds: burst/c=1, allocations a push: 0.00, at most 0.00
fails: burst/c=8, queue to pond: 0.50, at most 0.50
holds: burst/c=8, allocations a push: 0.00, at most 0.00
fails: push-wait/c=1, queue to ants: 1.03, at most 1.00
holds: three priorities to one: 1.28, at most 1.30
`
	if out.String() != want {
		t.Errorf("got:%s\nwant:%s", &out, want)
	}
}
