// Command browser serves a page in which a queue draws a fractal, with and
// without turns for the page. It needs the Go tree to build the page's program.
package main

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

//go:embed page
var page embed.FS

// app is the import path of what runs in the page.
const app = "github.com/tickqueue/queue/examples/browser/app"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // so that a second signal ends the program at once
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("browser", flag.ContinueOnError)
	flags.SetOutput(stderr)
	addr := flags.String("addr", "127.0.0.1:0", "listen on this `address`; port 0 is any that is free")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	if flags.NArg() > 0 {
		fmt.Fprintln(stderr, "browser: nothing follows the flags")
		return 2
	}
	if err := serve(ctx, *addr, stdout); err != nil {
		fmt.Fprintln(stderr, "browser:", err)
		return 1
	}
	return 0
}

// serve builds the program, serves the page and prints its address. It returns
// when ctx is done.
func serve(ctx context.Context, addr string, stdout io.Writer) error {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	defer listener.Close()
	handler, err := newHandler(ctx)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() { server.Close() })()
	fmt.Fprintf(stdout, "http://%s/\n", listener.Addr())
	if err := server.Serve(listener); ctx.Err() == nil {
		return err
	}
	return nil
}

// newHandler returns what answers with the page and its program.
func newHandler(ctx context.Context) (http.Handler, error) {
	program, err := build(ctx)
	if err != nil {
		return nil, err
	}
	glue, err := wasmExec(ctx)
	if err != nil {
		return nil, err
	}
	files, err := fs.Sub(page, "page")
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /", http.FileServerFS(files))
	mux.Handle("GET /app.wasm", content("app.wasm", program))
	mux.Handle("GET /wasm_exec.js", content("wasm_exec.js", glue))
	return mux, nil
}

func content(name string, data []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(data))
	})
}

// build compiles the program for the browser.
func build(ctx context.Context) ([]byte, error) {
	dir, err := os.MkdirTemp("", "browser")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "app.wasm")
	cmd := exec.CommandContext(ctx, "go", "build", "-ldflags=-s -w", "-o", file, app)
	cmd.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build: %w\n%s", err, out)
	}
	return os.ReadFile(file)
}

// wasmExec returns the script with which the Go tree that builds the program
// lets JavaScript run it.
func wasmExec(ctx context.Context) ([]byte, error) {
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOROOT: %w", err)
	}
	return os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm", "wasm_exec.js"))
}
