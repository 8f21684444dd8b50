package main

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	flushSize  = 32 << 10
	flushDelay = 100 * time.Millisecond
)

// output prints lines. It writes whole lines only, so that whatever ends the program ends the output
// at the end of a line.
type output struct {
	w      io.Writer
	sorted bool
	failed func(error) // hears of the first write that fails

	mu      sync.Mutex  // guards what follows
	results []result    // what close prints; only if sorted
	buf     []byte      // lines not yet written
	late    *time.Timer // writes buf; set whenever the first line comes into it
	err     error       // of the first write that failed; none is tried after it
	closed  bool
}

type result struct {
	path string
	sum  [sha256.Size]byte
}

func newOutput(w io.Writer, sorted bool, failed func(error)) *output {
	o := &output{w: w, sorted: sorted, failed: failed}
	o.late = time.AfterFunc(flushDelay, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.flushLocked()
	})
	return o
}

func (o *output) add(path string, sum []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.closed:
	case o.sorted:
		o.results = append(o.results, result{path, [sha256.Size]byte(sum)})
	default:
		o.lineLocked(path, sum)
	}
}

// close writes what is left and returns the error of the first write that failed.
func (o *output) close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	slices.SortFunc(o.results, func(a, b result) int { return strings.Compare(a.path, b.path) })
	for _, r := range o.results {
		o.lineLocked(r.path, r.sum[:])
	}
	o.flushLocked()
	o.late.Stop()
	o.closed = true
	return o.err
}

func (o *output) lineLocked(path string, sum []byte) {
	if len(o.buf) == 0 {
		o.late.Reset(flushDelay)
	}
	o.buf = appendLine(o.buf, path, sum)
	if len(o.buf) >= flushSize {
		o.flushLocked()
	}
}

func (o *output) flushLocked() {
	if len(o.buf) > 0 && o.err == nil {
		if _, o.err = o.w.Write(o.buf); o.err != nil {
			o.failed(o.err)
		}
	}
	o.buf = o.buf[:0]
}

var escaper = strings.NewReplacer("\\", `\\`, "\n", `\n`, "\r", `\r`)

// appendLine appends a line as GNU sha256sum writes it: a backslash in front says that the name has escapes.
func appendLine(buf []byte, path string, sum []byte) []byte {
	escaped := escaper.Replace(path)
	if escaped != path {
		buf = append(buf, '\\')
	}
	buf = hex.AppendEncode(buf, sum)
	buf = append(buf, "  "...)
	buf = append(buf, escaped...)
	return append(buf, '\n')
}
