package main

import (
	"container/heap"
	"context"
	"sync"

	"github.com/alitto/pond/v2"
	"github.com/bytedance/gopkg/util/gopool"
	"github.com/gammazero/workerpool"
	"github.com/panjf2000/ants/v2"
	concpool "github.com/sourcegraph/conc/pool"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/tickqueue/queue"
)

// A pool is what every subject offers, each in the way its users write it.
type pool interface {
	push(i int) // task number i
	finish()    // waits for all tasks, and lets go of the workers
}

// Some offer more.
type (
	prioritizer interface{ pushPriority(i, priority int) }
	// A waiter can wait for a task and go on. A conc pool is spent by its Wait.
	waiter interface{ pushWait(i int) }
	// A resulter runs n tasks that return their number, and adds up what
	// comes back. The others' tasks write to a slice.
	resulter interface{ results(n int) int }
)

// A work is what the tasks do.
type work struct {
	do func(i int)
	// The tasks do not look at their number, so that one func serves for all:
	// a push costs what the subject makes of it, and no closure of ours.
	alike bool
}

// closures returns what gives the func of a task, as build makes it.
func closures[F any](w work, build func(i int) F) func(i int) F {
	if !w.alike {
		return build
	}
	one := build(0)
	return func(int) F { return one }
}

func (w work) funcs() func(i int) func() {
	return closures(w, func(i int) func() { return func() { w.do(i) } })
}

// counted is for pools that have no wait of their own.
func (w work) counted(tasks *sync.WaitGroup) func(i int) func() {
	return closures(w, func(i int) func() {
		return func() {
			defer tasks.Done()
			w.do(i)
		}
	})
}

type subject struct {
	name string
	kind kind
	// Push waits for a worker, or for room in a small buffer, so that no
	// backlog can be.
	bounded bool
	open    func(c int, w work) pool // nil for those in Node
}

type kind int

const (
	ours      kind = iota
	aPool          // what the queue is measured by
	yardstick      // no library: what people write themselves
	inNode
)

var subjects = []subject{
	{"queue", ours, false, openQueue},
	{"channel", yardstick, true, openChannel},
	{"heap", yardstick, false, openHeap},
	{"errgroup", aPool, true, openErrgroup},
	{"semaphore", yardstick, true, openSemaphore},
	{"conc", aPool, true, openConc},
	{"ants", aPool, true, openAnts},
	{"pond", aPool, false, openPond},
	{"gopool", aPool, false, openGopool},
	{"workerpool", aPool, false, openWorkerpool},
	{"async", inNode, false, nil},
	{"fastq", inNode, false, nil},
	{"p-queue", inNode, false, nil},
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// queuePool is given values, and its worker does the work.
type queuePool struct {
	*queue.Queue[int, struct{}]
	c int
}

func openQueue(c int, w work) pool {
	return queuePool{queue.New(func(_ context.Context, i int) (struct{}, error) {
		w.do(i)
		return struct{}{}, nil
	}, c), c}
}

func (p queuePool) push(i int)               { must(p.Push(i)) }
func (p queuePool) pushPriority(i, prio int) { must(p.Push(i, queue.Priority(prio))) }
func (p queuePool) pushWait(i int)           { p.push(i); p.finish() }
func (p queuePool) finish()                  { must(p.Wait(context.Background())) }

func (p queuePool) results(n int) (sum int) {
	q := queue.New(func(_ context.Context, i int) (int, error) { return i, nil }, p.c)
	tickets := make([]*queue.Ticket[int], n)
	for i := range tickets {
		t, err := q.Submit(i)
		must(err)
		tickets[i] = t
	}
	for _, t := range tickets {
		i, err := t.Wait(context.Background())
		must(err)
		sum += i
	}
	return sum
}

// A numbered task of the yardsticks closes done, if it is not nil, when it has run.
type numbered struct {
	i    int
	done chan struct{}
}

func (w work) run(t numbered) {
	w.do(t.i)
	if t.done != nil {
		close(t.done)
	}
}

type channelPool struct {
	tasks   chan numbered
	workers sync.WaitGroup
}

func openChannel(c int, w work) pool {
	p := &channelPool{tasks: make(chan numbered, 1024)}
	for range c {
		p.workers.Go(func() {
			for t := range p.tasks {
				w.run(t)
			}
		})
	}
	return p
}

func (p *channelPool) push(i int) { p.tasks <- numbered{i: i} }
func (p *channelPool) finish()    { close(p.tasks); p.workers.Wait() }

func (p *channelPool) pushWait(i int) {
	t := numbered{i, make(chan struct{})}
	p.tasks <- t
	<-t.done
}

// heapPool is the priority queue of the textbooks: container/heap under a lock.
type heapPool struct {
	work
	mu      sync.Mutex
	tasks   taskHeap
	pushed  int
	closed  bool
	more    sync.Cond
	workers sync.WaitGroup
}

type heapTask struct {
	priority, number int // number keeps the order within a priority
	numbered
}

type taskHeap []heapTask

func (h taskHeap) Len() int      { return len(h) }
func (h taskHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *taskHeap) Push(t any)   { *h = append(*h, t.(heapTask)) }
func (h taskHeap) Less(i, j int) bool {
	if h[i].priority != h[j].priority {
		return h[i].priority > h[j].priority
	}
	return h[i].number < h[j].number
}

func (h *taskHeap) Pop() any {
	last := len(*h) - 1
	t := (*h)[last]
	(*h)[last] = heapTask{}
	*h = (*h)[:last]
	return t
}

func openHeap(c int, w work) pool {
	p := &heapPool{work: w}
	p.more.L = &p.mu
	for range c {
		p.workers.Go(p.drain)
	}
	return p
}

func (p *heapPool) drain() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		for len(p.tasks) == 0 && !p.closed {
			p.more.Wait()
		}
		if len(p.tasks) == 0 {
			return
		}
		t := heap.Pop(&p.tasks).(heapTask)
		p.mu.Unlock()
		p.run(t.numbered)
		p.mu.Lock()
	}
}

func (p *heapPool) push(i int)                   { p.add(0, numbered{i: i}) }
func (p *heapPool) pushPriority(i, priority int) { p.add(priority, numbered{i: i}) }

func (p *heapPool) pushWait(i int) {
	t := numbered{i, make(chan struct{})}
	p.add(0, t)
	<-t.done
}

func (p *heapPool) add(priority int, t numbered) {
	p.mu.Lock()
	p.pushed++
	heap.Push(&p.tasks, heapTask{priority, p.pushed, t})
	p.mu.Unlock()
	p.more.Signal()
}

func (p *heapPool) finish() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.more.Broadcast()
	p.workers.Wait()
}

type errgroupPool struct {
	errgroup.Group
	task func(i int) func() error
}

func openErrgroup(c int, w work) pool {
	p := &errgroupPool{task: closures(w, func(i int) func() error {
		return func() error { w.do(i); return nil }
	})}
	p.SetLimit(c)
	return p
}

func (p *errgroupPool) push(i int)     { p.Go(p.task(i)) }
func (p *errgroupPool) pushWait(i int) { p.push(i); p.finish() }
func (p *errgroupPool) finish()        { must(p.Wait()) }

type semaphorePool struct {
	*semaphore.Weighted
	c int64
	work
}

func openSemaphore(c int, w work) pool {
	return semaphorePool{semaphore.NewWeighted(int64(c)), int64(c), w}
}

func (p semaphorePool) push(i int) {
	must(p.Acquire(context.Background(), 1))
	go func() {
		defer p.Release(1)
		p.do(i)
	}()
}

func (p semaphorePool) pushWait(i int) { p.push(i); p.finish(); p.Release(p.c) }
func (p semaphorePool) finish()        { must(p.Acquire(context.Background(), p.c)) }

type concPool struct {
	*concpool.Pool
	c    int
	task func(i int) func()
}

func openConc(c int, w work) pool {
	return concPool{concpool.New().WithMaxGoroutines(c), c, w.funcs()}
}

func (p concPool) push(i int) { p.Go(p.task(i)) }
func (p concPool) finish()    { p.Wait() }

func (p concPool) results(n int) (sum int) {
	pool := concpool.NewWithResults[int]().WithMaxGoroutines(p.c)
	for i := range n {
		pool.Go(func() int { return i })
	}
	for _, i := range pool.Wait() {
		sum += i
	}
	return sum
}

type antsPool struct {
	*ants.Pool
	tasks sync.WaitGroup
	task  func(i int) func()
}

func openAnts(c int, w work) pool {
	inner, err := ants.NewPool(c)
	must(err)
	p := &antsPool{Pool: inner}
	p.task = w.counted(&p.tasks)
	return p
}

func (p *antsPool) push(i int) {
	p.tasks.Add(1)
	must(p.Submit(p.task(i)))
}

func (p *antsPool) pushWait(i int) { p.push(i); p.tasks.Wait() }
func (p *antsPool) finish()        { p.tasks.Wait(); p.Release() }

type pondPool struct {
	pond.Pool
	c    int
	task func(i int) func()
}

func openPond(c int, w work) pool { return pondPool{pond.NewPool(c), c, w.funcs()} }

func (p pondPool) push(i int)     { must(p.Go(p.task(i))) }
func (p pondPool) pushWait(i int) { must(p.Submit(p.task(i)).Wait()) }
func (p pondPool) finish()        { p.StopAndWait() }

func (p pondPool) results(n int) (sum int) {
	pool := pond.NewResultPool[int](p.c)
	futures := make([]pond.ResultTask[int], n)
	for i := range futures {
		futures[i] = pool.Submit(func() int { return i })
	}
	for _, f := range futures {
		i, err := f.Wait()
		must(err)
		sum += i
	}
	return sum
}

type gopoolPool struct {
	gopool.Pool
	tasks sync.WaitGroup
	task  func(i int) func()
}

func openGopool(c int, w work) pool {
	p := &gopoolPool{Pool: gopool.NewPool("peer", int32(c), gopool.NewConfig())}
	p.task = w.counted(&p.tasks)
	return p
}

func (p *gopoolPool) push(i int) {
	p.tasks.Add(1)
	p.Go(p.task(i))
}

func (p *gopoolPool) pushWait(i int) { p.push(i); p.tasks.Wait() }
func (p *gopoolPool) finish()        { p.tasks.Wait() }

type workerpoolPool struct {
	*workerpool.WorkerPool
	task func(i int) func()
}

func openWorkerpool(c int, w work) pool { return workerpoolPool{workerpool.New(c), w.funcs()} }

func (p workerpoolPool) push(i int)     { p.Submit(p.task(i)) }
func (p workerpoolPool) pushWait(i int) { p.SubmitWait(p.task(i)) }
func (p workerpoolPool) finish()        { p.StopWait() }
