// Command compare times two versions of the queue against the same suites:
//
//	go run -C perf ./compare [flags] [old [new]]
//
// See ../README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/tickqueue/queue/perf/internal/measure"
	"github.com/tickqueue/queue/perf/internal/report"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run returns the exit status: 1 where the gate fails, 2 where nothing could be
// compared.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c := comparison{stderr: stderr, limit: 5 * time.Second}
	flags := flag.NewFlagSet("compare", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: go run -C perf ./compare [flags] [old [new]]\n\n"+
			"Old is a tag, branch or commit, the highest version tag if left out; new likewise,\n"+
			"the working tree as it is if left out.")
		flags.PrintDefaults()
	}
	only := report.Pattern(flags, "g", ".", "only suites that match this `regexp`")
	except := report.Pattern(flags, "x", "$.", "no suites that match this `regexp`")
	flags.IntVar(&c.samples, "n", 10, "`samples` of each version a suite")
	flags.Func("l", "`seconds` a suite at most; at least four samples are taken even so (default 5)", func(s string) error {
		d, err := time.ParseDuration(s + "s")
		if err == nil && d <= 0 {
			err = errors.New("must be positive")
		}
		c.limit = d
		return err
	})
	jsonPath := flags.String("json", "", "write JSON lines to this `file`, - for the standard output")
	gate := flags.Float64("gate", -1, "exit with status 1 if a suite became significantly slower by more than this `percent`")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	if c.samples < 1 || flags.NArg() > 2 {
		flags.Usage()
		return 2
	}
	if *jsonPath == "-" {
		stdout = stderr
	}
	out, err := report.Create(*jsonPath)
	if err != nil {
		fmt.Fprintln(stderr, "compare:", err)
		return 2
	}
	defer out.Close()

	old, current, cleanup, err := checkOut(ctx, flags.Arg(0), flags.Arg(1))
	defer cleanup()
	if err == nil {
		c.versions = [2]*version{old, current}
		err = c.build(ctx)
	}
	if ctx.Err() != nil {
		err = errors.New("interrupted")
	}
	if err != nil {
		fmt.Fprintln(stderr, "compare:", err)
		return 2
	}
	c.suites = slices.DeleteFunc(c.suites, func(s string) bool { return !only.MatchString(s) || except.MatchString(s) })
	if len(c.suites) == 0 {
		fmt.Fprintln(stderr, "compare: no suite is left to run")
		return 2
	}

	fmt.Fprintf(stdout, "Comparing %s with %s on %s\n", old.label, current.label, report.Machine())
	if old.sum == current.sum {
		fmt.Fprintln(stdout, "Both build to the same program: whatever differs below is noise, and a tie.")
	}
	for _, f := range old.unfit {
		if slices.Contains(current.unfit, f) {
			fmt.Fprintf(stdout, "%s compiles against neither version and is left out\n", f)
		}
	}
	t := tally{versions: c.versions, gate: *gate}
	for name, results := range c.all(ctx) {
		t.add(stdout, name, results)
		if err := out.Write(t.records...); err != nil {
			fmt.Fprintln(stderr, "compare:", err)
			return 2
		}
	}
	if ctx.Err() != nil {
		fmt.Fprintln(stderr, "compare: interrupted")
		return 2
	}
	return t.close(stdout)
}

// A comparison is what is compared, and how.
type comparison struct {
	versions [2]*version
	suites   []string // in either version
	samples  int
	limit    time.Duration
	stderr   io.Writer
}

// A result is what one version made of one suite.
type result struct {
	record report.Record
	err    error // why there are no samples
}

// all measures suite after suite. It ends early only when ctx is done.
func (c *comparison) all(ctx context.Context) iter.Seq2[string, [2]*result] {
	return func(yield func(string, [2]*result) bool) {
		bar := report.Progress(c.stderr, len(c.suites)*c.samples*2)
		for i, name := range c.suites {
			bar.Describe(name)
			results := c.measure(ctx, name, func() { bar.Add(1) })
			if ctx.Err() != nil {
				bar.Exit()
				return
			}
			bar.Clear()
			bar.Set((i + 1) * c.samples * 2)
			if !yield(name, results) {
				return
			}
		}
	}
}

// fewest is the number of samples below which the U test cannot find any
// difference at p < 0.05.
const fewest = 4

// measure takes the samples of one suite, each in a process of its own.
func (c *comparison) measure(ctx context.Context, name string, tick func()) (results [2]*result) {
	for i, v := range c.versions {
		results[i] = &result{record: report.Record{Workload: name, Subject: "queue@" + v.label, Unit: "ns/run"}}
		if !slices.Contains(v.suites, name) {
			results[i].err = fmt.Errorf("%s does not compile against %s", name, v.label)
		}
	}
	if errors.Join(results[0].err, results[1].err) != nil {
		return results
	}
	// Two thirds of a sample's share are for starting, warming up and overshooting.
	share := c.limit / time.Duration(6*c.samples)
	start := time.Now()
	for round, i := range report.Interleave(c.samples, 2) {
		// Only between rounds, so that both have as many samples.
		if i == round%2 && round >= fewest && time.Since(start) > c.limit {
			break
		}
		r := results[i]
		if r.err = c.versions[i].sample(ctx, name, share, &r.record); r.err != nil {
			break
		}
		tick()
	}
	return results
}

// hung is long enough for any suite on any machine.
const hung = time.Minute

func (v *version) sample(ctx context.Context, name string, d time.Duration, into *report.Record) error {
	ctx, cancel := context.WithTimeout(ctx, hung+d)
	defer cancel()
	var s struct{ NS, Allocs, Bytes float64 }
	if err := measure.Decode(exec.CommandContext(ctx, v.program, "-test.benchtime", d.String(), "-run", name), &s); err != nil {
		return fmt.Errorf("%s does not run against %s: %w", name, v.label, err)
	}
	into.Add(s.NS, s.Allocs, s.Bytes)
	return nil
}
