package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/vbauerster/cupwriter"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"
)

// progress shows on a terminal how far a tree has come. What is written to it appears above.
type progress struct {
	terminal       *os.File
	bars           *mpb.Progress
	total, working *mpb.Bar
}

// terminalOf returns the terminal that w is, or nil.
func terminalOf(w io.Writer) *os.File {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return f
	}
	return nil
}

func sameFile(w io.Writer, f *os.File) bool {
	g, ok := w.(*os.File)
	if !ok {
		return false
	}
	a, errA := f.Stat()
	b, errB := g.Stat()
	return errA == nil && errB == nil && os.SameFile(a, b)
}

func startProgress(terminal *os.File, t *tree) *progress {
	start := time.Now()
	files := func(decor.Statistics) string {
		return fmt.Sprintf("%d / %d files", t.hashed.Load()+t.failed.Load(), t.found.Load())
	}
	bytes := func(decor.Statistics) string {
		n := t.hashedBytes.Load()
		rate := decor.SizeB1024(float64(n) / time.Since(start).Seconds())
		return fmt.Sprintf("% .1f / % .1f, % .1f", decor.SizeB1024(n), decor.SizeB1024(t.foundBytes.Load()), decor.FmtAsSpeed(rate))
	}
	working := func(decor.Statistics) string {
		var names []string
		for f := range t.queue.Working() {
			names = append(names, display(f.path))
		}
		return "hashing " + strings.Join(names, ", ")
	}
	// The counts are the tree's: it knows them without telling a bar of every read.
	counted := func(base mpb.BarFiller) mpb.BarFiller {
		return mpb.BarFillerFunc(func(w io.Writer, s decor.Statistics) error {
			s.Total = t.foundBytes.Load()
			s.Current = min(t.hashedBytes.Load(), s.Total)
			return base.Fill(w, s)
		})
	}
	p := &progress{terminal: terminal, bars: mpb.New(mpb.WithConsoleWriter(console{cupwriter.New(terminal, true)}))}
	p.total = p.bars.New(0, mpb.BarStyle(), mpb.BarFillerMiddleware(counted),
		mpb.PrependDecorators(decor.Any(files)), mpb.AppendDecorators(decor.Any(bytes)))
	p.working = p.bars.New(0, nil, mpb.BarFillerTrim(), mpb.PrependDecorators(decor.Any(working)))
	return p
}

// Write writes to the terminal, above the bars.
func (p *progress) Write(b []byte) (int, error) {
	if n, err := p.bars.Write(b); err == nil {
		return n, nil
	}
	return p.terminal.Write(b) // the bars end by themselves when the terminal takes no more
}

// stop leaves the totals standing on the terminal.
func (p *progress) stop() {
	p.working.Abort(true)
	p.total.Abort(false)
	p.bars.Wait()
}

// console is a terminal that may not know its size, such as one that a program opened for another.
type console struct{ *cupwriter.Writer }

func (c console) GetTermSize() (width, height int, err error) {
	width, height, err = c.Writer.GetTermSize()
	if err != nil || width <= 0 || height <= 0 {
		return 80, 24, nil
	}
	return width, height, nil
}
