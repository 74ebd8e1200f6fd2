// Package logqueue writes a process's log without ever keeping the process waiting.
//
// A write to a full pipe waits for its reader, so a reader that stands still stops the process. If
// the reader has ended, Go ends a process that writes to its stderr. Therefore a Writer queues the
// lines, and another goroutine writes them. The Writer drops and counts lines for which there is no
// room, and lines that cannot be written. Once writing works again, a line says how many it
// dropped.
//
// Not promised: lines that still wait are lost if the process crashes or is killed.
package logqueue

import (
	"bytes"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// limit is how many bytes may wait: some thousand lines. A write that is under way may hold as many
// again.
const limit = 256 << 10

// flushWithin is how long the last lines may take at the end of a process.
const flushWithin = time.Second

// Stderr returns the Writer of this process's stderr. Its first call has the process ignore
// SIGPIPE, so that the end of the log's reader does not end the process.
var Stderr = sync.OnceValue(func() *Writer {
	signal.Ignore(syscall.SIGPIPE)
	return New(os.Stderr)
})

// Counter returns the metric of this process's stderr, under a name.
func Counter(name string) prometheus.Collector {
	return prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: name,
		Help: "Lines of the log that were dropped because nobody read it, or because it could not " +
			"be written.",
	}, func() float64 { return float64(Stderr().Dropped()) })
}

// Writer queues lines for another writer. It is safe for concurrent use.
type Writer struct {
	to io.Writer

	mu            sync.Mutex
	waiting       []byte        // whole lines, limit bytes at most
	dropped, said int           // lines in all, and the number that the log has mentioned
	idle          chan struct{} // run closes it when it ends; nil: no run is under way
}

// New returns a Writer of lines to another writer. Its notices of dropped lines go to slog.Default,
// which should write to it.
func New(to io.Writer) *Writer { return &Writer{to: to} }

// Write queues one line, with its end, or drops it. It returns no error and does not wait.
func (w *Writer) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting)+len(line) > limit {
		w.dropped++
		return len(line), nil
	}
	w.waiting = append(w.waiting, line...)
	if w.idle == nil {
		w.idle = make(chan struct{})
		go w.run()
	}
	return len(line), nil
}

// Dropped returns how many lines have been dropped.
func (w *Writer) Dropped() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dropped
}

// Flush waits until nothing waits any more, for a second at most.
func (w *Writer) Flush() {
	w.mu.Lock()
	idle := w.idle
	w.mu.Unlock()
	if idle == nil {
		return
	}
	select {
	case <-idle:
	case <-time.After(flushWithin):
	}
}

// run writes until nothing waits.
func (w *Writer) run() {
	for works := false; ; {
		lines, missing := w.next(works)
		switch {
		case missing > 0:
			slog.Error("lines of this log are missing: nobody read it, or it could not be written",
				"droppedSinceStart", missing)
		case lines == nil:
			return
		default:
			n, err := w.to.Write(lines)
			if works = err == nil; !works {
				w.lost(lines[n:])
			}
		}
	}
}

// next takes the lines that wait. If there are none, it returns how many have been dropped,
// provided that writing works and the log does not say so yet. If it returns neither, run ends.
func (w *Writer) next(works bool) (lines []byte, missing int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case len(w.waiting) > 0:
		lines, w.waiting = w.waiting, nil
	case works && w.dropped > w.said:
		w.said = w.dropped
		missing = w.dropped
	default:
		close(w.idle)
		w.idle = nil
	}
	return lines, missing
}

// lost counts lines that could not be written.
func (w *Writer) lost(lines []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dropped += bytes.Count(lines, []byte("\n"))
}
