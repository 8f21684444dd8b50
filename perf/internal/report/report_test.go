package report

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tickqueue/queue/perf/internal/measure"
)

func TestMillis(t *testing.T) {
	for ns, want := range map[float64]string{
		26_400: "0.0264ms", 177_000: "0.177ms", 1_620_000: "1.62ms", 49_800_000: "49.8ms", 335_000_000: "335ms", 2_000_000_000: "2000ms",
	} {
		if got := Millis(ns); got != want {
			t.Errorf("Millis(%v) = %s, want %s", ns, got, want)
		}
	}
}

func TestRecord(t *testing.T) {
	r := Record{Workload: "burst/c=8", Subject: "queue", Unit: "ns/task"}
	for _, v := range []float64{3, 1, 2} {
		r.Add(v, v, 10)
	}
	if r.Median() != 2 || r.Allocs != 2 || r.Bytes != 10 {
		t.Errorf("%+v, median %v", r, r.Median())
	}
	if got := r.Spread(); got != "±50.00%" {
		t.Errorf("spread %s", got)
	}
	path := filepath.Join(t.TempDir(), "out.json")
	w, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(&r); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"workload":"burst/c=8","subject":"queue","unit":"ns/task","samples":[3,1,2],"allocs":2,"bytes":10}` + "\n"
	if string(got) != want {
		t.Errorf("wrote %s, want %s", got, want)
	}
}

func TestInterleave(t *testing.T) {
	var out bytes.Buffer
	for _, i := range Interleave(3, 3) {
		fmt.Fprint(&out, i)
	}
	if out.String() != "012210012" {
		t.Error(&out)
	}
}

func TestTake(t *testing.T) {
	records := Records{}
	var order []string
	entry := func(workload, subject string, rounds int) Entry {
		return Entry{workload, subject, rounds, func(context.Context) error {
			order = append(order, workload+subject)
			metrics := []Metric{{"", "ns"}, {"kept", "bytes"}}
			records.Add(workload, subject, metrics, map[string]measure.Sample{"": {Value: 1}, "kept": {Value: 2}})
			return nil
		}}
	}
	if err := Take(t.Context(), io.Discard, []Entry{entry("a", "x", 3), entry("a", "y", 1), entry("b", "x", 2)}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"ax", "ay", "bx", "bx", "ax", "ax"}; !slices.Equal(order, want) {
		t.Errorf("took samples of %q, want %q", order, want)
	}
	if r := records[Key{"a/kept", "x"}]; len(records) != 6 || r == nil || r.Unit != "bytes" || !slices.Equal(r.Samples, []float64{2, 2, 2}) {
		t.Errorf("%d records, one is %+v", len(records), r)
	}

	fault := errors.New("out of order")
	bad := Entry{"a", "z", 1, func(context.Context) error { return fault }}
	if err := Take(t.Context(), io.Discard, []Entry{bad}); !errors.Is(err, fault) || !strings.Contains(err.Error(), "a of z") {
		t.Errorf("error %v", err)
	}
}
