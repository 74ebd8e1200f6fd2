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
	repeats     bool          // that one would hold nothing that is not on the disk
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

// change notes that something has changed. It waits for no write that would only repeat another.
func (w *writes) change() {
	if w.dirty = true; w.repeats {
		w.retry, w.repeats = 0, false
	}
}

// changeState notes that the lease protocol's State has changed.
func (w *writes) changeState(version uint64) {
	w.version = version
	w.change()
}

// changeRoster has another roster kept; nil: none.
func (w *writes) changeRoster(r *Roster) {
	w.roster = r
	w.change()
}

// forgetRoster has the roster on the disk forgotten.
func (w *writes) forgetRoster() {
	if w.roster != nil || w.begun == 0 {
		w.changeRoster(nil)
	}
}

// next is when a write that failed is tried again; 0: there is none, or others are to end first.
func (w *writes) next() lease.Instant {
	if !w.dirty || len(w.outstanding) >= maxOutstanding {
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
	w.dirty, w.retry, w.repeats = false, 0, false
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
	switch {
	case err != nil && done == 0:
		n.note(Note{Type: RewriteFailed, Err: err})
		if !w.dirty { // else a write comes that holds this one
			w.dirty, w.repeats, w.retry = true, true, n.now.Boot+retryWrite
		}
		return
	case err != nil:
		n.note(Note{Type: WriteFailed, Err: err})
		w.dirty, w.repeats, w.retry = true, false, n.now.Boot+retryWrite
		w.lost, w.outstanding = w.begun, w.outstanding[:0]
		n.authorise(lease.Event{Type: lease.WriteFailed})
		return
	case done == 0:
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
