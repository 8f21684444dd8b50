package report

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/tickqueue/queue/perf/internal/measure"
)

// A Metric is something that a workload measures. In records it is named
// workload/key, or as the workload where its key is empty.
type Metric struct{ Key, Unit string }

// PerTask is the metric of most workloads.
var PerTask = []Metric{{"", "ns/task"}}

// Of names the metric of a workload.
func (m Metric) Of(workload string) string { return strings.TrimSuffix(workload+"/"+m.Key, "/") }

// A Key finds a record.
type Key struct{ Workload, Subject string }

// Records are those of one call of a command.
type Records map[Key]*Record

// Get returns a record, or nil if nothing was measured.
func (rs Records) Get(workload, subject string) *Record { return rs[Key{workload, subject}] }

// Add takes in what one process has measured, by the keys of the metrics.
func (rs Records) Add(workload, subject string, metrics []Metric, samples map[string]measure.Sample) {
	for _, m := range metrics {
		k := Key{m.Of(workload), subject}
		r := rs[k]
		if r == nil {
			r = &Record{Workload: k.Workload, Subject: subject, Unit: m.Unit}
			rs[k] = r
		}
		s := samples[m.Key]
		r.Add(s.Value, s.Allocs, s.Bytes)
	}
}

// An Entry is one subject of one workload.
type Entry struct {
	Workload, Subject string
	Rounds            int
	Sample            func(context.Context) error // takes one sample
}

// hung is long enough for any sample.
const hung = 5 * time.Minute

// Take takes the samples of all entries, of which there must be some, with a
// progress line on w. It goes through them in rounds, as workloads too are
// compared with each other.
func Take(ctx context.Context, w io.Writer, entries []Entry) error {
	if len(entries) == 0 {
		return errors.New("no workload is left to run")
	}
	var most, total int
	for _, e := range entries {
		most, total = max(most, e.Rounds), total+e.Rounds
	}
	bar := Progress(w, total)
	for round, i := range Interleave(most, len(entries)) {
		e := entries[i]
		if round >= e.Rounds {
			continue
		}
		name := e.Workload + " of " + e.Subject
		bar.Describe(name)
		ctx, cancel := context.WithTimeout(ctx, hung)
		err := e.Sample(ctx)
		cancel()
		if err != nil {
			bar.Exit()
			return fmt.Errorf("%s: %w", name, err)
		}
		bar.Add(1)
	}
	return nil
}
