// Command sha256tree prints the SHA-256 of every regular file below the given directories in the
// format of GNU sha256sum, so that `sha256sum -c` checks what it prints.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

const usage = `usage: sha256tree [-j N] [-q] [-sort] DIR…

Prints the SHA-256 of every regular file below each DIR in the format of GNU sha256sum, small files
first. A DIR may be a symbolic link to a directory; links below it are not followed.

`

const exits = `
Exit status: 0 if every file was hashed, 1 if one could not be read or the output not be written,
2 for a wrong call (nothing is hashed then), 130 when interrupted.
`

// patience is how long an interrupted run waits for a worker that hangs in a read.
const patience = 2 * time.Second

func main() {
	// With SIGPIPE ignored, a reader that goes away is an error of the write.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // so that a second interrupt ends the program at once
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("sha256tree", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(stderr, usage)
		flags.PrintDefaults()
		fmt.Fprint(stderr, exits)
	}
	workers := flags.Int("j", runtime.GOMAXPROCS(0), "hash `N` files at a time")
	quiet := flags.Bool("q", false, "show no progress, on a terminal either")
	sorted := flags.Bool("sort", false, "print all lines at the end, sorted by path")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	if err := check(*workers, flags.Args()); err != nil {
		fmt.Fprintf(stderr, "sha256tree: %v (see sha256tree -h)\n", err)
		return 2
	}

	running, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	t := newTree(running, *workers, stderr)
	t.out = newOutput(stdout, *sorted, cancel)
	var bar *progress
	if terminal := terminalOf(stderr); terminal != nil && !*quiet {
		bar = startProgress(terminal, t)
		t.errs = bar
		if sameFile(stdout, terminal) {
			t.out.w = bar
		}
	}

	finished := t.all(running, flags.Args())
	err := t.out.close()
	if bar != nil {
		bar.stop()
	}
	switch {
	case err != nil:
		fmt.Fprintln(stderr, "sha256tree: cannot print:", err)
		return 1
	case !finished:
		found := t.found.Load()
		fmt.Fprintf(stderr, "sha256tree: interrupted: %d of the %d files found so far are left\n",
			found-t.hashed.Load()-t.failed.Load(), found)
		return 130
	case t.failed.Load() > 0 || t.unlisted > 0:
		return 1
	}
	return 0
}

// check finds what is wrong with a call before anything is hashed.
func check(workers int, dirs []string) error {
	if workers < 1 {
		return fmt.Errorf("-j %d: at least one file at a time", workers)
	}
	if len(dirs) == 0 {
		return errors.New("no directory given")
	}
	for _, dir := range dirs {
		info, err := os.Stat(dir)
		if err == nil && !info.IsDir() {
			err = syscall.ENOTDIR
		}
		if err != nil {
			return fmt.Errorf("%s: %w", display(dir), reason(err))
		}
	}
	return nil
}
