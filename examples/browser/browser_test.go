package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

var (
	rounds     = flag.Int("rounds", 1, "measure so many `times`")
	screenshot = flag.String("screenshot", "", "write a picture of the page to this `file`")
)

// site is what the tests browse, built once.
var site = sync.OnceValues(func() (http.Handler, error) { return newHandler(context.Background()) })

// openBrowser starts Chromium. It skips the test where there is none, but in CI.
func openBrowser(t *testing.T) context.Context {
	t.Helper()
	var path string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, _ = exec.LookPath(name); path != "" {
			break
		}
	}
	if path == "" {
		const reason = "needs Chromium, which is not installed (on Debian: apt-get install chromium)"
		if os.Getenv("CI") == "true" {
			t.Fatal(reason)
		}
		t.Skip(reason)
	}
	// It has a new profile of its own each time.
	allocator, cancel := chromedp.NewExecAllocator(context.Background(), // t.Context ends before what Cleanup is given
		chromedp.ExecPath(path),
		chromedp.Headless,
		chromedp.NoSandbox,
		chromedp.DisableGPU,
		chromedp.NoFirstRun,
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-dev-shm-usage", true),
		chromedp.Flag("disable-sync", true),
		chromedp.WindowSize(1180, 900),
	)
	t.Cleanup(cancel)
	browser, cancel := chromedp.NewContext(allocator)
	t.Cleanup(cancel)
	if err := chromedp.Do(browser); err != nil {
		t.Fatalf("starting %s: %v", path, err)
	}
	return browser
}

// A tab shows the page.
type tab struct {
	context.Context
	t *testing.T
}

// open opens the page in a tab of its own. When the test ends, nothing must be
// in the console.
func open(t *testing.T, browser context.Context, before ...chromedp.Action[chromedp.Void]) *tab {
	t.Helper()
	handler, err := site()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	ctx, cancelTimeout := context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(cancelTimeout)
	p := &tab{ctx, t}
	next, stop := iter.Pull2(chromedp.Console(ctx))
	t.Cleanup(func() {
		defer stop()
		p.do(chromedp.Evaluate[chromedp.Void](`console.log("end")`))
		for {
			message, err, ok := next()
			switch {
			case !ok || err != nil:
				t.Fatalf("reading the console: %v", err)
			case message.Text == "end":
				return
			default:
				t.Errorf("in the console: %s: %s (%s)", message.Type, message.Text, message.URL)
			}
		}
	})
	p.do(before...)
	p.do(chromedp.Navigate(server.URL))
	p.wait(`$("state").textContent === "ready"`)
	return p
}

func (p *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p, actions...); err != nil {
		p.t.Fatal(err)
	}
}

// ask returns the value of a JavaScript expression.
func ask[T any](p *tab, expression string) T {
	p.t.Helper()
	value, err := chromedp.Run(p, chromedp.Evaluate[T](expression))
	if err != nil {
		p.t.Fatal(err)
	}
	return value
}

// wait waits until a JavaScript expression is true. It does not ask for frames to
// be drawn, which would be measured as well.
func (p *tab) wait(expression string) {
	p.t.Helper()
	err := chromedp.Do(p, chromedp.Poll[chromedp.Void](expression, chromedp.WithPollingTimeout(0), chromedp.WithPollingInterval(50*time.Millisecond)))
	if errors.Is(err, context.DeadlineExceeded) {
		p.t.Fatalf("never true: %s", expression)
	} else if err != nil {
		p.t.Fatal(err)
	}
}

func (p *tab) click(id string) {
	p.t.Helper()
	p.do(chromedp.Click(chromedp.CSS("#" + id)))
}

func (p *tab) press(id, keys string) {
	p.t.Helper()
	p.do(chromedp.SendKeys(chromedp.CSS("#"+id), keys))
}

func (p *tab) choose(name, value string) {
	p.t.Helper()
	p.do(chromedp.Click(chromedp.CSS(fmt.Sprintf("input[name=%s][value=%q]", name, value))))
}

// shown is what the page shows of a run.
type shown struct {
	State   string `json:"state"`
	Done    int    `json:"done"`
	Waiting int    `json:"waiting"`
	Running int    `json:"running"`
	Turns   int    `json:"turns"`
}

func (p *tab) shown() shown {
	p.t.Helper()
	return ask[shown](p, `({
		state: $("state").textContent,
		done: +$("done").textContent,
		waiting: +$("waiting").textContent,
		running: +$("running").textContent,
		turns: +$("turns").textContent,
	})`)
}

// frames waits until the page has been drawn so often.
func (p *tab) frames(n int) {
	p.t.Helper()
	p.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`(async () => {
		for (let i = 0; i < %d; i++) await new Promise(requestAnimationFrame);
	})()`, n), chromedp.EvalAwaitPromise))
}

const tiles = 576 / 12 * 384 / 12

// figures are what a run has shown, in milliseconds.
type figures struct {
	Gap   float64 `json:"gap"`  // longest between two frames
	Wait  float64 `json:"wait"` // longest of a message for its answer
	P95   float64 `json:"p95"`  // of these waits
	Total float64 `json:"total"`
}

// measure draws the fractal once.
func (p *tab) measure(where, interval string) figures {
	p.t.Helper()
	p.choose("where", where)
	p.choose("interval", interval)
	p.click("start")
	p.wait(`$("state").textContent === "finished" && ended && run.delays.length === run.asked`)
	f := ask[figures](p, `({gap: run.gap, wait: run.wait, p95: run.p95(), total: run.end - run.start})`)
	if s := p.shown(); s.Done != tiles || (s.Turns > 0) != (interval != "0") {
		p.t.Errorf("interval %s in a %s: %+v", interval, where, s)
	}
	return f
}

// Without an interval the thread that draws does nothing else until all is
// drawn; with one, it answers in between.
func TestGaps(t *testing.T) {
	browser := openBrowser(t)
	for _, where := range []string{"page", "worker"} {
		t.Run(where, func(t *testing.T) {
			p := open(t, browser)
			intervals := []string{"0", "16", "5"}
			all := make(map[string][]figures)
			for range *rounds {
				for _, interval := range intervals {
					all[interval] = append(all[interval], p.measure(where, interval))
				}
			}
			median := func(interval string, of func(figures) float64) float64 {
				values := make([]float64, 0, *rounds)
				for _, f := range all[interval] {
					values = append(values, of(f))
				}
				slices.Sort(values)
				return values[len(values)/2]
			}
			gap := func(f figures) float64 { return f.Gap }
			wait := func(f figures) float64 { return f.Wait }
			p95 := func(f figures) float64 { return f.P95 }
			total := func(f figures) float64 { return f.Total }
			for _, interval := range intervals {
				t.Logf("interval %2s ms: total %5.0f, longest gap between frames %5.0f, wait of a message %5.0f at most and %6.1f at the 95th percentile",
					interval, median(interval, total), median(interval, gap), median(interval, wait), median(interval, p95))
			}

			compare := func(what string, of func(figures) float64) {
				off, on := median("0", of), median("16", of)
				if off < 1000 || on > off/4 {
					t.Errorf("%s: %.0f ms without an interval, %.0f ms with 16 ms", what, off, on)
				}
			}
			compare("longest wait of a message", wait)
			if where == "page" {
				compare("longest gap between frames", gap)
			} else {
				compare("95th percentile of the wait of a message", p95)
			}
		})
	}
}

func TestTyping(t *testing.T) {
	browser := openBrowser(t)
	for _, where := range []string{"page", "worker"} {
		t.Run(where, func(t *testing.T) {
			p := open(t, browser)
			p.choose("where", where)
			p.do(chromedp.Evaluate[chromedp.Void](`$("text").oninput = () => doneThen = +$("done").textContent`))
			p.click("start")
			p.wait(`+$("done").textContent > 0`)
			p.press("text", "awake")
			p.wait(`$("text").value === "awake"`)
			doneThen := ask[int](p, `doneThen`)
			if doneThen == 0 || doneThen >= tiles {
				t.Errorf("%d of %d tiles were drawn when the last letter arrived", doneThen, tiles)
			}
			p.wait(`$("state").textContent === "finished"`)
		})
	}
}

func TestButtons(t *testing.T) {
	browser := openBrowser(t)
	mouse := (*tab).click
	key := func(key string) func(*tab, string) { return func(p *tab, id string) { p.press(id, key) } }
	for _, test := range []struct {
		where, how string
		press      func(p *tab, id string)
	}{
		{"page", "mouse", mouse},
		{"worker", "mouse", mouse},
		{"page", "space bar", key(" ")},
		{"page", "enter", key("\r")},
	} {
		t.Run(test.where+"/"+test.how, func(t *testing.T) {
			p := open(t, browser)
			p.choose("where", test.where)
			p.choose("interval", "5")
			state := func(s string) { t.Helper(); p.wait(fmt.Sprintf(`$("state").textContent === %q`, s)) }

			test.press(p, "start")
			p.wait(`+$("done").textContent > 0`)
			test.press(p, "pause")
			state("paused")
			paused := p.shown()
			p.frames(10)
			if s := p.shown(); s != paused || s.Waiting == 0 || s.Done+s.Waiting != tiles || s.Running != 0 {
				t.Errorf("paused at %+v, 10 frames later %+v", paused, s)
			}

			test.press(p, "resume")
			p.wait(fmt.Sprintf(`+$("done").textContent > %d`, paused.Done))
			test.press(p, "kill")
			state("killed")
			killed := p.shown()
			p.frames(10)
			if s := p.shown(); s != killed || s.Waiting != 0 || s.Done == 0 || s.Done == tiles {
				t.Errorf("killed at %+v, 10 frames later %+v", killed, s)
			}

			test.press(p, "start") // once more
			state("finished")
			if s := p.shown(); s.Done != tiles || s.Waiting != 0 {
				t.Errorf("finished at %+v", s)
			}
		})
	}
}

// A phone's page must not be wider than the phone.
func TestNarrow(t *testing.T) {
	p := open(t, openBrowser(t), chromedp.EmulateViewport(320, 640))
	if width := ask[int](p, `document.documentElement.scrollWidth`); width > 320 {
		t.Errorf("the page is %d pixels wide in a window of 320", width)
	}
}

func TestScreenshot(t *testing.T) {
	if *screenshot == "" {
		t.Skip("no -screenshot")
	}
	p := open(t, openBrowser(t), chromedp.EmulateViewport(1000, 724))
	p.measure("page", "16") // the first run is slower, until its code has been optimized
	p.press("text", "every letter comes at once")
	p.click("start")
	p.wait(fmt.Sprintf(`+$("done").textContent > %d`, tiles*2/5))
	png, err := chromedp.Run(p, chromedp.CaptureScreenshot())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(*screenshot, png, 0o666); err != nil {
		t.Fatal(err)
	}
}

// The address that the command prints is the page's, until it is interrupted.
func TestCommand(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	lines := make(chan string, 1)
	status := make(chan int, 1)
	var stderr strings.Builder
	go func() { status <- run(ctx, nil, lineWriter(lines), &stderr) }()
	var line string
	select {
	case line = <-lines:
	case n := <-status:
		t.Fatalf("status %d: %s", n, &stderr)
	}
	if !regexp.MustCompile(`^http://127\.0\.0\.1:[0-9]+/\n$`).MatchString(line) {
		t.Fatalf("printed %q", line)
	}
	for path, want := range map[string]string{
		"":             "text/html; charset=utf-8",
		"page.js":      "text/javascript; charset=utf-8",
		"wasm_exec.js": "text/javascript; charset=utf-8",
		"app.wasm":     "application/wasm",
	} {
		r, err := http.Get(strings.TrimSpace(line) + path)
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if got := r.Header.Get("Content-Type"); r.StatusCode != http.StatusOK || got != want {
			t.Errorf("/%s: %s, %s; want %s", path, r.Status, got, want)
		}
	}
	interrupt()
	if n := <-status; n != 0 || stderr.Len() > 0 {
		t.Errorf("status %d: %s", n, &stderr)
	}
}

type lineWriter chan<- string

func (w lineWriter) Write(b []byte) (int, error) {
	w <- string(b)
	return len(b), nil
}

func TestWrongCalls(t *testing.T) {
	for _, test := range []struct {
		args   []string
		status int
		stderr string
	}{
		{[]string{"-h"}, 0, "-addr"},
		{[]string{"-port"}, 2, "-port"},
		{[]string{"x"}, 2, "nothing follows"},
		{[]string{"-addr", "nowhere"}, 1, "nowhere"},
	} {
		var stdout, stderr strings.Builder
		status := run(t.Context(), test.args, &stdout, &stderr)
		if status != test.status || !strings.Contains(stderr.String(), test.stderr) || stdout.Len() > 0 {
			t.Errorf("%q: status %d, stdout %q, stderr %q", test.args, status, &stdout, &stderr)
		}
	}
}
