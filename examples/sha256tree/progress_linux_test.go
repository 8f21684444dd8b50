package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// openTerminal returns the two ends of a terminal: what a program sees and what a person sees.
func openTerminal(t *testing.T, width, height uint16) (program, person *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { person.Close() })
	fd := int(person.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: width, Row: height}); err != nil {
		t.Fatal(err)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { program.Close() })
	return program, person
}

// watch runs the program on a terminal and returns its status and what a person sees of it.
func watch(t *testing.T, width, height uint16, start func(terminal *os.File) int) (int, string) {
	t.Helper()
	program, person := openTerminal(t, width, height)
	seen := make(chan string)
	go func() {
		b, _ := io.ReadAll(person) // until the error that says that the program's end is closed
		seen <- strings.ReplaceAll(string(b), "\r\n", "\n")
	}()
	status := start(program)
	program.Close()
	return status, <-seen
}

func TestProgress(t *testing.T) {
	t.Chdir(t.TempDir())
	numbered(t, "tree", 300)
	const totals = "300 / 300 files"
	for _, size := range [][2]uint16{{100, 30}, {20, 5}, {0, 0}} {
		var out bytes.Buffer
		status, seen := watch(t, size[0], size[1], func(terminal *os.File) int {
			return run(t.Context(), []string{"tree"}, &out, terminal)
		})
		if status != 0 || !strings.Contains(seen, totals) {
			t.Errorf("terminal of %d: status %d, shows %q", size, status, seen)
		}
		sha256sum(t, out.String(), "--check", "--strict", "--quiet")
	}

	var out bytes.Buffer
	status, seen := watch(t, 100, 30, func(terminal *os.File) int {
		return run(t.Context(), []string{"-q", "tree"}, &out, terminal)
	})
	if status != 0 || seen != "" {
		t.Errorf("-q: status %d, shows %q", status, seen)
	}

	// Lines and bars share one terminal without cutting each other.
	for _, sorted := range []string{"-sort=false", "-sort"} {
		status, seen = watch(t, 100, 30, func(terminal *os.File) int {
			return run(t.Context(), []string{sorted, "tree"}, terminal, terminal)
		})
		whole := 0
		for line := range strings.Lines(seen) {
			if i := strings.LastIndex(line, "\x1b[J"); i >= 0 {
				line = line[i+len("\x1b[J"):]
			}
			if strings.Contains(out.String(), line) {
				whole++
			}
		}
		if status != 0 || whole != 300 || !strings.Contains(seen, totals) {
			t.Errorf("%s: status %d, %d whole lines in %q", sorted, status, whole, seen)
		}
	}
}

// The bars tell what is being hashed, and leave the terminal to the message when interrupted.
func TestProgressInterrupted(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, map[string]string{"tree/end\nless": ""})
	if err := os.Truncate(filepath.Join("tree", "end\nless"), 1<<38); err != nil {
		t.Fatal(err)
	}
	program, person := openTerminal(t, 100, 30)
	ctx, interrupt := context.WithCancel(t.Context())
	status := make(chan int, 1)
	go func() {
		status <- run(ctx, []string{"tree"}, io.Discard, program)
		program.Close()
	}()
	var seen strings.Builder
	for lines := bufio.NewReader(person); ; {
		line, err := lines.ReadString('\n')
		seen.WriteString(strings.ReplaceAll(line, "\r\n", "\n"))
		if err != nil {
			break
		}
		if strings.Contains(line, `hashing "tree/end\nless"`) {
			interrupt()
		}
	}
	interrupt()
	if got := <-status; got != 130 {
		t.Errorf("status %d, want 130", got)
	}
	if n, found := left(t, seen.String()); n != 1 || found != 1 {
		t.Errorf("%d of %d left, want 1 of 1", n, found)
	}
}
