package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/tickqueue/queue"
	"golang.org/x/image/draw"
)

const (
	maxBody      = 16 << 20 // bytes of an image as sent
	maxPixels    = 40e6     // of an image unpacked
	maxSide      = 20_000   // pixels; the scaler needs memory for the longer side, however short the other is
	maxThumbnail = 1024     // pixels a side
	retryAfter   = "1"      // seconds
)

// paid is the header that puts a request before those without. A gateway that knows the customers sets it.
const paid = "X-Paid"

type job struct {
	image  []byte
	format string // as the image package names it
	max    int    // pixels a side
}

type server struct {
	http.Handler
	log   *log.Logger
	queue *queue.Queue[job, []byte]

	// One for each request from its arrival to its result, as many as the queue has places to wait and to run in.
	// Do would wait for room; who gets no place here is turned away instead, and before the upload is read.
	places chan struct{}
}

func newServer(worker func(context.Context, job) ([]byte, error), concurrency, capacity int, log *log.Logger) *server {
	s := &server{
		log:    log,
		queue:  queue.New(worker, concurrency, queue.WithCapacity(capacity)),
		places: make(chan struct{}, concurrency+capacity),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /thumbnail", s.thumbnail)
	mux.HandleFunc("GET /stats", s.stats)
	s.Handler = mux
	return s
}

// A refusal is an error that is the client's to know.
type refusal struct {
	status int
	reason string
}

func (r *refusal) Error() string { return r.reason }

var (
	full    = &refusal{http.StatusServiceUnavailable, "too many images are waiting"}
	leaving = &refusal{http.StatusServiceUnavailable, "shutting down"}
)

func (s *server) thumbnail(w http.ResponseWriter, r *http.Request) {
	format, thumbnail, err := s.process(w, r)
	// The time in the queue is not the client's.
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
	if r.Context().Err() != nil {
		return // the client has hung up
	}
	if refused, ok := errors.AsType[*refusal](err); ok {
		if refused.status == http.StatusServiceUnavailable {
			w.Header().Set("Retry-After", retryAfter)
		}
		if refused == leaving {
			w.Header().Set("Connection", "close") // the next try is another server's
		}
		http.Error(w, refused.reason, refused.status)
		return
	}
	if err != nil {
		s.log.Print(err)
		http.Error(w, "this image cannot be scaled", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "image/"+format)
	w.Header().Set("Content-Length", strconv.Itoa(len(thumbnail)))
	w.Write(thumbnail)
}

// process returns a thumbnail of what the request sends.
func (s *server) process(w http.ResponseWriter, r *http.Request) (format string, thumbnail []byte, err error) {
	if s.queue.Stats().Closed {
		return "", nil, leaving // without an upload that Do would refuse
	}
	select {
	case s.places <- struct{}{}:
		defer func() { <-s.places }()
	default:
		return "", nil, full
	}
	j, err := read(w, r)
	if err != nil {
		return "", nil, err
	}
	priority := 0
	if r.Header.Get(paid) != "" {
		priority = 1
	}
	thumbnail, err = s.queue.Do(r.Context(), j, queue.Priority(priority))
	if errors.Is(err, queue.ErrClosed) || errors.Is(err, queue.ErrDropped) {
		err = leaving
	}
	return j.format, thumbnail, err
}

// read reads a request and refuses what would be too much to unpack.
func read(w http.ResponseWriter, r *http.Request) (job, error) {
	side := 256
	if v := r.URL.Query().Get("max"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 || n > maxThumbnail {
			return job{}, &refusal{http.StatusBadRequest, fmt.Sprintf("max is a number from 1 to %d", maxThumbnail)}
		}
		side = n
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return job{}, &refusal{http.StatusRequestEntityTooLarge, fmt.Sprintf("more than %d bytes", maxBody)}
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return job{}, &refusal{http.StatusRequestTimeout, "the image took too long to arrive"}
	}
	if err != nil {
		return job{}, &refusal{http.StatusBadRequest, err.Error()}
	}
	config, format, err := image.DecodeConfig(bytes.NewReader(data))
	if errors.Is(err, image.ErrFormat) || err == nil && format != "png" && format != "jpeg" {
		return job{}, &refusal{http.StatusUnsupportedMediaType, "neither PNG nor JPEG"}
	}
	if err != nil {
		return job{}, &refusal{http.StatusBadRequest, err.Error()}
	}
	if max(config.Width, config.Height) > maxSide || int64(config.Width)*int64(config.Height) > maxPixels {
		reason := fmt.Sprintf("more than %d pixels, or than %d a side", int(maxPixels), maxSide)
		return job{}, &refusal{http.StatusRequestEntityTooLarge, reason}
	}
	return job{data, format, side}, nil
}

// scale is the queue's worker.
func scale(ctx context.Context, j job) ([]byte, error) {
	src, _, err := image.Decode(bytes.NewReader(j.image))
	if err != nil {
		return nil, &refusal{http.StatusBadRequest, err.Error()}
	}
	if ctx.Err() != nil { // what follows takes as long again
		return nil, context.Cause(ctx)
	}
	dst := image.NewRGBA(fit(src.Bounds().Size(), j.max))
	draw.CatmullRom.Scale(dst, dst.Bounds(), src, src.Bounds(), draw.Src, nil)
	var out bytes.Buffer
	if j.format == "png" {
		err = png.Encode(&out, dst)
	} else {
		err = jpeg.Encode(&out, dst, nil)
	}
	return out.Bytes(), err
}

// fit returns the largest rectangle of the given proportions that is no larger than size, nor a side longer than side.
func fit(size image.Point, side int) image.Rectangle {
	f := min(1, float64(side)/float64(max(size.X, size.Y)))
	return image.Rect(0, 0, max(1, int(float64(size.X)*f+0.5)), max(1, int(float64(size.Y)*f+0.5)))
}

func (s *server) stats(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(s.queue.Stats())
}
