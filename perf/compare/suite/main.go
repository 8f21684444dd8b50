// Command suite is the program that compare builds once for each version. It
// lists its suites, or times one of them and prints the result as JSON.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"testing"
)

type suite struct {
	name string
	f    func(b *testing.B)
}

// suites is filled by the other files, each for itself and through init: where
// a version lacks what a file calls, that file alone is left out of the build.
var suites []suite

func add(name string, f func(b *testing.B)) { suites = append(suites, suite{name, f}) }

// repeat times run, after one run that warms up heap and threads.
func repeat(run func()) func(b *testing.B) {
	return func(b *testing.B) {
		for run(); b.Loop(); {
			run()
		}
	}
}

func nothing(context.Context, int) (struct{}, error) { return struct{}{}, nil }

// must keeps a version that refuses what it ought to accept from looking fast.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	testing.Init()
	name := flag.String("run", "", "time the suite of this `name`; without it, list all")
	flag.Parse()
	for _, s := range suites {
		switch *name {
		case "":
			fmt.Println(s.name)
		case s.name:
			r := testing.Benchmark(s.f)
			if r.N == 0 {
				os.Exit(1)
			}
			must(json.NewEncoder(os.Stdout).Encode(map[string]float64{
				"ns":     float64(r.T.Nanoseconds()) / float64(r.N),
				"allocs": float64(r.MemAllocs) / float64(r.N),
				"bytes":  float64(r.MemBytes) / float64(r.N),
			}))
		}
	}
}
