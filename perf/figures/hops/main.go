// Command hops times a task that pushes the next one, over and over. It is built
// for the machine and for Node.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"runtime"
	"time"

	"github.com/tickqueue/queue"
)

func main() {
	n := flag.Int("n", 1_000_000, "`hops`")
	interval := flag.Duration("interval", 0, "the yield interval, 0 for none")
	each := flag.Bool("each", false, "leave the queue's yielding off, and read the clock after each hop instead")
	flag.Parse()

	var q *queue.Queue[int, struct{}]
	last := time.Now()
	hop := func(left int) {
		if left > 0 {
			if err := q.Push(left - 1); err != nil {
				panic(err)
			}
		}
	}
	worker := func(_ context.Context, left int) (struct{}, error) {
		hop(left)
		return struct{}{}, nil
	}
	if *each {
		worker = func(_ context.Context, left int) (struct{}, error) {
			hop(left)
			if now := time.Now(); now.Sub(last) >= *interval {
				last = now
				runtime.Gosched()
			}
			return struct{}{}, nil
		}
	}
	q = queue.New(worker, 1)
	if !*each {
		q.SetYieldInterval(*interval)
	}
	run := func(n int) time.Duration {
		start := time.Now()
		if err := q.Push(n); err != nil {
			panic(err)
		}
		if err := q.Wait(context.Background()); err != nil {
			panic(err)
		}
		return time.Since(start)
	}
	run(*n / 20)
	took := run(*n)
	json.NewEncoder(os.Stdout).Encode(map[string]float64{"Value": float64(took.Nanoseconds()) / float64(*n)})
}
