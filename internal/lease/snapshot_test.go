package lease

import (
	"encoding/binary"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"
)

// Round returns the number of the last round of requests.
func (m *Machine) Round() uint64 { return m.round }

// AppendSnapshot appends everything that can change what a Machine does from now on, provided that
// T stays the same and preemption is Never. What differs and makes no difference is left out:
// rounds count from base, instants that are over are all the same, and delays that were drawn at
// random count in units of grain, because an exploration reads the clock at such instants only.
// What follows from the rest is left out, too: m.me and m.first from the roster, a tally's deadline
// from its promises.
func (m *Machine) AppendSnapshot(b []byte, grain time.Duration, base uint64) []byte {
	s := snapshot{b: b, now: m.now.Boot, grain: grain, base: base}
	s.flags(m.candidate, m.roster != nil)
	s.disk(&m.disk)
	s.name(m.nominated)
	s.round(m.round)
	if m.roster != nil {
		s.number(m.roster.Generation)
	}
	s.voter(&m.voter)
	s.candidacy(m)
	s.leaseholder(m)
	s.follower(m)
	if c := &m.clocks; c.jumped || c.drift { // else what was read makes no difference
		panic("the snapshot leaves out what clocks that disagree need")
	}
	for _, p := range m.past {
		s.name(p.group)
		s.number(int64(p.sought), int64(p.floor), int64(p.reported))
		s.ending(p.ended)
	}
	return s.b
}

type snapshot struct {
	b     []byte
	now   Instant
	grain time.Duration
	base  uint64
}

func (s *snapshot) number(all ...int64) {
	for _, n := range all {
		s.b = binary.AppendVarint(s.b, n)
	}
}

func (s *snapshot) name(n string) { s.b = append(append(s.b, n...), 0) }

func (s *snapshot) incarnation(i Incarnation) {
	s.name(i.Name)
	s.name(i.StateID)
	s.number(int64(i.Number))
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

// round is the number of a round.
func (s *snapshot) round(n uint64) { s.number(int64(n - s.base)) }

// due is an instant that makes a difference until it has come.
func (s *snapshot) due(at Instant) { s.number(int64(max(at-s.now, 0))) }

// delay is an instant that was drawn at random.
func (s *snapshot) delay(at Instant) { s.number(int64((max(at-s.now, 0) + s.grain - 1) / s.grain)) }

// disk counts versions from the one that is written: nothing else about them matters.
func (s *snapshot) disk(d *disk) {
	s.flags(d.broken)
	for _, v := range [...]uint64{d.version, d.promise, d.older, d.begun, d.lost} {
		s.number(max(int64(v)-int64(d.written), 0))
	}
	for _, w := range d.waiting {
		s.name(w.To)
		s.name(string(w.Response.Kind))
		s.number(
			int64(w.version-d.written), int64(w.Response.Epoch), int64(w.Response.Round),
			w.Response.Generation, int64(w.Response.Remaining),
		)
		s.flags(w.Response.Granted)
	}
}

func (s *snapshot) voter(v *voter) {
	s.name(v.Group)
	s.number(v.Generation, int64(v.Highest), int64(v.Lease), int64(v.previousEpoch))
	s.incarnation(v.To)
	s.flags(v.votes, v.Voted)
	s.due(v.until)
	if !v.Voted {
		s.number(int64(v.startedAt))
	}
	if v.previousEpoch != 0 {
		s.number(int64(v.rosterSince), int64(v.lease))
	}
	for e := v.Earlier; e != nil; e = e.Next {
		s.name(e.Group)
		s.number(e.Generation, int64(e.Highest))
	}
}

func (s *snapshot) candidacy(m *Machine) {
	c := &m.candidacy
	p := &c.preVote
	s.number(int64(p.purpose), int64(c.failures), int64(c.splits))
	s.flags(c.waits, c.noMajority, c.ballotsSpent, c.hastened)
	s.name(c.lost)
	s.due(c.releasedAt + m.t)
	s.due(c.rosterAt + m.heartbeat)
	s.delay(c.retryAt)
	s.delay(c.restsUntil)
	s.delay(c.fallbackAt)
	s.flags(p.late)
	if p.purpose == noPreVote && !p.late {
		return
	}
	s.incarnation(p.about)
	s.round(p.round)
	s.number(int64(p.epoch), int64(p.since), int64(p.askedAt))
	s.due(p.repeatAt)
	s.flags(p.answered...)
	for i, v := range p.responses {
		if p.answered[i] {
			s.flags(v.Granted, v.Heard, v.Candidate)
			s.name(v.Holder)
			s.number(v.Generation, int64(v.Highest), int64(v.HolderEpoch), int64(v.Remaining))
			s.number(int64(p.bound[i]))
		}
	}
}

// leaseholder leaves out what only preemption asks the peers about.
func (s *snapshot) leaseholder(m *Machine) {
	l := &m.leaseholder
	s.tally(l.held)
	s.tally(l.sought)
	s.flags(l.steppingDown != nil)
	if d := l.steppingDown; d != nil {
		s.number(int64(d.epoch), int64(d.highest), d.roster.Generation)
		s.name(d.heir)
	}
	if l.held != nil || l.lapsed != nil {
		s.due(l.leadsSince + m.answerTimeout()) // LH8; votersSince is for preemption alone
	}
	if l.held != nil || l.lapsed != nil { // LH4
		steadyAt := max(l.leadsSince, l.lapsedAt) + m.roster.Lease
		s.flags(l.held != nil && l.held.renewed >= steadyAt)
		s.due(steadyAt)
	}
	s.flags(l.lapsed != nil)
	if d := l.lapsed; d != nil {
		s.number(int64(d.tally.epoch), d.tally.roster.Generation)
		s.flags(d.rival)
	}
	for _, name := range slices.Sorted(maps.Keys(l.peers)) {
		p := l.peers[name]
		s.name(name)
		s.number(int64(p.incarnation))
		s.flags(p.candidate, p.unlinked)
		s.due(p.lastResponse + m.answerTimeout())
		s.due(p.declinedUntil)
	}
	s.number(int64(l.lastSought))
	s.due(l.outbidAfter)
	for _, name := range slices.Sorted(maps.Keys(l.outbids)) { // no exploration lasts an hour
		s.name(name)
		s.due(l.outbids[name].at + l.outbids[name].pause)
		s.number(int64(l.outbids[name].pause))
	}
	s.due(l.toldUntil)
	if l.held != nil || l.sought != nil {
		s.due(l.nextRound)
	}
	if l.held != nil && l.sought != nil {
		s.due(l.sought.since + slowVotes*m.roster.heartbeat(l.length.lease))
	}
	if l.held == nil && l.sought != nil {
		s.due(l.sought.since + l.sought.roster.Lease)
		s.due(l.sought.since + splitAfter*m.t)
	}
	if m.roster != nil && m.roster.shortest() != m.roster.Lease { // LH10
		p := &l.length
		s.number(int64(p.lease), int64(p.others), int64(p.patience), int64(s.now-p.since), int64(p.delay), int64(p.asking),
			int64(s.now-p.shortened))
		s.flags(p.lapse > 0)
		s.due(p.inherited)
		s.number(int64(s.now - max(p.lapse, s.now-m.roster.Lease)))
		if l.held != nil {
			for _, at := range append(slices.Clone(l.held.asked), l.held.renewed) {
				s.flags(at == 0)
				s.number(int64(s.now - max(at, s.now-l.held.roster.Lease)))
			}
		}
	}
	if m.roster != nil && m.roster.Preemption != Never {
		panic("the snapshot leaves out what preemption needs")
	}
}

func (s *snapshot) tally(t *tally) {
	s.flags(t != nil)
	if t == nil {
		return
	}
	s.number(int64(t.epoch), t.roster.Generation)
	for i := range t.promised {
		s.due(t.promised[i])
		s.number(t.highest[i])
	}
	s.name(t.rival.Name)
	s.flags(t.denied...)
	s.flags(t.bound...)
	s.flags(t.support...)
	rounds := t.rounds // where a round stands among them makes no difference
	slices.SortFunc(rounds[:], func(a, b round) int { return int(a.number) - int(b.number) })
	for _, r := range rounds {
		if r.number != 0 {
			s.round(r.number)
			s.number(int64(r.sent), int64(r.lease))
		}
	}
}

func (s *snapshot) ending(e ending) {
	s.incarnation(e.of)
	s.number(int64(e.epoch))
}

func (s *snapshot) follower(m *Machine) {
	f := &m.follower
	s.incarnation(f.leaseholder)
	s.name(f.heir)
	s.number(int64(f.epoch), int64(f.floor), int64(f.reported))
	if f.epoch > f.floor && m.roster != nil { // else when it heard of it makes no difference
		s.due(f.epochAt + m.roster.Lease)
	}
	s.ending(f.ended)
	s.flags(f.bound, f.hearsay, f.linkDown, f.suspects, f.yields)
	if f.leaseholder.Name != "" && !f.hearsay {
		s.due(m.heardUntil())
	}
	if f.asksAt != 0 && !f.suspects {
		s.due(f.asksAt)
		s.due(f.asksLatest)
	}
	if f.heir != "" {
		s.due(f.heirUntil)
		s.due(f.heirLatest)
	}
}

// A field that Clone and AppendSnapshot do not know makes an exploration take different machines
// for equal.
func TestSnapshotKnowsEveryField(t *testing.T) {
	for _, c := range []struct {
		of     any
		fields int
	}{
		{Machine{}, 19}, {voter{}, 7}, {disk{}, 8}, {State{}, 7}, {candidacy{}, 13}, {preVote{},
			11}, {leaseholder{}, 14}, {tally{}, 13}, {steppingDown{}, 4}, {lapsed{}, 2},
		{peer{}, 7}, {outbid{}, 2}, {follower{}, 19}, {length{}, 11},
	} {
		if n := reflect.TypeOf(c.of).NumField(); n != c.fields {
			t.Errorf(
				"%T has %d fields, not %d: teach Clone and AppendSnapshot the new ones",
				c.of,
				n,
				c.fields,
			)
		}
	}
}
