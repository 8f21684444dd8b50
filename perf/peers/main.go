// Command peers measures the queue beside what a user would pick instead:
//
//	go run -C perf ./peers [flags]
//
// See ../README.md.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/tickqueue/queue/perf/internal/chart"
	"github.com/tickqueue/queue/perf/internal/measure"
	"github.com/tickqueue/queue/perf/internal/report"
)

func main() {
	measure.Serve(do)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	flags.SetOutput(stderr)
	m := measurement{stderr: stderr, spin: calibrate(), records: report.Records{}, counts: map[string][]int{}}
	only := report.Pattern(flags, "g", ".", "only workloads that match this `regexp`")
	except := report.Pattern(flags, "x", "$.", "no workloads that match this `regexp`")
	who := report.Pattern(flags, "s", ".", "only subjects that match this `regexp`, and the queue")
	rounds := flags.Int("n", 0, "`rounds` (default 10, with -quick 7 of the bursts and 2 of the others)")
	flags.BoolVar(&m.quick, "quick", false, "fewer tasks and rounds: done within a minute")
	jsonPath := flags.String("json", "", "write JSON lines to this `file`, - for the standard output")
	svg := flags.String("svg", "", "write charts to this `folder`")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil || flags.NArg() > 0 || *rounds < 0 {
		return 2
	}
	if *jsonPath == "-" {
		stdout = stderr
	}
	fail := func(err error) int {
		fmt.Fprintln(stderr, "peers:", err)
		return 2
	}
	out, err := report.Create(*jsonPath)
	if err != nil {
		return fail(err)
	}
	defer out.Close()

	fmt.Fprintln(stdout, "Measured on", report.Machine())
	m.subjects = slices.DeleteFunc(slices.Clone(subjects), func(s subject) bool { return s.kind != ours && !who.MatchString(s.name) })
	inNode := func(s subject) bool { return s.kind == inNode }
	if slices.ContainsFunc(m.subjects, inNode) {
		if m.node, err = installNode(ctx); err != nil {
			first, _, _ := strings.Cut(err.Error(), "\n")
			fmt.Fprintln(stdout, "async, fastq and p-queue are left out:", first)
			m.subjects = slices.DeleteFunc(m.subjects, inNode)
		}
	}
	chosen := slices.DeleteFunc(slices.Clone(workloads), func(w workload) bool {
		return !only.MatchString(w.name) || except.MatchString(w.name)
	})
	if err := m.measure(ctx, chosen, *rounds); err != nil {
		return fail(err)
	}
	for _, w := range chosen {
		for _, metric := range w.metrics {
			records := m.of(metric.Of(w.name))
			if err := out.Write(records...); err != nil {
				return fail(err)
			}
			m.table(stdout, metric.Of(w.name), records)
		}
		if w.name == "latency" {
			m.histogram(stdout)
		}
	}
	m.verdicts(stdout)
	if *svg != "" {
		if err := m.chart(*svg); err != nil {
			return fail(err)
		}
	}
	return 0
}

// A measurement collects the records of one call of peers.
type measurement struct {
	stderr   io.Writer
	subjects []subject
	node     string // the folder of the Node peers
	quick    bool
	spin     float64 // turns a microsecond
	records  report.Records
	counts   map[string][]int // latencies by subject
}

// rounds is how often a subject does a workload if the user does not say.
func (m *measurement) rounds(w workload, s subject) int {
	n := 10
	if m.quick {
		n = 2
		if strings.HasPrefix(w.name, "burst") {
			n = 7
		}
	}
	if s.kind == inNode {
		n = max(1, n/3) // they are slow, and fewer rounds tell enough
	}
	return n
}

func (m *measurement) measure(ctx context.Context, workloads []workload, rounds int) error {
	var entries []report.Entry
	for _, w := range workloads {
		for _, s := range m.subjects {
			if w.fits != nil && !w.fits(s) || s.kind == inNode && !w.node {
				continue
			}
			entries = append(entries, report.Entry{
				Workload: w.name, Subject: s.name, Rounds: cmp.Or(rounds, m.rounds(w, s)),
				Sample: func(ctx context.Context) error { return m.sample(ctx, w, s) },
			})
		}
	}
	return report.Take(ctx, m.stderr, entries)
}

// sample takes one sample into the records.
func (m *measurement) sample(ctx context.Context, w workload, s subject) error {
	j := job{Workload: w.name, Subject: s.name, N: w.n, C: w.c, Spin: int(m.spin * w.spin.Seconds() * 1e6)}
	if m.quick {
		j.N = w.quick
	}
	var o outcome
	var err error
	if s.kind == inNode {
		if w.name != "backlog" {
			j.N /= 10
		}
		err = runNode(ctx, m.node, j, &o)
	} else {
		err = measure.Run(ctx, j, &o)
	}
	if err != nil {
		return err
	}
	m.records.Add(w.name, s.name, w.metrics, o.Samples)
	if o.Counts != nil {
		if m.counts[s.name] == nil {
			m.counts[s.name] = make([]int, len(o.Counts))
		}
		for i, n := range o.Counts {
			m.counts[s.name][i] += n
		}
	}
	return nil
}

// of returns the records of a workload in the order of the subjects.
func (m *measurement) of(workload string) (records []*report.Record) {
	for _, s := range m.subjects {
		if r := m.records.Get(workload, s.name); r != nil {
			records = append(records, r)
		}
	}
	return records
}

func (m *measurement) table(w io.Writer, name string, records []*report.Record) {
	if len(records) == 0 {
		return
	}
	unit := records[0].Unit
	fmt.Fprintf(w, "\n%s, %s\n", name, unit)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	base := m.records.Get(name, "queue").Median()
	for _, r := range records {
		median := r.Median()
		ratio := "–"
		if base > 0 {
			ratio = fmt.Sprintf("%.2f×", median/base)
		}
		value := fmt.Sprintf("%.1f", median)
		if unit == "bytes" {
			value = humanize.IBytes(uint64(median))
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t", r.Subject, value, r.Spread(), ratio)
		if unit == "ns/task" && m.kind(r.Subject) != inNode {
			fmt.Fprintf(t, "%.2f allocs\t%.1f B\t", r.Allocs, r.Bytes)
		}
		fmt.Fprintln(t)
	}
	t.Flush()
}

func (m *measurement) kind(name string) kind {
	return subjects[slices.IndexFunc(subjects, func(s subject) bool { return s.name == name })].kind
}

// histogram prints a line a subject and a column a power of two: how often the
// latency lay below it.
func (m *measurement) histogram(w io.Writer) {
	first, last := 64, 0
	for _, counts := range m.counts {
		for i, n := range counts {
			if n > 0 {
				first, last = min(first, i), max(last, i)
			}
		}
	}
	fmt.Fprintf(w, "\nlatency, %% of tasks that started in less than\n")
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "\t")
	for i := first; i <= last; i++ {
		fmt.Fprintf(t, "%v\t", short(time.Duration(1)<<i))
	}
	fmt.Fprintln(t)
	for _, s := range m.subjects {
		counts := m.counts[s.name]
		if counts == nil {
			continue
		}
		var total int
		for _, n := range counts {
			total += n
		}
		fmt.Fprintf(t, "%s\t", s.name)
		for i := first; i <= last; i++ {
			switch percent := 100 * float64(counts[i]) / float64(total); {
			case counts[i] == 0:
				fmt.Fprint(t, "·\t")
			case percent < 1:
				fmt.Fprint(t, "<1\t")
			default:
				fmt.Fprintf(t, "%.0f\t", percent)
			}
		}
		fmt.Fprintln(t)
	}
	t.Flush()
}

func short(d time.Duration) string {
	for _, unit := range []time.Duration{time.Second, time.Millisecond, time.Microsecond} {
		if d >= unit {
			return fmt.Sprintf("%d%s", d/unit, strings.TrimPrefix(unit.String(), "1"))
		}
	}
	return d.String()
}

// fastest is the pool with the lowest median, ours, yardsticks and Node left out.
func (m *measurement) fastest(workload string) (name string, median float64) {
	median = math.Inf(1)
	for _, r := range m.of(workload) {
		if v := r.Median(); m.kind(r.Subject) == aPool && v < median {
			name, median = r.Subject, v
		}
	}
	return name, median
}

// verdicts says which of the goals this run reaches.
func (m *measurement) verdicts(w io.Writer) {
	fmt.Fprintln(w)
	verdict := func(what string, got, most float64) {
		word := "holds"
		if got > most {
			word = "fails"
		}
		fmt.Fprintf(w, "%s: %s: %.2f, at most %.2f\n", word, what, got, most)
	}
	for _, c := range []int{1, 8, 64} {
		name := fmt.Sprintf("burst/c=%d", c)
		our := m.records.Get(name, "queue")
		if our == nil {
			continue
		}
		if pool, median := m.fastest(name); pool != "" {
			verdict(name+", queue to "+pool, our.Median()/median, 0.5)
		}
		verdict(name+", allocations a push", math.Round(our.Allocs), 0)
	}
	if our := m.records.Get("push-wait/c=1", "queue"); our != nil {
		if pool, median := m.fastest("push-wait/c=1"); pool != "" {
			verdict("push-wait/c=1, queue to "+pool, our.Median()/median, 1)
		}
	}
	three, none := m.records.Get("priorities=3/c=1", "queue"), m.records.Get("burst/c=1", "queue")
	if three != nil && none != nil {
		verdict("three priorities to one", three.Median()/none.Median(), 1.3)
	}
}

func (m *measurement) chart(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	var groups []chart.Series
	var names []string
	for _, s := range m.subjects {
		if s.kind != inNode && m.records.Get("burst/c=1", s.name) != nil {
			names = append(names, s.name)
		}
	}
	for _, c := range []int{1, 8, 64} {
		group := chart.Series{Name: fmt.Sprintf("concurrency %d", c)}
		for i, s := range names {
			r := m.records.Get(fmt.Sprintf("burst/c=%d", c), s)
			if r == nil {
				return errors.New("the chart needs all three bursts")
			}
			group.X = append(group.X, float64(i))
			group.Y = append(group.Y, r.Median())
		}
		groups = append(groups, group)
	}
	return chart.Bars(filepath.Join(dir, "bursts.svg"), "A burst of no-op tasks", "ns per task", names, groups)
}
