package lease

import "time"

// follower is what a process knows of the holder.
type follower struct {
	known   Incarnation // the holder; the zero Incarnation: nobody is known
	epoch   Epoch       // of its lease
	firm    Epoch       // the highest that this process has held, or has promised to whom it followed: no hearsay
	over    Epoch       // the newest that its holder has given back: who still hears it has not heard of that
	bound   bool        // this process has promised it that epoch, or is no voter
	hearsay bool        // others hear it, this process does not (C2, C8)
	heard   Instant     // when this process heard it last
	down    bool        // the link was closed since
	consult bool        // it is suspected: the voters are to be asked (C8)
	heir    string      // whom the last holder has named, and until when that one is waited for (F3)
	awaits  Instant
}

// forget lets go of the holder.
func (f *follower) forget() { *f = follower{epoch: f.epoch, firm: f.firm, over: f.over} }

// await gives the heir the time that the promises to the last holder may run still (F3).
func (m *Machine) await(heir string) {
	m.follower.heir, m.follower.awaits = heir, m.now.Boot+m.roster.Lease+m.t
}

// awaiting reports whether that one is the heir, who is waited for.
func (m *Machine) awaiting(heir string) bool {
	return heir != "" && m.follower.heir == heir && m.now.Boot < m.follower.awaits
}

// Following is the holder that this process follows, itself included, and the epoch of its lease. Bound says that it has
// promised that epoch itself, or has nothing to promise.
func (m *Machine) Following() (holder string, epoch Epoch, bound bool) {
	if c := m.leaseholder.held; c != nil {
		return m.self.Name, c.epoch, true
	}
	f := &m.follower
	return f.known.Name, f.epoch, f.bound
}

// hears says which holder this voter hears (V9).
func (m *Machine) hears() (holder string, epoch Epoch, ok bool) {
	if c := m.leaseholder.held; c != nil {
		return m.self.Name, c.epoch, true
	}
	f := &m.follower
	return f.known.Name, f.epoch, m.hearing()
}

// hearing reports whether this process hears another one that holds (V9).
func (m *Machine) hearing() bool {
	f := &m.follower
	return f.known.Name != "" && !f.hearsay && !f.down && m.now.Boot-f.heard < m.silence()
}

// Settled reports whether this process holds, or knows who holds or is about to: then talk of an election does not concern it (F5).
func (m *Machine) Settled() bool {
	return m.leaseholder.held != nil || m.hearing() || m.follower.hearsay && m.follower.known.Name != "" || m.awaiting(m.follower.heir)
}

// silence is how long after its last renewal a holder counts as heard (V9).
func (m *Machine) silence() time.Duration { return m.t + missed*m.heartbeat }

// hear is F1 and F2: a held claim has come.
func (m *Machine) hear(from Incarnation, e Epoch, granted bool) {
	f := &m.follower
	holder, remaining := m.voter.running(m.now.Boot)
	if q, ok := m.roster.find(from.Name); !ok || q.Priority == 0 { // by this roster it never coordinates
		return
	}
	switch {
	case m.leaseholder.held != nil || e < f.firm || e <= f.over || e < f.epoch && (!granted || m.hearing()): // what it promises anew is above all before; what it renews (V4) is of whom it is bound to
		return
	case e.Generation() > m.roster.Generation && holder != from: // no single liar may make it deaf to all later claims
		return
	case m.voter.seated && !granted && remaining > 0 && holder.Name != "" && holder != from: // it promised another one
		return
	}
	m.leaseholder.stepping = m.outlived(e)
	firm := f.firm
	if granted {
		firm = e
	}
	*f = follower{known: from, epoch: e, firm: firm, over: f.over, bound: granted || !m.voter.seated, heard: m.now.Boot}
	m.candidacy.reassured()
	if s := &m.candidacy.preVote; s.purpose != succeed {
		s.purpose = idle
	}
	m.out.Heard = from.Name
	if m.nominated != from.Name {
		m.out.Appoint = from.Name
	}
}

// outlived is the lease that this process is giving back, unless a later one is held: then nothing is left to give.
func (m *Machine) outlived(e Epoch) *stepping {
	if r := m.leaseholder.stepping; r != nil && r.epoch > e {
		return r
	}
	return nil
}

// believe follows whom the voters say they hear.
func (m *Machine) believe(v Response) {
	f := &m.follower
	q, ok := m.roster.find(v.Holder)
	if !ok || q.Priority == 0 || v.HolderEpoch < f.epoch {
		return
	}
	known := Incarnation{Name: q.Name, UID: q.UID}
	if f.known.Name == q.Name {
		known = f.known
	}
	*f = follower{known: known, epoch: v.HolderEpoch, firm: f.firm, over: f.over, bound: f.bound && f.epoch == v.HolderEpoch, hearsay: true, heard: f.heard, down: f.down, consult: true}
	if m.nominated != q.Name {
		m.out.Appoint = q.Name
	}
}

// suspected: the failure detector says that whom the election machine names is gone. If that is the holder, the voters are asked
// first (C8); a mere candidate is suspected at once.
func (m *Machine) suspected(name string) {
	f := &m.follower
	switch {
	case name == "" || name == m.self.Name || m.awaiting(name):
	case name != f.known.Name:
		m.out.Suspect = name
	default:
		f.consult, f.down = true, true
	}
}

// unlinked: nothing more comes from that process on its link. It is not heard until it is.
func (m *Machine) linkDown(name string) {
	if m.follower.known.Name == name {
		m.follower.down = true
	}
	if m.follower.heir == name {
		m.follower.heir = ""
	}
}

// lost: a majority does not hear the holder either (C8): the election begins.
func (m *Machine) lost() {
	name := m.follower.known.Name
	m.follower.forget()
	m.arm()
	if name != "" && name == m.nominated {
		m.out.Suspect = name
	}
}

// follow lets go of a holder that nobody vouches for any more.
func (m *Machine) follow() {
	f := &m.follower
	if f.known.Name != "" && !f.hearsay && !f.consult && !m.hearing() {
		f.consult = true
	}
}

// steppedDown is F3. Without an heir the stepping process has an election held, or its silence is noticed.
func (m *Machine) steppedDown(from Incarnation, p Request) {
	f := &m.follower
	follows := f.known == from || f.hearsay && f.known.Name == from.Name
	if !follows || f.epoch > p.Epoch {
		return
	}
	f.over = f.epoch
	f.forget()
	m.candidacy.preVote.purpose = idle // what was being asked is out of date
	m.arm()
	if p.Heir == m.self.Name && !m.isCandidate() { // it has withdrawn since it yielded
		return
	}
	if heir, ok := m.roster.find(p.Heir); ok && heir.Priority > 0 {
		m.await(heir.Name)
		if m.nominated != heir.Name {
			m.out.Appoint = heir.Name
		}
	}
}

// released: promises are free again, so whoever waits asks at once (C4).
func (m *Machine) released(from Incarnation, p Request) {
	m.steppedDown(from, p)
	m.candidacy.freed = m.now.Boot
	if m.candidacy.waiting && m.candidacy.preVote.purpose == idle {
		m.candidacy.retry = m.now.Boot
	}
}
