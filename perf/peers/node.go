package main

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/tickqueue/queue/perf/internal/measure"
)

//go:embed node
var nodeFiles embed.FS

// installNode lays the Node peers out in the user's cache folder, at the versions
// of package-lock.json, and returns the folder. What is there already is kept.
func installNode(ctx context.Context) (dir string, err error) {
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			return "", err
		}
	}
	files, err := fs.Sub(nodeFiles, "node")
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, name := range []string{"bench.mjs", "package-lock.json", "package.json"} {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return "", err
		}
		h.Write(text)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir = filepath.Join(cache, "tickqueue-perf", fmt.Sprintf("node-%x", h.Sum(nil)[:8]))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	// In a folder of its own first, so that a folder of that name is complete.
	if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		return "", err
	}
	scratch, err := os.MkdirTemp(filepath.Dir(dir), "node-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(scratch)
	if err := os.CopyFS(filepath.Join(scratch, "node"), files); err != nil {
		return "", err
	}
	npm := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
	npm.Dir = filepath.Join(scratch, "node")
	if out, err := npm.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	if err := os.Rename(npm.Dir, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return dir, nil
}

// runNode does the job in a process of Node.
func runNode(ctx context.Context, dir string, j job, o *outcome) error {
	text, err := json.Marshal(j)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "node", "--expose-gc", "bench.mjs", string(text))
	cmd.Dir = dir
	return measure.Decode(cmd, o)
}
