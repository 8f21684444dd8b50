// Command figures measures whether the queue does what the work that it takes
// its ideas from promises:
//
//	go run -C perf ./figures [flags]
//
// See ../README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

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

// run returns the exit status: 1 where a promise does not hold, 2 where nothing
// could be measured.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("figures", flag.ContinueOnError)
	flags.SetOutput(stderr)
	only := report.Pattern(flags, "g", ".", "only workloads that match this `regexp`")
	except := report.Pattern(flags, "x", "$.", "no workloads that match this `regexp`")
	rounds := flags.Int("n", 0, "`rounds` (default 10, with -quick 3); the largest workloads take fewer")
	quick := flags.Bool("quick", false, "smaller sizes and fewer rounds: done within a minute")
	jsonPath := flags.String("json", "", "write JSON lines to this `file`, - for the standard output")
	svg := flags.String("svg", "", "write charts to this `folder`")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil || flags.NArg() > 0 || *rounds < 0 {
		return 2
	}
	if *rounds == 0 {
		*rounds = 10
		if *quick {
			*rounds = 3
		}
	}
	if *jsonPath == "-" {
		stdout = stderr
	}
	fail := func(err error) int {
		fmt.Fprintln(stderr, "figures:", err)
		return 2
	}
	out, err := report.Create(*jsonPath)
	if err != nil {
		return fail(err)
	}
	defer out.Close()

	fmt.Fprintln(stdout, "Measured on", report.Machine())
	m := measurement{records: report.Records{}, over: map[report.Key]bool{}, series: map[string][]point{}}
	chosen := slices.DeleteFunc(plan(*quick), func(w workload) bool {
		return !only.MatchString(w.name) || except.MatchString(w.name)
	})
	if slices.ContainsFunc(chosen, func(w workload) bool { return w.args != nil }) {
		if m.hops, err = buildHops(ctx); err != nil {
			return fail(err)
		}
		defer m.hops.remove()
		if m.hops.noNode != nil {
			fmt.Fprintln(stdout, "the hops in Node are left out:", m.hops.noNode)
			chosen = slices.DeleteFunc(chosen, func(w workload) bool { return w.node })
		}
	}
	if err := m.measure(ctx, stderr, chosen, *rounds); err != nil {
		return fail(err)
	}
	for _, w := range chosen {
		if err := out.Write(m.of(w)...); err != nil {
			return fail(err)
		}
	}
	if *svg != "" {
		if err := m.charts(*svg); err != nil {
			return fail(err)
		}
	}
	return m.print(stdout)
}
