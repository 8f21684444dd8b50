// Package measure takes figures, each in a process of its own, so that no
// subject inherits the heap, the threads or the goroutines of another.
package measure

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

const key = "QUEUE_PERF_JOB"

// Run starts this program again to do job, and decodes what it makes of it into
// result. Env is added to the environment of the new process.
func Run(ctx context.Context, job, result any, env ...string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	text, err := json.Marshal(job)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(append(os.Environ(), env...), key+"="+string(text))
	return Decode(cmd, result)
}

// Decode runs cmd and decodes the JSON that it prints.
func Decode(cmd *exec.Cmd, result any) error {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, result)
	}
	if err != nil {
		return fmt.Errorf("%w\n%s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	return nil
}

// Serve does the job and exits if this process was started by Run; else it
// returns at once. Programs call it first in main, tests in TestMain.
func Serve[J, R any](do func(J) (R, error)) {
	text, ok := os.LookupEnv(key)
	if !ok {
		return
	}
	if err := serve(os.Stdout, text, do); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serve[J, R any](w io.Writer, text string, do func(J) (R, error)) error {
	var job J
	if err := json.NewDecoder(strings.NewReader(text)).Decode(&job); err != nil {
		return err
	}
	result, err := do(job)
	if err != nil {
		return err
	}
	return json.NewEncoder(w).Encode(result)
}

// A Sample is one measured figure; Allocs and Bytes are per task.
type Sample struct{ Value, Allocs, Bytes float64 }

// Timed runs f and charges the nanoseconds that it takes to n tasks.
func Timed(n int, f func()) Sample {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	start := time.Now()
	f()
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	per := func(x uint64) float64 { return math.Round(1000*float64(x)/float64(n)) / 1000 }
	return Sample{float64(took.Nanoseconds()) / float64(n), per(after.Mallocs - before.Mallocs), per(after.TotalAlloc - before.TotalAlloc)}
}

// Heap returns the bytes of the objects that are still alive.
func Heap() float64 {
	var m runtime.MemStats
	// Twice, as what a sync.Pool holds outlives one collection.
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}
