package lease

import "time"

// A follower is a process that knows which other process holds the lease.
//
// F1. A process follows the sender of a RENEW unless it holds the lease itself, F2 or F3 forbids
// it, or one of these is so: by its own roster the sender never coordinates; it is a voter whose
// running promise is to another incarnation; the epoch is of a newer generation than its roster
// and the sender is not the incarnation that its promise is to. A promise to an earlier incarnation
// of the process itself does not count here: that one has ended. (It still keeps the voter from
// voting, V6.) Its election algorithm is told, so the lease prevails over nominations. To the
// manager a voter reports no epoch that it has not promised, and a process that does not vote none
// that is lower than the last that it reported.
//
// F2. A process follows nothing below its floor: the highest epoch that it has held, or has both
// promised and followed. A higher one of which it has only heard keeps it from following a lower
// one for L after it heard of it last, from the leaseholder or by hearsay: until then that lease
// may run. Afterwards whoever spoke of it has lost it, or lied. (A process that does not vote
// has no promise of its own by which it could tell sooner.)
//
// F3. A leaseholder that sends STEP DOWN is no longer followed. If it names an heir, the
// election algorithm is told to nominate the heir. Nobody suspects or outvotes it until L and T
// have passed, or the link to it is closed, or until after the RELEASE it has asked for nothing for
// 2 T, or two heartbeats if that is longer. Then it is suspected, but not by a voter that is bound
// to it. Without an heir, the election begins when that process calls it, or when its silence is
// noticed. Of that leaseholder, late messages about this epoch or a lower one are ignored. (Not of
// another one: who sends RENEW under the highest ballot and then STEP DOWN may have held neither.)
//
// F4. A RENEW is a heartbeat. While they arrive, the failure detector asks the leaseholder only
// every tenth heartbeat, to measure T.
//
// F5. While a process holds the lease or asks for it again (LH4), hears the leaseholder, follows
// one by hearsay or waits for an heir, the messages of the election algorithm do not reach its
// algorithm, except for which incarnation sends them: a leaseholder that is not the highest
// process would be bullied for ever. Nor does its algorithm answer what contradicted its
// coordinator shortly before, and it forgets who has withdrawn: it would not hear who is a
// candidate again. As soon as the process suspects the leaseholder, it listens again. First its
// algorithm gets the messages of the last L and two heartbeats: their senders may have started too
// late to follow the leaseholder.
//
// F6. A process that does not hear the leaseholder, and whose question about it (C8) fewer than a
// majority have answered, names nobody to its app and to the manager. Nobody can tell it whether
// that lease was renewed, or was anybody's since. It names the leaseholder again when it hears it,
// or when the voters do. Nor does it name the leaseholder while it waits for another process to
// take the lease (C8).

// follower is what a process knows of the leaseholder.
type follower struct {
	leaseholder Incarnation   // the zero Incarnation: it knows none
	epoch       Epoch         // of that lease, or of the last one that it knew (F2)
	epochAt     Instant       // when it last heard of that epoch (F2)
	floor       Epoch         // it follows nothing below (F2)
	reported    Epoch         // the highest that it was bound to (F1)
	ended       ending        // the newest lease that ended by a STEP DOWN (F3)
	bound       bool          // it has promised this epoch itself, or does not vote (F1)
	hearsay     bool          // others hear the leaseholder, this process does not (C2, C8)
	heardAt     Instant       // when the last RENEW arrived
	boundUntil  Instant       // until when the promise runs that it renewed; 0: it renewed none (V9)
	heartbeat   time.Duration // when the next one is due after that (LH10)
	linkDown    bool          // since then the link was closed, or the failure detector suspects it
	asksAt      Instant       // when the voters are asked if it stays unheard (C8); 0: it is not due
	asksLatest  Instant       // when they are asked at the latest
	yields      bool          // to a process that the algorithm has named since (C8)
	suspects    bool          // the voters are to be asked whether they hear it (C8)
	heir        string        // the heir that the last leaseholder named (F3)
	heirUntil   Instant       // until when this process waits for the heir
	heirLatest  Instant       // until when it waits at most
}

// forgetLeaseholder stops following, and keeps what F1 to F3 need.
func (f *follower) forgetLeaseholder() {
	*f = follower{
		epoch:    f.epoch,
		epochAt:  f.epochAt,
		floor:    f.floor,
		reported: f.reported,
		ended:    f.ended,
	}
}

// Following returns the leaseholder that this process follows, which may be the process itself, and
// the epoch of its lease. It is bound if this process has promised that epoch itself, or does not
// vote and was never bound to a higher one.
func (m *Machine) Following() (holder string, epoch Epoch, bound bool) {
	if held := m.leaseholder.held; held != nil {
		return m.self.Name, held.epoch, true
	}
	f := &m.follower
	if m.cannotTell() {
		return "", f.epoch, f.bound
	}
	return f.leaseholder.Name, f.epoch, f.bound
}

// cannotTell reports whether the leaseholder is in doubt, and too few voters have answered the last
// pre-vote about it, or another process is about to follow it (F6).
func (m *Machine) cannotTell() bool {
	f := &m.follower
	return m.candidacy.noMajority && f.suspects || f.yields
}

// IgnoresElections reports whether the messages of the election algorithm do not concern this
// process (F5).
func (m *Machine) IgnoresElections() bool {
	f := &m.follower
	return m.leaseholder.held != nil || m.leaseholder.lapsed != nil || m.hearsLeaseholder() ||
		f.hearsay && f.leaseholder.Name != "" || m.awaitsHeir(f.heir)
}

// heardLeaseholder returns the leaseholder that this voter hears, which may be the process itself
// (V9).
func (m *Machine) heardLeaseholder() (holder string, epoch Epoch, ok bool) {
	if held := m.leaseholder.held; held != nil {
		return m.self.Name, held.epoch, true
	}
	f := &m.follower
	return f.leaseholder.Name, f.epoch, m.hearsLeaseholder()
}

// hearsLeaseholder reports whether this process hears another one that holds the lease (V9).
func (m *Machine) hearsLeaseholder() bool {
	f := &m.follower
	return f.leaseholder.Name != "" && !f.hearsay && !f.linkDown && m.now.Boot < m.heardUntil()
}

// heardUntil is until when a leaseholder is heard if no further RENEW arrives (V9).
func (m *Machine) heardUntil() Instant {
	f := &m.follower
	until := f.heardAt + m.t + missedHeartbeats*f.heartbeat
	if f.boundUntil > 0 {
		until = min(until, f.boundUntil)
	}
	return until
}

// answerTimeout is how long after its last response a process still answers the leaseholder (PR1).
func (m *Machine) answerTimeout() time.Duration { return m.t + missedHeartbeats*m.heartbeat }

// heardRenewal handles a RENEW that this process's voter has granted or denied.
func (m *Machine) heardRenewal(from Incarnation, p Request, granted bool) {
	f, e := &m.follower, p.Epoch
	if !m.mayFollow(from, e, granted) {
		return
	}
	every := m.heartbeat // by its own roster: a liar must not be heard for longer
	if p.Heartbeat > 0 {
		every = max(min(p.Heartbeat, every), time.Millisecond)
	}
	l := &m.leaseholder
	l.steppingDown = nil // by F2 a later epoch is held: there is nothing left to release
	floor, reported := f.floor, f.reported
	if granted {
		floor = e
	}
	bound := granted || !m.voter.votes && e >= reported
	if bound {
		reported = e
	}
	*f = follower{
		leaseholder: from,
		epoch:       e,
		epochAt:     m.now.Boot,
		floor:       floor,
		reported:    reported,
		ended:       f.ended,
		bound:       bound,
		heardAt:     m.now.Boot,
		heartbeat:   every,
	}
	if granted {
		f.boundUntil = m.voter.until
	}
	if bound {
		l.length.heard(p.Lease)
		m.candidacy.hastened = false
		m.endPause()
	}
	m.candidacy.leaseFound()
	if s := &m.candidacy.preVote; s.purpose != transfer {
		s.purpose = noPreVote
	}
	m.out.Heard, m.out.HeardEvery = from.Name, every
	if m.nominated != from.Name {
		m.out.Appoint = from.Name
	}
}

// mayFollow reports whether F1 and F2 let this process follow the sender of a RENEW.
func (m *Machine) mayFollow(from Incarnation, e Epoch, granted bool) bool {
	f := &m.follower
	if q, ok := m.roster.find(from.Name); !ok || q.Priority == 0 {
		return false
	}
	if m.leaseholder.held != nil || e < f.floor || f.ended.of == from && e <= f.ended.epoch {
		return false
	}
	// A new promise is above all earlier ones, and a renewal under V4 is the leaseholder's. Without
	// either, a lower epoch is followed only once the higher one may have run out.
	if e < f.epoch && (m.hearsLeaseholder() || !granted && !m.mayHaveRunOut()) {
		return false
	}
	promisedTo, remaining := m.voter.runningPromise(m.now.Boot)
	if promisedTo == from {
		return true
	}
	if e.Generation() > m.roster.Generation {
		return false // else one liar could make this process deaf to all later leaseholders
	}
	former := promisedTo.Name == m.self.Name && promisedTo != m.self
	boundToOther := remaining > 0 && promisedTo.Name != "" && !former
	return !m.voter.votes || granted || !boundToOther
}

// mayHaveRunOut reports whether the newest lease that this process has heard of need not run any
// more (F2).
func (m *Machine) mayHaveRunOut() bool {
	return m.now.Boot-m.follower.epochAt >= m.roster.Lease
}

// believe follows the leaseholder that the voters say they hear (C2, C8).
func (m *Machine) believe(v Response) {
	f := &m.follower
	q, ok := m.roster.find(v.Holder)
	if !ok || q.Priority == 0 || v.HolderEpoch < f.floor ||
		v.HolderEpoch < f.epoch && !m.mayHaveRunOut() {
		return
	}
	known := *f
	if f.leaseholder.Name != q.Name { // what is known of the link is about another one
		known = follower{leaseholder: Incarnation{Name: q.Name, UID: q.UID}}
	}
	*f = follower{
		leaseholder: known.leaseholder,
		epoch:       v.HolderEpoch,
		epochAt:     m.now.Boot,
		floor:       f.floor,
		reported:    f.reported,
		ended:       f.ended,
		bound:       f.bound && f.epoch == v.HolderEpoch,
		hearsay:     true,
		heardAt:     known.heardAt,
		heartbeat:   known.heartbeat,
		linkDown:    known.linkDown,
		suspects:    true,
	}
	if m.nominated != q.Name {
		m.out.Appoint = q.Name
	}
}

// suspected handles a suspicion of the failure detector. If it is about the leaseholder the voters
// are asked first (C8); any other process is suspected at once, except the heir (F3).
func (m *Machine) suspected(name string) {
	f := &m.follower
	switch {
	case name == "" || name == m.self.Name || m.awaitsHeir(name):
	case name != f.leaseholder.Name:
		m.out.Suspect = name
	default:
		f.linkDown = true
		m.unheard()
	}
}

// doubted handles a report of the app: the voters are asked (C8). What this process hears itself
// stays as it is.
func (m *Machine) doubted(name string) {
	if f := &m.follower; name != "" && name == f.leaseholder.Name && !f.hearsay {
		f.suspects = true
	}
}

// linkDown notes that the link to a process was closed.
func (m *Machine) linkDown(name string) {
	f := &m.follower
	if p := m.leaseholder.peers[name]; p != nil {
		p.unlinked = true
	}
	if f.leaseholder.Name == name {
		f.linkDown = true
	}
	if f.heir == name {
		f.heir = ""
	}
}

// leaseholderLost begins the election: a majority does not hear the leaseholder either (C8).
func (m *Machine) leaseholderLost() {
	name := m.follower.leaseholder.Name
	if m.follower.missesRenewals(m.now.Boot) {
		m.out.Silent = name
	}
	m.follower.forgetLeaseholder()
	m.candidacy.lost = name
	m.postponeFallback()
	if name != "" && name == m.nominated {
		m.out.Suspect = name
	}
}

// missesRenewals reports whether the leaseholder has let two renewals pass over an open link.
func (f *follower) missesRenewals(now Instant) bool {
	return !f.linkDown && f.heartbeat > 0 && now-f.heardAt >= missedHeartbeats*f.heartbeat
}

// driveFollower suspects a leaseholder that is no longer heard (C8), and an heir that has not taken
// over (F3).
func (m *Machine) driveFollower() {
	f := &m.follower
	switch {
	case f.leaseholder.Name == "" || f.hearsay:
	case m.hearsLeaseholder():
		f.asksAt, f.asksLatest, f.yields = 0, 0, false
	default:
		m.unheard()
	}
	m.giveUpHeir()
}
