package queue

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

// open opens the inbox as contention would.
func (q *Queue[T, R]) open() {
	q.lock()
	q.openInbox()
	q.unlock()
}

type pushed struct{ priority, number int }

// best sorts tasks as the queue would without an inbox.
func best(tasks []pushed) []pushed {
	slices.SortStableFunc(tasks, func(a, b pushed) int { return cmp.Compare(b.priority, a.priority) })
	return tasks
}

func TestInboxKeepsTheOrder(t *testing.T) {
	for _, priorities := range []int{1, 3, 20, 1000} {
		for _, payload := range []int{1, 5} {
			t.Run(fmt.Sprintf("priorities=%d/payload=%d", priorities, payload), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					seed := rand.Uint64()
					t.Log("seed", seed)
					r := rand.New(rand.NewPCG(seed, 0))
					step := make(chan struct{})
					var started []pushed
					q := NewCargo(func(_ context.Context, tasks []pushed) (int, error) {
						started = tasks
						<-step
						return 0, nil
					}, 1, payload)

					var waiting []pushed
					boxed, number := 0, 0
					for range 500 {
						for range r.IntN(8) {
							number++
							task := pushed{r.IntN(priorities), number}
							q.open()
							if q.inbox.open.Load() {
								boxed++
							}
							if r.IntN(2) == 0 {
								q.Push(task, Priority(task.priority))
							} else if _, err := q.Submit(task, Priority(task.priority)); err != nil {
								t.Fatal(err)
							}
							waiting = append(waiting, task)
						}
						synctest.Wait()
						if len(started) == 0 && len(waiting) > 0 {
							t.Fatal("nothing runs")
						}
						if r.IntN(10) == 0 { // what waits, the running ones being no part of it
							want := best(slices.DeleteFunc(slices.Clone(waiting), func(p pushed) bool { return slices.Contains(started, p) }))
							if got := slices.Collect(q.Waiting()); !slices.Equal(got, want) {
								t.Fatalf("waiting %v, want %v", got, want)
							}
						}
						if len(started) == 0 {
							continue
						}
						waiting = slices.DeleteFunc(waiting, func(p pushed) bool { return slices.Contains(started, p) })
						want := best(slices.Clone(waiting))
						started = nil
						step <- struct{}{}
						synctest.Wait()
						if want = want[:min(payload, len(want))]; !slices.Equal(started, want) {
							t.Fatalf("%v started, want %v", started, want)
						}
					}
					if priorities <= inboxPriorities && boxed < 50 {
						t.Errorf("the inbox was open for %d pushes only", boxed)
					}
					close(step)
					q.Wait(t.Context())
					if s := q.Stats(); int(s.Pushed) != number || int(s.Succeeded) != number {
						t.Errorf("%d pushed: %+v", number, s)
					}
				})
			})
		}
	}
}

// Whatever the inbox holds is there for every method.
func TestInboxIsNoPlaceOfItsOwn(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	methods := []struct {
		name string
		call func(q *Queue[int, int], ticket *Ticket[int]) bool // whether it saw the last task
	}{
		{"Len", func(q *Queue[int, int], _ *Ticket[int]) bool { return q.Len() == 3 }},
		{"Stats", func(q *Queue[int, int], _ *Ticket[int]) bool { s := q.Stats(); return s.Waiting == 3 && s.Pushed == 3 }},
		{"Idle", func(q *Queue[int, int], _ *Ticket[int]) bool { return !q.Idle() }},
		{"Waiting", func(q *Queue[int, int], _ *Ticket[int]) bool { return len(slices.Collect(q.Waiting())) == 3 }},
		{"Remove", func(q *Queue[int, int], _ *Ticket[int]) bool {
			return slices.Equal(q.Remove(func(n int) bool { return n == 3 }), []int{3})
		}},
		{"Clear", func(q *Queue[int, int], _ *Ticket[int]) bool { return slices.Equal(q.Clear(), []int{1, 2, 3}) }},
		{"Kill", func(q *Queue[int, int], _ *Ticket[int]) bool { return slices.Equal(q.Kill(), []int{1, 2, 3}) }},
		{"Cancel", func(_ *Queue[int, int], ticket *Ticket[int]) bool { return ticket.Cancel() }},
		{"SetPriority", func(q *Queue[int, int], ticket *Ticket[int]) bool {
			return ticket.SetPriority(1) && slices.Equal(slices.Collect(q.Waiting()), []int{3, 1, 2})
		}},
		{"Push to the front", func(q *Queue[int, int], _ *Ticket[int]) bool {
			q.Push(0, Front())
			return slices.Equal(slices.Collect(q.Waiting()), []int{0, 1, 2, 3})
		}},
		{"Push of a higher priority", func(q *Queue[int, int], _ *Ticket[int]) bool {
			q.Push(0, Priority(1))
			return slices.Equal(slices.Collect(q.Waiting()), []int{0, 1, 2, 3})
		}},
		{"PushAll", func(q *Queue[int, int], _ *Ticket[int]) bool {
			q.PushAll([]int{4, 5})
			return slices.Equal(slices.Collect(q.Waiting()), []int{1, 2, 3, 4, 5})
		}},
		{"Shutdown", func(q *Queue[int, int], _ *Ticket[int]) bool {
			done, cancel := context.WithCancel(context.Background())
			cancel()
			return q.Shutdown(done) == context.Canceled && q.Push(4) == ErrClosed && q.Len() == 3
		}},
		{"the end of the context", func(q *Queue[int, int], ticket *Ticket[int]) bool {
			cancel()
			_, err := ticket.Wait(context.Background())
			return q.Push(4) == ErrClosed && err == ErrDropped
		}},
	}
	for _, m := range methods {
		t.Run(m.name, func(t *testing.T) {
			q := New(func(context.Context, int) (int, error) { return 0, nil }, 1, WithContext(ctx))
			q.Pause()
			q.Push(1)
			q.open()
			q.Push(2)
			ticket, err := q.Submit(3)
			if err != nil {
				t.Fatal(err)
			}
			if n := q.inbox.list.Len(); n != 2 {
				t.Fatalf("%d tasks in the inbox, want 2", n)
			}
			if !m.call(q, ticket) {
				t.Errorf("the tasks in the inbox were overlooked: %+v", q.Stats())
			}
		})
	}
}

// An inbox is not for queues in which a push is more than an addition.
func TestInboxStaysClosed(t *testing.T) {
	pushOpen := func(q *Queue[int, int]) { q.Push(1); q.open() }
	for name, test := range map[string]struct {
		option Option
		change func(q *Queue[int, int])
	}{
		"empty":   {WithBuffer(0), (*Queue[int, int]).open},
		"bounded": {WithCapacity(10), pushOpen},
		"limited": {WithLimiter(unlimited{}), pushOpen},
		"closed":  {WithBuffer(0), func(q *Queue[int, int]) { q.Push(1); q.Kill(); q.open() }},
		"cleared": {WithBuffer(0), func(q *Queue[int, int]) { pushOpen(q); q.Clear() }},
		"of many priorities": {WithBuffer(0), func(q *Queue[int, int]) {
			pushOpen(q)
			for i := range 3 * inboxPriorities {
				q.Push(i, Priority(-i))
			}
		}},
	} {
		q := New(func(context.Context, int) (int, error) { return 0, nil }, 1, test.option)
		q.Pause()
		test.change(q)
		if q.inbox.open.Load() || q.inboxOpen {
			t.Errorf("%s: the inbox is open", name)
		}
	}
}

// stepped is a queue whose tasks, one at a time, end when step is sent to.
type stepped struct {
	*Queue[int, int]
	step    chan struct{}
	started []int
}

// newStepped returns a queue in which task 1 runs.
func newStepped() *stepped {
	q := &stepped{step: make(chan struct{})}
	q.Queue = New(func(_ context.Context, n int) (int, error) {
		q.started = append(q.started, n)
		<-q.step
		return 0, nil
	}, 1)
	q.Push(1)
	synctest.Wait()
	return q
}

// A task that comes into the inbox while another method has the lock is not
// forgotten when that method takes the last of the others away.
func TestInboxIsAbsorbedWhenNothingElseWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newStepped()
		q.Push(2)
		q.open()
		q.Remove(func(int) bool {
			var pushing sync.WaitGroup
			pushing.Go(func() { q.Push(3) })
			pushing.Wait()
			return true
		})
		q.step <- struct{}{}
		synctest.Wait()
		if !slices.Equal(q.started, []int{1, 3}) {
			t.Errorf("%v started, want 1 and 3", q.started)
		}
		close(q.step)
	})
}

// A task in the inbox that outranks what waits outside starts first.
func TestInboxIsAbsorbedForItsBest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newStepped()
		q.Push(3)
		q.open()
		q.Push(4, Priority(math.MinInt))
		q.Push(2, Priority(math.MaxInt))
		if n := q.inbox.list.Len(); n != 2 {
			t.Fatalf("%d tasks in the inbox, want 2", n)
		}
		close(q.step)
		synctest.Wait()
		if want := []int{1, 2, 3, 4}; !slices.Equal(q.started, want) {
			t.Errorf("%v started, want %v", q.started, want)
		}
	})
}

// Empty is for the last waiting task of all, those in the inbox included.
func TestEmptyLooksIntoTheInbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newStepped()
		empties := 0
		q.OnEmpty(func() { empties++ })
		q.Push(2)
		q.open()
		q.Push(3)
		for i, want := range []int{0, 1, 1} {
			q.step <- struct{}{}
			synctest.Wait()
			if empties != want {
				t.Errorf("%d calls of Empty after %d tasks, want %d", empties, i+1, want)
			}
		}
	})
}

// A parked worker is as good as a waiting task less, so a push has to look whether
// another worker can start.
func TestInboxClosesWhenAWorkerParks(t *testing.T) {
	q := New(func(context.Context, int) (int, error) { return 0, nil }, 2)
	q.Pause()
	q.Push(1)
	q.open()
	q.lock()
	defer q.unlock()
	w := &worker[int, int]{q: q}
	w.park()
	defer q.parked.remove(w)
	if q.inboxOpen || q.inbox.open.Load() {
		t.Error("the inbox is open")
	}
}

type unlimited struct{}

func (unlimited) Wait(context.Context) error { return nil }

// Producers, a consumer and everything that looks at the queue run freely, and
// the inbox opens and closes as it will: nothing is lost, nothing overtakes.
func TestInboxUnderContention(t *testing.T) {
	const producers, priorities = 4, 3
	const n = 5_000
	type task struct{ producer, priority, number int }
	var last [producers][priorities]int
	q := New(func(_ context.Context, k task) (int, error) {
		if k.number <= last[k.producer][k.priority] {
			t.Errorf("%+v started after number %d", k, last[k.producer][k.priority])
		}
		last[k.producer][k.priority] = k.number
		return 0, nil
	}, 1)
	var wg sync.WaitGroup
	for p := range producers {
		wg.Go(func() {
			for i := range n {
				k := task{p, i % priorities, i + 1}
				if i%7 == 0 {
					q.Submit(k, Priority(k.priority))
				} else {
					q.Push(k, Priority(k.priority))
				}
				if i%64 == 0 {
					q.open()
				}
			}
		})
	}
	done := make(chan struct{})
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		for {
			select {
			case <-done:
				return
			default:
				runtime.Gosched()
			}
			if s := q.Stats(); s.Pushed != s.Succeeded+s.Failed+s.Dropped+uint64(s.Waiting+s.Running) {
				t.Errorf("the sum is wrong: %+v", s)
				return
			}
		}
	}()
	wg.Wait()
	q.Wait(t.Context())
	close(done)
	<-watching
	if s := q.Stats(); s.Succeeded != uint64(producers*n) {
		t.Errorf("%d pushed: %+v", producers*n, s)
	}
	if q.inboxOpen || q.inbox.list != nil {
		t.Error("an idle queue has an open inbox")
	}
}
