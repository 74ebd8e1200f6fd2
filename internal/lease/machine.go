package lease

import (
	"maps"
	"math/rand/v2"
	"time"
)

// Config says which process a Machine is.
type Config struct {
	Self  Incarnation
	Saved State  // what the state directory holds; the zero State if it is empty
	Seed  uint64 // of the random delays
	Now   Reading
	// Throttled is by how much the process's CPU quota may delay Burst (LH10); 0: it has none.
	Throttled time.Duration
}

// Machine is one process's part in the lease protocol. It is not safe for concurrent use.
type Machine struct {
	self      Incarnation
	heartbeat time.Duration
	rng       *rand.Rand

	now       Reading
	t         time.Duration // T, as of the last event
	roster    *Roster       // nil: no roster names this process
	me        Member        // its entry there; zero: it has none
	first     bool          // it asks first, and has links for that (C8)
	candidate bool          // the app is healthy and the process stays
	nominated string        // the process that the algorithm names; empty while it elects

	clocks      clocks
	voter       voter
	disk        disk
	candidacy   candidacy
	leaseholder leaseholder
	follower    follower
	past        []past // of group objects that this incarnation has left; never changed in place
	round       uint64 // number of the last round of requests
	out         Output
}

// New returns a Machine without a roster. It is a candidate.
func New(c Config) *Machine {
	m := &Machine{
		self:      c.Self,
		now:       c.Now,
		clocks:    startClocks(c.Now),
		candidate: true,
		rng:       rand.New(rand.NewPCG(c.Seed, 0x7e9e)),
	}
	m.leaseholder.length.throttled = c.Throttled
	m.voter.State = c.Saved
	m.voter.restart(c.Now.Boot)
	return m
}

// State returns what the voter must not forget, as of the newest Version.
func (m *Machine) State() State { return m.voter.State }

// Step takes one event and returns what is to be done. The Output is valid until the next Step.
func (m *Machine) Step(e Event) *Output {
	m.now, m.t = e.Now, max(e.T, time.Millisecond)
	m.out = Output{Requests: m.out.Requests[:0], Replies: m.out.Replies[:0]}
	m.clocks.watch(m.now)
	m.lapse()
	if m.roster != nil && (e.Type == Requested || e.Type == Responded) {
		m.leaseholder.length.reached(m.roster, m.now.Boot)
	}
	switch e.Type {
	case Tick:
	case RosterChanged:
		m.changeRoster(e.Roster)
	case Requested:
		m.requested(&e)
	case Responded:
		m.responded(e.From, e.Response)
	case Nominated:
		m.nominate(e.Process)
	case Suspected:
		m.suspected(e.Process)
	case Doubted:
		m.doubted(e.Process)
	case AppAsked:
		m.appAsked(e.Length)
	case LinkUp:
		m.linkUp(e.Process)
		m.voteMayBeLost(e.Process)
	case LinkDown:
		m.linkDown(e.Process)
	case Restored, Withdrawn:
		m.candidate = e.Type == Restored
	case Told:
		m.leaseholder.toldUntil = min(m.leaseholder.toldUntil, e.Until)
	case Persisted:
		m.persisted(e.Version)
	case WriteFailed:
		m.writeFailed()
	}
	if m.roster != nil {
		m.driveLeaseholder()
		m.driveCandidate()
		m.askedInVain()
		m.driveFollower()
	}
	m.out.Version = m.disk.begin()
	return &m.out
}

// changeRoster takes a new roster.
func (m *Machine) changeRoster(r *Roster) {
	if r == nil {
		m.leave()
		m.roster, m.me, m.nominated = nil, Member{}, ""
		return
	}
	known := m.roster != nil && r.Group == m.roster.Group && r.Generation <= m.roster.Generation
	if known || r.Generation < m.voter.Used(r.Group) || m.Admits(r.Group) != nil {
		return // V4: generations never go back, and rosters of one generation are equal
	}
	if m.roster == nil || m.roster.Group != r.Group {
		m.leave()
		m.recall(r.Group)
	}
	m.roster = r
	m.me, _ = r.find(m.self.Name)
	m.first = m.asksFirst()
	m.heartbeat = max(r.Heartbeat, time.Millisecond)
	m.leaseholder.length.adapt(r, m.now.Boot)
	before := m.voter.previousEpoch
	if m.voter.adopt(r, m.self, m.now.Boot) {
		m.disk.change()
	}
	if m.voter.previousEpoch != before {
		m.disk.older = m.disk.promise
	}
	m.candidacy.preVote.purpose, m.candidacy.preVote.late = noPreVote, false
	m.candidacy.ballotsSpent, m.candidacy.rosterAt = false, m.now.Boot
	if heir, _ := r.find(m.follower.heir); heir.Priority == 0 {
		m.follower.heir = ""
	}
	maps.DeleteFunc(m.leaseholder.peers, func(name string, _ *peer) bool {
		_, ok := r.find(name)
		return !ok
	})
	maps.DeleteFunc(m.leaseholder.outbids, func(name string, _ outbid) bool {
		_, ok := r.find(name)
		return !ok
	})
	m.postponeFallback()
	m.standBack()
}

// isCandidate reports whether this process may be nominated and ask for votes.
func (m *Machine) isCandidate() bool {
	return m.me.Priority > 0 && m.candidate && !m.Rests()
}

// random returns a random part of d.
func (m *Machine) random(d time.Duration) time.Duration {
	return time.Duration(m.rng.Int64N(int64(max(d, 1))))
}
