package main

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tickqueue/queue/perf/internal/measure"
	"github.com/tickqueue/queue/perf/internal/report"
)

func TestMain(m *testing.M) {
	measure.Serve(do)
	goleak.VerifyTestMain(m)
}

func TestScanList(t *testing.T) {
	var l scanList
	var got []int
	for i, p := range []int{0, 5, 0, 9, 5, -1} {
		l.push(p, func() { got = append(got, i) })
	}
	l.drain()
	if want := []int{3, 1, 4, 0, 2, 5}; !slices.Equal(got, want) {
		t.Errorf("ran %v, want %v", got, want)
	}
}

func TestRing(t *testing.T) {
	var r ring[int]
	var in, out int
	for _, step := range []int{5, -3, 30, -30, 1, 100, -103} {
		for range step {
			r.push(in)
			in++
		}
		for range -step {
			if got := r.pop(); got != out {
				t.Fatalf("popped %d, want %d", got, out)
			}
			out++
		}
		if r.len != in-out {
			t.Fatalf("length %d, want %d", r.len, in-out)
		}
	}
}

func TestEagerQueue(t *testing.T) {
	var got []int
	q := eagerQueue{worker: func(task int) { got = append(got, task) }}
	q.mu.Lock()
	q.running = true // nothing starts before all are pushed
	q.mu.Unlock()
	for i := range 6 {
		q.push(i, i%2)
	}
	q.mu.Lock()
	q.running = false
	q.mu.Unlock()
	q.process()
	q.idle.Wait()
	if want := []int{1, 3, 5, 0, 2, 4}; !slices.Equal(got, want) {
		t.Errorf("ran %v, want %v", got, want)
	}
}

// TestJobs does every job of the plan, only smaller.
func TestJobs(t *testing.T) {
	for _, w := range plan(true) {
		if w.args != nil {
			continue
		}
		for _, subject := range w.subjects {
			j := w.job
			j.Subject = subject
			j.N, j.P, j.Times = min(j.N, 2_000), min(j.P, 2_000), 1
			if j.Kind == "passes" {
				continue // needs GOMAXPROCS=1; see TestRun
			}
			m, err := do(j)
			if err != nil {
				t.Fatal(err)
			}
			for _, metric := range w.metrics {
				s, ok := m.Samples[metric.Key]
				if !ok || s.Value < 0 || s.Value == 0 && metric.Key != "left" && metric.Key != "held" {
					t.Errorf("%s of %s: %q is %+v", w.name, subject, metric.Key, s)
				}
			}
		}
	}
}

func TestGivesUp(t *testing.T) {
	m, err := do(job{Kind: "loop", Subject: "scan", N: math.MaxInt, Times: 1, Limit: time.Nanosecond})
	if err != nil || !m.Over {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out.json")
	var out bytes.Buffer
	args := []string{"-n", "1", "-g", "coalescing/passes|runs/loop/N=10000$", "-json", path, "-svg", dir}
	if status := run(t.Context(), args, &out, &out); status != 0 {
		t.Errorf("status %d", status)
	}
	for _, want := range []string{"1,000 pushes in a row", "1.00 passes", "one priority, pushed in a loop, N = 10,000", "all 2 rows hold"} {
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
	want := []string{"runs/loop/N=10000 queue ns/task", "runs/loop/N=10000 scan ns/task", "coalescing/passes queue passes"}
	if !slices.Equal(names, want) {
		t.Errorf("records %q, want %q", names, want)
	}
}

func TestNothingToDo(t *testing.T) {
	var out bytes.Buffer
	if status := run(t.Context(), []string{"-g", "nothing"}, &out, &out); status != 2 || !strings.Contains(out.String(), "no workload is left") {
		t.Errorf("status %d:\n%s", status, &out)
	}
}

func TestCharts(t *testing.T) {
	m := measurement{records: report.Records{}, series: map[string][]point{
		"queue": {{1e6, 4e7}, {2e6, 1e6}}, "ring": {{1e6, 8e7}, {2e6, 8e7}},
	}}
	for i, n := range []string{"1000", "10000", "100000", "1000000"} {
		for _, p := range []string{"1", "3", "6"} {
			name := "scale/priorities=" + p + "/N=" + n
			m.records[report.Key{Workload: name, Subject: "queue"}] = &report.Record{Workload: name, Subject: "queue", Samples: []float64{100 + float64(i)}}
		}
	}
	dir := t.TempDir()
	if err := m.charts(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"cost.svg", "memory.svg"} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Contains(text, []byte("<svg")) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// What was not measured is no chart.
	dir = t.TempDir()
	if err := (&measurement{}).charts(dir); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("%d charts of nothing, %v", len(entries), err)
	}
}

// TestHops builds the program for both hosts and lets it hop a little.
func TestHops(t *testing.T) {
	h, err := buildHops(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer h.remove()
	for _, node := range []bool{false, true} {
		if node && h.noNode != nil {
			t.Skip(h.noNode)
		}
		for _, args := range [][]string{{}, {"-interval=1ms"}, {"-interval=1ms", "-each"}} {
			var s measure.Sample
			if err := measure.Decode(h.command(t.Context(), node, append(args, "-n=5000")), &s); err != nil || s.Value <= 0 {
				t.Errorf("node %v, %v: %+v, %v", node, args, s, err)
			}
		}
	}
}

func TestVerdicts(t *testing.T) {
	for _, test := range []struct {
		most, least float64 // of the cost at N = 1,000,000 and at 1,000
		status      int
		want        string
	}{
		{100, 90, 0, "all 2 rows hold"},
		{200, 90, 1, "1 of 2 rows fail"},
	} {
		m := measurement{records: report.Records{}}
		for subject, v := range map[string]float64{"queue": 100, "yield": 119} {
			m.records[report.Key{Workload: "hops/native", Subject: subject}] = &report.Record{Samples: []float64{v}}
		}
		for n, v := range map[string]float64{"1000": test.least, "1000000": test.most} {
			name := "scale/priorities=3/N=" + n
			m.records[report.Key{Workload: name, Subject: "queue"}] = &report.Record{Workload: name, Subject: "queue", Samples: []float64{v}}
		}
		var out bytes.Buffer
		if status := m.print(&out); status != test.status {
			t.Errorf("status %d, want %d", status, test.status)
		}
		for _, want := range []string{test.want, "left to the tests of ../examples"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("no %q in:\n%s", want, &out)
			}
		}
		if strings.Contains(out.String(), "3. Segments") {
			t.Errorf("a section without rows:\n%s", &out)
		}
	}
}
