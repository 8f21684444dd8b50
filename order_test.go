package queue_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/tickqueue/queue"
)

func TestOrder(t *testing.T) {
	front, priority := queue.Front, queue.Priority
	tests := []struct {
		name string
		push func(r *rig[string])
		want string
	}{
		{"pushed", func(r *rig[string]) {
			r.submit("a", "b", "c", "d", "e")
		}, "a b c d e"},
		{"higher first", func(r *rig[string]) {
			r.submitWith("low", priority(-1))
			r.submitWith("zero", priority(0))
			r.submit("default")
			r.submitWith("high", priority(1))
			r.submitWith("higher", priority(2))
		}, "higher high zero default low"},
		{"any int", func(r *rig[string]) {
			r.submitWith("min", priority(math.MinInt))
			r.submitWith("min+1", priority(math.MinInt+1))
			r.submit("zero")
			r.submitWith("max", priority(math.MaxInt))
			r.submitWith("max-1", priority(math.MaxInt-1))
			r.submitWith("min too", priority(math.MinInt))
			r.submitWith("max too", priority(math.MaxInt))
		}, "max|max too|max-1|zero|min+1|min|min too"},
		{"front of its own priority", func(r *rig[string]) {
			r.submitWith("high", priority(1))
			r.submit("a", "b")
			r.submitWith("low", priority(-1))
			r.submitWith("front", front())
			r.submitWith("front of low", front(), priority(-1))
			r.submitWith("front of front", front())
			r.submitWith("front of high", priority(1), front())
			r.submit("c")
		}, "front of high|high|front of front|front|a|b|c|front of low|low"},
		{"front of nothing", func(r *rig[string]) {
			r.submitWith("a", front(), priority(3))
			r.submitWith("b", priority(3))
		}, "a b"},
		{"last priority counts", func(r *rig[string]) {
			r.submit("a")
			r.submitWith("b", priority(9), front(), priority(-9))
			r.submitWith("c", priority(-9), priority(0))
		}, "a c b"},
		{"slices", func(r *rig[string]) {
			r.submit("a")
			r.PushAll([]string{"b", "c", "d"})
			r.PushAll([]string{"x", "y", "z"}, front())
			r.PushAll([]string{"1", "2"}, priority(5))
			r.PushAll([]string{"3", "4"}, front(), priority(5))
			r.PushAll(nil, front())
			r.submit("e")
		}, "3 4 1 2 x y z a b c d e"},
		{"moved to the tail", func(r *rig[string]) {
			r.submit("a", "b", "c")
			r.submitWith("high", priority(5))
			r.tickets["a"].SetPriority(5)
			r.submitWith("high too", priority(5))
			r.tickets["c"].SetPriority(-5)
			r.submit("d")
		}, "high|a|high too|b|d|c"},
		{"moved to the tail of the same priority", func(r *rig[string]) {
			r.submit("a", "b", "c")
			r.tickets["a"].SetPriority(0)
			r.tickets["c"].SetPriority(0)
			r.submit("d")
		}, "b a c d"},
		{"moved to and fro", func(r *rig[string]) {
			r.submit("a", "b", "c")
			for _, n := range []int{7, math.MinInt, math.MaxInt, 0} {
				r.tickets["b"].SetPriority(n)
			}
		}, "a c b"},
		{"the only one moved", func(r *rig[string]) {
			r.submit("a")
			r.tickets["a"].SetPriority(-3)
			r.submit("b")
			r.submitWith("c", priority(-3))
		}, "b a c"},
		{"taken out", func(r *rig[string]) {
			r.submit("a", "b", "c", "d", "e", "f")
			r.tickets["a"].Cancel()
			r.tickets["c"].Cancel()
			r.Remove(func(task string) bool { return task == "d" || task == "f" })
			r.submitWith("g", front())
			r.submit("h")
		}, "g b e h"},
	}
	for _, test := range tests {
		separator := " "
		if strings.Contains(test.want, "|") {
			separator = "|"
		}
		want := strings.Split(test.want, separator)
		bubble(t, test.name, func(t *testing.T) {
			r := newRig[string](t, 1)
			r.Pause()
			test.push(r)
			r.wantWaiting(want...)
			r.Resume()
			for i := range want {
				r.wantTook(want[i])
				r.wantWaiting(want[i+1:]...)
				r.finish(want[i])
			}
		})
		for _, take := range []struct {
			name string
			all  func(r *rig[string]) []string
		}{
			{"Kill", func(r *rig[string]) []string { return r.Kill() }},
			{"Clear", func(r *rig[string]) []string { return r.Clear() }},
			{"Remove", func(r *rig[string]) []string { return r.Remove(func(string) bool { return true }) }},
		} {
			bubble(t, test.name+"/"+take.name, func(t *testing.T) {
				r := newRig[string](t, 1)
				r.Pause()
				test.push(r)
				if got := take.all(r); !slices.Equal(got, want) {
					t.Errorf("took %q, want %q", got, want)
				}
				r.wantWaiting()
			})
		}
	}
}

// A naive is the waiting tasks in a plain slice.
type naive []struct{ task, priority int }

func (n *naive) push(task, priority int) {
	i := 0
	for i < len(*n) && (*n)[i].priority >= priority {
		i++
	}
	*n = slices.Insert(*n, i, struct{ task, priority int }{task, priority})
}

func (n *naive) pushFront(task, priority int) {
	i := 0
	for i < len(*n) && (*n)[i].priority > priority {
		i++
	}
	*n = slices.Insert(*n, i, struct{ task, priority int }{task, priority})
}

func (n *naive) remove(i int) (task int) {
	task = (*n)[i].task
	*n = slices.Delete(*n, i, i+1)
	return task
}

func (n naive) tasks() []int {
	tasks := make([]int, len(n))
	for i := range n {
		tasks[i] = n[i].task
	}
	return tasks
}

// Whatever is done to the waiting tasks between two starts, the next to start
// is the best, and it starts as soon as a place is free.
func TestStartOrder(t *testing.T) {
	for _, concurrency := range []int{1, 2, 4, 64} {
		bubble(t, fmt.Sprint(concurrency), func(t *testing.T) {
			r := newRig[int](t, concurrency)
			rnd := rand.New(rand.NewPCG(uint64(concurrency), 0))
			var waiting naive
			var working []int
			next := 0

			priority := func() int { return []int{0, 0, 0, 0, 1, -1, rnd.IntN(100)}[rnd.IntN(7)] }
			push := func() {
				task, p, front := next, priority(), rnd.IntN(4) == 0
				next++
				opts := []queue.PushOption{queue.Priority(p)}
				if front {
					opts = append(opts, queue.Front())
					waiting.pushFront(task, p)
				} else {
					waiting.push(task, p)
				}
				if rnd.IntN(3) == 0 {
					r.Push(task, opts...)
					return
				}
				ticket, err := r.Submit(task, opts...)
				if err != nil {
					t.Fatal(err)
				}
				r.tickets[task] = ticket
			}
			change := func() {
				n := len(waiting)
				if n == 0 {
					push()
					return
				}
				i := rnd.IntN(n)
				task := waiting[i].task
				ticket := r.tickets[task]
				switch kind := rnd.IntN(10); {
				case kind < 5:
					push()
				case kind == 5:
					tasks, p := []int{next, next + 1, next + 2}, priority()
					next += 3
					for _, task := range tasks {
						waiting.push(task, p)
					}
					r.PushAll(tasks, queue.Priority(p))
				case kind == 6 && ticket != nil:
					p := priority()
					waiting.remove(i)
					waiting.push(task, p)
					if !ticket.SetPriority(p) {
						t.Errorf("SetPriority of %d, which waits, is false", task)
					}
				case kind == 7 && ticket != nil:
					waiting.remove(i)
					if !ticket.Cancel() {
						t.Errorf("Cancel of %d, which waits, is false", task)
					}
				default:
					waiting.remove(i)
					got := r.Remove(func(other int) bool { return other == task })
					if !slices.Equal(got, []int{task}) {
						t.Errorf("Remove of %d took %v", task, got)
					}
				}
			}
			check := func() {
				t.Helper()
				synctest.Wait()
				var want []int
				for len(working) < concurrency && len(waiting) > 0 {
					task := waiting.remove(0)
					want = append(want, task)
					working = append(working, task)
				}
				got := r.took()
				if len(got) > 1 {
					// They ran up to their first line side by side. Working
					// tells in which order they were taken.
					slices.Sort(got)
					slices.Sort(want)
				}
				if !slices.Equal(got, want) {
					t.Fatalf("started %v, want %v", got, want)
				}
				r.wantWorking(working...)
			}

			// Enough for several segments of one priority.
			r.Pause()
			for range 8000 {
				push()
			}
			r.wantWaiting(waiting.tasks()...)
			r.Resume()
			check()
			for step := range max(scaled(5000), 1000) {
				for range rnd.IntN(3) {
					change()
					check()
				}
				i := rnd.IntN(len(working))
				task := working[i]
				working = slices.Delete(working, i, i+1)
				r.finish(task)
				check()
				if step%1000 == 0 {
					r.wantWaiting(waiting.tasks()...)
				}
				if t.Failed() {
					t.FailNow()
				}
			}
			r.Pause()
			if got, want := r.Clear(), waiting.tasks(); !slices.Equal(got, want) {
				t.Errorf("Clear took %v, want %v", got, want)
			}
		})
	}
}

// With workers side by side the order of their first lines is up to the
// scheduler, but what has been left to wait is not.
func TestNothingBetterIsLeftWaiting(t *testing.T) {
	for _, concurrency := range []int{2, 4, 64} {
		t.Run(fmt.Sprint(concurrency), func(t *testing.T) {
			const tasks = 1500
			rank := make([]int, tasks)
			var q *queue.Queue[int, int]
			q = queue.New(func(_ context.Context, task int) (int, error) {
				for other := range q.Waiting() {
					if rank[other] < rank[task] {
						t.Errorf("%d started and %d waits", rank[task], rank[other])
						break
					}
				}
				return 0, nil
			}, concurrency)
			q.Pause()
			rnd := rand.New(rand.NewPCG(1, uint64(concurrency)))
			for task := range tasks {
				opts := []queue.PushOption{queue.Priority(rnd.IntN(3))}
				if rnd.IntN(2) == 0 {
					opts = append(opts, queue.Front())
				}
				q.Push(task, opts...)
			}
			i := 0
			for task := range q.Waiting() {
				rank[task] = i
				i++
			}
			q.Resume()
			q.Wait(t.Context())
			wantCounts(t, q.Stats(), tasks, 0, 0)
		})
	}
}

// The worker takes its next task when it is free to run it, and not before.
func TestLatecomerOvertakesWhatWaits(t *testing.T) {
	for _, concurrency := range []int{1, 3} {
		bubble(t, fmt.Sprint(concurrency), func(t *testing.T) {
			r := newRig[string](t, concurrency)
			running := []string{"a", "b", "c"}[:concurrency]
			r.push(running...)
			r.took()
			r.push("patient")
			for i, task := range running {
				late := fmt.Sprint("late ", i)
				r.wantWaiting("patient")
				r.Push(late, queue.Priority(1))
				r.wantWaiting(late, "patient")
				r.finish(task)
				r.wantTook(late)
			}
		})
	}
}

func TestNothingComesBetweenTasksOfPushAll(t *testing.T) {
	q := queue.New(func(context.Context, int) (int, error) { return 0, nil }, 1)
	q.Pause()
	const pushers, slicesEach, length = 8, 50, 30
	var wg sync.WaitGroup
	for p := range pushers {
		wg.Go(func() {
			for s := range slicesEach {
				tasks := make([]int, length)
				for i := range tasks {
					tasks[i] = (p*slicesEach+s)*length + i
				}
				var opts []queue.PushOption
				if p%2 == 0 {
					opts = append(opts, queue.Front())
				}
				q.PushAll(tasks, opts...)
			}
		})
	}
	wg.Wait()
	all := q.Clear()
	if len(all) != pushers*slicesEach*length {
		t.Fatalf("%d tasks", len(all))
	}
	for i, task := range all {
		if task%length != i%length || i%length > 0 && task != all[i-1]+1 {
			t.Fatalf("%d comes after %d", task, all[max(i-1, 0)])
		}
	}
}

// Many push at once, in many ways. With one worker the next task is claimed
// after the end of the one before, so what was accepted by then may not be
// overtaken by anything worse.
func TestOrderUnderLoad(t *testing.T) {
	const pushers, priorities = 4, 3
	type queueOf = queue.Queue[int, int]
	ways := map[string]func(q *queueOf, i, task int, opts ...queue.PushOption){
		"Push": func(q *queueOf, _, task int, opts ...queue.PushOption) { q.Push(task, opts...) },
		"Submit": func(q *queueOf, _, task int, opts ...queue.PushOption) {
			q.Submit(task, opts...)
		},
		"mixed": func(q *queueOf, i, task int, opts ...queue.PushOption) {
			switch i % 7 {
			case 0:
				q.PushAll([]int{task}, opts...)
			case 1:
				q.PushWait(context.Background(), task, opts...)
			case 2:
				ticket, _ := q.Submit(-1, opts...)
				q.Push(task, opts...)
				ticket.Cancel()
			case 3:
				q.Submit(task, opts...)
			default:
				q.Push(task, opts...)
			}
		},
	}
	for name, push := range ways {
		for _, fronts := range []bool{false, true} {
			t.Run(fmt.Sprint(name, "/", fronts), func(t *testing.T) {
				// Classes from worst to best: each priority has tasks at the
				// back, then tasks at the front.
				const classes = 2 * priorities
				each := scaled(20_000)
				var accepted [classes]atomic.Int64
				var started [classes]int64
				var seen [pushers][classes]int
				best := 0 // of the classes that were waiting when the last task ended
				q := queue.New(func(_ context.Context, task int) (int, error) {
					if task < 0 {
						return 0, nil
					}
					class, pusher, i := task%classes, task/classes%pushers, task/classes/pushers
					if class < best {
						t.Errorf("a task of class %d started though one of %d was waiting", class, best)
					}
					if class%2 == 0 {
						if last := seen[pusher][class]; i < last {
							t.Errorf("of pusher %d and class %d, task %d started after %d", pusher, class, i, last)
						}
						seen[pusher][class] = i
					}
					started[class]++
					best = 0
					for c := range classes {
						if accepted[c].Load() > started[c] {
							best = c
						}
					}
					return 0, nil
				}, 1)
				var wg sync.WaitGroup
				for pusher := range pushers {
					wg.Go(func() {
						rnd := rand.New(rand.NewPCG(uint64(pusher), 0))
						for i := range each {
							class := 2 * rnd.IntN(priorities)
							opts := []queue.PushOption{queue.Priority(class / 2)}
							if fronts && rnd.IntN(4) == 0 {
								class++
								opts = append(opts, queue.Front())
							}
							push(q, i, (i*pushers+pusher)*classes+class, opts...)
							accepted[class].Add(1)
						}
					})
				}
				wg.Wait()
				q.Wait(t.Context())
				n := int64(0)
				for _, s := range started {
					n += s
				}
				if n != pushers*int64(each) {
					t.Errorf("%d of %d tasks ran", n, pushers*each)
				}
				checkSum(t, q.Stats())
			})
		}
	}
}

func TestPushAllDoesNotKeepTheSlice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig[string](t, 1)
		r.Pause()
		tasks := []string{"a", "b"}
		r.PushAll(tasks)
		clear(tasks)
		r.wantWaiting("a", "b")
	})
}
