package main

import (
	"fmt"
	"io"
	"math"
	"text/tabwriter"

	"github.com/dustin/go-humanize"

	"github.com/tickqueue/queue/perf/internal/report"
)

// median is NaN for what was not measured, and so is all that comes of it.
func (m *measurement) median(workload, subject string) float64 {
	if r := m.records.Get(workload, subject); r != nil {
		return r.Median()
	}
	return math.NaN()
}

// A table prints rows: what was promised, what the model measured, what we
// measure, and whether the promise holds.
type table struct {
	w      *tabwriter.Writer
	title  string // of the section under way; empty once it is printed
	failed int
	judged int
}

func (t *table) section(title string) { t.title = title }

// row judges got by most. A row that was not measured is left out.
func (t *table) row(name, model, naive, here string, promise string, got, most float64) {
	if math.IsNaN(got) || math.IsNaN(most) {
		return
	}
	if t.title != "" {
		fmt.Fprintf(t.w, "\n%s\n\tmodel\there, naive\there, queue\t\tpromise\n", t.title)
		t.title = ""
	}
	t.judged++
	verdict := "holds"
	if got > most {
		verdict = "fails"
		t.failed++
	}
	fmt.Fprintf(t.w, "%s\t%s\t%s\t%s\t%s\t%s\n", name, model, naive, here, verdict, promise)
}

// noise is what two measurements of the same thing differ by on a shared
// machine: "no slower" is at most so much slower.
const noise = 1.05

const mib = 1 << 20

func size(x float64) string {
	if math.IsNaN(x) {
		return "–"
	}
	return humanize.IBytes(uint64(x))
}

func number(x float64) string {
	switch {
	case math.IsNaN(x):
		return "–"
	case x < 10:
		return fmt.Sprintf("%.2f", x)
	case x < 100:
		return fmt.Sprintf("%.1f", x)
	}
	return humanize.Comma(int64(math.Round(x)))
}

func ns(x float64) string { return number(x) + " ns" }

// print returns the exit status.
func (m *measurement) print(w io.Writer) int {
	t := &table{w: tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	m.priorityRuns(t)
	m.yieldInterval(t)
	m.segments(t)
	m.coalescing(t)
	t.w.Flush()
	if t.failed > 0 {
		fmt.Fprintf(w, "\n%d of %d rows fail\n", t.failed, t.judged)
		return 1
	}
	fmt.Fprintf(w, "\nall %d rows hold\n", t.judged)
	return 0
}

func (m *measurement) priorityRuns(t *table) {
	t.section("1. Priority runs")
	ms := func(workload, subject string, n float64) string {
		k := report.Key{Workload: workload, Subject: subject}
		text := number(m.median(workload, subject)*n/1e6) + " ms"
		if m.records[k] == nil {
			text = "–"
		}
		if m.over[k] {
			text = "> " + text
		}
		return text
	}
	for _, r := range []struct{ kind, name, small, large string }{
		{"loop", "one priority, pushed in a loop", "scan 1,049 ms, runs 8.3 ms", "scan > 60,000 ms, runs 271 ms"},
		{"group", "a group of N", "scan 340 ms, runs 7.9 ms", "scan > 60,000 ms, runs 297 ms"},
		{"released", "N waiting, released by one loop", "scan 2,116 ms, runs 10.7 ms", "scan > 60,000 ms, runs 315 ms"},
		{"cycling", "priorities cycling high, medium, low", "scan 483 ms, runs 8.6 ms", "scan > 60,000 ms, runs 287 ms"},
	} {
		small, large := "runs/"+r.kind+"/N=10000", "runs/"+r.kind+"/N=100000"
		t.row(r.name+", N = 10,000", r.small, ms(small, "scan", 1e4), ms(small, "queue", 1e4),
			"faster than the scan", m.median(small, "queue"), m.median(small, "scan"))
		t.row(r.name+", N = 100,000", r.large, ms(large, "scan", 1e5), ms(large, "queue", 1e5),
			"faster than the scan", m.median(large, "queue"), m.median(large, "scan"))
	}
	hops, few := "runs/hops/N=1000000", "runs/hops/N=1000"
	t.row("one task that hops 1,000,000 times", "scan 335 ms, runs 337 ms", ms(hops, "scan", 1e6), ms(hops, "queue", 1e6),
		"a hop costs at most 1.5 × that of 1,000 hops", m.median(hops, "queue")/m.median(few, "queue"), 1.5)
	for _, p := range []int{1, 3, 6} {
		small := m.median(fmt.Sprintf("scale/priorities=%d/N=1000", p), "queue")
		large := m.median(fmt.Sprintf("scale/priorities=%d/N=1000000", p), "queue")
		t.row(fmt.Sprintf("cost of a task, priorities: %d", p), "1 to 3 µs at any N", "", fmt.Sprintf("%s at 1,000, %s at 1,000,000", ns(small), ns(large)),
			"at most 1.5 ×", large/small, 1.5)
	}
	single := m.median("distinct/P=1", "queue")
	for _, p := range []int{1_000, 100_000} {
		cost := m.median(fmt.Sprintf("distinct/P=%d", p), "queue")
		log := math.Log2(float64(p))
		t.row(fmt.Sprintf("%s priorities in random order", humanize.Comma(int64(p))), "", "", fmt.Sprintf("%s, %s for one", ns(cost), ns(single)),
			fmt.Sprintf("within the log: at most log₂ P = %.1f × the cost for one", log), cost/single, log)
	}
}

func (m *measurement) yieldInterval(t *table) {
	t.section("2. Yield interval, per hop of 1,000,000")
	for _, r := range []struct {
		where, name, model string
		most               float64
	}{
		{"native", "natively, every 16 ms", "", 1.2},
		{"node", "in Node, every 16 ms", "off 135 ns, each job 820 ns, on 195 ns", 1.45},
	} {
		w := "hops/" + r.where
		off, on, each := m.median(w, "queue"), m.median(w, "yield"), m.median(w, "clock per job")
		t.row(r.name, r.model, "clock read per job "+ns(each), fmt.Sprintf("off %s, on %s (%.2f ×)", ns(off), ns(on), on/off),
			fmt.Sprintf("on at most %.2f × off", r.most), on/off, r.most)
	}
	if t.title != "" {
		return
	}
	fmt.Fprintln(t.w, "in a browser\tlongest gap 11.8 s off, 0.6 s on\t\t\t\tleft to the tests of ../examples, which have a browser")
}

func (m *measurement) segments(t *table) {
	t.section("3. Segments")
	of := func(workload string) (queue, ring, grown float64) {
		return m.median(workload, "queue"), m.median(workload, "ring"), m.median(workload, "grown ring")
	}
	three := "container/three-bursts"
	n := 0.0
	if s := m.series["queue"]; len(s) > 0 {
		n = s[len(s)-1].Ops / 6 // three times pushed and popped
	}
	count := humanize.Comma(int64(n))
	queue, ring, _ := of(three + "/time")
	t.row("one burst of "+count, "16,000,000: ring 1,167 ms, segments 780 ms", number(ring*n/1e6)+" ms", number(queue*n/1e6)+" ms",
		"no slower than the ring", queue/ring, noise)
	queue, ring, _ = of(three + "/peak")
	t.row("peak RSS of three bursts of "+count, "16,000,000: ring 2,730 MB, segments 1,444 MB", size(ring), size(queue),
		fmt.Sprintf("at most 0.6 of the ring's (%.2f)", queue/ring), queue/ring, 0.6)
	queue, ring, _ = of(three + "/left")
	t.row("heap left after each burst", "RSS at the end: ring 2,262 MB, segments 1,309 MB", size(ring), size(queue),
		"within 1 MiB of the start", queue, mib)
	model := map[string]string{
		"depth=1": "ring 3.99 ns, segments 1.94 ns", "depth=10": "ring 4.8 ns, segments 4.3 ns",
		"depth=1000": "ring 4.8 ns, segments 3.9 ns", "depth=100000": "ring 4.8 ns, segments 4.1 ns",
		"burst=100": "ring 3.3 ns, segments 3.0 ns", "burst=1000": "ring 2.6 ns, segments 3.2 ns",
		"burst=100000": "ring 3.6 ns, segments 3.7 ns", "burst=1000000": "ring 6.7 ns, segments 7.3 ns",
	}
	for _, d := range []int{1, 10, 1_000, 100_000} {
		name := fmt.Sprintf("depth=%d", d)
		queue, ring, _ := of("container/" + name)
		t.row("steady depth "+humanize.Comma(int64(d)), model[name], ns(ring), ns(queue), "no slower than the ring", queue/ring, noise)
	}
	for _, b := range []int{100, 1_000, 100_000, 1_000_000} {
		name := fmt.Sprintf("burst=%d", b)
		queue, ring, grown := of("container/" + name)
		t.row("bursts of "+humanize.Comma(int64(b)), model[name], fmt.Sprintf("growing %s, grown %s", ns(ring), ns(grown)), ns(queue),
			"no slower than the growing ring", queue/ring, noise)
	}
	const many = "tasks=2^25+1"
	t.row("2^25 + 1 tasks through one queue", "ring aborts", "", fmt.Sprintf("%s a task, %.2f bytes each while waiting", ns(m.median(many+"/time", "queue")), m.median(many+"/held", "queue")),
		"all run, and the heap is back within 1 MiB", m.median(many+"/left", "queue"), mib)
}

func (m *measurement) coalescing(t *table) {
	t.section("4. Coalescing, GOMAXPROCS=1")
	model := map[string]string{
		"queue(10)": "10 % faster", "queue(100)": "8 % faster", "queue(1000)": "11 % faster",
		"queue(30000)": "14 % faster", "queue(100000)": "43 % faster", "queue(200000)": "53 % faster",
	}
	for _, name := range []string{
		"queue(10)", "queue(100)", "queue(1000)", "queue(30000)", "queue(100000)", "queue(200000)",
		"priorityQueue(10)", "priorityQueue(100)", "priorityQueue(1000)", "priorityQueue(30000)", "priorityQueue(50000)",
	} {
		on, off := m.median("coalescing/"+name, "queue"), m.median("coalescing/"+name, "pass per push")
		t.row(name, model[name], ns(off), fmt.Sprintf("%s, %.0f %% faster", ns(on), 100*(off/on-1)), "no slower than a pass per push", on/off, noise)
	}
	passes := m.median("coalescing/passes", "queue")
	t.row("1,000 pushes in a row", "1 pass", "1,000 passes", number(passes)+" passes", "one pass", passes, 1)
}
