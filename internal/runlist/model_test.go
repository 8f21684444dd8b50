package runlist

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

var seedFlag = flag.Uint64("seed", 0, "replay TestModel with this seed only")

// TestModel applies random operations to a list and to a sorted slice.
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
			runScript(t, randomScript(seed))
		})
	}
}

// FuzzList is TestModel with operations that the fuzzer finds.
func FuzzList(f *testing.F) {
	for seed := range uint64(24) {
		f.Add(randomScript(seed))
	}
	f.Fuzz(runScript)
}

func randomScript(seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 0))
	script := make([]byte, 2+operationBytes*(20+r.IntN(400)))
	for i := range script {
		script[i] = byte(r.Uint32())
	}
	return script
}

// A script is two bytes that choose the list and so many for each operation:
// what is done, the priority, how many times, and where.
const operationBytes = 4

func runScript(t *testing.T, script []byte) {
	if len(script) < 2 {
		return
	}
	// A full segment has slots for so many of these tasks. Where it has few, few
	// operations make many segments.
	switch script[0] % 6 {
	case 0: // 1
		runOn[[20_000]byte](t, script[1:])
	case 1: // 2
		runOn[[6_000]byte](t, script[1:])
	case 2, 3: // 5
		runOn[[3_000]byte](t, script[1:])
	case 4: // 16
		runOn[[1_000]byte](t, script[1:])
	case 5: // 1,023
		runOn[byte](t, script[1:])
	}
}

type padded[P comparable] struct {
	id  int
	pad P
}

// A model is a list together with the slice that it has to be equal to.
type model[P comparable] struct {
	list List[padded[P], int]
	want []modelTask[P]
	ids  int
}

type modelTask[P comparable] struct {
	priority int
	task     padded[P]
	handle   *Handle[padded[P], int] // nil if it has none
}

func runOn[P comparable](t *testing.T, script []byte) {
	m := new(model[P])
	spread := script[0]
	for i, op := range slices.Collect(slices.Chunk(script[1:], operationBytes)) {
		if len(op) < operationBytes {
			return
		}
		times := 1
		if op[2] >= 128 {
			times = 1 << (op[2] % 8)
		}
		if err := m.apply(op[0], priorityOf(spread, op[1]), times, int(op[3])); err != nil {
			t.Fatalf("operation %d, % x, on %d tasks: %v", i, op, len(m.want), err)
		}
	}
}

// priorityOf spreads a script's byte over few or many priorities.
func priorityOf(spread, b byte) int {
	switch spread % 4 {
	case 0:
		return 0
	case 1:
		return int(b % 3)
	case 2:
		return int(int8(b))
	default:
		return []int{math.MinInt, math.MinInt + 1, -1, 0, 1, math.MaxInt - 1, math.MaxInt}[b%7]
	}
}

func (m *model[P]) apply(kind byte, priority, times, where int) error {
	switch kind % 16 {
	case 0, 1, 2, 3:
		for range times {
			m.push(priority, false, kind%2 == 0)
		}
	case 4, 5:
		for range times {
			m.push(priority, true, kind%2 == 0)
		}
	case 6, 7, 8:
		for range min(times, len(m.want)) {
			if err := m.pop(); err != nil {
				return err
			}
		}
	case 9, 10, 11:
		for range min(times, len(m.want)) {
			if err := m.remove(where); err != nil {
				return err
			}
		}
	case 12, 13:
		for range min(times, len(m.want)) {
			if err := m.setPriority(where, priority); err != nil {
				return err
			}
		}
	case 14:
		if err := m.removeFunc(where); err != nil {
			return err
		}
	case 15:
		for where%4 == 0 && len(m.want) > 0 {
			if err := m.pop(); err != nil {
				return err
			}
		}
	}
	return m.check()
}

func (m *model[P]) push(priority int, front, handled bool) {
	m.ids++
	w := modelTask[P]{priority: priority, task: padded[P]{id: m.ids}}
	if handled {
		w.handle = &Handle[padded[P], int]{Value: m.ids}
	}
	at := len(m.want)
	for at > 0 && (m.want[at-1].priority < priority || front && m.want[at-1].priority == priority) {
		at--
	}
	m.want = slices.Insert(m.want, at, w)
	if front {
		m.list.PushFront(priority, w.task, w.handle)
	} else {
		m.list.PushBack(priority, w.task, w.handle)
	}
}

func (m *model[P]) pop() error {
	w := m.want[0]
	m.want = slices.Delete(m.want, 0, 1)
	task, h := m.list.Pop()
	if task != w.task || h != w.handle {
		return fmt.Errorf("popped %d with handle %p, want %d with %p", task.id, h, w.task.id, w.handle)
	}
	return w.checkGone()
}

// remove removes the task with a handle that is nearest after where/256 of the
// list.
func (m *model[P]) remove(where int) error {
	i := m.handled(where)
	if i < 0 {
		return nil
	}
	w := m.want[i]
	m.want = slices.Delete(m.want, i, i+1)
	if task := m.list.Remove(w.handle); task != w.task {
		return fmt.Errorf("removed %d, want %d", task.id, w.task.id)
	}
	return w.checkGone()
}

func (m *model[P]) setPriority(where, priority int) error {
	i := m.handled(where)
	if i < 0 {
		return nil
	}
	w := m.want[i]
	if err := m.remove(where); err != nil {
		return err
	}
	m.list.PushBack(priority, w.task, w.handle)
	w.priority = priority
	at := len(m.want)
	for at > 0 && m.want[at-1].priority < priority {
		at--
	}
	m.want = slices.Insert(m.want, at, w)
	return nil
}

func (m *model[P]) handled(where int) int {
	from := where * len(m.want) / 256
	for i := range m.want {
		if i = (i + from) % len(m.want); m.want[i].handle != nil {
			return i
		}
	}
	return -1
}

func (m *model[P]) removeFunc(where int) error {
	modulus, rest := 1+where%5, where/5%5 // all, none or some
	match := func(task padded[P]) bool { return task.id%modulus == rest }

	var asked []padded[P]
	var removed, wantRemoved []modelTask[P]
	for _, w := range m.want {
		if match(w.task) {
			wantRemoved = append(wantRemoved, modelTask[P]{0, w.task, w.handle})
		}
	}
	wantAsked := tasksOf(m.want)
	m.want = slices.DeleteFunc(m.want, func(w modelTask[P]) bool { return match(w.task) })

	m.list.RemoveFunc(func(task padded[P]) bool {
		asked = append(asked, task)
		return match(task)
	}, func(task padded[P], h *Handle[padded[P], int]) {
		removed = append(removed, modelTask[P]{0, task, h})
	})
	if !slices.Equal(asked, wantAsked) {
		return fmt.Errorf("asked about %d tasks, want %d in order", len(asked), len(wantAsked))
	}
	if !slices.Equal(removed, wantRemoved) {
		return fmt.Errorf("removed %d tasks, want %d in order", len(removed), len(wantRemoved))
	}
	for _, w := range removed {
		if err := w.checkGone(); err != nil {
			return err
		}
	}
	return nil
}

func (w *modelTask[P]) checkGone() error {
	if w.handle != nil && w.handle.Held() {
		return fmt.Errorf("the handle of %d is held after the task was taken", w.task.id)
	}
	return nil
}

func (m *model[P]) check() error {
	if err := check(&m.list); err != nil {
		return err
	}
	if m.list.Len() != len(m.want) {
		return fmt.Errorf("length %d, want %d", m.list.Len(), len(m.want))
	}
	if got := slices.Collect(m.list.All()); !slices.Equal(got, tasksOf(m.want)) {
		return fmt.Errorf("tasks %d, want %d", idsOf(got), idsOf(tasksOf(m.want)))
	}
	for _, w := range m.want {
		switch h := w.handle; {
		case h == nil:
		case !h.Held():
			return fmt.Errorf("the handle of %d is not held", w.task.id)
		case h.Value != w.task.id || h.segment.slots[h.slot] != w.task:
			return fmt.Errorf("the handle of %d is at task %d with value %d",
				w.task.id, h.segment.slots[h.slot].id, h.Value)
		}
	}
	return nil
}

func tasksOf[P comparable](want []modelTask[P]) (tasks []padded[P]) {
	for _, w := range want {
		tasks = append(tasks, w.task)
	}
	return tasks
}

func idsOf[P comparable](tasks []padded[P]) (ids []int) {
	for _, task := range tasks {
		ids = append(ids, task.id)
	}
	return ids
}
