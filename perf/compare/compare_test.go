package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/tickqueue/queue/perf/internal/report"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLatest(t *testing.T) {
	for _, test := range []struct{ tags, want string }{
		{"", ""},
		{"nightly perf/v9.0.0 2.0.0", ""},
		{"v0.9.0 v0.10.0 v0.10.0-rc.1", "v0.10.0"},
		{"v0.10.0-rc.1 v0.10.0-rc.10 v0.10.0-rc.9", "v0.10.0-rc.10"},
		{"v0.10.0 v0.11.0-rc.1 v0.9.9", "v0.10.0"},
	} {
		if got := latest(strings.Fields(test.tags)); got != test.want {
			t.Errorf("latest(%s) = %q, want %q", test.tags, got, test.want)
		}
	}
}

func TestJudge(t *testing.T) {
	around := func(center, step float64) *report.Record {
		r := &report.Record{}
		for i := range 10 {
			r.Samples = append(r.Samples, center+step*float64(i-5))
		}
		return r
	}
	for _, test := range []struct {
		name         string
		old, current *report.Record
		want         int
	}{
		{"clearly faster", around(100, 1), around(50, 1), 1},
		{"clearly slower", around(50, 1), around(100, 1), 0},
		{"the same", around(100, 1), around(100, 1), -1},
		{"lost in the noise", around(100, 10), around(105, 10), -1},
		{"certain but below the floor", around(100, 0.01), around(100.5, 0.01), -1},
	} {
		if got, _, p := judge(test.old, test.current); got != test.want {
			t.Errorf("%s: %d (p=%v), want %d", test.name, got, p, test.want)
		}
	}
}

// tiny has what some suites need. Its Push takes time in proportion to work,
// and fails where that is negative.
const tiny = `package queue

import (
	"context"
	"errors"
)

const work = %d

var sink int

type Option func()

type Queue[T, R any] struct {
	worker func(ctx context.Context, task T) (R, error)
	tasks  []T
}

func New[T, R any](worker func(ctx context.Context, task T) (R, error), concurrency int, opts ...Option) *Queue[T, R] {
	return &Queue[T, R]{worker: worker}
}

func (q *Queue[T, R]) Push(task T, opts ...Option) error {
	if work < 0 {
		return errors.New("out of order")
	}
	for i := range work {
		sink ^= i
	}
	q.tasks = append(q.tasks, task)
	return nil
}

func (q *Queue[T, R]) Pause()  {}
func (q *Queue[T, R]) Resume() {}

func (q *Queue[T, R]) Wait(ctx context.Context) error {
	for _, task := range q.tasks {
		q.worker(ctx, task)
	}
	q.tasks = q.tasks[:0]
	return nil
}
`

// repo makes a repository with the tags of versions, in that order, goes there
// and returns a function that runs git in it.
func repo(t *testing.T, versions ...tagged) func(args ...string) string {
	t.Helper()
	goCache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOCACHE", strings.TrimSpace(string(goCache)))
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(home, "cache"))
	t.Chdir(t.TempDir())
	git := func(args ...string) string {
		t.Helper()
		out, err := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@localhost"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	git("init", "--quiet")
	write(t, "go.mod", "module github.com/tickqueue/queue\n\ngo 1.26.0\n")
	for _, v := range versions {
		write(t, "queue.go", fmt.Sprintf(tiny, v.work))
		git("add", ".")
		git("commit", "--quiet", "--allow-empty", "--message", "work")
		if v.tag != "" {
			git("tag", v.tag)
		}
	}
	return git
}

type tagged struct {
	tag  string
	work int
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

const slow = 2000

func compare(ctx context.Context, args ...string) (status int, out string) {
	var b bytes.Buffer
	status = run(ctx, args, &b, &b)
	return status, b.String()
}

func mention(t *testing.T, out string, want ...string) {
	t.Helper()
	missing := slices.DeleteFunc(want, func(w string) bool { return strings.Contains(out, w) })
	if len(missing) > 0 {
		t.Errorf("no %q in:\n%s", missing, out)
	}
}

func TestWorkingTree(t *testing.T) {
	git := repo(t, tagged{"v0.9.0", slow}, tagged{"v0.10.0-rc.1", slow}, tagged{"v0.10.0", 0}, tagged{"", 0})
	write(t, "staged.go", "package queue\n\nfunc Front() Option { return nil }\n")
	git("add", "staged.go")
	write(t, "queue.go", fmt.Sprintf(tiny, slow)) // slower, and not committed
	status0, worktrees0 := git("status", "--porcelain"), git("worktree", "list")

	status, out := compare(t.Context(), "-g", `queue\(100\)|pause|unshift`, "-l", "1", "-gate", "50", "-json", "out.json")
	if status != 1 {
		t.Errorf("status %d, want the gate's 1", status)
	}
	mention(t, out, "Comparing v0.10.0 with current",
		"queue(100) v0.10.0 x ", "queue(100) current x ", "\nv0.10.0 is faster\n",
		"unshift(1000) does not compile against v0.10.0", "left out of the totals",
		"cargo.go compiles against neither version and is left out",
		"v0.10.0 faster overall (", "v0.10.0 won more benchmarks (2 vs. 0)",
		"gate: queue(100) became ", "gate: pause-resume(1000) became ")

	file, err := os.Open("out.json")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var got []string
	for d := json.NewDecoder(file); ; {
		var r report.Record
		if err := d.Decode(&r); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if len(r.Samples) < fewest || r.Unit != "ns/run" {
			t.Errorf("%+v", r)
		}
		got = append(got, r.Workload+" "+r.Subject)
	}
	const want = "pause-resume(1000) queue@v0.10.0, pause-resume(1000) queue@current, queue(100) queue@v0.10.0, queue(100) queue@current"
	if strings.Join(got, ", ") != want {
		t.Errorf("records %q", got)
	}

	if err := os.Remove("out.json"); err != nil {
		t.Fatal(err)
	}
	if s := git("status", "--porcelain"); s != status0 {
		t.Errorf("status was\n%sand is\n%s", status0, s)
	}
	if w := git("worktree", "list"); w != worktrees0 {
		t.Errorf("worktrees were\n%sand are\n%s", worktrees0, w)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(cache, "tickqueue-perf", "*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestTwoVersions(t *testing.T) {
	repo(t, tagged{"v0.8.0", -1}, tagged{"v0.9.0", slow}, tagged{"v0.10.0", 0}, tagged{"same", 0})

	status, out := compare(t.Context(), "-g", `^queue\(10`, "-x", "0000", "-l", "1", "-gate", "50", "v0.9.0", "v0.10.0")
	if status != 0 {
		t.Errorf("status %d for a version that is faster", status)
	}
	mention(t, out, "v0.10.0 is faster", "v0.10.0 faster overall", "v0.10.0 won more benchmarks (3 vs. 0)")

	status, out = compare(t.Context(), "-g", `^queue\(10+\)$`, "-x", "0000", "-l", "1", "-gate", "0", "v0.10.0", "same")
	if status != 0 {
		t.Errorf("status %d for versions that are equal", status)
	}
	mention(t, out, "\nTie\n", "Tie overall", "Both won as many benchmarks (0 vs. 0)")
	if strings.Contains(out, "is faster") {
		t.Errorf("equal versions differ:\n%s", out)
	}

	status, out = compare(t.Context(), "-g", `^queue\(10\)$`, "-gate", "50", "v0.10.0", "v0.8.0")
	if status != 2 {
		t.Errorf("status %d where nothing ran", status)
	}
	mention(t, out, "queue(10) does not run against v0.8.0", "out of order")
}

func TestCircumstances(t *testing.T) {
	git := repo(t, tagged{"", 0})
	for _, test := range []struct{ args, want string }{
		{"", "no version tag yet"},
		{"v1.0.0", `"v1.0.0" is no tag, branch or commit`},
		{"-g nothing HEAD", "no suite is left"},
		{"-l 0 HEAD", "must be positive"},
		{"a b c", "usage"},
	} {
		status, out := compare(t.Context(), strings.Fields(test.args)...)
		if status != 2 {
			t.Errorf("compare %s: status %d", test.args, status)
		}
		mention(t, out, test.want)
	}
	if n := strings.Count(git("worktree", "list"), "\n"); n != 1 {
		t.Errorf("%d worktrees", n)
	}
}

// cancelOn cancels as soon as text is written.
type cancelOn struct {
	bytes.Buffer
	text   string
	cancel context.CancelFunc
}

func (w *cancelOn) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(w.text)) {
		w.cancel()
	}
	return w.Buffer.Write(p)
}

func TestInterrupt(t *testing.T) {
	git := repo(t, tagged{"v0.1.0", 0})
	ctx, cancel := context.WithCancel(t.Context())
	out := &cancelOn{text: "Comparing", cancel: cancel}
	if status := run(ctx, []string{"-g", `^queue\(10\)$`}, out, out); status != 2 {
		t.Errorf("status %d", status)
	}
	mention(t, out.String(), "interrupted")
	if n := strings.Count(git("worktree", "list"), "\n"); n != 1 {
		t.Errorf("worktrees left:\n%s", git("worktree", "list"))
	}
}
