package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/tickqueue/queue/perf/internal/chart"
	"github.com/tickqueue/queue/perf/internal/measure"
	"github.com/tickqueue/queue/perf/internal/report"
)

// A workload is measured for each of its subjects.
type workload struct {
	name     string
	subjects []string
	job      job // its subject is filled in
	metrics  []report.Metric
	most     int                 // the most rounds; 0 for no limit of its own
	env      []string            // of its processes
	node     bool                // runs the program hops in Node
	args     map[string][]string // of the program hops, by subject; nil if that is not run
}

// interval is a frame of a 60 Hz screen, as in the measurements of JavaScriptKit.
const interval = 16 * time.Millisecond

// plan lists all workloads. The names are part of the JSON output.
func plan(quick bool) (all []workload) {
	pick := func(full, small int) int {
		if quick {
			return small
		}
		return full
	}
	limit := time.Duration(pick(20_000, 300)) * time.Millisecond
	both := []string{"queue", "scan"}
	for _, kind := range []string{"loop", "group", "released", "cycling"} {
		for _, n := range []int{10_000, 100_000} {
			w := workload{
				name: fmt.Sprintf("runs/%s/N=%d", kind, n), subjects: both,
				job: job{Kind: kind, N: n, Times: 1, Limit: limit}, metrics: report.PerTask,
			}
			if n > 10_000 {
				w.most = pick(3, 1) // the naive one takes up to the limit
			}
			all = append(all, w)
		}
	}
	// For the chart: what the scan costs before it is hopeless.
	all = append(all, workload{
		name: "runs/loop/N=1000", subjects: both, job: job{Kind: "loop", N: 1_000, Times: 100, Limit: limit}, metrics: report.PerTask,
	})
	for _, n := range []int{1_000, 1_000_000} {
		all = append(all, workload{
			name: fmt.Sprintf("runs/hops/N=%d", n), subjects: both, job: job{Kind: "hops", N: n, Times: 1_000_000 / n}, metrics: report.PerTask,
		})
	}
	for _, p := range []int{1, 3, 6} {
		for _, n := range []int{1_000, 10_000, 100_000, 1_000_000} {
			all = append(all, workload{
				name: fmt.Sprintf("scale/priorities=%d/N=%d", p, n), subjects: both[:1],
				job: job{Kind: "scale", N: n, P: p, Times: 1_000_000 / n}, metrics: report.PerTask,
			})
		}
	}
	for _, p := range []int{1, 1_000, 100_000} {
		all = append(all, workload{
			name: fmt.Sprintf("distinct/P=%d", p), subjects: both[:1],
			job: job{Kind: "distinct", N: 1_000_000, P: p}, metrics: report.PerTask,
		})
	}

	for _, where := range []string{"native", "node"} {
		n := "-n=" + strconv.Itoa(pick(1_000_000, 300_000))
		all = append(all, workload{
			name: "hops/" + where, subjects: []string{"queue", "yield", "clock per job"}, metrics: report.PerTask,
			node: where == "node",
			args: map[string][]string{
				"queue":         {n},
				"yield":         {n, "-interval=" + interval.String()},
				"clock per job": {n, "-interval=" + interval.String(), "-each"},
			},
		})
	}

	lists := []string{"queue", "ring"}
	burst := pick(16_000_000, 2_000_000)
	all = append(all, workload{
		name: "container/three-bursts", subjects: lists, job: job{Kind: "three", N: burst}, most: pick(5, 2),
		metrics: []report.Metric{{Key: "time", Unit: "ns/task"}, {Key: "peak", Unit: "bytes"}, {Key: "left", Unit: "bytes"}},
	})
	lists = append(lists, "grown ring")
	ops := pick(20_000_000, 2_000_000)
	for _, d := range []int{1, 10, 1_000, 100_000} {
		all = append(all, workload{
			name: fmt.Sprintf("container/depth=%d", d), subjects: lists, job: job{Kind: "depth", N: ops, P: d}, metrics: report.PerTask,
		})
	}
	for _, b := range []int{100, 1_000, 100_000, 1_000_000} {
		all = append(all, workload{
			name: fmt.Sprintf("container/burst=%d", b), subjects: lists, job: job{Kind: "bursts", N: ops, P: b}, metrics: report.PerTask,
		})
	}
	all = append(all, workload{
		name: "tasks=2^25+1", subjects: both[:1], job: job{Kind: "many", N: 1<<25 + 1}, most: pick(3, 1),
		metrics: []report.Metric{{Key: "time", Unit: "ns/task"}, {Key: "held", Unit: "bytes/task"}, {Key: "left", Unit: "bytes"}},
	})

	// One tick is one turn of the only processor, as of the event loop that
	// async.js runs on.
	tick := []string{"GOMAXPROCS=1"}
	for p, name := range []string{"queue", "priorityQueue"} {
		sizes := []int{10, 100, 1_000, 30_000, 100_000, 200_000}
		if p == 1 {
			sizes = []int{10, 100, 1_000, 30_000, 50_000}
		}
		for _, n := range sizes {
			all = append(all, workload{
				name: fmt.Sprintf("coalescing/%s(%d)", name, n), subjects: []string{"queue", "pass per push"},
				job: job{Kind: "ticks", N: n, P: p, Times: max(1, 100_000/n)}, metrics: report.PerTask, env: tick,
			})
		}
	}
	all = append(all, workload{
		name: "coalescing/passes", subjects: both[:1], job: job{Kind: "passes", N: 1_000, Times: 10}, most: 1,
		metrics: []report.Metric{{Unit: "passes"}}, env: tick,
	})
	return all
}

// A measurement collects the records of one call of figures.
type measurement struct {
	hops    *hops // nil if no hops are measured
	records report.Records
	over    map[report.Key]bool // gave up: the time is a lower bound
	series  map[string][]point  // the heap over three bursts
}

func (m *measurement) measure(ctx context.Context, stderr io.Writer, workloads []workload, rounds int) error {
	var entries []report.Entry
	for _, w := range workloads {
		for _, s := range w.subjects {
			entries = append(entries, report.Entry{
				Workload: w.name, Subject: s, Rounds: min(rounds, cmp.Or(w.most, rounds)),
				Sample: func(ctx context.Context) error { return m.sample(ctx, w, s) },
			})
		}
	}
	return report.Take(ctx, stderr, entries)
}

// sample takes one sample into the records, unless the subject gave up before.
func (m *measurement) sample(ctx context.Context, w workload, subject string) error {
	k := report.Key{Workload: w.name, Subject: subject}
	if m.over[k] {
		return nil
	}
	o, err := m.run(ctx, w, subject)
	if err != nil {
		return err
	}
	m.over[k] = o.Over
	if o.Series != nil {
		m.series[subject] = o.Series
	}
	m.records.Add(w.name, subject, w.metrics, o.Samples)
	return nil
}

// of returns the records of a workload but for those of a subject that gave up.
func (m *measurement) of(w workload) (records []*report.Record) {
	for _, metric := range w.metrics {
		for _, s := range w.subjects {
			if r := m.records.Get(metric.Of(w.name), s); r != nil && !m.over[report.Key{Workload: w.name, Subject: s}] {
				records = append(records, r)
			}
		}
	}
	return records
}

// run has a process do the job.
func (m *measurement) run(ctx context.Context, w workload, subject string) (o outcome, err error) {
	if w.args != nil {
		var s measure.Sample
		err := measure.Decode(m.hops.command(ctx, w.node, w.args[subject]), &s)
		return one(s), err
	}
	w.job.Subject = subject
	if subject == "queue" {
		w.job.Limit = 0
	}
	err = measure.Run(ctx, w.job, &o, w.env...)
	return o, err
}

// hops is the program of that name, built for the machine and for Node.
type hops struct {
	dir    string
	exec   string // runs a js/wasm program in Node
	noNode error
}

func buildHops(ctx context.Context) (*hops, error) {
	dir, err := os.MkdirTemp("", "hops-")
	if err != nil {
		return nil, err
	}
	h := &hops{dir: dir}
	build := func(name string, env ...string) error {
		cmd := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(dir, name), "github.com/tickqueue/queue/perf/figures/hops")
		cmd.Env = append(os.Environ(), env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("go build: %w\n%s", err, out)
		}
		return nil
	}
	if err := build("native"); err != nil {
		h.remove()
		return nil, err
	}
	h.noNode = func() error {
		if _, err := exec.LookPath("node"); err != nil {
			return err
		}
		root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
		if err != nil {
			return err
		}
		h.exec = filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm", "go_js_wasm_exec")
		if _, err := os.Stat(h.exec); err != nil {
			return err
		}
		return build("js.wasm", "GOOS=js", "GOARCH=wasm")
	}()
	return h, nil
}

func (h *hops) remove() { os.RemoveAll(h.dir) }

func (h *hops) command(ctx context.Context, node bool, args []string) *exec.Cmd {
	if !node {
		return exec.CommandContext(ctx, filepath.Join(h.dir, "native"), args...)
	}
	cmd := exec.CommandContext(ctx, h.exec, append([]string{filepath.Join(h.dir, "js.wasm")}, args...)...)
	// The loader refuses to pass on an environment of more than some KiB.
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
	return cmd
}

// charts writes the two that the figures are for, as far as they were measured.
func (m *measurement) charts(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	var costs []chart.Series
	for _, p := range []int{1, 3, 6} {
		s := chart.Series{Name: fmt.Sprintf("queue, priorities: %d", p)}
		for _, n := range []int{1_000, 10_000, 100_000, 1_000_000} {
			s.Add(float64(n), m.median(fmt.Sprintf("scale/priorities=%d/N=%d", p, n), "queue"))
		}
		costs = append(costs, s)
	}
	scan := chart.Series{Name: "a list scanned task by task"}
	for _, n := range []int{1_000, 10_000, 100_000} {
		if k := (report.Key{Workload: fmt.Sprintf("runs/loop/N=%d", n), Subject: "scan"}); !m.over[k] {
			scan.Add(float64(n), m.median(k.Workload, k.Subject))
		}
	}
	err := chart.Lines(filepath.Join(dir, "cost.svg"), "Cost of a task in a burst of N", "N", "ns per task", true, append(costs, scan))

	var heap []chart.Series
	for _, subject := range []string{"queue", "ring"} {
		s := chart.Series{Name: map[string]string{"queue": "segments", "ring": "doubling ring"}[subject]}
		for _, p := range m.series[subject] {
			s.Add(p.Ops/1e6, p.Bytes/1e6)
		}
		heap = append(heap, s)
	}
	return errors.Join(err, chart.Lines(filepath.Join(dir, "memory.svg"), "Heap over three bursts, each followed by a collection",
		"million pushes and pops", "MB", false, heap))
}
