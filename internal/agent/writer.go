package agent

import (
	"errors"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/node"
	"github.com/podesta-dev/podesta/internal/roster"
)

// writer writes to the disk while the loop goes on. Each job holds everything that the ones before
// it held, so that of several that wait the newest alone is written, and its outcome is theirs.
type writer struct {
	save     func(lease.State, *roster.Roster) error
	jobs     chan job // capacity 1: the newest that waits
	outcomes chan outcome
	stop     chan struct{}
	stopped  chan struct{}
}

type job struct {
	number uint64
	state  lease.State
	roster *roster.Roster
}

type outcome struct {
	number uint64
	err    error
}

var errNoStateDirectory = errors.New("there is no state directory, " +
	"so this voter can promise nothing")

func newWriter(save func(lease.State, *roster.Roster) error) *writer {
	w := &writer{
		save:     save,
		jobs:     make(chan job, 1),
		outcomes: make(chan outcome),
		stop:     make(chan struct{}),
		stopped:  make(chan struct{}),
	}
	go w.run()
	return w
}

func (w *writer) run() {
	defer close(w.stopped)
	for {
		select {
		case <-w.stop:
			return
		case j := <-w.jobs:
			err := errNoStateDirectory
			if w.save != nil {
				err = w.save(j.state, j.roster)
			}
			select {
			case w.outcomes <- outcome{j.number, err}:
			case <-w.stop:
				return
			}
		}
	}
}

// begin has a job done soon. Only one goroutine may call it.
func (w *writer) begin(j job) {
	select {
	case <-w.jobs: // an older one, which this one covers
	default:
	}
	w.jobs <- j
}

// lastWrite is how long a write may take that is under way at the end.
const lastWrite = time.Second

// close ends the writer. A write that is under way is finished first, unless the disk hangs, and
// nobody hears of it: nothing was said that depends on it.
func (w *writer) close() {
	close(w.stop)
	select {
	case <-w.stopped:
	case <-time.After(lastWrite):
	}
}

// write begins a write of the node.
func (a *agent) write(w node.Write) {
	a.written = w
	a.writer.begin(job{
		number: w.Number,
		state:  w.Lease,
		roster: a.inUse, // nil if the node has none to keep
	})
}
