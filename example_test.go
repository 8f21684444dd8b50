package queue_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tickqueue/queue"
)

// greet is a worker function without a result.
var greet = queue.NoResult(func(_ context.Context, name string) error {
	fmt.Println("hello,", name)
	return nil
})

// length is a worker function with one.
func length(_ context.Context, word string) (int, error) {
	if word == "" {
		return 0, errors.New("no word")
	}
	return len(word), nil
}

func Example() {
	q := queue.New(func(_ context.Context, path string) (string, error) {
		return "thumbnail of " + path, nil
	}, 4)
	ticket, err := q.Submit("holiday.jpg")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(ticket.Wait(context.Background()))
	// Output: thumbnail of holiday.jpg <nil>
}

// A service stops gracefully: it finishes what it has accepted, but not for
// longer than its supervisor waits.
func Example_gracefulStop() {
	q := queue.New(greet, 1)
	q.PushAll([]string{"Ada", "Grace"})

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := q.Shutdown(ctx); err != nil {
		fmt.Println("not delivered:", q.Kill())
		q.Wait(context.Background()) // for the workers to return
	}
	fmt.Println(q.Push("Barbara"))
	// Output:
	// hello, Ada
	// hello, Grace
	// queue: closed
}

// A crawler's tasks push further tasks; the queue is idle when none is left.
func Example_crawl() {
	links := map[string][]string{"/": {"/a", "/b"}, "/a": {"/c", "/"}, "/b": {"/c"}}
	var mu sync.Mutex
	var seen []string
	var q *queue.Queue[string, struct{}]
	visit := func(page string) {
		mu.Lock()
		defer mu.Unlock()
		if !slices.Contains(seen, page) {
			seen = append(seen, page)
			q.Push(page)
		}
	}
	q = queue.New(queue.NoResult(func(_ context.Context, page string) error {
		for _, link := range links[page] {
			visit(link)
		}
		return nil
	}), 4)
	visit("/")
	q.Wait(context.Background())
	slices.Sort(seen)
	fmt.Println(seen)
	// Output: [/ /a /b /c]
}

func ExampleNew() {
	q := queue.New(length, 8)
	fmt.Println(q.Do(context.Background(), "gopher"))
	// Output: 6 <nil>
}

func ExampleNewCargo() {
	insert := func(_ context.Context, rows []string) (int, error) {
		fmt.Println("INSERT", strings.Join(rows, ", "))
		return len(rows), nil
	}
	q := queue.NewCargo(insert, 1, 3)
	q.PushAll([]string{"a", "b", "c", "d"})
	q.Wait(context.Background())
	// Output:
	// INSERT a, b, c
	// INSERT d
}

func ExampleNoResult() {
	q := queue.New(queue.NoResult(func(_ context.Context, mail string) error {
		fmt.Println("sent", mail)
		return nil
	}), 1)
	q.Push("welcome")
	q.Wait(context.Background())
	// Output: sent welcome
}

func ExampleQueue_Push() {
	q := queue.New(greet, 1)
	q.Push("Ada")
	q.Push("Grace")
	q.Wait(context.Background())
	// Output:
	// hello, Ada
	// hello, Grace
}

func ExamplePriority() {
	q := queue.New(greet, 1)
	q.Pause() // so that all wait before the first starts
	q.Push("tourist")
	q.Push("resident", queue.Priority(1))
	q.Push("ambulance", queue.Priority(2))
	q.Resume()
	q.Wait(context.Background())
	// Output:
	// hello, ambulance
	// hello, resident
	// hello, tourist
}

func ExampleFront() {
	q := queue.New(greet, 1)
	q.Pause()
	q.PushAll([]string{"third", "fourth"})
	q.PushAll([]string{"first", "second"}, queue.Front())
	q.Resume()
	q.Wait(context.Background())
	// Output:
	// hello, first
	// hello, second
	// hello, third
	// hello, fourth
}

func ExampleQueue_PushAll() {
	q := queue.New(greet, 1, queue.WithCapacity(2))
	fmt.Println(q.PushAll([]string{"Ada", "Barbara", "Grace"}))
	fmt.Println(q.PushAll([]string{"Ada", "Grace"}))
	q.Wait(context.Background())
	// Output:
	// queue: full
	// <nil>
	// hello, Ada
	// hello, Grace
}

func ExampleQueue_PushWait() {
	q := queue.New(greet, 1, queue.WithCapacity(1))
	for _, name := range []string{"Ada", "Barbara", "Grace"} {
		if err := q.PushWait(context.Background(), name); err != nil {
			fmt.Println(err)
		}
	}
	q.Wait(context.Background())
	// Output:
	// hello, Ada
	// hello, Barbara
	// hello, Grace
}

func ExampleQueue_Submit() {
	q := queue.New(length, 2)
	var tickets []*queue.Ticket[int]
	for _, word := range []string{"go", "", "gopher"} {
		ticket, err := q.Submit(word)
		if err != nil {
			fmt.Println(err)
			return
		}
		tickets = append(tickets, ticket)
	}
	for _, ticket := range tickets {
		fmt.Println(ticket.Wait(context.Background()))
	}
	// Output:
	// 2 <nil>
	// 0 no word
	// 6 <nil>
}

func ExampleQueue_Do() {
	q := queue.New(func(ctx context.Context, user string) (string, error) {
		return "profile of " + user, ctx.Err()
	}, 2)
	// In a handler: the task is withdrawn when the client hangs up.
	ctx, hangUp := context.WithCancel(context.Background())
	fmt.Println(q.Do(ctx, "ada"))
	hangUp()
	_, err := q.Do(ctx, "grace")
	fmt.Println(err)
	// Output:
	// profile of ada <nil>
	// context canceled
}

func ExampleTicket_Wait() {
	q := queue.New(func(context.Context, int) (int, error) {
		panic("no such luck")
	}, 1)
	ticket, _ := q.Submit(7)
	_, err := ticket.Wait(context.Background())
	if p, ok := errors.AsType[*queue.PanicError](err); ok {
		fmt.Println("panicked with", p.Value)
	}
	// Output: panicked with no such luck
}

func ExampleTicket_Done() {
	q := queue.New(length, 1)
	ticket, _ := q.Submit("gopher")
	select {
	case <-ticket.Done():
		fmt.Println(ticket.Wait(context.Background())) // at once
	case <-time.After(time.Minute):
		fmt.Println("still running")
	}
	// Output: 6 <nil>
}

func ExampleTicket_Cancel() {
	q := queue.New(length, 1)
	q.Pause()
	ticket, _ := q.Submit("gopher")
	fmt.Println(ticket.Cancel())
	_, err := ticket.Wait(context.Background())
	fmt.Println(err)
	fmt.Println(q.Len())
	// Output:
	// true
	// queue: task dropped
	// 0
}

func ExampleTicket_SetPriority() {
	q := queue.New(greet, 1)
	q.Pause()
	q.Push("Ada")
	ticket, _ := q.Submit("Grace")
	fmt.Println(ticket.SetPriority(1))
	q.Resume()
	q.Wait(context.Background())
	// Output:
	// true
	// hello, Grace
	// hello, Ada
}

func ExampleQueue_Pause() {
	q := queue.New(greet, 1)
	q.Pause()
	q.Push("Ada")
	fmt.Println(q.Len(), "waits")
	q.Resume()
	q.Wait(context.Background())
	// Output:
	// 1 waits
	// hello, Ada
}

func ExampleQueue_Resume() {
	q := queue.New(greet, 1)
	q.Pause()
	q.Pause()
	q.Push("Ada")
	q.Resume() // one is enough
	q.Wait(context.Background())
	// Output: hello, Ada
}

func ExampleQueue_SetConcurrency() {
	release := make(chan bool)
	q := queue.New(queue.NoResult(func(context.Context, int) error {
		<-release
		return nil
	}), 1)
	q.PushAll([]int{1, 2, 3})
	q.SetConcurrency(3)
	for range 3 {
		release <- true
	}
	q.Wait(context.Background())
	fmt.Println(q.Stats().Concurrency, q.Stats().Succeeded)
	// Output: 3 3
}

// A command-line tool that shares its processor with a server lets that have a
// turn every 5 ms.
func ExampleQueue_SetYieldInterval() {
	q := queue.New(greet, 1)
	q.SetYieldInterval(5 * time.Millisecond)
	q.Push("Ada")
	q.Wait(context.Background())
	// Output: hello, Ada
}

func ExampleQueue_Remove() {
	q := queue.New(greet, 1)
	q.Pause()
	q.PushAll([]string{"Ada", "spam", "Grace", "spam"})
	spam := q.Remove(func(name string) bool { return name == "spam" })
	fmt.Println("removed", len(spam))
	q.Resume()
	q.Wait(context.Background())
	// Output:
	// removed 2
	// hello, Ada
	// hello, Grace
}

func ExampleQueue_Clear() {
	q := queue.New(greet, 1)
	q.Pause()
	q.PushAll([]string{"Ada", "Grace"})
	fmt.Println(q.Clear())
	q.Push("Barbara")
	q.Resume()
	q.Wait(context.Background())
	// Output:
	// [Ada Grace]
	// hello, Barbara
}

func ExampleQueue_Wait() {
	q := queue.New(greet, 1)
	fmt.Println(q.Wait(context.Background())) // idle: at once
	q.Push("Ada")
	fmt.Println(q.Wait(context.Background()))
	// Output:
	// <nil>
	// hello, Ada
	// <nil>
}

func ExampleQueue_Shutdown() {
	q := queue.New(greet, 1)
	q.Push("Ada")
	fmt.Println(q.Shutdown(context.Background()))
	fmt.Println(q.Push("Grace"))
	// Output:
	// hello, Ada
	// <nil>
	// queue: closed
}

func ExampleQueue_Kill() {
	started := make(chan bool)
	q := queue.New(func(ctx context.Context, task string) (string, error) {
		close(started)
		<-ctx.Done()
		return "", context.Cause(ctx)
	}, 1)
	running, _ := q.Submit("running")
	<-started
	q.Push("waiting")
	fmt.Println("dropped:", q.Kill())
	_, err := running.Wait(context.Background())
	fmt.Println("running:", err)
	// Output:
	// dropped: [waiting]
	// running: queue: closed
}

func ExampleQueue_Len() {
	q := queue.New(greet, 1)
	q.Pause()
	q.PushAll([]string{"Ada", "Grace"})
	fmt.Println(q.Len(), q.Running(), q.Idle())
	// Output: 2 0 false
}

func ExampleQueue_Running() {
	started, release := make(chan bool), make(chan bool)
	q := queue.New(queue.NoResult(func(context.Context, int) error {
		started <- true
		<-release
		return nil
	}), 2)
	q.PushAll([]int{1, 2, 3})
	<-started
	<-started
	fmt.Println(q.Running(), "run,", q.Len(), "waits")
	close(release)
	<-started
	q.Wait(context.Background())
	// Output: 2 run, 1 waits
}

func ExampleQueue_Idle() {
	q := queue.New(greet, 1)
	fmt.Println(q.Idle())
	q.Pause()
	q.Push("Ada")
	fmt.Println(q.Idle())
	// Output:
	// true
	// false
}

func ExampleQueue_Stats() {
	q := queue.New(length, 2)
	q.OnError(func(string, error) {})
	q.PushAll([]string{"a", "b", "", "d"})
	q.Wait(context.Background())
	s := q.Stats()
	fmt.Println(s.Pushed, "pushed,", s.Succeeded, "succeeded,", s.Failed, "failed")
	// Output: 4 pushed, 3 succeeded, 1 failed
}

func ExampleQueue_Waiting() {
	q := queue.New(greet, 1)
	q.Pause()
	q.PushAll([]string{"Ada", "Grace"})
	q.Push("Barbara", queue.Priority(1))
	for name := range q.Waiting() {
		fmt.Println(name)
	}
	// Output:
	// Barbara
	// Ada
	// Grace
}

func ExampleQueue_Working() {
	started, release := make(chan bool), make(chan bool)
	q := queue.New(queue.NoResult(func(context.Context, string) error {
		started <- true
		<-release
		return nil
	}), 1)
	q.PushAll([]string{"Ada", "Grace"})
	<-started
	fmt.Println(slices.Collect(q.Working()))
	close(release)
	<-started
	q.Wait(context.Background())
	// Output: [Ada]
}

func ExampleQueue_OnDrain() {
	drained := make(chan bool)
	q := queue.New(greet, 2)
	q.OnDrain(func() { close(drained) })
	q.Push("Ada")
	<-drained
	fmt.Println("all done")
	// Output:
	// hello, Ada
	// all done
}

// A producer that stops while all workers are busy and goes on when half are
// free.
func ExampleQueue_OnSaturated() {
	edges := make(chan string, 2)
	release := make(chan bool)
	q := queue.New(queue.NoResult(func(context.Context, int) error {
		<-release
		return nil
	}), 2, queue.WithBuffer(1))
	q.OnSaturated(func() { edges <- "stop" })
	q.OnUnsaturated(func() { edges <- "go on" })
	q.PushAll([]int{1, 2})
	fmt.Println(<-edges)
	release <- true
	fmt.Println(<-edges)
	release <- true
	q.Wait(context.Background())
	// Output:
	// stop
	// go on
}

func ExampleQueue_OnUnsaturated() {
	free := make(chan bool)
	q := queue.New(greet, 1)
	q.OnUnsaturated(func() { close(free) })
	q.Push("Ada")
	<-free
	fmt.Println("a worker is free")
	// Output:
	// hello, Ada
	// a worker is free
}

func ExampleQueue_OnEmpty() {
	started := make(chan bool)
	q := queue.New(greet, 1)
	q.OnEmpty(func() { close(started) })
	q.PushAll([]string{"Ada", "Grace"})
	<-started
	q.Wait(context.Background())
	fmt.Println("all have started")
	// Output:
	// hello, Ada
	// hello, Grace
	// all have started
}

func ExampleQueue_OnError() {
	q := queue.New(length, 1)
	q.OnError(func(word string, err error) { fmt.Printf("%q: %v\n", word, err) })
	q.PushAll([]string{"gopher", ""})
	q.Wait(context.Background())
	// Output: "": no word
}

func ExampleWithContext() {
	ctx, stop := context.WithCancelCause(context.Background())
	q := queue.New(greet, 1, queue.WithContext(ctx))
	stop(errors.New("power failure"))
	fmt.Println(q.Push("Ada"))
	// Output: queue: closed
}

func ExampleWithCapacity() {
	q := queue.New(greet, 1, queue.WithCapacity(1))
	q.Pause()
	fmt.Println(q.Push("Ada"))
	fmt.Println(q.Push("Grace"))
	// Output:
	// <nil>
	// queue: full
}

func ExampleWithBuffer() {
	busy, free, release := make(chan bool), make(chan bool), make(chan bool)
	q := queue.New(queue.NoResult(func(context.Context, int) error {
		<-release
		return nil
	}), 4, queue.WithBuffer(4))
	q.OnSaturated(func() { close(busy) })
	q.OnUnsaturated(func() { close(free) })
	q.PushAll([]int{1, 2, 3, 4})
	<-busy
	close(release)
	<-free
	fmt.Println("all four are free")
	// Output: all four are free
}

func ExampleWithYieldInterval() {
	q := queue.New(greet, 1, queue.WithYieldInterval(16*time.Millisecond))
	q.Push("Ada")
	q.Wait(context.Background())
	// Output: hello, Ada
}

// everyOther is a limiter as rate.Limiter of golang.org/x/time/rate is one.
type everyOther struct{ n int }

func (l *everyOther) Wait(context.Context) error {
	if l.n++; l.n%2 == 0 {
		return errors.New("over the limit")
	}
	return nil
}

func ExampleWithLimiter() {
	q := queue.New(greet, 1, queue.WithLimiter(&everyOther{}))
	q.OnError(func(name string, err error) { fmt.Println(name, "is", err) })
	q.PushAll([]string{"Ada", "Grace", "Barbara"})
	q.Wait(context.Background())
	// Output:
	// hello, Ada
	// Grace is over the limit
	// hello, Barbara
}
