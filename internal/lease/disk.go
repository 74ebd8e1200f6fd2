package lease

import "slices"

// V11. What a voter says that depends on its State waits until that State is on the disk: a granted
// vote, its own included. Everything else goes on meanwhile, and several writes may be under way.
//
// A write that fails takes all with it that are under way: what depended on them is never said. This
// process holds no lease any more, and its voter grants nothing until a later write has succeeded and
// one lease has passed, as if it had restarted without knowing whom it had promised what.

// disk keeps what waits for the disk.
type disk struct {
	version uint64 // of the State; a change makes a new one
	promise uint64 // the version in which what the voter has promised changed last
	begun   uint64 // the newest that the caller was asked to write
	written uint64 // the newest that is on the disk
	broken  bool   // the last write failed
	lost    uint64 // versions up to this one are not believed to be on the disk, whatever is reported
	waiting []waiting
}

// waiting is a response that depends on a version of the State.
type waiting struct {
	version uint64
	Reply
}

const (
	// maxUnwritten is how many changes of its State a voter lets wait for the disk. It makes no new
	// promise beyond that.
	maxUnwritten = 64
	// maxWaiting is how many responses wait. More are dropped: whoever wants one asks again.
	maxWaiting = 1024
)

// change notes that the State has changed.
func (d *disk) change() { d.version++ }

// begin is the version that is to be written now; 0 if there is none.
func (d *disk) begin() uint64 {
	if d.begun == d.version {
		return 0
	}
	d.begun = d.version
	return d.version
}

// has reports whether a version is on the disk.
func (d *disk) has(version uint64) bool { return version <= d.written }

// behind reports whether too much waits for the disk already.
func (d *disk) behind() bool { return d.version-d.written >= maxUnwritten }

// failed reports whether the last write failed.
func (d *disk) failed() bool { return d.broken }

// hold keeps a response until a version is on the disk.
func (d *disk) hold(version uint64, r Reply) {
	if len(d.waiting) < maxWaiting {
		d.waiting = append(d.waiting, waiting{version: version, Reply: r})
	}
}

// persisted says what waited for the disk.
func (m *Machine) persisted(version uint64) {
	d := &m.disk
	if version > d.version || version <= d.written || version <= d.lost {
		return
	}
	d.written, d.broken = version, false
	d.waiting = slices.DeleteFunc(d.waiting, func(w waiting) bool {
		if w.version > version {
			return false
		}
		if w.To == m.self.Name {
			m.voted(m.self, w.Response)
		} else {
			m.out.Replies = append(m.out.Replies, w.Reply)
		}
		return true
	})
}

// writeFailed forgets what waited. The State is another one from now on, and is to be written anew.
func (m *Machine) writeFailed() {
	d := &m.disk
	d.broken, d.lost, d.waiting = true, d.version, d.waiting[:0]
	m.voter.To, m.voter.until = Incarnation{}, max(m.voter.until, m.now.Boot+m.voter.Lease)
	m.dropLease()
	d.change()
	d.promise = d.version
}
