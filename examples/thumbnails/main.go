// Command thumbnails is an HTTP service that scales images down.
//
//	POST /thumbnail?max=256  takes a PNG or JPEG image and answers with one of the same format
//	                         that is at most max pixels wide and high
//	GET  /stats              tells what the queue is doing
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

const (
	readTimeout  = 30 * time.Second // for a request to arrive
	writeTimeout = 30 * time.Second // for an answer to be taken
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // so that a second signal ends the program at once
	os.Exit(run(ctx, os.Args[1:], os.Stderr))
}

func run(ctx context.Context, args []string, stderr io.Writer) int {
	flags := flag.NewFlagSet("thumbnails", flag.ContinueOnError)
	flags.SetOutput(stderr)
	addr := flags.String("addr", "localhost:8080", "listen on this `address`")
	workers := flags.Int("j", runtime.GOMAXPROCS(0), "scale `N` images at a time")
	capacity := flags.Int("capacity", 64, "let `N` images wait; above that, answer 503")
	drain := flags.Duration("drain", 20*time.Second, "on SIGTERM, finish what was accepted for this `time`")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	if *workers < 1 || *capacity < 1 || *drain < 0 || flags.NArg() > 0 {
		fmt.Fprintln(stderr, "thumbnails: -j and -capacity are at least 1, -drain is not negative, and nothing follows the flags")
		return 2
	}
	logger := log.New(stderr, "thumbnails: ", 0)
	listener, err := net.Listen("tcp", *addr)
	if err != nil {
		logger.Print(err)
		return 1
	}
	logger.Printf("listening on http://%s", listener.Addr())
	if err := newServer(scale, *workers, *capacity, logger).serve(ctx, listener, *drain); err != nil {
		logger.Print(err)
		return 1
	}
	return 0
}

// serve answers requests until ctx is done, and then those that were accepted: with thumbnails for as long as
// drain, with 503 after that.
func (s *server) serve(ctx context.Context, listener net.Listener, drain time.Duration) error {
	h := &http.Server{Handler: s, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, ErrorLog: s.log}
	stopped := make(chan error, 1)
	go func() { stopped <- h.Serve(listener) }()
	select {
	case err := <-stopped:
		s.queue.Kill()
		return err
	case <-ctx.Done():
	}

	// The queue closes before the listener does: who comes meanwhile is told to try elsewhere.
	accepted, cancel := context.WithTimeout(context.Background(), drain)
	defer cancel()
	if s.queue.Shutdown(accepted) != nil {
		s.queue.Kill()
	}
	// What is left are answers on their way, and uploads, which will find the queue closed.
	answers, cancel := context.WithTimeout(context.Background(), readTimeout+writeTimeout)
	defer cancel()
	err := h.Shutdown(answers)
	if err != nil {
		h.Close()
	}
	<-stopped
	return err
}
