package main

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/dustin/go-humanize"

	"github.com/tickqueue/queue/perf/internal/report"
)

const (
	alpha = 0.05
	floor = 0.01 // a smaller change than this is nobody's business
	rule  = "--------------------------------------"
)

// A tally judges the suites one by one, and all of them in the end.
type tally struct {
	versions [2]*version
	gate     float64 // percent; negative for none

	records []*report.Record // of the suite added last; empty if it was left out
	suites  int              // those that both versions ran
	won     [2]int
	total   [2]float64 // ns, the medians of those suites
	logs    float64    // sum of the logarithms of new/old
	failed  []string   // what the gate does not let pass
}

// judge returns the index of the faster version, or -1 for a tie, and the
// change of time from old to new.
func judge(old, current *report.Record) (faster int, change, p float64) {
	change = current.Median()/old.Median() - 1
	p = report.Compare(old, current).P
	switch {
	case p >= alpha || math.Abs(change) < floor:
		return -1, change, p
	case change < 0:
		return 1, change, p
	}
	return 0, change, p
}

func (t *tally) add(w io.Writer, name string, results [2]*result) {
	fmt.Fprintln(w, rule)
	t.records = nil
	if err := errors.Join(results[0].err, results[1].err); err != nil {
		fmt.Fprintf(w, "%v\nleft out of the totals\n", err)
		if results[1].err != nil && results[0].err == nil {
			t.failed = append(t.failed, name+" no longer runs")
		}
		return
	}
	old, current := &results[0].record, &results[1].record
	t.records = []*report.Record{old, current}
	for i, r := range t.records {
		fmt.Fprintf(w, "%s %s x %s ops/sec %s (%d runs sampled), %s per run, %s allocs, %s B\n",
			name, t.versions[i].label, ops(r.Median()), r.Spread(), len(r.Samples),
			report.Millis(r.Median()), humanize.Commaf(math.Round(r.Allocs)), humanize.Commaf(math.Round(r.Bytes)))
		t.total[i] += r.Median()
	}
	faster, change, p := judge(old, current)
	if t.versions[0].sum == t.versions[1].sum {
		faster = -1
	}
	t.suites++
	t.logs += math.Log1p(change)
	fmt.Fprintf(w, "time %+.1f%%, p=%.3f\n", 100*change, p)
	if faster < 0 {
		fmt.Fprintln(w, "Tie")
		return
	}
	t.won[faster]++
	fmt.Fprintf(w, "%s is faster\n", t.versions[faster].label)
	if faster == 0 && t.gate >= 0 && 100*change > t.gate {
		t.failed = append(t.failed, fmt.Sprintf("%s became %.1f%% slower", name, 100*change))
	}
}

// ops is the rate of a run of so many ns, in the form of async.js's benchmark.
func ops(ns float64) string {
	rate := 1e9 / ns
	if rate >= 100 {
		return humanize.Commaf(math.Round(rate))
	}
	return fmt.Sprintf("%.2f", rate)
}

// close prints the totals and returns the exit status.
func (t *tally) close(w io.Writer) int {
	fmt.Fprintln(w, rule)
	if t.suites == 0 {
		fmt.Fprintln(w, "No suite ran against both versions")
		return 2
	}
	fmt.Fprintf(w, "geometric mean: %s takes %.3f of the time of %s\n", t.versions[1].label, math.Exp(t.logs/float64(t.suites)), t.versions[0].label)
	times := func(i int) string { return report.Millis(t.total[i]) }
	first := 1
	if t.total[0] < t.total[1] {
		first = 0
	}
	if change := t.total[1]/t.total[0] - 1; t.won == [2]int{} || math.Abs(change) < floor {
		fmt.Fprintf(w, "Tie overall (%s total vs. %s total)\n", times(1), times(0))
	} else {
		fmt.Fprintf(w, "%s faster overall (%s total vs. %s total)\n", t.versions[first].label, times(first), times(1-first))
	}
	if t.won[0] == t.won[1] {
		fmt.Fprintf(w, "Both won as many benchmarks (%d vs. %d)\n", t.won[1], t.won[0])
	} else {
		most := 1
		if t.won[0] > t.won[1] {
			most = 0
		}
		fmt.Fprintf(w, "%s won more benchmarks (%d vs. %d)\n", t.versions[most].label, t.won[most], t.won[1-most])
	}
	if t.gate < 0 || len(t.failed) == 0 {
		return 0
	}
	for _, f := range t.failed {
		fmt.Fprintln(w, "gate:", f)
	}
	return 1
}
