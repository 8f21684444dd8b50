// Package report holds what the three commands print: records as JSON lines,
// medians with their spread, durations, and a progress line.
package report

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"regexp"
	"runtime"
	"slices"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/perf/benchmath"
	"golang.org/x/term"
)

// A Record is one line of the JSON output.
type Record struct {
	Workload string    `json:"workload"`
	Subject  string    `json:"subject"`
	Unit     string    `json:"unit"`
	Samples  []float64 `json:"samples"` // in the order in which they were taken
	Allocs   float64   `json:"allocs"`  // per task or run
	Bytes    float64   `json:"bytes"`   // allocated, per task or run
}

// Add takes a sample in; allocs and bytes become the means of all samples.
func (r *Record) Add(value, allocs, bytes float64) {
	n := float64(len(r.Samples))
	r.Samples = append(r.Samples, value)
	mean := func(old, x float64) float64 { return math.Round(1000*(old*n+x)/(n+1)) / 1000 }
	r.Allocs, r.Bytes = mean(r.Allocs, allocs), mean(r.Bytes, bytes)
}

// Sample is what the statistics of package benchmath take.
func (r *Record) Sample() *benchmath.Sample {
	return benchmath.NewSample(slices.Clone(r.Samples), &benchmath.DefaultThresholds)
}

// Summary is the median and its 95 % confidence interval, which is unbounded
// with fewer than six samples.
func (r *Record) Summary() benchmath.Summary {
	return benchmath.AssumeNothing.Summary(r.Sample(), 0.95)
}

// Median is Summary's center.
func (r *Record) Median() float64 { return r.Summary().Center }

// Compare is the Mann-Whitney U test.
func Compare(a, b *Record) benchmath.Comparison {
	return benchmath.AssumeNothing.Compare(a.Sample(), b.Sample())
}

// Spread is how far the samples' confidence interval, or with few samples
// their extremes, lies from the median.
func (r *Record) Spread() string {
	s := r.Summary()
	if math.IsInf(s.Lo, 0) || math.IsInf(s.Hi, 0) {
		s.Lo, s.Hi = slices.Min(r.Samples), slices.Max(r.Samples)
	}
	if s.Center == 0 {
		return "±0.00%"
	}
	return fmt.Sprintf("±%.2f%%", 100*max(s.Hi/s.Center-1, 1-s.Lo/s.Center))
}

// A Writer writes records as JSON lines.
type Writer struct {
	io.Closer
	enc *json.Encoder
}

// Create opens path, "-" for the standard output; to "" nothing is written.
func Create(path string) (*Writer, error) {
	switch path {
	case "":
		return &Writer{io.NopCloser(nil), json.NewEncoder(io.Discard)}, nil
	case "-":
		return &Writer{io.NopCloser(nil), json.NewEncoder(os.Stdout)}, nil
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return &Writer{f, json.NewEncoder(f)}, nil
}

func (w *Writer) Write(records ...*Record) error {
	for _, r := range records {
		if err := w.enc.Encode(r); err != nil {
			return err
		}
	}
	return nil
}

// Read reads what a Writer has written.
func Read(path string) (records []Record, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for dec := json.NewDecoder(f); dec.More(); {
		var r Record
		if err := dec.Decode(&r); err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	return records, nil
}

// Millis writes a time in ms with three significant digits, as async.js's benchmark does.
func Millis(ns float64) string {
	ms := ns / 1e6
	digits := 0
	if ms > 0 {
		digits = max(0, 2-int(math.Floor(math.Log10(ms))))
	}
	return fmt.Sprintf("%.*fms", digits, ms)
}

// Machine says where the figures come from.
func Machine() string {
	return fmt.Sprintf("%s %s/%s, GOMAXPROCS=%d", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0))
}

// Interleave yields the round and the index of the next of n subjects: all of
// them forwards, then all backwards, and so on, so that what drifts on a shared
// machine falls on each alike.
func Interleave(rounds, n int) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		for round := range rounds {
			for i := range n {
				if round%2 == 1 {
					i = n - 1 - i
				}
				if !yield(round, i) {
					return
				}
			}
		}
	}
}

// Progress is a line on w that tells what is under way; where w is no terminal
// it stays silent.
func Progress(w io.Writer, total int) *progressbar.ProgressBar {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return progressbar.DefaultSilent(int64(total))
	}
	return progressbar.NewOptions(total,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetWidth(20),
		progressbar.OptionShowCount(),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish())
}

// Pattern defines a flag that is a regular expression.
func Pattern(flags *flag.FlagSet, name, value, usage string) *regexp.Regexp {
	re := regexp.MustCompile(value)
	flags.Func(name, usage, func(s string) error {
		given, err := regexp.Compile(s)
		if err == nil {
			*re = *given
		}
		return err
	})
	return re
}
