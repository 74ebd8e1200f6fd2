package lease

import "slices"

// V11. What a voter says that depends on its State waits until that State is on the disk: a granted
// vote, its own included. Everything else goes on meanwhile, and several writes may be under way.
// So a renewal of the older promise of V4 does not wait for a new one to the same incarnation:
// whichever of the two the disk has after a crash, it binds the voter to that incarnation (V6). A
// voter makes no new promise while too many changes wait for the disk. Of the responses to one
// process that wait for the same write it sends only that to the newest round: a voter that was cut
// off for long has a heap of renewals to answer, and a leaseholder that gets all those answers at
// once hears the others too late.
//
// When a write fails, every write that is under way counts as failed: what depended on them is
// never said, even if one of them is reported to have ended well. The process drops its lease, and
// its voter grants nothing until a later write has succeeded and the longest lease that it may have
// promised has passed, as if it had restarted without knowing to which process it had promised
// what.

// disk keeps what waits for the disk.
type disk struct {
	version uint64 // of the State; a change makes a new one
	promise uint64 // the version in which what the voter has promised changed last
	older   uint64 // the same of the promise under the previous roster (V4)
	begun   uint64 // the newest version that the caller was asked to write
	written uint64 // the newest version that is on the disk
	broken  bool   // the last write failed
	lost    uint64 // reports that versions up to this one were written are not believed
	waiting []waiting
}

// waiting is a response that depends on a version of the State.
type waiting struct {
	version uint64
	Reply
}

// maxUnwritten is how many changes of its State a voter lets wait for the disk. Two responses wait
// for each of them at most: to a VOTE and to a RENEW.
const maxUnwritten = 64

// change notes that the State has changed.
func (d *disk) change() { d.version++ }

// begin returns the version that is to be written now; 0 if there is none.
func (d *disk) begin() uint64 {
	if d.begun == d.version {
		return 0
	}
	d.begun = d.version
	return d.version
}

// grantOf returns the version that a grant of an epoch depends on, where highest is the highest
// that is promised.
func (d *disk) grantOf(e, highest Epoch) uint64 {
	if e < highest {
		return d.older
	}
	return d.promise
}

// has reports whether a version is on the disk.
func (d *disk) has(version uint64) bool { return version <= d.written }

// behind reports whether too many changes wait for the disk.
func (d *disk) behind() bool { return d.version-d.written >= maxUnwritten }

// failed reports whether the last write failed.
func (d *disk) failed() bool { return d.broken }

// hold keeps a response until a version is on the disk, in the place of one to an earlier round.
func (d *disk) hold(version uint64, r Reply) {
	for i, w := range d.waiting {
		// all grants that wait for a version are of one epoch
		if w.version == version && w.To == r.To && w.Response.Kind == r.Response.Kind {
			if w.Response.Round <= r.Response.Round {
				d.waiting[i].Reply = r
			}
			return
		}
	}
	d.waiting = append(d.waiting, waiting{version: version, Reply: r})
}

// persisted sends the responses that waited for a version, and counts the own vote.
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

// writeFailed drops what waited. The State is a new version from now on, which is to be written.
func (m *Machine) writeFailed() {
	d := &m.disk
	d.broken, d.lost, d.waiting = true, d.version, d.waiting[:0]
	m.voter.To, m.voter.until = Incarnation{}, max(m.voter.until, m.now.Boot+m.voter.Lease)
	if l := &m.leaseholder; l.lapsed != nil && l.sought != nil { // askedInVain releases it (LH4)
		m.dropSought()
	}
	m.dropLease()
	d.change()
}
