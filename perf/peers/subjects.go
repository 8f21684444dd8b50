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
	push(task func())
	finish() // waits for all tasks, and lets go of the workers
}

// Some offer more.
type (
	prioritizer interface {
		pushPriority(task func(), priority int)
	}
	// A waiter can wait for a task and go on. A conc pool is spent by its Wait.
	waiter interface{ pushWait(task func()) }
	// A resulter runs n tasks that return their number, and adds up what
	// comes back. The others' tasks write to a slice.
	resulter interface{ results(n int) int }
)

type subject struct {
	name string
	kind kind
	// Push waits for a worker, or for room in a small buffer, so that no
	// backlog can be.
	bounded bool
	open    func(c int) pool // nil for those in Node
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

type queuePool struct {
	*queue.Queue[func(), struct{}]
	c int
}

func openQueue(c int) pool {
	return queuePool{queue.New(func(_ context.Context, task func()) (struct{}, error) {
		task()
		return struct{}{}, nil
	}, c), c}
}

func (p queuePool) push(task func())                   { must(p.Push(task)) }
func (p queuePool) pushPriority(task func(), prio int) { must(p.Push(task, queue.Priority(prio))) }
func (p queuePool) finish()                            { must(p.Wait(context.Background())) }

func (p queuePool) pushWait(task func()) {
	must(p.Push(task))
	must(p.Wait(context.Background()))
}

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

type channelPool struct {
	tasks   chan func()
	workers sync.WaitGroup
}

func openChannel(c int) pool {
	p := &channelPool{tasks: make(chan func(), 1024)}
	for range c {
		p.workers.Go(func() {
			for task := range p.tasks {
				task()
			}
		})
	}
	return p
}

func (p *channelPool) push(task func())     { p.tasks <- task }
func (p *channelPool) finish()              { close(p.tasks); p.workers.Wait() }
func (p *channelPool) pushWait(task func()) { pushWait(p, task) }

// pushWait is how one waits for a task of what has no wait of its own.
func pushWait(p pool, task func()) {
	var ran sync.WaitGroup
	ran.Add(1)
	p.push(func() {
		defer ran.Done()
		task()
	})
	ran.Wait()
}

// heapPool is the priority queue of the textbooks: container/heap under a lock.
type heapPool struct {
	mu      sync.Mutex
	tasks   taskHeap
	pushed  int
	closed  bool
	more    sync.Cond
	workers sync.WaitGroup
}

type heapTask struct {
	priority, number int // number keeps the order within a priority
	run              func()
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

func openHeap(c int) pool {
	p := &heapPool{}
	p.more.L = &p.mu
	for range c {
		p.workers.Go(p.work)
	}
	return p
}

func (p *heapPool) work() {
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
		t.run()
		p.mu.Lock()
	}
}

func (p *heapPool) push(task func())     { p.pushPriority(task, 0) }
func (p *heapPool) pushWait(task func()) { pushWait(p, task) }

func (p *heapPool) pushPriority(task func(), priority int) {
	p.mu.Lock()
	p.pushed++
	heap.Push(&p.tasks, heapTask{priority, p.pushed, task})
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

type errgroupPool struct{ errgroup.Group }

func openErrgroup(c int) pool {
	p := &errgroupPool{}
	p.SetLimit(c)
	return p
}

func (p *errgroupPool) push(task func())     { p.Go(func() error { task(); return nil }) }
func (p *errgroupPool) finish()              { must(p.Wait()) }
func (p *errgroupPool) pushWait(task func()) { p.push(task); p.finish() }

type semaphorePool struct {
	*semaphore.Weighted
	c int64
}

func openSemaphore(c int) pool { return semaphorePool{semaphore.NewWeighted(int64(c)), int64(c)} }

func (p semaphorePool) push(task func()) {
	must(p.Acquire(context.Background(), 1))
	go func() {
		defer p.Release(1)
		task()
	}()
}

func (p semaphorePool) finish()              { must(p.Acquire(context.Background(), p.c)) }
func (p semaphorePool) pushWait(task func()) { p.push(task); p.finish(); p.Release(p.c) }

type concPool struct {
	*concpool.Pool
	c int
}

func openConc(c int) pool { return concPool{concpool.New().WithMaxGoroutines(c), c} }

func (p concPool) push(task func()) { p.Go(task) }
func (p concPool) finish()          { p.Wait() }

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
	tasks sync.WaitGroup // ants has no wait of its own
}

func openAnts(c int) pool {
	p, err := ants.NewPool(c)
	must(err)
	return &antsPool{Pool: p}
}

func (p *antsPool) push(task func()) {
	p.tasks.Add(1)
	must(p.Submit(func() {
		defer p.tasks.Done()
		task()
	}))
}

func (p *antsPool) finish()              { p.tasks.Wait(); p.Release() }
func (p *antsPool) pushWait(task func()) { p.push(task); p.tasks.Wait() }

type pondPool struct {
	pond.Pool
	c int
}

func openPond(c int) pool { return pondPool{pond.NewPool(c), c} }

func (p pondPool) push(task func())     { must(p.Go(task)) }
func (p pondPool) finish()              { p.StopAndWait() }
func (p pondPool) pushWait(task func()) { must(p.Submit(task).Wait()) }

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
	tasks sync.WaitGroup // gopool has no wait of its own
}

func openGopool(c int) pool {
	return &gopoolPool{Pool: gopool.NewPool("peer", int32(c), gopool.NewConfig())}
}

func (p *gopoolPool) push(task func()) {
	p.tasks.Add(1)
	p.Go(func() {
		defer p.tasks.Done()
		task()
	})
}

func (p *gopoolPool) finish()              { p.tasks.Wait() }
func (p *gopoolPool) pushWait(task func()) { p.push(task); p.tasks.Wait() }

type workerpoolPool struct{ *workerpool.WorkerPool }

func openWorkerpool(c int) pool { return workerpoolPool{workerpool.New(c)} }

func (p workerpoolPool) push(task func())     { p.Submit(task) }
func (p workerpoolPool) finish()              { p.StopWait() }
func (p workerpoolPool) pushWait(task func()) { p.SubmitWait(task) }
