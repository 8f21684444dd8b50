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
		seeds = make([]uint64, 40)
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
	for seed := range uint64(8) {
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
		runOn[[9_000]byte](t, script[1:])
	case 1: // 3
		runOn[[5_000]byte](t, script[1:])
	case 2, 3: // 5
		runOn[[3_000]byte](t, script[1:])
	case 4: // 16
		runOn[[1_000]byte](t, script[1:])
	case 5: // 1,023
		runOn[byte](t, script[1:])
	}
}

type padded[P comparable] struct {
	id int
	_  P
}

// A model is a list together with the slice that it has to be equal to.
type model[P comparable] struct {
	list  List[padded[P], int]
	want  []modelTask[P]
	inbox *model[P] // what is appended to the list now and then
	ids   *int
}

type modelTask[P comparable] struct {
	id, priority int
	handle       *Handle[padded[P], int] // nil if it has none
}

func runOn[P comparable](t *testing.T, script []byte) {
	ids := new(int)
	m := &model[P]{ids: ids, inbox: &model[P]{ids: ids}}
	spread, script := script[0], script[1:]
	for i := 0; len(script) >= operationBytes; i++ {
		op := script[:operationBytes]
		script = script[operationBytes:]
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
	const kinds = 20
	kind %= kinds
	switch handled := kind%2 == 0; kind {
	case 0, 1, 2, 3:
		for range min(times, m.room()) {
			m.push(priority, false, handled)
		}
	case 4, 5:
		for range min(times, m.room()) {
			m.push(priority, true, handled)
		}
	case 6, 7, 8:
		return m.repeat(times, m.pop)
	case 9, 10, 11:
		return m.repeat(times, func() error { return m.remove(where) })
	case 12, 13:
		return m.repeat(times, func() error { return m.setPriority(where, priority) })
	case 14:
		if err := m.removeFunc(where); err != nil {
			return err
		}
	case 15: // the inbox gets its pushes in pieces, and rarely loses some
		for range min(times, m.room()) {
			m.inbox.push(priority, where%4 == 0, handled)
		}
		return m.inbox.check()
	case 16:
		for i := range min(times, m.room()) {
			m.inbox.push(priority+i%3, false, handled)
		}
		return m.inbox.check()
	case 17:
		if where%4 == 0 {
			return m.inbox.repeat(times, m.inbox.pop)
		}
	case 18:
		m.appendInbox()
		if err := m.inbox.check(); err != nil {
			return fmt.Errorf("what was appended: %w", err)
		}
	case 19:
		if where%4 == 0 {
			return m.repeat(len(m.want), m.pop)
		}
	}
	return m.check()
}

// repeat repeats an operation that takes a task at most.
func (m *model[P]) repeat(times int, take func() error) error {
	for range min(times, len(m.want)) {
		if err := take(); err != nil {
			return err
		}
	}
	return m.check()
}

func (m *model[P]) appendInbox() {
	for _, w := range m.inbox.want {
		m.insert(w, false)
	}
	m.inbox.want = nil
	m.list.Append(&m.inbox.list)
}

// room keeps the list small enough to look at all of it after each operation.
func (m *model[P]) room() int {
	return max(0, min(25*maxSlots[padded[P]](), 3_000)-len(m.want))
}

func (m *model[P]) push(priority int, front, handled bool) {
	*m.ids++
	w := modelTask[P]{id: *m.ids, priority: priority}
	if handled {
		w.handle = &Handle[padded[P], int]{Value: w.id}
	}
	m.insert(w, front)
	if front {
		m.list.PushFront(priority, padded[P]{id: w.id}, w.handle)
	} else {
		m.list.PushBack(priority, padded[P]{id: w.id}, w.handle)
	}
}

func (m *model[P]) insert(w modelTask[P], front bool) {
	at := len(m.want)
	for at > 0 && (m.want[at-1].priority < w.priority || front && m.want[at-1].priority == w.priority) {
		at--
	}
	m.want = slices.Insert(m.want, at, w)
}

func (m *model[P]) pop() error {
	w := m.want[0]
	m.want = slices.Delete(m.want, 0, 1)
	task, h := m.list.Pop()
	if task.id != w.id || h != w.handle {
		return fmt.Errorf("popped %d with handle %p, want %d with %p", task.id, h, w.id, w.handle)
	}
	return w.checkGone()
}

// handled returns the index of the first task with a handle after where/256 of
// the list, or -1.
func (m *model[P]) handled(where int) int {
	from := where * len(m.want) / 256
	for i := range m.want {
		if i = (i + from) % len(m.want); m.want[i].handle != nil {
			return i
		}
	}
	return -1
}

func (m *model[P]) remove(where int) error {
	i := m.handled(where)
	if i < 0 {
		return nil
	}
	w := m.want[i]
	m.want = slices.Delete(m.want, i, i+1)
	if task := m.list.Remove(w.handle); task.id != w.id {
		return fmt.Errorf("removed %d, want %d", task.id, w.id)
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
	w.priority = priority
	m.insert(w, false)
	m.list.PushBack(priority, padded[P]{id: w.id}, w.handle)
	return nil
}

func (m *model[P]) removeFunc(where int) error {
	modulus, rest := 1+where%5, where/5%5 // all, none or some
	match := func(id int) bool { return id%modulus == rest }

	var wantAsked, asked []int
	var wantRemoved, removed, kept []modelTask[P]
	for _, w := range m.want {
		wantAsked = append(wantAsked, w.id)
		if match(w.id) {
			wantRemoved = append(wantRemoved, modelTask[P]{id: w.id, handle: w.handle})
		} else {
			kept = append(kept, w)
		}
	}
	m.want = kept

	m.list.RemoveFunc(func(task padded[P]) bool {
		asked = append(asked, task.id)
		return match(task.id)
	}, func(task padded[P], h *Handle[padded[P], int]) {
		removed = append(removed, modelTask[P]{id: task.id, handle: h})
	})
	if !slices.Equal(asked, wantAsked) {
		return fmt.Errorf("asked about %d, want %d", asked, wantAsked)
	}
	if !slices.Equal(removed, wantRemoved) {
		return fmt.Errorf("removed %v, want %v", removed, wantRemoved)
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
		return fmt.Errorf("the handle of %d is held after the task was taken", w.id)
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
	i := 0
	for task := range m.list.All() {
		if i == len(m.want) || task.id != m.want[i].id {
			return fmt.Errorf("task %d is at place %d", task.id, i)
		}
		i++
	}
	if i < len(m.want) {
		return fmt.Errorf("task %d is not at place %d", m.want[i].id, i)
	}
	for _, w := range m.want {
		if w.handle != nil && (!w.handle.Held() || w.handle.Value != w.id) {
			return fmt.Errorf("the handle of %d is held: %t, with value %d", w.id, w.handle.Held(), w.handle.Value)
		}
	}
	return nil
}
