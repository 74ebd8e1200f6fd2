package lease_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
)

// FuzzStep gives one machine whatever requests and responses the bytes spell, from whomever:
// members, other incarnations of them, strangers, with rosters and clocks that change. It must not
// panic, must stay small (G13), must make no promise that breaks one (G4), must never lower an
// epoch that it has promised (G3), and may act only on a majority's promises (G6).
func FuzzStep(f *testing.F) {
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 3))
		schedule := make([]byte, 600)
		for i := range schedule {
			schedule[i] = byte(rng.UintN(256))
		}
		f.Add(schedule)
	}
	f.Fuzz(func(t *testing.T, schedule []byte) {
		s := script{bytes: schedule}
		r := rosterOf(1 + s.below(5))
		z := &fuzzed{
			t:      t,
			s:      &s,
			solo:   newSolo(t, r, r.Members[s.below(len(r.Members))].Name),
			widest: len(r.Members),
		}
		for len(s.bytes) > 0 {
			z.step()
		}
	})
}

// fuzzed is a machine with what it has promised, as the others see it.
type fuzzed struct {
	*solo
	t       *testing.T
	s       *script
	to      lease.Incarnation
	until   time.Duration
	highest lease.Epoch
	widest  int
}

func (z *fuzzed) step() {
	s := z.s
	z.now += []time.Duration{0, 0, 0, 1, ms, 30 * ms, 300 * ms, 2 * time.Second}[s.below(8)]
	e := lease.Event{
		Type:    lease.EventType(s.below(14)),
		Process: z.name(),
		From:    z.incarnation(),
		Until:   z.now + time.Duration(s.below(3)-1)*time.Second,
	}
	switch e.Type {
	case lease.Requested:
		e.Request = z.request()
	case lease.Responded:
		e.Response = z.responseOfAnybody()
	case lease.RosterChanged:
		e.Roster = z.nextRoster()
	default: // the rest needs no more
	}
	before := z.State()
	out := z.do(e)
	z.check(e, before, out)
	if s.below(16) == 0 {
		z.do(lease.Event{Type: lease.WriteFailed})
		z.to = lease.Incarnation{}
	}
}

func (z *fuzzed) check(e lease.Event, before lease.State, out lease.Output) {
	after := z.State()
	if len(out.Requests) > 6*z.widest || z.Size() > 10*z.widest {
		z.t.Fatalf("%d requests, %d things kept, after %+v", len(out.Requests), z.Size(), e)
	}
	if after.Group == before.Group &&
		(after.Highest < before.Highest || after.Generation < before.Generation) {
		z.t.Fatalf("it went back from %+v to %+v after %+v", before, after, e)
	}
	if after.Group != before.Group {
		z.to, z.highest = lease.Incarnation{}, 0
	}
	if released := (lease.Incarnation{}); after.To == released {
		// what a release frees need not be synced: who forgets it is bound for longer
		before.To = released
	}
	if after != before && out.Version == 0 {
		z.t.Fatalf(
			"its state changed from %+v to %+v, and it is not synced, after %+v",
			before,
			after,
			e,
		)
	}
	if e.Type == lease.Requested && e.Request.Kind == lease.Release && e.From == z.to &&
		e.Request.Epoch >= z.highest {
		z.until = 0
	}
	if len(out.Replies) > 0 && out.Replies[0].Response.Granted &&
		(e.Request.Kind == lease.Vote || e.Request.Kind == lease.Renew) {
		if e.From != z.to && z.to != (lease.Incarnation{}) && z.now < z.until {
			z.t.Fatalf(
				"it promises %s to %v while %s to %v runs for %v",
				e.Request.Epoch,
				e.From,
				z.highest,
				z.to,
				z.until-z.now,
			)
		}
		if e.Request.Epoch < z.highest || e.Request.Epoch == z.highest && e.From != z.to {
			z.t.Fatalf("it promises %s after %s", e.Request.Epoch, z.highest)
		}
		z.to, z.highest, z.until = e.From, e.Request.Epoch, max(z.until, z.now+e.Request.Lease)
	}
	if epoch, deadline, ok := z.Permission(); ok && z.now < deadline {
		if deadline > z.now+lease.Window(2*lease1) {
			z.t.Fatalf("it may act under %s for %v", epoch, deadline-z.now)
		}
		if after.To == z.config.Self && after.Highest != z.highest {
			z.to, z.highest, z.until = after.To, after.Highest, z.now
		}
	}
}

// nextRoster is of the next generation, of the same one, of an older one, of another group, or nil.
func (z *fuzzed) nextRoster() *lease.Roster {
	s := z.s
	kind := s.below(6)
	if kind == 0 {
		return nil
	}
	r := next(z.roster, func(r *lease.Roster) {
		r.Generation += int64([]int{0, -1, -2, 0, 5, 0}[kind])
		for i := range r.Members {
			m := &r.Members[i]
			m.Priority, m.Voter = int32(s.below(4)), s.below(4) > 0
			m.StateID = []string{m.StateID, "", "another"}[max(0, s.below(6)-3)]
		}
		if n := s.below(7); n < len(r.Members) && n > 0 {
			r.Members = r.Members[:n]
		}
		r.Lease = []time.Duration{lease1, lease1 / 2, 2 * lease1}[s.below(3)]
		r.Preemption = []lease.Policy{lease.Always, lease.Delayed, lease.Never}[s.below(3)]
	})
	if kind == 3 {
		r.Group += "'"
	}
	if r.Generation > z.roster.Generation || r.Group != z.roster.Group {
		z.roster = r
		z.widest = max(z.widest, len(r.Members))
	}
	return r
}

func (z *fuzzed) name() string {
	return []string{"P1", "P2", "P3", "P4", "P5", "P9",
		""}[z.s.below(7)]
}

func (z *fuzzed) incarnation() lease.Incarnation {
	l := incarnationOf(z.roster, z.name())
	switch z.s.below(8) {
	case 0:
		l.Number++
	case 1:
		l.StateID = "another"
	case 2:
		l.UID = "another"
	}
	return l
}

// epoch is one near those in use, or far away.
func (z *fuzzed) epoch() lease.Epoch {
	generation := z.roster.Generation
	held, sought := z.Epochs()
	return []lease.Epoch{epoch(generation, 1), epoch(generation, int64(z.s.below(8))),
		max(held, sought), held + 1, z.State().Highest,
		z.State().Highest + 1, epoch(generation, lease.MaxBallot), epoch(generation+1,
			1), epoch(1<<33, 1), -1, 0}[z.s.below(11)]
}

var kindsOfRequests = []lease.Kind{
	lease.PreVote,
	lease.Vote,
	lease.Renew,
	lease.StepDown,
	lease.Release,
	lease.Transfer,
	lease.TakeOver,
	"GARBAGE",
}

func (z *fuzzed) request() lease.Request {
	return lease.Request{
		Kind:  kindsOfRequests[z.s.below(len(kindsOfRequests))],
		Group: z.roster.Group,
		Epoch: z.epoch(),
		Round: uint64(z.s.below(256)),
		Lease: []time.Duration{lease1, lease1, lease1 / 3, 0, -1, time.Hour, 1 << 62}[z.s.below(7)],
		Heir:  z.name(),
	}
}

// responseOfAnybody answers the last request that this process sent, or none.
func (z *fuzzed) responseOfAnybody() lease.Response {
	s := z.s
	v := lease.Response{
		Kind:  kindsOfRequests[s.below(len(kindsOfRequests))],
		Epoch: z.epoch(),
		Round: uint64(s.below(256)),
	}
	if n := len(z.out.Requests); n > 0 && s.below(4) > 0 {
		p := z.out.Requests[s.below(n)].Request
		v.Kind, v.Epoch, v.Round = p.Kind, p.Epoch, p.Round
	}
	v.Granted, v.Candidate, v.Heard = s.below(2) == 0, s.below(2) == 0, s.below(3) == 0
	v.Generation, v.Highest = z.roster.Generation+int64(s.below(3))-1, z.epoch()
	v.Holder, v.HolderEpoch, v.Remaining = z.name(), z.epoch(), time.Duration(
		s.below(5)-1,
	)*time.Second
	return v
}

// script reads a schedule from bytes. At the end everything is 0.
type script struct{ bytes []byte }

func (s *script) below(n int) int {
	if len(s.bytes) == 0 {
		return 0
	}
	b := s.bytes[0]
	s.bytes = s.bytes[1:]
	return int(b) % n
}
