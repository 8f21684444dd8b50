package main

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/semver"
)

// sources are built against every version, so that only the queue differs.
//
//go:embed suite/*.go
var sources embed.FS

const pkg = "comparesuite" // what the suites are called inside a version

// A version is one side of the comparison.
type version struct {
	label   string
	dir     string // its tree: a git worktree of its own, or the user's
	scratch string // a folder for what is built
	program string // the suites built against it
	sum     [sha256.Size]byte
	suites  []string // those that the program has
	unfit   []string // source files that do not compile against it
}

var errNoTag = errors.New("there is no version tag yet; name a commit to compare with, as in: go run -C perf ./compare HEAD~1")

// checkOut lays out the two versions. Whatever it returns, cleanup takes away
// what was made.
func checkOut(ctx context.Context, oldName, newName string) (old, current *version, cleanup func(), err error) {
	cleanup = func() {}
	top, err := git(ctx, ".", "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, nil, cleanup, err
	}
	if oldName == "" {
		tags, err := git(ctx, top, "tag", "--list")
		if err != nil {
			return nil, nil, cleanup, err
		}
		if oldName = latest(strings.Fields(tags)); oldName == "" {
			return nil, nil, cleanup, errNoTag
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, nil, cleanup, err
	}
	cache = filepath.Join(cache, "tickqueue-perf")
	if err := os.MkdirAll(cache, 0o777); err != nil {
		return nil, nil, cleanup, err
	}
	scratch, err := os.MkdirTemp(cache, "compare-")
	if err != nil {
		return nil, nil, cleanup, err
	}
	var worktrees []string
	cleanup = func() {
		// With a context of its own: ctx may be the one that was interrupted.
		for _, w := range worktrees {
			git(context.Background(), top, "worktree", "remove", "--force", w)
		}
		os.RemoveAll(scratch)
	}
	lay := func(side, name string) (*version, error) {
		v := &version{label: name, dir: top, scratch: filepath.Join(scratch, side)}
		if err := os.Mkdir(v.scratch, 0o777); err != nil {
			return nil, err
		}
		if name == "" {
			v.label = "current"
			return v, nil
		}
		commit, err := git(ctx, top, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
		if err != nil {
			return nil, fmt.Errorf("%q is no tag, branch or commit here", name)
		}
		v.dir = filepath.Join(v.scratch, "tree")
		worktrees = append(worktrees, v.dir)
		_, err = git(ctx, top, "worktree", "add", "--quiet", "--detach", v.dir, commit)
		return v, err
	}
	if old, err = lay("old", oldName); err != nil {
		return nil, nil, cleanup, err
	}
	if current, err = lay("new", newName); err != nil {
		return nil, nil, cleanup, err
	}
	if old.label == current.label {
		old.label += " (old)"
	}
	return old, current, cleanup, nil
}

// latest returns the highest version among tags, a pre-release only where there
// is no release, as the go command does; "" without any.
func latest(tags []string) string {
	tags = slices.DeleteFunc(slices.Clone(tags), func(t string) bool { return !semver.IsValid(t) })
	if len(tags) == 0 {
		return ""
	}
	return slices.MaxFunc(tags, func(a, b string) int {
		if ra, rb := semver.Prerelease(a) == "", semver.Prerelease(b) == ""; ra != rb {
			if ra {
				return 1
			}
			return -1
		}
		return semver.Compare(a, b)
	})
}

func git(ctx context.Context, dir string, args ...string) (string, error) {
	// The user's hooks have no business in trees that nobody works in.
	cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "core.hooksPath=" + os.DevNull}, args...)...)
	cmd.Dir = dir
	// Asked to stop, git takes its lock files with it; killed, it cannot.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	// Set where a hook runs compare; the index that they name is the user's.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(s string) bool {
		return strings.HasPrefix(s, "GIT_INDEX_FILE=") || strings.HasPrefix(s, "GIT_DIR=") || strings.HasPrefix(s, "GIT_WORK_TREE=")
	})
	out, err := output(cmd)
	if err != nil {
		err = fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.TrimSpace(string(out)), err
}

// output adds what the command said on its standard error to the error.
func output(cmd *exec.Cmd) ([]byte, error) {
	out, err := cmd.Output()
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(e.Stderr)))
	}
	return out, err
}

// build makes both programs and learns which suites there are.
func (c *comparison) build(ctx context.Context) error {
	for _, v := range c.versions {
		if err := v.build(ctx); err != nil {
			return err
		}
	}
	c.suites = slices.Clone(c.versions[1].suites)
	for _, s := range c.versions[0].suites {
		if !slices.Contains(c.suites, s) {
			c.suites = append(c.suites, s)
		}
	}
	return nil
}

// build compiles the suites as a package inside the version's own module, where
// its go.mod and go.sum hold. The package is there for the go command alone, by
// an overlay: nothing is written to the tree.
func (v *version) build(ctx context.Context) error {
	entries, err := sources.ReadDir("suite")
	if err != nil {
		return err
	}
	var files []string
	for _, e := range entries {
		files = append(files, e.Name())
	}
	v.program = filepath.Join(v.scratch, "suite.exe")
	for {
		if err = v.compile(ctx, files); err == nil {
			break
		}
		// Some suite calls what this version lacks. The compiler names its file.
		fits := func(f string) bool { return !strings.Contains(err.Error(), filepath.Join(pkg, f)+":") }
		n := len(files)
		files = slices.DeleteFunc(files, func(f string) bool {
			if f == "main.go" || fits(f) {
				return false
			}
			v.unfit = append(v.unfit, f)
			return true
		})
		if len(files) == n || len(files) == 1 {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("no suite compiles against %s: %w", v.label, err)
	}
	program, err := os.ReadFile(v.program)
	if err != nil {
		return err
	}
	v.sum = sha256.Sum256(program)
	list, err := output(exec.CommandContext(ctx, v.program))
	if err != nil {
		return fmt.Errorf("the suites do not start with %s: %w", v.label, err)
	}
	v.suites = strings.Split(strings.TrimSpace(string(list)), "\n")
	return nil
}

func (v *version) compile(ctx context.Context, files []string) error {
	dir, sourceDir := filepath.Join(v.dir, "internal", pkg), filepath.Join(v.scratch, pkg)
	if err := os.MkdirAll(sourceDir, 0o777); err != nil {
		return err
	}
	replace := map[string]string{}
	for _, f := range files {
		text, err := sources.ReadFile("suite/" + f)
		if err != nil {
			return err
		}
		replace[filepath.Join(dir, f)] = filepath.Join(sourceDir, f)
		if err := os.WriteFile(filepath.Join(sourceDir, f), text, 0o666); err != nil {
			return err
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	overlayPath := filepath.Join(v.scratch, "overlay.json")
	if err := os.WriteFile(overlayPath, overlay, 0o666); err != nil {
		return err
	}
	// With -e the compiler reports every error, and so every file that has one.
	cmd := exec.CommandContext(ctx, "go", "build", "-overlay", overlayPath, "-trimpath", "-buildvcs=false",
		"-gcflags=-e", "-o", v.program, "./internal/"+pkg)
	cmd.Dir = v.dir
	// One toolchain for both, and no workspace that would swap a version's module.
	cmd.Env = append(os.Environ(), "GOTOOLCHAIN=local", "GOWORK=off")
	_, err = output(cmd)
	return err
}
