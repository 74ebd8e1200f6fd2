package lease

import (
	"encoding/binary"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"
)

// Clone copies a Machine. The copies draw from one source of random delays.
func (m *Machine) Clone() *Machine {
	c := *m
	c.out = Output{}
	c.disk.waiting = slices.Clone(m.disk.waiting)
	s := &c.candidacy.preVote
	s.responses, s.answered = slices.Clone(s.responses), slices.Clone(s.answered)
	c.leaseholder.held, c.leaseholder.sought = m.leaseholder.held.clone(), m.leaseholder.sought.clone()
	if r := m.leaseholder.steppingDown; r != nil {
		copied := *r
		c.leaseholder.steppingDown = &copied
	}
	c.leaseholder.peers = maps.Clone(m.leaseholder.peers)
	for name, s := range c.leaseholder.peers {
		copied := *s
		c.leaseholder.peers[name] = &copied
	}
	return &c
}

func (t *tally) clone() *tally {
	if t == nil {
		return nil
	}
	copied := *t
	copied.promised, copied.denied = slices.Clone(t.promised), slices.Clone(t.denied)
	copied.highest, copied.scratch = slices.Clone(t.highest), nil
	return &copied
}

// Believed calls visit for every promise of the epoch it acts under that a Machine relies on at
// this instant (G5).
func (m *Machine) Believed(now Instant, visit func(voter Member, until Instant)) {
	if c := m.leaseholder.held; c != nil {
		for i, until := range c.promised {
			if now < until {
				visit(c.roster.Members[i], until)
			}
		}
	}
}

// Epochs are the epochs that this process acts under and claims, 0 for none.
func (m *Machine) Epochs() (held, sought Epoch) {
	if m.leaseholder.held != nil {
		held = m.leaseholder.held.epoch
	}
	if m.leaseholder.sought != nil {
		sought = m.leaseholder.sought.epoch
	}
	return held, sought
}

// Own is what this process has promised itself, as it counts it.
func (m *Machine) Own() (e Epoch, lease time.Duration, until Instant) {
	for _, c := range [...]*tally{m.leaseholder.held, m.leaseholder.sought} {
		if c == nil {
			continue
		}
		for i, q := range c.roster.Members {
			if q.Name == m.self.Name && c.promised[i] > 0 && c.promised[i] >= until {
				e, lease, until = c.epoch, c.lease, c.promised[i]
			}
		}
	}
	return e, lease, until
}

// Size is how many things a Machine keeps, for G13.
func (m *Machine) Size() int {
	return len(m.disk.waiting) + len(m.candidacy.preVote.responses) + len(m.leaseholder.peers) + len(m.out.Requests)
}

// AppendSnapshot appends all that can change what a Machine does. Delays that were drawn at random
// count in units of grain: who looks only at such instants cannot tell them apart.
func (m *Machine) AppendSnapshot(b []byte, grain time.Duration) []byte {
	s := snapshot{b: b, now: m.now.Boot, grain: grain}
	s.flags(m.candidate, m.roster != nil)
	s.disk(&m.disk)
	s.name(m.nominated)
	s.number(int64(m.round))
	if m.roster != nil {
		s.number(m.roster.Generation)
	}
	v := &m.voter
	s.name(v.Group)
	s.number(v.Generation, int64(v.Highest), int64(v.Lease), int64(v.until), int64(v.startedAt),
		int64(v.previousEpoch), int64(v.rosterSince))
	s.incarnation(v.To)
	s.flags(v.votes, v.Voted)
	s.candidacy(&m.candidacy)
	s.leaseholder(&m.leaseholder)
	f := &m.follower
	s.incarnation(f.leaseholder)
	s.name(f.heir)
	s.number(int64(f.epoch), int64(f.floor), int64(f.ended), int64(f.heardAt), int64(f.heirUntil))
	s.flags(f.bound, f.hearsay, f.linkDown, f.suspects)
	return s.b
}

type snapshot struct {
	b     []byte
	now   Instant
	grain time.Duration
}

func (s *snapshot) number(all ...int64) {
	for _, n := range all {
		s.b = binary.AppendVarint(s.b, n)
	}
}

func (s *snapshot) name(n string) { s.b = append(append(s.b, n...), 0) }

func (s *snapshot) incarnation(l Incarnation) {
	s.name(l.Name)
	s.name(l.StateID)
	s.number(int64(l.Number))
}

func (s *snapshot) flags(all ...bool) {
	for _, f := range all {
		if f {
			s.b = append(s.b, 1)
		} else {
			s.b = append(s.b, 0)
		}
	}
}

// disk counts versions from the one that is written: nothing else about them matters.
func (s *snapshot) disk(d *disk) {
	s.flags(d.broken)
	for _, v := range [...]uint64{d.version, d.promise, d.begun, d.lost} {
		s.number(max(int64(v)-int64(d.written), 0))
	}
	for _, w := range d.waiting {
		s.name(w.To)
		s.number(int64(w.version-d.written), int64(w.Response.Epoch), int64(w.Response.Round), w.Response.Generation)
		s.flags(w.Response.Granted)
	}
}

// delay is an instant that was drawn at random.
func (s *snapshot) delay(at Instant) { s.number(int64((max(at-s.now, 0) + s.grain - 1) / s.grain)) }

func (s *snapshot) candidacy(n *candidacy) {
	s.number(int64(n.preVote.purpose), int64(n.failures), int64(n.releasedAt))
	s.flags(n.waits, n.noMajority, n.ballotsSpent)
	s.delay(n.retryAt)
	s.delay(n.restsUntil)
	s.delay(n.fallbackAt)
	if n.preVote.purpose == noPreVote {
		return
	}
	s.incarnation(n.preVote.about)
	s.number(int64(n.preVote.epoch), int64(n.preVote.round), int64(n.preVote.since), int64(n.preVote.askedAt))
	s.flags(n.preVote.answered...)
	for i, v := range n.preVote.responses {
		if n.preVote.answered[i] {
			s.flags(v.Granted, v.Heard, v.Candidate)
			s.name(v.Holder)
			s.number(v.Generation, int64(v.Highest), int64(v.HolderEpoch), int64(v.Remaining))
		}
	}
}

func (s *snapshot) leaseholder(h *leaseholder) {
	s.tally(h.held)
	s.tally(h.sought)
	if r := h.steppingDown; r != nil {
		s.number(int64(r.epoch), int64(r.highest))
		s.name(r.heir)
	}
	s.number(int64(h.nextRound), int64(h.outbidAfter), int64(h.toldUntil), int64(h.lastSought),
		int64(h.clocks.Boot))
	for _, name := range slices.Sorted(maps.Keys(h.peers)) {
		t := h.peers[name]
		s.name(name)
		s.number(int64(t.incarnation), int64(t.stableSince), int64(t.lastResponse), int64(t.offeredAt),
			int64(t.declinedUntil))
		s.flags(t.candidate)
	}
}

func (s *snapshot) tally(c *tally) {
	s.flags(c != nil)
	if c == nil {
		return
	}
	s.number(int64(c.epoch), int64(c.since), c.roster.Generation)
	for i := range c.promised {
		s.number(int64(c.promised[i]), c.highest[i])
	}
	s.flags(c.denied...)
	for _, r := range c.rounds {
		s.number(int64(r.number), int64(r.sent))
	}
}

// A field that Clone and AppendSnapshot do not know makes an exploration take different machines
// for equal.
func TestSnapshotKnowsEveryField(t *testing.T) {
	for _, c := range []struct {
		of     any
		fields int
	}{
		{Machine{}, 15}, {voter{}, 6}, {disk{}, 7}, {State{}, 6}, {candidacy{}, 9}, {preVote{}, 8}, {leaseholder{}, 9}, {tally{}, 9}, {steppingDown{}, 4},
		{peer{}, 6}, {follower{}, 11},
	} {
		if n := reflect.TypeOf(c.of).NumField(); n != c.fields {
			t.Errorf("%T has %d fields, not %d: teach Clone and AppendSnapshot the new ones", c.of, n, c.fields)
		}
	}
}
