package chart

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"testing"
)

func TestCharts(t *testing.T) {
	var s Series
	s.Name = "a series"
	s.Add(1_000, 20)
	s.Add(10_000, math.NaN())
	s.Add(1_000_000, 30)
	if len(s.X) != 2 || len(s.Y) != 2 {
		t.Fatalf("%+v", s)
	}
	dir := t.TempDir()
	for name, err := range map[string]error{
		"log":    Lines(filepath.Join(dir, "log"), "title", "x", "y", true, []Series{s, {Name: "empty"}}),
		"linear": Lines(filepath.Join(dir, "linear"), "title", "x", "y", false, []Series{s}),
		"bars":   Bars(filepath.Join(dir, "bars"), "title", "y", []string{"one", "two"}, []Series{s, s}),
	} {
		text, readErr := os.ReadFile(filepath.Join(dir, name))
		if err != nil || readErr != nil || !bytes.Contains(text, []byte("</svg>")) || !bytes.Contains(text, []byte("title")) {
			t.Errorf("%s: %v, %v, %d bytes", name, err, readErr, len(text))
		}
	}
	if err := Lines(filepath.Join(dir, "nothing"), "", "", "", true, []Series{{}}); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "nothing")); !os.IsNotExist(err) {
		t.Errorf("a chart of nothing: %v", err)
	}
}
