package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// write makes files with the given contents below the current directory, and their directories.
func write(t *testing.T, files map[string]string) {
	t.Helper()
	made := map[string]bool{}
	for path, content := range files {
		if dir := filepath.Dir(path); !made[dir] {
			made[dir] = true
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// numbered makes n files below dir.
func numbered(t *testing.T, dir string, n int) {
	t.Helper()
	files := make(map[string]string, n)
	for i := range n {
		files[fmt.Sprintf("%s/%d/%d", dir, i%7, i)] = strings.Repeat("x", i%500)
	}
	write(t, files)
}

// sum runs the program and expects its exit status.
func sum(t *testing.T, status int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	if got := run(t.Context(), args, &out, &errs); got != status {
		t.Fatalf("sha256tree %q: status %d, want %d; it says\n%s", args, got, status, &errs)
	}
	return out.String(), errs.String()
}

// sha256sum runs the system's tool.
func sha256sum(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	cmd := exec.Command("sha256sum", args...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatalf("sha256sum: %v\n%s", err, out)
	}
	return string(out)
}

func sortedLines(s string) []string { return slices.Sorted(strings.Lines(s)) }

// lastLine returns the line that ends s, and makes sure that one does.
func lastLine(t *testing.T, s string) string {
	t.Helper()
	if !strings.HasSuffix(s, "\n") {
		t.Fatalf("%q does not end at the end of a line", s)
	}
	lines := slices.Collect(strings.Lines(s))
	return lines[len(lines)-1]
}

// left reads the line that an interrupted run ends with.
func left(t *testing.T, stderr string) (n, found int) {
	t.Helper()
	line := lastLine(t, stderr)
	if _, err := fmt.Sscanf(line, "sha256tree: interrupted: %d of the %d files found so far are left\n", &n, &found); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	return n, found
}

func TestAgreesWithSha256sum(t *testing.T) {
	t.Chdir(t.TempDir())
	files := map[string]string{
		"tree/empty":                       "",
		"tree/large":                       strings.Repeat("0123456789abcdef", 1<<20) + "x",
		"tree/deep/er/and/deeper/still":    "down here",
		"tree/ leading and trailing ":      "spaces",
		"tree/*starred":                    "*",
		"tree/new\nline\\n":                "both kinds",
		"tree/cr\r\nlf":                    "windows",
		"tree/\\":                          "backslash",
		"tree/\xff\xfe not UTF-8":          "bytes",
		"tree/日本語":                         "three bytes each",
		"tree/" + strings.Repeat("n", 255): "longest name",
		"tree/odd\ndir\\/plain":            "in an odd directory",
		"tree/# comment":                   "hash",
		"tree/--help":                      "flag",
	}
	// Every name of one byte: among them -, which sha256sum takes for its standard input.
	for b := 1; b < 256; b++ {
		if b != '/' && b != '.' {
			files["tree/"+string([]byte{byte(b)})] = fmt.Sprint(b)
		}
	}
	for i := range 20 {
		// Around the boundaries of a read.
		files[fmt.Sprintf("tree/sizes/%d", i)] = strings.Repeat("z", chunkSize-10+i)
	}
	write(t, files)
	paths := make([]string, 0, len(files))
	for path := range files {
		paths = append(paths, path)
	}
	want := sha256sum(t, "", append([]string{"--"}, paths...)...)

	for _, args := range [][]string{{"tree"}, {"tree/"}, {"-j", "1", "tree"}, {"-j", "64", "-sort", "tree"}, {"-q", "tree"}} {
		got, stderr := sum(t, 0, args...)
		if stderr != "" {
			t.Errorf("%q: says %q", args, stderr)
		}
		if !slices.Equal(sortedLines(got), sortedLines(want)) {
			t.Errorf("%q: prints\n%swant\n%s", args, got, want)
		}
		sha256sum(t, got, "--check", "--strict", "--quiet")
	}

	t.Chdir("tree")
	got, _ := sum(t, 0, ".")
	sha256sum(t, got, "--check", "--strict", "--quiet")
	if n := strings.Count(got, "\n"); n != len(files) {
		t.Errorf("below . there are %d lines, want %d", n, len(files))
	}
}

func TestSort(t *testing.T) {
	t.Chdir(t.TempDir())
	numbered(t, "b", 100)
	numbered(t, "a", 100)
	write(t, map[string]string{"a/1\n": "", "a/1 ": "", "a-b/c": ""})
	var paths []string
	for _, dir := range []string{"a", "a-b", "b"} {
		filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				paths = append(paths, path)
			}
			return err
		})
	}
	slices.Sort(paths)
	var want []byte
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(content)
		want = appendLine(want, path, sum[:])
	}
	if got, _ := sum(t, 0, "-sort", "b", "a-b", "a"); got != string(want) {
		t.Errorf("prints\n%swant\n%s", got, want)
	}
}

func TestSmallFilesFirst(t *testing.T) {
	t.Chdir(t.TempDir())
	files := map[string]string{}
	for i := range 12 {
		files[fmt.Sprintf("tree/%d", i)] = strings.Repeat("x", 1<<i)
	}
	write(t, files)
	var out bytes.Buffer
	tr := newTree(t.Context(), 1, t.Output())
	tr.out = newOutput(&out, false, nil)
	tr.queue.Pause()
	if err := tr.walk(t.Context(), "tree"); err != nil {
		t.Fatal(err)
	}
	tr.queue.Resume()
	if !tr.all(t.Context(), nil) {
		t.Fatal("interrupted")
	}
	if err := tr.out.close(); err != nil {
		t.Fatal(err)
	}
	i := 0
	for line := range strings.Lines(out.String()) {
		if want := fmt.Sprintf("  tree/%d\n", i); !strings.HasSuffix(line, want) {
			t.Errorf("line %d is %q, want ...%q", i, line, want)
		}
		i++
	}
	if i != len(files) {
		t.Errorf("%d lines, want %d", i, len(files))
	}
}

func TestWalkWaitsForRoom(t *testing.T) {
	t.Chdir(t.TempDir())
	numbered(t, "tree", capacity+100)
	synctest.Test(t, func(t *testing.T) {
		tr := newTree(t.Context(), 1, t.Output())
		tr.out = newOutput(t.Output(), true, nil)
		tr.out.w = new(bytes.Buffer)
		tr.queue.Pause()
		finished := make(chan bool, 1)
		go func() { finished <- tr.all(t.Context(), []string{"tree"}) }()
		// A goroutine in a system call keeps the bubble from being idle: what is idle is the blocked push.
		synctest.Wait()
		if n, found := tr.queue.Len(), tr.found.Load(); n != capacity || found != capacity+1 {
			t.Errorf("%d files wait, %d were found; want %d and one more", n, found, capacity)
		}
		tr.queue.Resume()
		if !<-finished || tr.hashed.Load() != capacity+100 {
			t.Errorf("finished with %d files hashed, want %d", tr.hashed.Load(), capacity+100)
		}
		tr.out.close()
	})
}

func TestLinks(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, map[string]string{"tree/file": "in", "elsewhere/other": "out"})
	for link, target := range map[string]string{"tree/dir": "../elsewhere", "tree/link": "file", "tree/dangling": "none", "tree/loop": ".", "alias": "tree"} {
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
	}
	got, stderr := sum(t, 0, "alias")
	if want := sha256sum(t, "", "alias/file"); got != want || stderr != "" {
		t.Errorf("prints %q, says %q; want %q", got, stderr, want)
	}
}

func TestWrongCalls(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, map[string]string{"tree/file": "x"})
	for _, c := range []struct {
		args   []string
		status int
		says   string
	}{
		{nil, 2, "no directory given"},
		{[]string{"-q"}, 2, "no directory given"},
		{[]string{"tree", "none"}, 2, "none: no such file or directory"},
		{[]string{"no\nne"}, 2, `"no\nne": no such file or directory`},
		{[]string{""}, 2, `"": no such file or directory`},
		{[]string{"tree/file"}, 2, "tree/file: not a directory"},
		{[]string{"-j", "0", "tree"}, 2, "-j 0: at least one"},
		{[]string{"-j", "-3", "tree"}, 2, "-j -3: at least one"},
		{[]string{"-j", "many", "tree"}, 2, `invalid value "many"`},
		{[]string{"-x", "tree"}, 2, "flag provided but not defined: -x"},
		{[]string{"-h"}, 0, "usage: sha256tree [-j N] [-q] [-sort] DIR…"},
	} {
		stdout, stderr := sum(t, c.status, c.args...)
		if stdout != "" || !strings.Contains(stderr, c.says) {
			t.Errorf("%q: prints %q, says %q; want %q", c.args, stdout, stderr, c.says)
		}
	}
}

func TestEmptyTree(t *testing.T) {
	if stdout, stderr := sum(t, 0, t.TempDir()); stdout+stderr != "" {
		t.Errorf("prints %q, says %q", stdout, stderr)
	}
}

// What lies too deep to be named by a path cannot be examined by anybody, root included.
func TestUnexaminable(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, map[string]string{"tree/file": "x", "tree/z/file": "y"})
	root, err := os.OpenRoot("tree")
	if err != nil {
		t.Fatal(err)
	}
	name := strings.Repeat("d", 250)
	for range 17 { // 17 × 251 bytes are more than the 4096 of a path
		if err := root.Mkdir(name, 0o755); err != nil {
			t.Fatal(err)
		}
		below, err := root.OpenRoot(name)
		if err != nil {
			t.Fatal(err)
		}
		root.Close()
		root = below
	}
	defer root.Close()
	if err := root.WriteFile("unreachable", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	stdout, stderr := sum(t, 1, "-sort", "tree")
	if want := sha256sum(t, "", "tree/file", "tree/z/file"); stdout != want {
		t.Errorf("prints %q, want %q", stdout, want)
	}
	if strings.Count(stderr, "\n") != 1 || !strings.HasSuffix(stderr, ": file name too long\n") {
		t.Errorf("says %q, want one line", stderr)
	}
}

func TestInterrupted(t *testing.T) {
	t.Chdir(t.TempDir())
	numbered(t, "tree", 600)
	for _, args := range [][]string{{"-j", "1", "tree"}, {"-j", "4", "tree"}} {
		ctx, cancel := context.WithCancel(t.Context())
		var out, errs bytes.Buffer
		// The first block of lines interrupts the run, so that there are some and not all.
		status := run(ctx, args, writerFunc(func(b []byte) (int, error) { cancel(); return out.Write(b) }), &errs)
		n, found := left(t, errs.String())
		lastLine(t, out.String())
		if printed := strings.Count(out.String(), "\n"); status != 130 || printed == 0 || n == 0 || printed+n != found {
			t.Errorf("status %d, %d lines printed, %d of %d files left", status, printed, n, found)
		}
		sha256sum(t, out.String(), "--check", "--strict", "--quiet")
		if strings.Count(errs.String(), "\n") != 1 {
			t.Errorf("says %q, want one line", &errs)
		}
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs bytes.Buffer
	if status := run(ctx, []string{"tree"}, &out, &errs); status != 130 || out.Len() > 0 {
		t.Errorf("interrupted before the start: status %d, prints %q", status, &out)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

func TestCannotPrint(t *testing.T) {
	t.Chdir(t.TempDir())
	numbered(t, "tree", 600)
	broken := errors.New("broken")
	for _, sorted := range []string{"-sort=false", "-sort"} {
		writes := 0
		out := writerFunc(func(b []byte) (int, error) {
			writes++
			return 0, broken
		})
		var errs bytes.Buffer
		status := run(t.Context(), []string{sorted, "tree"}, out, &errs)
		if status != 1 || errs.String() != "sha256tree: cannot print: broken\n" || writes != 1 {
			t.Errorf("%s: status %d after %d writes, says %q", sorted, status, writes, &errs)
		}
	}
}

func TestWritesWholeLines(t *testing.T) {
	t.Chdir(t.TempDir())
	numbered(t, "tree", 600)
	line := regexp.MustCompile(`\A([0-9a-f]{64}  tree/\d/\d+\n)+\z`)
	for _, sorted := range []string{"-sort=false", "-sort"} {
		out := writerFunc(func(b []byte) (int, error) {
			if !line.Match(b) {
				t.Errorf("%s: a write of %q", sorted, b)
			}
			return len(b), nil
		})
		if status := run(t.Context(), []string{sorted, "tree"}, out, t.Output()); status != 0 {
			t.Errorf("status %d", status)
		}
	}
}

// A line appears soon, though more files are being hashed.
func TestLateLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		writes := make(chan int, 1) // the lines of each
		o := newOutput(writerFunc(func(b []byte) (int, error) {
			writes <- bytes.Count(b, []byte("\n"))
			return len(b), nil
		}), false, nil)
		o.add("a", make([]byte, sha256.Size))
		o.add("b", make([]byte, sha256.Size))
		if len(writes) > 0 {
			t.Error("a write for each line")
		}
		time.Sleep(flushDelay)
		synctest.Wait()
		if len(writes) == 0 || <-writes != 2 {
			t.Errorf("not two lines after %v", flushDelay)
		}
		o.close()
		o.add("c", make([]byte, sha256.Size))
		time.Sleep(flushDelay)
		synctest.Wait()
		if len(writes) > 0 {
			t.Error("a write after close")
		}
	})
}
