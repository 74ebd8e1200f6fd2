package node

import (
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
)

// writes is what is to be written, and what is being written. What a process may not say before its
// write has succeeded is decided in internal/lease (V11, disk.go).
type writes struct {
	dirty       bool          // something has changed since the newest write was begun
	version     uint64        // of the lease protocol's State, newest
	roster      *Roster       // to be kept; nil: none
	begun       uint64        // number of the newest write
	lost        uint64        // writes up to this number are not believed, whatever is reported
	outstanding []writing     // begun, and not reported yet; oldest first
	retry       lease.Instant // when a write is tried again after one that failed; 0: none has
	state       lease.State   // the newest that is on the disk
	write       Write         // handed out
}

// writing is a write that is under way.
type writing struct {
	number  uint64
	version uint64 // of the lease protocol's State in it
	state   lease.State
}

const (
	// retryWrite is how long after a write failed another one is tried.
	retryWrite = time.Second
	// maxOutstanding is how many writes are under way at most. What changes meanwhile waits; as
	// each write holds everything, the next one holds that, too.
	maxOutstanding = 64
)

// forgetRoster has the roster on the disk forgotten.
func (w *writes) forgetRoster() {
	if w.roster != nil || w.begun == 0 {
		w.roster, w.dirty = nil, true
	}
}

// next is when a write that failed is tried again; 0: there is none.
func (w *writes) next() lease.Instant {
	if !w.dirty {
		return 0
	}
	return w.retry
}

// write is the write that is to be begun now; nil if there is none.
func (n *Node) write() *Write {
	w := &n.writes
	if !w.dirty || n.now.Boot < w.retry || len(w.outstanding) >= maxOutstanding {
		return nil
	}
	w.dirty, w.retry = false, 0
	w.begun++
	w.write = Write{
		Number: w.begun,
		Lease:  n.config.Saved,
		Roster: w.roster,
	}
	if n.lease != nil {
		w.write.Lease = n.lease.State()
	}
	w.outstanding = append(w.outstanding, writing{w.begun, w.version, w.write.Lease})
	return &w.write
}

// advance takes the outcome of a write. One that has succeeded is not outstanding any more. It may
// be done again, with a newer signature of the roster; if that fails it is tried again, and nothing
// that was said depends on it.
func (n *Node) advance(number uint64, err error) {
	w := &n.writes
	if number <= w.lost || number > w.begun {
		return
	}
	done := 0
	for done < len(w.outstanding) && w.outstanding[done].number <= number {
		done++
	}
	if err != nil {
		n.note(Note{Type: WriteFailed, Err: err})
		w.dirty, w.retry = true, n.now.Boot+retryWrite
		if done > 0 {
			w.lost, w.outstanding = w.begun, w.outstanding[:0]
			n.authorise(lease.Event{Type: lease.WriteFailed})
		}
		return
	}
	if done == 0 {
		return
	}
	n.stirred = true
	last := w.outstanding[done-1]
	w.outstanding = append(w.outstanding[:0], w.outstanding[done:]...)
	w.state = last.state
	if last.version > 0 {
		n.authorise(lease.Event{Type: lease.Persisted, Version: last.version})
	}
}

// acknowledged returns the newest generation of the group whose use is on the disk; 0 if there is
// none. Everything older is refused, also after a restart (V4). It is newer than the roster in use
// when the status was set back, and the manager must hear that (MC10). It is known from the start
// on, so that a manager that has lost its status hears at once which rosters were in use (MC2). A
// Classic group keeps nothing on the disk: it returns the generation of the roster in use.
func (n *Node) acknowledged() int64 {
	if !n.guarded() {
		return n.roster.Generation
	}
	return n.writes.state.Used(n.roster.Group)
}
