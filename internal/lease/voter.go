package lease

import "time"

// A voter promises epochs. A promise of an epoch to an incarnation says: for L on my clock, counted
// from the receipt of the request, I promise no epoch to any other incarnation.
//
// V1. A voter votes only if its own roster marks it as a voter with the state directory that it
// has. A state directory that has never been a voter's of this group object promises nothing for
// one L, because an earlier object of that name, or an earlier state directory of this pod, may
// have made a promise that still runs. L counts from the start of the process if the state
// directory was used for no other group; otherwise it counts from taking this group's roster.
//
// V2. One promise at a time: while a promise to one incarnation runs, the voter makes none to
// another.
//
// V3. A voter promises no epoch at or below the highest one that it has promised, except the same
// epoch to the same incarnation again, which renews the promise. A higher epoch for the same
// incarnation replaces the promise at once.
//
// V4. A voter promises only epochs of the generation of the roster that it uses. It writes a new
// roster's generation to the disk before it acknowledges the roster, and from then on refuses
// everything below, with one exception: for one L from taking the new roster it still renews what
// it has promised under the roster before, to the same incarnation and for at most the new
// roster's L, even beside a new epoch that the same incarnation has asked for since. (A roster
// reaches the agents one by one. Without the exception a leaseholder would lose its lease while it
// or half of the voters waits for the roster.) After a restart there is no exception.
//
// V5. A promise runs for L from the receipt of the request, on the voter's clock, where L is what
// the request asks for; a request for more than the roster's L is denied. A running promise never
// gets shorter: not by a renewal, not by another epoch, not by a roster with a shorter L. The state
// directory keeps the longest L that may still be running: the roster's, from the first promise on,
// so that no renewal for longer has to wait for the disk (LH10).
//
// V6. After a restart, a promise in the state directory runs for its full L from the start of the
// process, even a promise to nobody (V1), because nobody knows when it was last renewed.
//
// V7. A voter promises only to a process of its roster with a priority above 0.
//
// V8. Votes ignore nominations. Which process is elected, suspected or heard of changes no answer
// to a VOTE or a RENEW; V1 to V7 alone decide.
//
// V9. A PREVOTE is answered by the same rules and changes nothing. The answer also tells whether
// the voter hears the leaseholder: it does if it received a RENEW within the last T and two
// heartbeats, the promise that it renewed still runs, the link has not been closed since, and the
// leaseholder has not stepped down.
//
// V10. A RELEASE of epoch e by the incarnation that the promise was made to ends the promise,
// unless the promised epoch is above e. A late request for the released epoch does not renew it.

// State is what a voter must not forget. Whatever depends on it waits until it is on the disk
// (V11).
type State struct {
	Group      string        // UID of the group object that the rest is about
	Generation int64         // of the newest roster in use: everything below is refused
	Voted      bool          // this state directory has been a voter's of the group
	Highest    Epoch         // the highest epoch promised
	To         Incarnation   // which Highest was promised to; the zero Incarnation is nobody
	Lease      time.Duration // the longest lease for which a promise may still be running
	Earlier    *Earlier      // of the group objects before this one (V12); nil: nothing
}

// voter is a voter's State and what it keeps in RAM only.
type voter struct {
	State
	votes     bool    // the roster names this process, with this state directory, as a voter (V1)
	until     Instant // when the promise ends; until then a promise to nobody keeps it from voting
	startedAt Instant // when this process started

	previousEpoch Epoch         // promised to the same incarnation under the previous roster (V4)
	rosterSince   Instant       // when the previous roster was left
	lease         time.Duration // of the roster
}

// restart begins with what the state directory holds (V6).
func (v *voter) restart(now Instant) { v.startedAt, v.until = now, now+v.Lease }

// adopt takes a new roster (V1, V4). It reports whether the State has changed.
func (v *voter) adopt(r *Roster, self Incarnation, now Instant) bool {
	before, silentFrom := v.State, v.startedAt
	if r.Group != v.Group {
		if v.Group != "" {
			silentFrom = now
		}
		v.State, v.previousEpoch = v.State.enter(r.Group), 0
	}
	if v.Highest.Generation() == v.Generation && r.Generation > v.Generation {
		v.previousEpoch, v.rosterSince = v.Highest, now
	}
	v.Generation, v.lease = r.Generation, r.Lease
	if v.To != (Incarnation{}) {
		v.Lease = max(v.Lease, r.Lease)
	}
	i := r.indexOf(self)
	v.votes = i >= 0 && r.Members[i].Voter
	if v.votes && !v.Voted {
		v.Voted, v.To, v.Lease = true, Incarnation{}, max(v.Lease, r.Lease)
		v.until = max(v.until, silentFrom+v.Lease)
	}
	return v.State != before
}

// wouldPromise reports whether the voter would promise a new epoch of a generation to an
// incarnation at this instant (V1, V2, V4, V7).
func (v *voter) wouldPromise(r *Roster, to Incarnation, generation int64, now Instant) bool {
	return v.mayPromise(r, to) && generation == v.Generation && (v.To == to || now >= v.until)
}

// mayPromise reports whether this process votes (V1) and the other one may coordinate (V7).
func (v *voter) mayPromise(r *Roster, to Incarnation) bool {
	m, ok := r.find(to.Name)
	return v.votes && ok && m.UID == to.UID && m.Priority > 0
}

// renews reports whether a request repeats what was promised to the same incarnation (V3, V4).
func (v *voter) renews(to Incarnation, p Request, now Instant) bool {
	present := p.Epoch == v.Highest && p.Epoch.Generation() == v.Generation
	return v.To == to && (present || p.Epoch == v.previousEpoch && now < v.rosterSince+v.lease)
}

// promise decides about a VOTE or a RENEW. It reports whether the State has changed; then the grant
// waits for the disk (V11).
func (v *voter) promise(r *Roster, to Incarnation, p Request, now Instant) (granted, changed bool) {
	if !v.mayPromise(r, to) || p.Lease <= 0 || p.Lease > r.Lease { // V5
		return false, false
	}
	renewal := v.renews(to, p, now)
	generation := p.Epoch.Generation()
	if !renewal && (p.Epoch <= v.Highest || !v.wouldPromise(r, to, generation, now)) { // V3
		return false, false
	}
	v.until = max(v.until, now+p.Lease) // V5
	if renewal {
		return true, false // for no longer than the roster of its epoch allows: the State has that
	}
	before := v.State
	if v.To != to { // the previous epoch was not promised to this incarnation
		v.previousEpoch = 0
	}
	v.Highest, v.To, v.Lease = p.Epoch, to, max(r.Lease, v.until-now)
	return true, v.State != before
}

// release ends a promise (V10).
func (v *voter) release(by Incarnation, e Epoch, now Instant) {
	if v.To == by && v.Highest <= e {
		v.To, v.until = Incarnation{}, min(v.until, now)
	}
}

// runningPromise returns which incarnation a promise binds the voter to, and for how long still.
func (v *voter) runningPromise(now Instant) (to Incarnation, remaining time.Duration) {
	if now >= v.until {
		return Incarnation{}, 0
	}
	return v.To, v.until - now
}

// Votes reports whether this process votes by the roster that it uses (V1), and from when on: a
// voter that has never promised anything is silent for one lease.
func (m *Machine) Votes() (from Instant, votes bool) {
	v := &m.voter
	if v.votes && v.To == (Incarnation{}) {
		from = v.until
	}
	return from, v.votes
}

// Promised returns which incarnation a promise of this voter binds it to at the instant of the last
// Step, and for how long still. The zero Incarnation is nobody.
func (m *Machine) Promised() (to Incarnation, remaining time.Duration) {
	return m.voter.runningPromise(m.now.Boot)
}
