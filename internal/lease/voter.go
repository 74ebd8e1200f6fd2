package lease

import "time"

// State is what a voter must not forget. It is on the disk before anything goes out that depends on it (V11).
type State struct {
	Group      string        // UID of the group object that the rest is about
	Generation int64         // of the newest roster in use: everything below is refused
	Voted      bool          // this memory has been a voter of the group
	Highest    Epoch         // the highest epoch promised
	To         Incarnation   // to whom; the zero Incarnation is nobody
	Lease      time.Duration // for how long, at most
}

// voter promises epochs.
type voter struct {
	State
	seated bool    // the roster marks this process a voter with this very memory
	until  Instant // the promise runs until then; a promise to nobody keeps the voter silent
	born   Instant // when this process started
	older  Epoch   // promised to the same life under the roster before; 0: nothing
	left   Instant // when that roster was left (V4)
}

// wake is V6: a promise found in memory runs in full from the start.
func (v *voter) wake(now Instant) { v.born, v.until = now, now+v.Lease }

// adopt takes a new roster: V4, and V1 for one that has become a voter. It reports whether the state has changed.
func (v *voter) adopt(r *Roster, self Incarnation, now Instant) bool {
	before, quiet := v.State, v.born
	if r.Group != v.Group {
		if v.Group != "" {
			quiet = now // V1: what was promised in the earlier group may run still
		}
		v.State = State{Group: r.Group, Lease: v.Lease}
	}
	if v.Highest.Generation() == v.Generation && r.Generation > v.Generation {
		v.older, v.left = v.Highest, now
	}
	v.Generation = r.Generation
	me, ok := r.find(self.Name)
	v.seated = ok && me.Voter && me.UID == self.UID && (me.StateID == self.StateID || me.StateID == "")
	if v.seated && !v.Voted { // V1: a promise to nobody
		v.Voted, v.To, v.Lease = true, Incarnation{}, max(v.Lease, r.Lease)
		v.until = max(v.until, quiet+v.Lease)
	}
	return v.State != before
}

// would reports whether the voter would promise something new to that life now: V1, V2, V4, V7.
func (v *voter) would(r *Roster, to Incarnation, generation int64, now Instant) bool {
	return v.may(r, to) && generation == v.Generation && (v.To == to || now >= v.until)
}

// may reports whether this is a voter (V1), and that life one that may coordinate (V7).
func (v *voter) may(r *Roster, to Incarnation) bool {
	m, ok := r.find(to.Name)
	return v.seated && ok && m.UID == to.UID && m.Priority > 0
}

// renews reports whether a claim repeats what was promised to the same life (V3): under this roster, or under the one before and
// this one taken less than a lease ago (V4).
func (v *voter) renews(to Incarnation, p Request, now Instant) bool {
	present := p.Epoch == v.Highest && p.Epoch.Generation() == v.Generation
	return v.To == to && (present || p.Epoch == v.older && now < v.left+p.Lease)
}

// promise answers a claim. The state must be synced before the answer goes out if it has changed.
func (v *voter) promise(r *Roster, to Incarnation, p Request, now Instant) (granted, changed bool) {
	if !v.may(r, to) || p.Lease <= 0 || p.Lease > r.Lease { // V5
		return false, false
	}
	renewal := v.renews(to, p, now)
	if !renewal && (p.Epoch <= v.Highest || !v.would(r, to, p.Epoch.Generation(), now)) { // V3
		return false, false
	}
	before := v.State
	v.until = max(v.until, now+p.Lease) // V5
	if renewal {
		v.Lease = max(v.Lease, p.Lease)
		return true, v.State != before
	}
	if v.To != to { // the older epoch is none of that life's (G2)
		v.older = 0
	}
	v.Highest, v.To, v.Lease = p.Epoch, to, max(p.Lease, v.until-now)
	return true, v.State != before
}

// release is V10: a late claim of a released epoch is no renewal.
func (v *voter) release(by Incarnation, e Epoch, now Instant) {
	if v.To == by && v.Highest <= e {
		v.To, v.until = Incarnation{}, min(v.until, now)
	}
}

// running is whom the promise binds the voter to, and for how long still.
func (v *voter) running(now Instant) (to Incarnation, remaining time.Duration) {
	if now >= v.until {
		return Incarnation{}, 0
	}
	return v.To, v.until - now
}
