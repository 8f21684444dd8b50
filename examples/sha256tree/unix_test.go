//go:build unix

package main

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// build makes a program that runs anywhere, in an otherwise empty root directory too.
func build(t *testing.T, path string) {
	t.Helper()
	cmd := exec.Command("go", "build", "-o", path, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
}

func TestInterruptSignal(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "sha256tree")
	build(t, program)
	t.Chdir(dir)
	write(t, map[string]string{"first/endless": "", "then/small": "x"})
	if err := os.Truncate("first/endless", 1<<38); err != nil { // a hole, with minutes of zeros to read
		t.Fatal(err)
	}

	cmd := exec.Command(program, "-j", "2", "first", "then")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// The small file's line says that the large one, found before it, is being read.
	out := bufio.NewReader(stdout)
	line, err := out.ReadString('\n')
	if err != nil || !strings.HasSuffix(line, "  then/small\n") {
		t.Errorf("reads %q, %v", line, err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if rest, err := out.ReadString('\n'); rest != "" {
		t.Errorf("prints %q after the interrupt, %v", rest, err)
	}
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit status %d, want 130", code)
	}
	if n, found := left(t, errs.String()); n != 1 || found != 2 {
		t.Errorf("%d of %d files left, want 1 of 2", n, found)
	}
}

// A reader that goes away ends the program with a message, not with a signal.
func TestReaderGone(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "sha256tree")
	build(t, program)
	t.Chdir(dir)
	write(t, map[string]string{"tree/file": "x"})
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	reader.Close()
	defer writer.Close()
	cmd := exec.Command(program, "tree")
	var errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = writer, &errs
	cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.HasSuffix(errs.String(), ": broken pipe\n") {
		t.Errorf("exit status %d, says %q", code, &errs)
	}
}

func TestFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if errors.Is(err, os.ErrNotExist) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	t.Chdir(t.TempDir())
	write(t, map[string]string{"tree/file": "x"})
	var errs bytes.Buffer
	if status := run(t.Context(), []string{"tree"}, full, &errs); status != 1 || !strings.HasSuffix(errs.String(), ": no space left on device\n") {
		t.Errorf("status %d, says %q", status, &errs)
	}
}

// Only regular files are hashed; to open a pipe nobody writes to would take for ever.
func TestSpecialFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, map[string]string{"tree/file": "x"})
	if err := syscall.Mkfifo("tree/pipe", 0o644); err != nil {
		t.Fatal(err)
	}
	stdout, stderr := sum(t, 0, "tree")
	if want := sha256sum(t, "", "tree/file"); stdout != want || stderr != "" {
		t.Errorf("prints %q, says %q; want %q", stdout, stderr, want)
	}
}

func TestUnreadable(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "sha256tree")
	build(t, program)
	t.Chdir(dir)
	write(t, map[string]string{"tree/a": "x", "tree/secret": "y", "tree/new\nline": "z", "tree/locked/b": "v", "tree/z": "w"})
	for path, mode := range map[string]os.FileMode{".": 0o755, "tree/secret": 0, "tree/new\nline": 0, "tree/locked": 0} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { os.Chmod("tree/locked", 0o755) }) // or it could not be removed

	cmd := exec.Command(program, "-sort", "tree")
	if os.Geteuid() == 0 {
		// Root may read everything, so somebody else has to try. The new root directory is for temporary
		// directories that only root can reach.
		cmd = exec.Command("/sha256tree", "-sort", "tree")
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: dir, Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatal(err)
	}
	if code := cmd.ProcessState.ExitCode(); code != 1 {
		t.Errorf("exit status %d, want 1", code)
	}
	if want := sha256sum(t, "", "tree/a", "tree/z"); out.String() != want {
		t.Errorf("prints %q, want %q", &out, want)
	}
	want := `sha256tree: "tree/new\nline": permission denied
sha256tree: tree/locked: permission denied
sha256tree: tree/secret: permission denied
`
	if got := strings.Join(sortedLines(errs.String()), ""); got != want {
		t.Errorf("says\n%swant\n%s", got, want)
	}
}
