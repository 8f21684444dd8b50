package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"math/bits"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/tickqueue/queue"
)

const (
	capacity  = 1024      // files that wait at most
	listSize  = 256       // entries of a directory read at a time
	chunkSize = 128 << 10 // bytes of a file read at a time
)

type file struct {
	path string
	size int64 // when it was found; it only decides the order
}

// tree hashes what lies below some directories. The walk waits for room in the queue, so what is held
// at a time does not grow with the tree.
type tree struct {
	queue   *queue.Queue[file, struct{}]
	out     *output
	hashers sync.Pool // of *hasher

	found, foundBytes   atomic.Int64
	hashed, hashedBytes atomic.Int64 // hashedBytes includes what is read of unfinished files
	failed              atomic.Int64 // found, but not readable
	unlisted            int          // directories and entries that could not be examined; the walk's own

	mu   sync.Mutex // guards writes to errs
	errs io.Writer  // takes a line for whatever cannot be read
}

type hasher struct {
	hash.Hash
	buf []byte
	sum [sha256.Size]byte
}

// newTree returns a tree whose workers stop when ctx is done.
func newTree(ctx context.Context, workers int, errs io.Writer) *tree {
	t := &tree{errs: errs}
	t.hashers.New = func() any { return &hasher{Hash: sha256.New(), buf: make([]byte, chunkSize)} }
	t.queue = queue.New(queue.NoResult(t.hash), workers, queue.WithContext(ctx), queue.WithCapacity(capacity))
	t.queue.OnError(func(f file, err error) {
		if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
			return // interrupted, which says nothing of the file
		}
		t.failed.Add(1)
		t.complain(f.path, err)
	})
	return t
}

// all hashes the files below dirs and reports whether it came to the end before ctx was done.
func (t *tree) all(ctx context.Context, dirs []string) bool {
	for _, dir := range dirs {
		if t.walk(ctx, dir) != nil {
			break // ctx is done, and Shutdown says so
		}
	}
	if t.queue.Shutdown(ctx) == nil && ctx.Err() == nil {
		return true
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	t.queue.Wait(grace)
	return false
}

// walk pushes the files below dir. Its error is that of a refused push.
func (t *tree) walk(ctx context.Context, dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		t.skip(dir, err)
		return nil
	}
	defer d.Close()
	if !os.IsPathSeparator(dir[len(dir)-1]) {
		// Not filepath.Join: it would turn ./- into -, which sha256sum takes for its standard input.
		dir += string(os.PathSeparator)
	}
	for ctx.Err() == nil {
		// In pieces: os.ReadDir and filepath.WalkDir hold a whole directory.
		entries, err := d.ReadDir(listSize)
		for _, entry := range entries {
			path := dir + entry.Name()
			switch {
			case entry.IsDir():
				if err := t.walk(ctx, path); err != nil {
					return err
				}
			case entry.Type().IsRegular():
				info, err := entry.Info()
				if err != nil {
					t.skip(path, err)
					continue
				}
				if err := t.push(ctx, file{path, info.Size()}); err != nil {
					return err
				}
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			t.skip(dir, err)
			return nil
		}
	}
	return ctx.Err()
}

// push adds a file, the smaller ones before the larger: the more bits the size has, the lower is the priority.
func (t *tree) push(ctx context.Context, f file) error {
	t.found.Add(1)
	t.foundBytes.Add(f.size)
	return t.queue.PushWait(ctx, f, queue.Priority(-bits.Len64(uint64(f.size))))
}

// hash is the queue's worker.
func (t *tree) hash(ctx context.Context, f file) error {
	in, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer in.Close()
	h := t.hashers.Get().(*hasher)
	defer t.hashers.Put(h)
	h.Reset()
	for {
		n, err := in.Read(h.buf)
		h.Write(h.buf[:n])
		t.hashedBytes.Add(int64(n))
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	t.out.add(f.path, h.Sum(h.sum[:0]))
	t.hashed.Add(1)
	return nil
}

// skip notes what the walk could not examine.
func (t *tree) skip(path string, err error) {
	t.unlisted++
	t.complain(path, err)
}

func (t *tree) complain(path string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(t.errs, "sha256tree: %s: %v\n", display(path), reason(err))
}

// reason leaves out what a PathError says of the path, which may not be fit for a line.
func reason(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// display quotes a path that would not stay on one line or could steer the terminal.
func display(path string) string {
	for _, r := range path {
		if !strconv.IsPrint(r) || r == utf8.RuneError {
			return strconv.Quote(path)
		}
	}
	if path == "" {
		return `""`
	}
	return path
}
