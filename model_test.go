package queue_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tickqueue/queue"
)

var seedFlag = flag.Uint64("seed", 0, "replay TestModel with this seed only")

// TestModel does random things to a queue and to a naive model of it.
func TestModel(t *testing.T) {
	seeds := []uint64{*seedFlag}
	if *seedFlag == 0 {
		seeds = make([]uint64, 200)
		for i := range seeds {
			seeds[i] = rand.Uint64() | 1
		}
	}
	for _, seed := range seeds {
		// The name tells how to replay a failure.
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			playScript(t, randomScript(seed))
		})
	}
}

// FuzzQueue is TestModel with a script that the fuzzer finds.
func FuzzQueue(f *testing.F) {
	for seed := range uint64(16) {
		f.Add(randomScript(seed))
	}
	f.Fuzz(playScript)
}

// A script is a header that chooses the queue and, for each step, a verb, its
// arguments, and whether to look at the queue, which has effects of its own.
// So a change of one byte changes one step.
const (
	headerBytes = 6
	stepBytes   = 5
)

func randomScript(seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 0))
	script := make([]byte, headerBytes+stepBytes*(20+r.IntN(200)))
	for i := range script {
		script[i] = byte(r.Uint32())
	}
	return script
}

func playScript(t *testing.T, script []byte) {
	if len(script) < headerBytes {
		return
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, script[:headerBytes])
		defer w.abandon()
		for step := range slices.Chunk(script[headerBytes:], stepBytes) {
			if len(step) == stepBytes {
				v := &verbs[verbOf[int(step[0])%len(verbOf)]]
				w.step(v.name, func() string { return v.do(w, int(step[1]), int(step[2]), int(step[3])) })
				if step[4]%4 > 0 {
					w.compare()
				}
			}
		}
		w.end()
	})
}

// A modelTask is what ought to become of a task.
type modelTask struct {
	id, priority int
	front        bool

	ticket  *queue.Ticket[int] // nil if there is none
	isEager bool               // the ticket is asked before the task settles, too
	do      bool               // given to Do
	ctx     context.Context    // of PushWait and Do
	cancel  context.CancelCauseFunc
	call    *modelCall // of PushWait and Do, and of Push from a hook

	phase  phase
	result int   // of a settled task
	err    error // of a settled task, or why it was refused
	cause  error // with which the context of the worker was canceled
}

type phase int

const (
	unborn phase = iota
	blocked
	refused
	waiting
	running
	settled
)

// A modelCall is what a call made by another goroutine has returned.
type modelCall struct {
	returned bool
	result   int
	err      error
}

// A model is what a queue ought to be whenever all goroutines have come to rest.
type model struct {
	concurrency, payload int
	capacity, buffer     int // buffer is -1 by default
	paused               bool
	closed, killed       bool
	cause                error // with which the workers' context was canceled

	blocked []*modelTask
	waiting []*modelTask
	working [][]*modelTask

	isLimited bool // workers wait for a limiter
	parked    int  // workers that do
	places    int  // workers in all, when the last change was complete

	active, saturated bool
	waits             []*modelWait

	listening map[string]bool
	isHeard   bool       // there is a hook for errors
	events    []string   // for which hooks are to be called
	hold      bool       // the next hook does not return for now
	isHeld    bool       // a hook has not returned
	refill    *modelTask // pushed by the next hook called for drain
	heard     []string   // by hooks since the last comparison
	failures  []string   // by the hook for errors since then

	pushed, succeeded, failed, dropped, passes uint64
}

// A modelWait is a call of Wait or Shutdown.
type modelWait struct {
	modelCall
	cancel context.CancelFunc
	over   bool
	err    error
}

func (m *model) isIdle() bool { return len(m.waiting) == 0 && len(m.working) == 0 }

func (m *model) room() int { return m.capacity - len(m.waiting) }

// startable is how many more workers may have tasks.
func (m *model) startable() int {
	if m.paused || m.killed {
		return 0
	}
	batches := (len(m.waiting) + m.payload - 1) / m.payload
	return min(batches, max(0, m.concurrency-len(m.working)))
}

func (m *model) runningTasks() (n int) {
	for _, batch := range m.working {
		n += len(batch)
	}
	return n
}

// emit has a hook called, if there is one; while others are to be called before,
// one may be set yet.
func (m *model) emit(hook string) {
	if !m.killed && (m.listening[hook] || m.isHeld || len(m.events) > 0) {
		m.events = append(m.events, hook)
	}
}

// deliver calls hooks, at the end of each step.
func (m *model) deliver() {
	for len(m.events) > 0 && !m.isHeld {
		hook := m.events[0]
		m.events = m.events[1:]
		if !m.listening[hook] {
			continue
		}
		m.heard = append(m.heard, hook)
		m.isHeld, m.hold = m.hold, false
		if hook == "drain" && m.refill != nil {
			m.push([]*modelTask{m.refill}, false)
			m.refill = nil
		}
	}
}

// insert puts a task among the waiting ones.
func (m *model) insert(task *modelTask) {
	at := len(m.waiting)
	for at > 0 && (m.waiting[at-1].priority < task.priority ||
		task.front && m.waiting[at-1].priority == task.priority) {
		at--
	}
	m.waiting = slices.Insert(m.waiting, at, task)
}

func (m *model) accept(task *modelTask) {
	task.phase = waiting
	m.insert(task)
	m.pushed++
	m.active = true
}

// push is a push of all tasks or none; one that waits is of one task.
func (m *model) push(tasks []*modelTask, waits bool) error {
	var err error
	switch {
	case m.closed:
		err = queue.ErrClosed
	case waits && tasks[0].ctx.Err() != nil:
		err = tasks[0].ctx.Err()
	case m.room() < len(tasks) && waits:
		tasks[0].phase = blocked
		m.blocked = append(m.blocked, tasks[0])
		return nil
	case m.room() < len(tasks):
		err = queue.ErrFull
	}
	if err != nil {
		for _, task := range tasks {
			task.phase, task.err = refused, err
		}
		return err
	}
	for i, task := range tasks {
		if task.front {
			task = tasks[len(tasks)-1-i]
		}
		m.accept(task)
	}
	m.consequences(false)
	return nil
}

// claim lets a worker take a batch. It goes straight to it if it had one just
// before.
func (m *model) claim(straight bool) {
	n := min(m.payload, len(m.waiting))
	batch := slices.Clone(m.waiting[:n])
	m.waiting = slices.Delete(m.waiting, 0, n)
	m.working = append(m.working, batch)
	for _, task := range batch {
		task.phase = running
		task.cause = m.cause
	}
	if len(m.waiting) == 0 {
		m.emit("empty")
	}
	if !straight && !m.saturated && len(m.working) == m.concurrency {
		m.saturated = true
		m.emit("saturated")
	}
}

func (m *model) checkUnsaturated() {
	buffer := m.buffer
	if buffer < 0 {
		buffer = (m.concurrency + 3) / 4
	}
	if m.saturated && m.places <= m.concurrency-min(max(buffer, 1), m.concurrency) {
		m.saturated = false
		m.emit("unsaturated")
	}
}

// consequences follow every change: those who wait for room get what there is,
// what may start does, in one pass unless a worker chains it on, and a queue
// without tasks is idle.
func (m *model) consequences(chained bool) {
	m.admit()
	if m.startable() > m.parked && !chained {
		m.passes++
	}
	if m.isLimited {
		m.parked = m.startable()
	}
	for !m.isLimited && m.startable() > 0 {
		m.claim(false)
		m.admit()
	}
	before := m.places
	m.places = len(m.working) + m.parked
	if m.places < before {
		m.checkUnsaturated()
	}
	if !m.active || !m.isIdle() {
		return
	}
	m.active = false
	for _, wait := range m.waits {
		wait.over = true
	}
	m.waits = nil
	m.emit("drain")
}

func (m *model) admit() {
	for len(m.blocked) > 0 && m.room() > 0 {
		m.accept(m.blocked[0])
		m.blocked = slices.Delete(m.blocked, 0, 1)
	}
}

// drop settles those of the waiting tasks that match.
func (m *model) drop(err error, match func(*modelTask) bool) (ids []int) {
	m.waiting = slices.DeleteFunc(m.waiting, func(task *modelTask) bool {
		if !match(task) {
			return false
		}
		task.phase, task.err = settled, err
		m.dropped++
		ids = append(ids, task.id)
		return true
	})
	return ids
}

func (m *model) close() {
	m.closed = true
	for _, task := range m.blocked {
		task.phase, task.err = refused, queue.ErrClosed
	}
	m.blocked = nil
}

func (m *model) kill(cause error) (ids []int) {
	m.close()
	m.killed, m.events = true, nil
	ids = m.drop(queue.ErrDropped, func(*modelTask) bool { return true })
	if m.cause == nil {
		m.cause = cause
		for _, batch := range m.working {
			for _, task := range batch {
				if task.cause == nil {
					task.cause = cause
				}
			}
		}
	}
	m.consequences(false)
	return ids
}

func (m *model) finish(i, result int, err error) {
	batch := m.working[i]
	m.working = slices.Delete(m.working, i, i+1)
	m.settle(batch, result, err)
	if !m.isLimited && m.startable() > 0 {
		m.claim(true)
	}
	m.consequences(true)
}

func (m *model) settle(batch []*modelTask, result int, err error) {
	for _, task := range batch {
		task.phase, task.result, task.err = settled, result, err
		if err == nil {
			m.succeeded++
			continue
		}
		m.failed++
		if m.isHeard {
			m.failures = append(m.failures, fmt.Sprint(task.id, ": ", err))
		}
	}
}

// permit is an answer of the limiter: a worker takes tasks, or the first task
// ends with an error.
func (m *model) permit(err error) {
	m.parked--
	if err == nil {
		m.claim(false)
	} else {
		task := m.waiting[0]
		m.waiting = slices.Delete(m.waiting, 0, 1)
		m.settle([]*modelTask{task}, 0, err)
	}
	m.consequences(true)
}

// A world is a queue and those who use it, beside the model of both.
type world struct {
	t        *testing.T
	q        *queue.Queue[int, int]
	m        *model
	spread   byte
	isMany   bool               // the queue is a cargo queue
	isKilled bool               // the script ends with Kill
	parent   context.CancelFunc // nil if there is none
	trace    []string

	tasks []*modelTask // by id
	waits []*modelWait

	permits chan error    // of the limiter; queue.ErrGoexit makes it end its goroutine
	held    chan struct{} // lets the hook return that is held
	over    chan struct{} // closed to let everything return

	mu       sync.Mutex
	runs     map[int]*modelRun // by the first task
	heard    []string          // since the last comparison
	failures []string          // since the last comparison
	goexit   bool              // hooks end their goroutine
	hold     bool              // the next hook does not return for now
	refill   *modelTask        // pushed by the next hook called for drain
	limited  int               // workers that wait for the limiter
}

// A modelRun is a call of the worker function.
type modelRun struct {
	ctx context.Context
	ids []int
	end chan modelEnd
}

// A modelEnd is how a call of the worker function ends.
type modelEnd struct {
	result int
	err    error
	panics any
	goexit bool
}

var (
	errModel       = errors.New("the task failed")
	errModelPanic  = errors.New("the task panicked")
	errModelCancel = errors.New("nobody wants it any more")
	errModelParent = errors.New("the program ends")
	errModelLimit  = errors.New("the limiter failed")
)

type modelKey struct{}

var stateHooks = []string{"empty", "saturated", "unsaturated", "drain"}

func newWorld(t *testing.T, header []byte) *world {
	m := &model{
		concurrency: 1 + int(header[0])%4,
		payload:     1,
		capacity:    math.MaxInt,
		buffer:      -1,
		listening:   make(map[string]bool),
	}
	w := &world{t: t, m: m, spread: header[3], isKilled: header[4]/4%2 == 0, runs: make(map[int]*modelRun),
		permits: make(chan error), held: make(chan struct{}), over: make(chan struct{})}
	var opts []queue.Option
	if header[1]%2 == 0 {
		m.capacity = 1 + int(header[1]/2)%6
		opts = append(opts, queue.WithCapacity(m.capacity))
	}
	if header[2]%2 == 0 {
		m.buffer = int(header[2]/2) % 6
		opts = append(opts, queue.WithBuffer(m.buffer))
	}
	if header[4]%3 == 0 {
		ctx, cancel := context.WithCancelCause(context.Background())
		w.parent = func() { cancel(errModelParent) }
		opts = append(opts, queue.WithContext(ctx))
	}
	if header[5]%4 == 0 {
		m.isLimited = true
		opts = append(opts, queue.WithLimiter(w))
	}
	if header[5]/4%4 == 0 && runtime.GOOS != "js" { // whose host is not in the bubble
		opts = append(opts, queue.WithYieldInterval(1))
	}
	if header[0]/4%3 == 0 {
		w.isMany = true
		m.payload = 1 + int(header[0])/12%4
		w.q = queue.NewCargo(w.work, m.concurrency, m.payload, opts...)
	} else {
		w.q = queue.New(func(ctx context.Context, id int) (int, error) {
			return w.work(ctx, []int{id})
		}, m.concurrency, opts...)
	}
	for _, hook := range stateHooks {
		w.listen(hook, true)
	}
	return w
}

// work is the worker function: it waits until the script ends it.
func (w *world) work(ctx context.Context, ids []int) (int, error) {
	run := &modelRun{ctx, ids, make(chan modelEnd)}
	w.mu.Lock()
	w.runs[ids[0]] = run
	w.mu.Unlock()
	var end modelEnd
	select {
	case end = <-run.end:
	case <-w.over:
	}
	switch {
	case end.panics != nil:
		panic(end.panics)
	case end.goexit:
		runtime.Goexit()
	}
	return end.result, end.err
}

// Wait is the limiter's.
func (w *world) Wait(ctx context.Context) error {
	count := func(n int) {
		w.mu.Lock()
		w.limited += n
		w.mu.Unlock()
	}
	count(1)
	defer count(-1)
	select {
	case err := <-w.permits:
		if err == queue.ErrGoexit {
			runtime.Goexit()
		}
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-w.over:
		return nil
	}
}

func (w *world) listen(hook string, on bool) {
	w.m.listening[hook] = on
	var f func()
	if on {
		f = func() { w.hear(hook) }
	}
	switch hook {
	case "empty":
		w.q.OnEmpty(f)
	case "saturated":
		w.q.OnSaturated(f)
	case "unsaturated":
		w.q.OnUnsaturated(f)
	case "drain":
		w.q.OnDrain(f)
	}
}

func (w *world) hear(hook string) {
	w.mu.Lock()
	w.heard = append(w.heard, hook)
	refill, goexit, hold := w.refill, w.goexit, w.hold
	if hook == "drain" {
		w.refill = nil
	}
	w.hold = false
	w.mu.Unlock()
	if hook == "drain" && refill != nil {
		refill.call.err = w.q.Push(refill.id, queue.Priority(refill.priority))
		refill.call.returned = true
	}
	if hold {
		select {
		case <-w.held:
		case <-w.over:
		}
	}
	if goexit {
		runtime.Goexit()
	}
}

func (w *world) hearError(id int, err error) {
	w.mu.Lock()
	w.failures = append(w.failures, fmt.Sprint(id, ": ", err))
	goexit := w.goexit
	w.mu.Unlock()
	if goexit {
		runtime.Goexit()
	}
}

// step takes a step and lets all goroutines come to rest. So much time has passed
// since the one before that every task may be the last before a yield.
func (w *world) step(name string, do func() string) {
	time.Sleep(time.Second)
	w.trace = append(w.trace, name)
	w.trace[len(w.trace)-1] += " " + do()
	w.m.deliver()
	synctest.Wait()
}

// send gives what is waited for.
func send[V any](w *world, to chan<- V, v V) {
	w.t.Helper()
	select {
	case to <- v:
	default:
		w.fatalf("nobody waits for %v", v)
	}
}

func (w *world) fatalf(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("concurrency %d, payload %d, capacity %d, buffer %d\n%s\n%s", w.m.concurrency, w.m.payload,
		w.m.capacity, w.m.buffer, strings.Join(w.trace, "\n"), fmt.Sprintf(format, args...))
}

// equal compares what a call in a step returned.
func (w *world) equal(what string, got, want any) {
	w.t.Helper()
	if !reflect.DeepEqual(got, want) {
		w.fatalf("%s: %v, want %v", what, got, want)
	}
}

// A view is what can be seen of a queue from outside.
type view struct {
	Stats            queue.Stats
	Len, Running     int
	Idle             bool
	Waiting, Working []int
	Heard, Failures  []string
	Limited          int // workers that wait for the limiter
}

func (w *world) compare() {
	w.t.Helper()
	m, q := w.m, w.q
	want := view{
		Stats: queue.Stats{
			Waiting:     len(m.waiting),
			Running:     m.runningTasks(),
			Concurrency: m.concurrency,
			Paused:      m.paused,
			Closed:      m.closed,
			Pushed:      m.pushed,
			Succeeded:   m.succeeded,
			Failed:      m.failed,
			Dropped:     m.dropped,
			Passes:      m.passes,
		},
		Len:      len(m.waiting),
		Running:  m.runningTasks(),
		Idle:     m.isIdle(),
		Waiting:  idsOf(m.waiting),
		Working:  idsOf(slices.Concat(m.working...)),
		Heard:    m.heard,
		Failures: m.failures,
		Limited:  m.parked,
	}
	got := view{
		Stats:    q.Stats(),
		Len:      q.Len(),
		Running:  q.Running(),
		Idle:     q.Idle(),
		Waiting:  slices.Collect(q.Waiting()),
		Working:  slices.Collect(q.Working()),
		Heard:    w.heard,
		Failures: w.failures,
		Limited:  w.limited,
	}
	want.Stats.Yields = got.Stats.Yields
	if !reflect.DeepEqual(got, want) {
		w.fatalf("got  %+v\nwant %+v", got, want)
	}
	if s := got.Stats; s.Pushed != s.Succeeded+s.Failed+s.Dropped+uint64(s.Waiting+s.Running) {
		w.fatalf("the sum is wrong: %+v", s)
	}

	w.equal("calls of the worker", len(w.runs), len(m.working))
	for _, batch := range m.working {
		run := w.runs[batch[0].id]
		if run == nil {
			w.fatalf("the worker was not called for %d", batch[0].id)
		}
		w.equal("batch", run.ids, idsOf(batch))
		w.equal("cause of the worker's context", context.Cause(run.ctx), batch[0].cause)
		if batch[0].do && !w.isMany {
			w.equal("value in the worker's context", run.ctx.Value(modelKey{}), any(batch[0].id))
		}
	}
	for _, task := range w.tasks {
		w.compareTask(task)
	}
	m.heard, m.failures = nil, nil
	w.heard, w.failures = nil, nil
	for i, wait := range w.waits {
		if wait.returned != wait.over || wait.modelCall.err != wait.err {
			w.fatalf("wait %d returned: %t, with %v; want %t, %v", i, wait.returned, wait.modelCall.err, wait.over, wait.err)
		}
	}
}

func (w *world) compareTask(task *modelTask) {
	w.t.Helper()
	if call := task.call; call != nil {
		want := modelCall{returned: task.phase != blocked && task.phase != unborn}
		switch {
		case task.phase == refused:
			want.err = task.err
		case task.do:
			want = modelCall{returned: task.phase == settled, result: task.result, err: task.err}
		}
		if call.returned != want.returned || call.returned && (call.result != want.result || !sameError(call.err, want.err)) {
			w.fatalf("the push of task %d: %+v, want %+v", task.id, *call, want)
		}
	}
	if task.ticket == nil || !task.isEager && task.phase != settled {
		return
	}
	done, cancel := context.WithCancel(context.Background())
	cancel()
	wantResult, wantErr := task.result, task.err
	if task.phase != settled {
		wantResult, wantErr = 0, context.Canceled
	}
	if result, err := task.ticket.Wait(done); result != wantResult || !sameError(err, wantErr) {
		w.fatalf("ticket %d: %d, %v, want %d, %v", task.id, result, err, wantResult, wantErr)
	}
	isDone := false
	select {
	case <-task.ticket.Done():
		isDone = true
	default:
	}
	if isDone != (task.phase == settled) {
		w.fatalf("ticket %d is done: %t", task.id, isDone)
	}
}

// sameError reports whether an error is the one wanted, or a panic with the same
// value.
func sameError(got, want error) bool {
	w, ok := errors.AsType[*queue.PanicError](want)
	if !ok {
		return got == want
	}
	g, ok := errors.AsType[*queue.PanicError](got)
	return ok && g.Value == w.Value && len(g.Stack) > 0
}

func idsOf(tasks []*modelTask) (ids []int) {
	for _, task := range tasks {
		ids = append(ids, task.id)
	}
	return ids
}

// end lets everything come to its end, and finds nothing left.
func (w *world) end() {
	last := func(name string, do func(a, b, c int) string) {
		w.step(name, func() string { return do(0, 0, 0) })
		w.compare()
	}
	if w.isKilled {
		last("kill", w.kill)
	}
	last("no refill", func(_, _, _ int) string { w.m.refill, w.refill = nil, nil; return "" })
	last("let the hook go on", w.letHookGoOn)
	last("resume", w.resume)
	for len(w.m.working) > 0 || w.m.parked > 0 {
		last("permit", w.permit)
		last("finish", w.finish)
	}
	w.equal("idle", w.q.Idle(), true)
	for _, task := range w.tasks {
		if task.phase != unborn && task.phase != refused && task.phase != settled {
			w.fatalf("task %d is in phase %d after the end", task.id, task.phase)
		}
		if task.cancel != nil {
			task.cancel(nil)
		}
	}
}

// abandon lets goroutines end that a failure has left behind.
func (w *world) abandon() {
	if w.t.Failed() {
		close(w.over)
		w.q.Kill()
	}
}

// A verb is something that a script can do. It does it to the queue and to the
// model, compares what is returned, and tells what it did.
type verb struct {
	name   string
	weight int // relative to other verbs
	do     func(w *world, a, b, c int) string
}

var verbs = []verb{
	{"push", 8, (*world).pushOne},
	{"push all", 4, (*world).pushAll},
	{"submit", 8, (*world).submit},
	{"push, waiting", 4, (*world).pushWait},
	{"do", 6, (*world).do},
	{"finish", 14, (*world).finish},
	{"fail", 5, (*world).fail},
	{"panic", 4, (*world).panicInTask},
	{"goexit", 3, (*world).goexitInTask},
	{"cancel", 4, (*world).cancel},
	{"set priority", 5, (*world).setPriority},
	{"remove", 2, (*world).remove},
	{"clear", 1, (*world).clearAll},
	{"pause", 2, (*world).pause},
	{"resume", 4, (*world).resume},
	{"set concurrency", 4, (*world).setConcurrency},
	{"end a context", 4, (*world).endContext},
	{"wait", 2, (*world).wait},
	{"end a wait", 1, (*world).endWait},
	{"open the inbox", 4, (*world).openInbox},
	{"push several, finish", 6, (*world).pushSeveral},
	{"set a hook", 3, (*world).setHook},
	{"set the hook for errors", 2, (*world).setErrorHook},
	{"let hooks exit", 1, (*world).letHooksExit},
	{"hold a hook", 2, (*world).holdHook},
	{"let the hook go on", 4, (*world).letHookGoOn},
	{"permit", 14, (*world).permit},
	{"refuse", 2, (*world).refuse},
	{"refill when drained", 1, (*world).refillWhenDrained},
	{"shutdown", 1, (*world).shutdown},
	{"kill", 1, (*world).kill},
	{"end the parent", 1, (*world).endParent},
}

var verbOf = func() (indexes []int) {
	for i, v := range verbs {
		indexes = append(indexes, slices.Repeat([]int{i}, v.weight)...)
	}
	return indexes
}()

// isRare makes what ends a script's variety rarer than a weight of 1 does.
func isRare(b int) bool { return b%8 == 0 }

func (w *world) newTask(a, b int) *modelTask {
	task := &modelTask{id: len(w.tasks) + 1, front: b%4 == 0}
	switch w.spread % 3 {
	case 0:
		task.priority = a%3 - 1
	case 1:
		task.priority = int(int8(a))
	case 2:
		task.priority = []int{math.MinInt, math.MinInt + 1, 0, math.MaxInt - 1, math.MaxInt}[a%5]
	}
	w.tasks = append(w.tasks, task)
	return task
}

func (task *modelTask) options() (opts []queue.PushOption) {
	if task.priority != 0 {
		opts = append(opts, queue.Priority(task.priority))
	}
	if task.front {
		opts = append(opts, queue.Front())
	}
	return opts
}

func (task *modelTask) String() string {
	front := ""
	if task.front {
		front = " in front"
	}
	return fmt.Sprintf("%d with priority %d%s", task.id, task.priority, front)
}

func (w *world) pushOne(a, b, _ int) string {
	task := w.newTask(a, b)
	err := w.q.Push(task.id, task.options()...)
	w.equal("error", err, w.m.push([]*modelTask{task}, false))
	return task.String()
}

func (w *world) pushAll(a, b, c int) string {
	var tasks []*modelTask
	for range c % 6 {
		tasks = append(tasks, w.newTask(a, b))
	}
	if len(tasks) == 0 {
		tasks = nil
		err := w.q.PushAll(nil, queue.Front())
		var want error
		if w.m.closed {
			want = queue.ErrClosed
		}
		w.equal("error", err, want)
		return "of nothing"
	}
	ids := idsOf(tasks)
	err := w.q.PushAll(ids, tasks[0].options()...)
	clear(ids) // the slice is ours again
	w.equal("error", err, w.m.push(tasks, false))
	return fmt.Sprintf("%d, the first %v", len(tasks), tasks[0])
}

func (w *world) submit(a, b, c int) string {
	task := w.newTask(a, b)
	ticket, err := w.q.Submit(task.id, task.options()...)
	task.isEager = c%2 == 0
	w.equal("error", err, w.m.push([]*modelTask{task}, false))
	w.equal("has a ticket", ticket != nil, err == nil)
	task.ticket = ticket
	return task.String()
}

// call makes the model's push before another goroutine makes the queue's: so
// whatever becomes of it in this step is known in time.
func (w *world) call(task *modelTask, c int, do func(ctx context.Context) (int, error)) string {
	ctx, cancel := context.WithCancelCause(context.WithValue(context.Background(), modelKey{}, task.id))
	task.ctx, task.cancel, task.call = ctx, cancel, new(modelCall)
	about := ""
	if c%8 == 0 {
		cancel(errModelCancel)
		about = " with a done context"
	}
	w.m.push([]*modelTask{task}, true)
	go func() {
		task.call.result, task.call.err = do(ctx)
		task.call.returned = true
	}()
	return task.String() + about
}

func (w *world) pushWait(a, b, c int) string {
	task := w.newTask(a, b)
	return w.call(task, c, func(ctx context.Context) (int, error) {
		return 0, w.q.PushWait(ctx, task.id, task.options()...)
	})
}

func (w *world) do(a, b, c int) string {
	task := w.newTask(a, b)
	task.do = true
	return w.call(task, c, func(ctx context.Context) (int, error) {
		return w.q.Do(ctx, task.id, task.options()...)
	})
}

// endRun ends a running batch.
func (w *world) endRun(c int, end modelEnd) string {
	m := w.m
	if len(m.working) == 0 {
		return "nothing"
	}
	i := c % len(m.working)
	batch := m.working[i]
	id := batch[0].id
	end.result = 1000 + id
	result, err := end.result, end.err
	switch {
	case end.panics != nil && !m.isHeard && !slices.ContainsFunc(batch, func(task *modelTask) bool {
		return task.ticket != nil || task.do
	}):
		return fmt.Sprintf("of %d would end the program", id)
	case end.panics != nil:
		result, err = 0, &queue.PanicError{Value: end.panics}
	case end.goexit:
		result, err = 0, queue.ErrGoexit
	}
	run := w.runs[id]
	delete(w.runs, id)
	m.finish(i, result, err)
	send(w, run.end, end)
	return fmt.Sprint(idsOf(batch))
}

func (w *world) finish(_, _, c int) string { return w.endRun(c, modelEnd{}) }

func (w *world) fail(_, _, c int) string { return w.endRun(c, modelEnd{err: errModel}) }

func (w *world) panicInTask(_, b, c int) string {
	var value any = errModelPanic
	if b%2 == 0 {
		value = "no error"
	}
	return w.endRun(c, modelEnd{panics: value})
}

func (w *world) goexitInTask(_, _, c int) string { return w.endRun(c, modelEnd{goexit: true}) }

// ticketed returns a task with a ticket, mostly one that waits, or nil.
func (w *world) ticketed(b, c int) *modelTask {
	with := func(tasks []*modelTask) (ticketed []*modelTask) {
		for _, task := range tasks {
			if task.ticket != nil {
				ticketed = append(ticketed, task)
			}
		}
		return ticketed
	}
	tasks := with(w.m.waiting)
	if len(tasks) == 0 || b%8 == 0 {
		tasks = with(w.tasks)
	}
	if len(tasks) == 0 {
		return nil
	}
	return tasks[c%len(tasks)]
}

func (w *world) cancel(_, b, c int) string {
	task := w.ticketed(b, c)
	if task == nil {
		return "nothing"
	}
	want := task.phase == waiting
	w.m.drop(queue.ErrDropped, func(other *modelTask) bool { return other == task })
	w.m.consequences(false)
	w.equal("canceled", task.ticket.Cancel(), want)
	return fmt.Sprint(task.id)
}

func (w *world) setPriority(a, b, c int) string {
	task := w.ticketed(b, c)
	if task == nil {
		return "nothing"
	}
	want := task.phase == waiting
	to := w.newTask(a, 1).priority // and a task that stays unborn
	w.equal("moved", task.ticket.SetPriority(to), want)
	if want {
		w.m.waiting = slices.DeleteFunc(w.m.waiting, func(other *modelTask) bool { return other == task })
		task.priority, task.front = to, false
		w.m.insert(task)
	}
	return fmt.Sprintf("of %d to %d", task.id, to)
}

func (w *world) remove(_, b, c int) string {
	modulus, rest := 1+b%4, c%3
	match := func(id int) bool { return id%modulus == rest }
	want := idsOf(w.m.waiting)
	var asked []int
	got := w.q.Remove(func(id int) bool {
		asked = append(asked, id)
		return match(id)
	})
	w.equal("asked about", asked, want)
	w.equal("removed", got, w.m.drop(queue.ErrDropped, func(task *modelTask) bool { return match(task.id) }))
	w.m.consequences(false)
	return fmt.Sprint(got)
}

func (w *world) clearAll(_, _, _ int) string {
	got := w.q.Clear()
	w.equal("cleared", got, w.m.drop(queue.ErrDropped, func(*modelTask) bool { return true }))
	w.m.consequences(false)
	return fmt.Sprint(got)
}

func (w *world) pause(_, _, _ int) string {
	w.m.paused = true
	w.m.consequences(false)
	w.q.Pause()
	return ""
}

func (w *world) resume(_, _, _ int) string {
	w.m.paused = false
	w.m.consequences(false)
	w.q.Resume()
	return ""
}

func (w *world) setConcurrency(_, b, _ int) string {
	n := 1 + b%5
	if b >= 250 {
		n = math.MaxInt
	}
	raised := n > w.m.concurrency
	w.m.concurrency = n
	if raised {
		w.m.checkUnsaturated()
	}
	w.m.consequences(false)
	w.q.SetConcurrency(n)
	return fmt.Sprint(n)
}

// openInbox does what otherwise happens by chance only. Nobody should notice.
func (w *world) openInbox(_, _, _ int) string {
	return fmt.Sprint(queue.OpenInbox(w.q))
}

// pushSeveral pushes several tasks that cannot start before a worker takes one,
// and lets some do so before any other method gathers them from the inbox.
func (w *world) pushSeveral(a, b, c int) string {
	m := w.m
	if !m.paused && !m.killed && len(m.working) < m.concurrency {
		return "later"
	}
	var about strings.Builder
	for i := range 1 + b%6 {
		push := w.pushOne
		if (a+i)%2 == 0 {
			push = w.submit
		}
		about.WriteString(push(a+37*i, b+i, i) + ", ")
		if i == 0 && c%2 == 0 {
			about.WriteString("inbox " + w.openInbox(0, 0, 0) + ", ")
		}
	}
	for range 1 + c/2%3 {
		about.WriteString("finish " + w.finish(a, b, c) + ", ")
		m.deliver()
		synctest.Wait()
	}
	return about.String()
}

// endContext cancels the context of a Do or PushWait.
func (w *world) endContext(_, b, c int) string {
	var tasks []*modelTask
	for _, task := range w.tasks {
		if task.cancel != nil && (b%8 == 0 || task.phase != settled && task.phase != refused) {
			tasks = append(tasks, task)
		}
	}
	if len(tasks) == 0 {
		return "nothing"
	}
	task := tasks[c%len(tasks)]
	isFirst := task.ctx.Err() == nil
	task.cancel(errModelCancel)
	switch {
	case task.phase == blocked:
		w.m.blocked = slices.DeleteFunc(w.m.blocked, func(other *modelTask) bool { return other == task })
		task.phase, task.err = refused, context.Canceled
	case task.phase == waiting && task.do:
		w.m.drop(context.Canceled, func(other *modelTask) bool { return other == task })
		w.m.consequences(false)
	case task.phase == running && task.do && !w.isMany && isFirst && task.cause == nil:
		task.cause = errModelCancel
	}
	return fmt.Sprint("of ", task.id)
}

// awaitWith makes another goroutine wait for the queue to be idle.
func (w *world) awaitWith(b int, f func(context.Context) error) string {
	ctx, cancel := context.WithCancel(context.Background())
	wait := &modelWait{cancel: cancel}
	about := ""
	if b%8 == 0 {
		cancel()
		about = "with a done context"
	}
	switch {
	case w.m.isIdle():
		wait.over = true
	case ctx.Err() != nil:
		wait.over, wait.err = true, ctx.Err()
	default:
		w.m.waits = append(w.m.waits, wait)
	}
	w.waits = append(w.waits, wait)
	go func() {
		defer cancel()
		wait.modelCall.err = f(ctx)
		wait.returned = true
	}()
	return about
}

func (w *world) wait(_, b, _ int) string { return w.awaitWith(b, w.q.Wait) }

func (w *world) endWait(_, _, c int) string {
	if len(w.m.waits) == 0 {
		return "nothing"
	}
	i := c % len(w.m.waits)
	wait := w.m.waits[i]
	w.m.waits = slices.Delete(w.m.waits, i, i+1)
	wait.over, wait.err = true, context.Canceled
	wait.cancel()
	return fmt.Sprint(i)
}

func (w *world) setHook(a, b, _ int) string {
	hook := stateHooks[a%len(stateHooks)]
	w.listen(hook, b%2 == 0)
	return fmt.Sprint(hook, " ", w.m.listening[hook])
}

func (w *world) setErrorHook(_, b, _ int) string {
	w.m.isHeard = b%2 == 0
	if w.m.isHeard {
		w.q.OnError(w.hearError)
	} else {
		w.q.OnError(nil)
	}
	return fmt.Sprint(w.m.isHeard)
}

func (w *world) letHooksExit(_, b, _ int) string {
	w.goexit = b%2 == 0
	return fmt.Sprint(w.goexit)
}

func (w *world) holdHook(_, _, _ int) string {
	w.m.hold, w.hold = !w.m.isHeld, !w.m.isHeld
	return fmt.Sprint(w.hold)
}

func (w *world) letHookGoOn(_, _, _ int) string {
	w.m.hold, w.hold = false, false
	if !w.m.isHeld {
		return "nothing"
	}
	w.m.isHeld = false
	send(w, w.held, struct{}{})
	return ""
}

func (w *world) permit(_, _, _ int) string { return w.answer(nil) }

func (w *world) refuse(_, b, _ int) string {
	if b%2 == 0 {
		return w.answer(queue.ErrGoexit)
	}
	return w.answer(errModelLimit)
}

// answer lets the limiter answer a worker that waits for it.
func (w *world) answer(err error) string {
	if w.m.parked == 0 {
		return "nobody"
	}
	w.m.permit(err)
	send(w, w.permits, err)
	return fmt.Sprint(err)
}

func (w *world) refillWhenDrained(a, _, _ int) string {
	if w.m.refill != nil {
		return "already"
	}
	task := w.newTask(a, 1)
	task.call = new(modelCall)
	w.m.refill, w.refill = task, task
	return task.String()
}

func (w *world) shutdown(_, b, c int) string {
	if !isRare(b) {
		return "later"
	}
	w.m.close()
	return w.awaitWith(c, w.q.Shutdown)
}

func (w *world) kill(_, b, _ int) string {
	if !isRare(b) {
		return "later"
	}
	got := w.q.Kill()
	w.equal("killed", got, w.m.kill(queue.ErrClosed))
	return fmt.Sprint(got)
}

func (w *world) endParent(_, b, _ int) string {
	if w.parent == nil || !isRare(b) {
		return "later"
	}
	w.parent()
	w.m.kill(errModelParent)
	return ""
}
