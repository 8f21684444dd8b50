package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tickqueue/queue"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// picture is red on its left and blue on its right.
func picture(width, height int) image.Image {
	m := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			c := color.NRGBA{R: 255, A: 255}
			if x >= width/2 {
				c = color.NRGBA{B: 255, A: 255}
			}
			m.SetNRGBA(x, y, c)
		}
	}
	return m
}

func pngOf(t *testing.T, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, picture(width, height)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func jpegOf(t *testing.T, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, picture(width, height), nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// claiming returns a PNG whose header claims another size.
func claiming(t *testing.T, width, height uint32) []byte {
	t.Helper()
	b := pngOf(t, 1, 1)
	header := b[12:29] // the type and the content of the first chunk; its checksum follows
	binary.BigEndian.PutUint32(header[4:], width)
	binary.BigEndian.PutUint32(header[8:], height)
	binary.BigEndian.PutUint32(b[29:], crc32.ChecksumIEEE(header))
	return b
}

// An answer is what a client gets.
type answer struct {
	status int
	header http.Header
	body   []byte
	err    error
}

// A client sends requests to one server.
type client struct {
	t    *testing.T
	url  string
	http *http.Client
}

func newClient(t *testing.T, addr net.Addr) client {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return client{t, "http://" + addr.String(), &http.Client{Transport: transport}}
}

func (c client) do(ctx context.Context, method, path string, body []byte, headers ...string) answer {
	req, err := http.NewRequestWithContext(ctx, method, c.url+path, bytes.NewReader(body))
	if err != nil {
		return answer{err: err}
	}
	for _, h := range headers {
		req.Header.Set(h, "yes")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, b, err}
}

func (c client) post(body []byte, headers ...string) answer {
	return c.do(c.t.Context(), "POST", "/thumbnail", body, headers...)
}

// start sends a request, and its answer where it is awaited.
func (c client) start(answers chan<- answer, path string, body []byte, headers ...string) {
	go func() { answers <- c.do(c.t.Context(), "POST", path, body, headers...) }()
}

func (c client) stats() queue.Stats {
	c.t.Helper()
	a := c.do(c.t.Context(), "GET", "/stats", nil)
	if a.err != nil || a.status != 200 || a.header.Get("Content-Type") != "application/json" {
		c.t.Fatalf("GET /stats: status %d, %v, %v", a.status, a.header, a.err)
	}
	var s queue.Stats
	if err := json.Unmarshal(a.body, &s); err != nil {
		c.t.Fatal(err)
	}
	return s
}

// await asks for the stats until they are as expected. Nothing else tells that a request has come to wait.
func (c client) await(what func(queue.Stats) bool) {
	c.t.Helper()
	for !what(c.stats()) {
	}
}

func waiting(n int) func(queue.Stats) bool {
	return func(s queue.Stats) bool { return s.Waiting == n }
}

// gate is a worker that scales when it is let.
type gate struct {
	started chan int      // the max of each job
	open    chan struct{} // a value lets one pass, closing it lets all
}

func newGate() gate { return gate{make(chan int, 100), make(chan struct{})} }

func (g gate) scale(ctx context.Context, j job) ([]byte, error) {
	g.started <- j.max
	select {
	case <-g.open:
		return scale(ctx, j)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func start(t *testing.T, worker func(context.Context, job) ([]byte, error), concurrency, capacity int) (*server, client) {
	t.Helper()
	s := newServer(worker, concurrency, capacity, log.New(t.Output(), "", 0))
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	return s, newClient(t, h.Listener.Addr())
}

func expectBusy(t *testing.T, a answer) {
	t.Helper()
	if a.err != nil || a.status != 503 || a.header.Get("Retry-After") == "" {
		t.Errorf("status %d %s, %v, %v; want 503 with Retry-After", a.status, a.body, a.header, a.err)
	}
}

func expectImage(t *testing.T, a answer) {
	t.Helper()
	if a.err != nil || a.status != 200 {
		t.Errorf("status %d %.100q, %v; want an image", a.status, a.body, a.err)
	} else if _, _, err := image.Decode(bytes.NewReader(a.body)); err != nil {
		t.Error(err)
	}
}

func TestThumbnail(t *testing.T) {
	_, c := start(t, scale, 2, 2)
	for _, test := range []struct {
		name   string
		image  []byte
		query  string
		format string
		size   image.Point
	}{
		{"wide PNG", pngOf(t, 600, 300), "", "png", image.Pt(256, 128)},
		{"wide JPEG", jpegOf(t, 400, 200), "?max=100", "jpeg", image.Pt(100, 50)},
		{"tall JPEG", jpegOf(t, 120, 360), "?max=90", "jpeg", image.Pt(30, 90)},
		{"small PNG", pngOf(t, 30, 20), "", "png", image.Pt(30, 20)},
		{"thin PNG", pngOf(t, 5000, 2), "?max=50", "png", image.Pt(50, 1)},
		{"to a dot", pngOf(t, 64, 64), "?max=1", "png", image.Pt(1, 1)},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := c.do(t.Context(), "POST", "/thumbnail"+test.query, test.image)
			if a.err != nil || a.status != 200 || a.header.Get("Content-Type") != "image/"+test.format {
				t.Fatalf("status %d %.100q, %v, %v", a.status, a.body, a.header, a.err)
			}
			m, format, err := image.Decode(bytes.NewReader(a.body))
			if err != nil || format != test.format || m.Bounds().Size() != test.size {
				t.Fatalf("%s of %v, %v; want %s of %v", format, m.Bounds(), err, test.format, test.size)
			}
			if test.size.X == 1 {
				return
			}
			if r, _, b, _ := m.At(0, 0).RGBA(); r < 0xe000 || b > 0x2000 {
				t.Errorf("left is %v, want red", m.At(0, 0))
			}
			if r, _, b, _ := m.At(test.size.X-1, test.size.Y-1).RGBA(); b < 0xe000 || r > 0x2000 {
				t.Errorf("right is %v, want blue", m.At(test.size.X-1, test.size.Y-1))
			}
		})
	}
}

func TestRefused(t *testing.T) {
	_, c := start(t, scale, 2, 2)
	whole := pngOf(t, 100, 100)
	var animated bytes.Buffer
	if err := gif.Encode(&animated, picture(9, 9), nil); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name         string
		method, path string
		body         []byte
		status       int
	}{
		{"text", "POST", "/thumbnail", []byte("not an image"), 415},
		{"GIF", "POST", "/thumbnail", animated.Bytes(), 415},
		{"nothing", "POST", "/thumbnail", nil, 415},
		{"broken header", "POST", "/thumbnail", whole[:20], 400},
		{"cut off", "POST", "/thumbnail", whole[:len(whole)/2], 400},
		{"pixels", "POST", "/thumbnail", claiming(t, 19_000, 19_000), 413},
		{"side", "POST", "/thumbnail", claiming(t, maxSide+1, 1), 413},
		{"bytes", "POST", "/thumbnail", make([]byte, maxBody+1), 413},
		{"max 0", "POST", "/thumbnail?max=0", whole, 400},
		{"max too large", "POST", fmt.Sprint("/thumbnail?max=", maxThumbnail+1), whole, 400},
		{"max no number", "POST", "/thumbnail?max=big", whole, 400},
		{"method", "GET", "/thumbnail", nil, 405},
		{"path", "POST", "/", whole, 404},
	} {
		t.Run(test.name, func(t *testing.T) {
			if a := c.do(t.Context(), test.method, test.path, test.body); a.err != nil || a.status != test.status || len(a.body) == 0 {
				t.Errorf("status %d %q, %v; want %d and a reason", a.status, a.body, a.err, test.status)
			}
		})
	}
	expectImage(t, c.post(whole)) // the refused hold no places
}

func TestPanic(t *testing.T) {
	_, c := start(t, func(context.Context, job) ([]byte, error) { panic("a decoder's fault") }, 1, 1)
	for range 3 {
		if a := c.post(pngOf(t, 9, 9)); a.status != 500 || strings.Contains(string(a.body), "fault") {
			t.Errorf("status %d %q, want 500 without details", a.status, a.body)
		}
	}
}

func TestOverload(t *testing.T) {
	const concurrency, capacity, surplus = 2, 3, 4
	g := newGate()
	_, c := start(t, g.scale, concurrency, capacity)
	image := pngOf(t, 40, 40)
	answers := make(chan answer)
	for range concurrency + capacity + surplus {
		c.start(answers, "/thumbnail", image)
	}
	for range surplus {
		expectBusy(t, <-answers) // nothing else can be answered while the gate is shut
	}
	c.await(waiting(capacity))
	expectBusy(t, c.post(image, paid))
	close(g.open)
	for range concurrency + capacity {
		expectImage(t, <-answers)
	}
	expectImage(t, c.post(image))
	if s := c.stats(); s.Pushed != concurrency+capacity+1 || s.Succeeded != s.Pushed {
		t.Errorf("%+v", s)
	}
}

func TestPaidFirst(t *testing.T) {
	g := newGate()
	_, c := start(t, g.scale, 1, 10)
	image := pngOf(t, 40, 40)
	answers := make(chan answer)
	c.start(answers, "/thumbnail?max=1", image)
	order := []int{<-g.started}
	for i, headers := range [][]string{nil, nil, {paid}, {paid}} {
		c.start(answers, fmt.Sprint("/thumbnail?max=", i+2), image, headers...)
		c.await(waiting(i + 1))
	}
	close(g.open)
	for range 5 {
		expectImage(t, <-answers)
	}
	for range 4 {
		order = append(order, <-g.started)
	}
	if want := []int{1, 4, 5, 2, 3}; !slices.Equal(order, want) {
		t.Errorf("started in the order %v, want %v", order, want)
	}
}

func TestHangUp(t *testing.T) {
	g := newGate()
	s, c := start(t, g.scale, 1, 10)
	image := pngOf(t, 40, 40)
	answers := make(chan answer)
	c.start(answers, "/thumbnail?max=1", image)
	<-g.started

	// While they wait: they never run.
	ctx, hangUp := context.WithCancel(t.Context())
	var gone sync.WaitGroup
	for range 5 {
		gone.Go(func() { c.do(ctx, "POST", "/thumbnail?max=2", image) })
	}
	c.await(waiting(5))
	c.start(answers, "/thumbnail?max=3", image)
	c.await(waiting(6))
	hangUp()
	gone.Wait()
	c.await(func(s queue.Stats) bool { return s.Waiting == 1 && s.Dropped == 5 })
	g.open <- struct{}{}
	expectImage(t, <-answers)
	if max := <-g.started; max != 3 {
		t.Errorf("max=%d started, want 3", max)
	}

	// While it runs: the worker's context tells it.
	g.open <- struct{}{}
	expectImage(t, <-answers)
	ctx, hangUp = context.WithCancel(t.Context())
	gone.Go(func() { c.do(ctx, "POST", "/thumbnail?max=4", image) })
	<-g.started
	hangUp()
	gone.Wait()
	c.await(func(s queue.Stats) bool { return s.Running == 0 && s.Failed == 1 })

	// In the middle of the upload: the place is free again.
	conn, err := net.Dial("tcp", strings.TrimPrefix(c.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "POST /thumbnail HTTP/1.1\r\nHost: test\r\nContent-Length: %d\r\n\r\n%s", len(image), image[:10])
	c.await(func(queue.Stats) bool { return len(s.places) == 1 })
	conn.Close()
	c.await(func(queue.Stats) bool { return len(s.places) == 0 })
}

// serving runs a server the way main does.
func serving(t *testing.T, s *server, drain time.Duration) (c client, terminate func(), ended <-chan error) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	end := make(chan error, 1)
	go func() { end <- s.serve(ctx, listener, drain) }()
	c = newClient(t, listener.Addr())
	// A server that stops closes idle connections, whatever a client is about to send on them.
	c.http.Transport.(*http.Transport).DisableKeepAlives = true
	return c, cancel, end
}

func TestShutdownDrains(t *testing.T) {
	g := newGate()
	s := newServer(g.scale, 2, 10, log.New(t.Output(), "", 0))
	c, terminate, ended := serving(t, s, time.Hour)
	image := pngOf(t, 40, 40)
	answers := make(chan answer)
	for range 8 {
		c.start(answers, "/thumbnail", image)
	}
	c.await(waiting(6))
	terminate()
	c.await(func(s queue.Stats) bool { return s.Closed })
	expectBusy(t, c.post(image)) // told so, not cut off
	close(g.open)
	for range 8 {
		expectImage(t, <-answers)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if a := c.post(image); a.err == nil {
		t.Errorf("status %d after the end", a.status)
	}
}

func TestShutdownKills(t *testing.T) {
	g := newGate()
	s := newServer(g.scale, 2, 10, log.New(t.Output(), "", 0))
	c, terminate, ended := serving(t, s, 0)
	image := pngOf(t, 40, 40)
	answers := make(chan answer)
	for range 8 {
		c.start(answers, "/thumbnail", image)
	}
	c.await(waiting(6))
	terminate()
	for range 8 {
		expectBusy(t, <-answers)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if s := s.queue.Stats(); s.Dropped != 6 || s.Failed != 2 {
		t.Errorf("%+v, want 6 dropped and 2 failed", s)
	}
}

// Whatever a request was doing when the end came, it is answered.
func TestShutdownUnderLoad(t *testing.T) {
	for _, drain := range []time.Duration{0, time.Millisecond, time.Hour} {
		t.Run(drain.String(), func(t *testing.T) {
			s := newServer(scale, 2, 4, log.New(t.Output(), "", 0))
			var accepted, answered, images atomic.Int64
			handler := s.Handler
			s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				accepted.Add(1)
				handler.ServeHTTP(w, r)
			})
			c, terminate, ended := serving(t, s, drain)
			image := jpegOf(t, 80, 60)
			var load sync.WaitGroup
			for range 10 {
				load.Go(func() {
					for {
						a := c.post(image)
						switch {
						case a.err != nil:
							return // not accepted, or the counts will differ
						case a.status == 200:
							expectImage(t, a)
							if images.Add(1) == 20 {
								terminate()
							}
						default:
							expectBusy(t, a)
						}
						answered.Add(1)
					}
				})
			}
			load.Wait()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if accepted, answered := accepted.Load(), answered.Load(); accepted != answered {
				t.Errorf("%d accepted, %d answered", accepted, answered)
			}
		})
	}
}

func TestRun(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, test := range []struct {
		args   []string
		status int
		says   string
	}{
		{[]string{"-h"}, 0, "Usage of thumbnails"},
		{[]string{"-x"}, 2, "not defined: -x"},
		{[]string{"-j", "0"}, 2, "at least 1"},
		{[]string{"-capacity", "0"}, 2, "at least 1"},
		{[]string{"-drain", "-1s"}, 2, "not negative"},
		{[]string{"what"}, 2, "nothing follows"},
		{[]string{"-addr", taken.Addr().String()}, 1, "address already in use"},
	} {
		var stderr bytes.Buffer
		if status := run(t.Context(), test.args, &stderr); status != test.status || !strings.Contains(stderr.String(), test.says) {
			t.Errorf("%q: status %d, says %q; want %d, %q", test.args, status, &stderr, test.status, test.says)
		}
	}
}

func TestTerminateSignal(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no SIGTERM")
	}
	program := filepath.Join(t.TempDir(), "thumbnails")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	cmd := exec.Command(program, "-addr", "127.0.0.1:0")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	says := bufio.NewReader(stderr)
	line, err := says.ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "thumbnails: listening on ")
	if !ok {
		t.Fatalf("says %q, %v", line, err)
	}
	c := client{t, url, http.DefaultClient}
	defer http.DefaultClient.CloseIdleConnections()
	expectImage(t, c.post(jpegOf(t, 400, 300)))
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if rest, _ := io.ReadAll(says); len(rest) > 0 {
		t.Errorf("says %q at the end", rest)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
