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
	s := &c.nominee.sounding
	s.responses, s.answered = slices.Clone(s.responses), slices.Clone(s.answered)
	c.holder.acting, c.holder.claiming = m.holder.acting.clone(), m.holder.claiming.clone()
	if r := m.holder.resigning; r != nil {
		copied := *r
		c.holder.resigning = &copied
	}
	c.holder.steady = maps.Clone(m.holder.steady)
	for name, s := range c.holder.steady {
		copied := *s
		c.holder.steady[name] = &copied
	}
	return &c
}

func (c *claim) clone() *claim {
	if c == nil {
		return nil
	}
	copied := *c
	copied.promised, copied.denied, copied.highest, copied.best = slices.Clone(c.promised), slices.Clone(c.denied), slices.Clone(c.highest), nil
	return &copied
}

// Believed calls visit for every promise of the epoch it acts under that a Machine relies on at this instant (G5).
func (m *Machine) Believed(now Instant, visit func(voter Member, until Instant)) {
	if c := m.holder.acting; c != nil {
		for i, until := range c.promised {
			if now < until {
				visit(c.roster.Members[i], until)
			}
		}
	}
}

// Epochs are the epochs that this process acts under and claims, 0 for none.
func (m *Machine) Epochs() (acting, claiming Epoch) {
	if m.holder.acting != nil {
		acting = m.holder.acting.epoch
	}
	if m.holder.claiming != nil {
		claiming = m.holder.claiming.epoch
	}
	return acting, claiming
}

// Own is what this process has promised itself, as it counts it.
func (m *Machine) Own() (e Epoch, lease time.Duration, until Instant) {
	for _, c := range [...]*claim{m.holder.acting, m.holder.claiming} {
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
	return len(m.nominee.sounding.responses) + len(m.holder.steady) + len(m.out.Requests)
}

// AppendSnapshot appends all that can change what a Machine does. Delays that were drawn at random count in units of grain:
// who looks only at such instants cannot tell them apart.
func (m *Machine) AppendSnapshot(b []byte, grain time.Duration) []byte {
	s := snapshot{b: b, now: m.now.Boot, grain: grain}
	s.flags(m.candidate, m.unsynced, m.roster != nil)
	s.name(m.nominated)
	s.number(int64(m.round))
	if m.roster != nil {
		s.number(m.roster.Generation)
	}
	v := &m.voter
	s.name(v.Group)
	s.number(v.Generation, int64(v.Highest), int64(v.Lease), int64(v.until), int64(v.born), int64(v.older), int64(v.left))
	s.life(v.To)
	s.flags(v.seated, v.Voted)
	s.nominee(&m.nominee)
	s.holder(&m.holder)
	f := &m.follower
	s.life(f.known)
	s.name(f.heir)
	s.number(int64(f.epoch), int64(f.firm), int64(f.over), int64(f.heard), int64(f.awaits))
	s.flags(f.bound, f.hearsay, f.down, f.consult)
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

func (s *snapshot) life(l Incarnation) {
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

// delay is an instant that was drawn at random.
func (s *snapshot) delay(at Instant) { s.number(int64((max(at-s.now, 0) + s.grain - 1) / s.grain)) }

func (s *snapshot) nominee(n *nominee) {
	s.number(int64(n.sounding.purpose), int64(n.failures), int64(n.freed))
	s.flags(n.waiting, n.alone, n.spent)
	s.delay(n.retry)
	s.delay(n.rests)
	s.delay(n.fallback)
	if n.sounding.purpose == idle {
		return
	}
	s.life(n.sounding.about)
	s.number(int64(n.sounding.epoch), int64(n.sounding.round), int64(n.sounding.since), int64(n.sounding.asked))
	s.flags(n.sounding.answered...)
	for i, v := range n.sounding.responses {
		if n.sounding.answered[i] {
			s.flags(v.Granted, v.Heard, v.Candidate)
			s.name(v.Holder)
			s.number(v.Generation, int64(v.Highest), int64(v.HolderEpoch), int64(v.Remaining))
		}
	}
}

func (s *snapshot) holder(h *holder) {
	s.claim(h.acting)
	s.claim(h.claiming)
	if r := h.resigning; r != nil {
		s.number(int64(r.epoch), int64(r.last))
		s.name(r.heir)
	}
	s.number(int64(h.renew), int64(h.raise), int64(h.told), int64(h.asked), int64(h.clocks.Boot))
	for _, name := range slices.Sorted(maps.Keys(h.steady)) {
		t := h.steady[name]
		s.name(name)
		s.number(int64(t.life), int64(t.since), int64(t.last), int64(t.offered), int64(t.declined))
		s.flags(t.candidate)
	}
}

func (s *snapshot) claim(c *claim) {
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

// A field that Clone and AppendSnapshot do not know makes an exploration take different machines for equal.
func TestSnapshotKnowsEveryField(t *testing.T) {
	for _, c := range []struct {
		of     any
		fields int
	}{
		{Machine{}, 15}, {voter{}, 6}, {State{}, 6}, {nominee{}, 9}, {sounding{}, 8}, {holder{}, 9}, {claim{}, 9}, {resigning{}, 4},
		{steady{}, 6}, {follower{}, 11},
	} {
		if n := reflect.TypeOf(c.of).NumField(); n != c.fields {
			t.Errorf("%T has %d fields, not %d: teach Clone and AppendSnapshot the new ones", c.of, n, c.fields)
		}
	}
}
