package report

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
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
