package queue_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/tickqueue/queue"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// On js, package syscall/js keeps a goroutine for calls from the event loop.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("runtime.handleEvent"))
}

// The promise: tasks run, at most so many at once, the best first.
func TestPromise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var order []string
		q := queue.New(queue.NoResult(func(_ context.Context, name string) error {
			order = append(order, name)
			return nil
		}), 1)
		q.PushAll([]string{"a", "b", "c"})
		q.Push("urgent", queue.Priority(10))
		q.Push("before a", queue.Front())
		if err := q.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if want := []string{"urgent", "before a", "a", "b", "c"}; !slices.Equal(order, want) {
			t.Errorf("order = %q, want %q", order, want)
		}
	})
}
