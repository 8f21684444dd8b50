//go:build !js

package queue_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/tickqueue/queue"
)

// explode panics, and is to be found on the stack that the program leaves.
//
//go:noinline
func explode() { panic("boom") }

func explodingWorker(context.Context, int) (int, error) {
	explode()
	return 0, nil
}

func failingWorker(context.Context, int) (int, error) { return 0, errTask }

// crashes are programs that end by the panic of explode.
var crashes = map[string]func(){
	"worker": func() {
		q := queue.New(explodingWorker, 1)
		q.Push(1)
		wait(q)
	},
	"worker of PushAll": func() {
		q := queue.New(explodingWorker, 2)
		q.PushAll([]int{1, 2})
		wait(q)
	},
	"worker of PushWait": func() {
		q := queue.New(explodingWorker, 1)
		q.PushWait(context.Background(), 1)
		wait(q)
	},
	"worker after OnError was removed": func() {
		q := queue.New(explodingWorker, 1)
		q.OnError(func(int, error) {})
		q.OnError(nil)
		q.Push(1)
		wait(q)
	},
	"worker with other hooks": func() {
		q := queue.New(explodingWorker, 1)
		q.OnDrain(func() {})
		q.OnEmpty(func() {})
		q.Push(1)
		wait(q)
	},
	"worker with a ticket for another task": func() {
		q := queue.New(func(_ context.Context, task int) (int, error) {
			if task == 2 {
				explode()
			}
			return 0, nil
		}, 1)
		q.Submit(1)
		q.Push(2)
		q.Submit(3)
		wait(q)
	},
	"worker after Kill": func() {
		killed := make(chan struct{})
		q := queue.New(func(context.Context, int) (int, error) {
			<-killed
			explode()
			return 0, nil
		}, 1)
		q.Push(1)
		for q.Running() == 0 {
			runtime.Gosched()
		}
		q.Kill()
		close(killed)
		wait(q)
	},
	"worker while Goexit": func() {
		q := queue.New(func(context.Context, int) (int, error) {
			defer explode()
			runtime.Goexit()
			return 0, nil
		}, 1)
		q.Push(1)
		wait(q)
	},
	"cargo": func() {
		q := queue.NewCargo(func(ctx context.Context, batch []int) (int, error) {
			return explodingWorker(ctx, batch[0])
		}, 1, 5)
		q.PushAll([]int{1, 2, 3})
		wait(q)
	},
	"limiter": func() {
		q := queue.New(failingWorker, 1, queue.WithLimiter(limiterFunc(func(context.Context) error {
			explode()
			return nil
		})))
		q.Submit(1)
		wait(q)
	},
	"OnError": func() {
		q := queue.New(failingWorker, 1)
		q.OnError(func(int, error) { explode() })
		q.Submit(1)
		wait(q)
	},
	"OnDrain":       func() { hookWith(func(q *queue.Queue[int, int]) { q.OnDrain(explode) }) },
	"OnEmpty":       func() { hookWith(func(q *queue.Queue[int, int]) { q.OnEmpty(explode) }) },
	"OnSaturated":   func() { hookWith(func(q *queue.Queue[int, int]) { q.OnSaturated(explode) }) },
	"OnUnsaturated": func() { hookWith(func(q *queue.Queue[int, int]) { q.OnUnsaturated(explode) }) },
}

// wait gives the queue all the time it needs to end the program.
func wait(q *queue.Queue[int, int]) {
	q.Wait(context.Background())
	fmt.Println("survived")
}

func hookWith(set func(q *queue.Queue[int, int])) {
	q := queue.New(failingWorker, 1)
	set(q)
	over := make(chan struct{})
	q.Submit(1)
	<-over
}

// An error that is the value of the panic may have more to say.
var errorCrashes = map[string]func(){
	"error": func() {
		q := queue.New(func(context.Context, int) (int, error) { panic(fmt.Errorf("boom: %w", errTask)) }, 1)
		q.Push(1)
		wait(q)
	},
	"runtime error": func() {
		q := queue.New(func(_ context.Context, task int) (int, error) { return 1 / (task - 1), nil }, 1)
		q.Push(1)
		wait(q)
	},
	"nil": func() {
		q := queue.New(func(context.Context, int) (int, error) { panic(nil) }, 1)
		q.Push(1)
		wait(q)
	},
}

const crashVariable = "QUEUE_TEST_CRASH"

// TestCrashes runs itself again, in a process that is to end.
func TestCrashes(t *testing.T) {
	if name := os.Getenv(crashVariable); name != "" {
		if crash := crashes[name]; crash != nil {
			crash()
		} else {
			errorCrashes[name]()
		}
		return
	}
	if testing.Short() {
		t.Skip("starts processes")
	}
	for name := range crashes {
		t.Run(name, func(t *testing.T) {
			stderr := crash(t, name)
			if !strings.Contains(stderr, "panic: boom") {
				t.Errorf("the panic is not shown:\n%s", stderr)
			}
			if !strings.Contains(stderr, "queue_test.explode(") {
				t.Errorf("the stack does not lead to the panic:\n%s", stderr)
			}
		})
	}
	for name, want := range map[string]string{
		"error":         "boom: task failed",
		"runtime error": "integer divide by zero",
		"nil":           "panic called with nil argument",
	} {
		t.Run(name, func(t *testing.T) {
			stderr := crash(t, name)
			if !strings.Contains(stderr, want) || !strings.Contains(stderr, "crash_test.go") {
				t.Errorf("the panic is not shown, or not where it was:\n%s", stderr)
			}
		})
	}
}

// crash runs a program that is to crash and returns what it says then.
func crash(t *testing.T, name string) (stderr string) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out, diagnosis bytes.Buffer
	cmd := exec.CommandContext(t.Context(), program, "-test.run=^TestCrashes$", "-test.timeout=1m")
	cmd.Env = append(os.Environ(), crashVariable+"="+name, "GOTRACEBACK=single")
	cmd.Stdout, cmd.Stderr = &out, &diagnosis
	err = cmd.Run()
	if err == nil || cmd.ProcessState.ExitCode() != 2 || strings.Contains(out.String(), "survived") {
		t.Fatalf("did not crash: %v\n%s%s", err, &out, &diagnosis)
	}
	return diagnosis.String()
}
