package lease_test

import (
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
)

const lease1 = time.Second // of rosterOf

// V2, V3, V5, V7, V4: which claims a voter promises that has promised 1.5 to P2.
func TestWhatIsPromised(t *testing.T) {
	other := func(change func(*lease.Incarnation)) lease.Incarnation {
		l := incarnationOf(rosterOf(3), "P2")
		change(&l)
		return l
	}
	for _, c := range []struct {
		name    string
		from    lease.Incarnation
		epoch   lease.Epoch
		lease   time.Duration
		later   time.Duration
		granted bool
	}{
		{"V3 the very same again", incarnationOf(rosterOf(3), "P2"), epoch(1, 5), lease1, 0, true},
		{"V3 the very same after it has run out", incarnationOf(rosterOf(3), "P2"), epoch(1, 5),
			lease1, 2 * lease1, true},
		{"V3 a higher ballot of the same incarnation", incarnationOf(rosterOf(3), "P2"),
			epoch(1, 6), lease1, 0, true},
		{"V3 a lower ballot of the same incarnation", incarnationOf(rosterOf(3), "P2"), epoch(1, 4),
			lease1, 0, false},
		{"V2 another process", incarnationOf(rosterOf(3), "P3"), epoch(1, 6), lease1, 0, false},
		{"V2 another process, just before the end", incarnationOf(rosterOf(3), "P3"), epoch(1, 6),
			lease1, lease1 - 1, false},
		{"V2 another process, at the end", incarnationOf(rosterOf(3), "P3"), epoch(1, 6), lease1,
			lease1, true},
		{"V3 another process with the used epoch", incarnationOf(rosterOf(3), "P3"), epoch(1, 5),
			lease1, 2 * lease1, false},
		{"V3 another process with a lower one", incarnationOf(rosterOf(3), "P3"), epoch(1, 4),
			lease1, 2 * lease1, false},
		{"V2 a later incarnation", other(func(l *lease.Incarnation) { l.Number++ }), epoch(1, 6),
			lease1, 0, false},
		{"V2 an incarnation with another state directory",
			other(func(l *lease.Incarnation) { l.StateID = "another" }), epoch(1, 6),
			lease1, 0, false},
		{"V3 a later incarnation with the used epoch",
			other(func(l *lease.Incarnation) { l.Number++ }), epoch(1,
				5), lease1, 2 * lease1, false},
		{"V4 an older generation", incarnationOf(rosterOf(3), "P2"), epoch(0, 9), lease1, 0, false},
		{"V4 a newer generation", incarnationOf(rosterOf(3), "P2"), epoch(2, 1), lease1, 0, false},
		{"V5 a longer lease than the roster's", incarnationOf(rosterOf(3), "P2"), epoch(1, 5),
			lease1 + 1, 0, false},
		{"V5 no lease", incarnationOf(rosterOf(3), "P2"), epoch(1, 6), 0, 0, false},
		{"V5 a shorter lease", incarnationOf(rosterOf(3), "P2"), epoch(1, 6), lease1 / 2, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSolo(t, rosterOf(3), "P1")
			s.want(true, "P2", epoch(1, 5))
			s.asleep(c.later)
			v := s.ask(c.from, lease.Request{Kind: lease.Vote, Epoch: c.epoch, Lease: c.lease})
			if v.Granted != c.granted {
				t.Errorf("granted is %v", v.Granted)
			}
		})
	}
}

// V5: a promise gets no shorter by a renewal or another epoch of the same incarnation with a
// shorter lease.
func TestPromiseGetsNoShorter(t *testing.T) {
	for _, e := range []lease.Epoch{epoch(1, 1), epoch(1, 2)} {
		s := newSolo(t, rosterOf(3), "P1")
		s.want(true, "P2", epoch(1, 1))
		s.askBy("P2", lease.Request{Kind: lease.Vote, Epoch: e, Lease: 1})
		s.asleep(lease1 - 1)
		s.want(false, "P3", epoch(1, 9))
		if s.State().Lease < lease1-2 {
			t.Errorf("%s: the state directory says that it runs %v at most", e, s.State().Lease)
		}
	}
}

// V1: who is no voter by its own roster, or has another state directory, promises nothing; who has
// become one is silent for a lease.
func TestWhoVotes(t *testing.T) {
	for _, c := range []struct {
		name     string
		change   func(*lease.Roster)
		remember lease.State
		silent   time.Duration // then it promises; 0: at once; -1: never
	}{
		{"a voter of old", func(*lease.Roster) {},
			lease.State{Group: "shop/scheduler", Generation: 1, Voted: true}, 0},
		{"a new voter", func(*lease.Roster) {}, lease.State{}, lease1},
		{"a voter of an earlier group of the name", func(*lease.Roster) {},
			lease.State{Group: "old", Generation: 7, Voted: true}, lease1},
		{"whose earlier group had a longer lease", func(*lease.Roster) {},
			lease.State{Group: "old", Voted: true, Lease: 3 * lease1}, 3 * lease1},
		{"no voter", func(r *lease.Roster) { r.Members[0].Voter = false }, lease.State{}, -1},
		{"another state directory", func(r *lease.Roster) { r.Members[0].StateID = "the lost one" },
			lease.State{}, -1},
		{"none that the roster names", func(r *lease.Roster) { r.Members[0].StateID = "" },
			lease.State{Group: "shop/scheduler", Generation: 1, Voted: true}, -1},
		{"another pod", func(r *lease.Roster) { r.Members[0].UID = "the old one" }, lease.State{},
			-1},
		{"not on the roster", func(r *lease.Roster) { r.Members = r.Members[1:] }, lease.State{},
			-1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := rosterOf(3)
			s := startSolo(t, r, "P1", c.remember)
			changed := next(r, c.change)
			changed.Generation = r.Generation
			s = &solo{t: t, roster: changed, now: start, T: s.T, config: s.config}
			s.boot()
			if c.silent != 0 {
				s.want(false, "P2", epoch(1, 1))
			}
			s.asleep(max(c.silent, 0) - 1)
			if c.silent > 0 {
				s.want(false, "P2", epoch(1, 1))
			}
			s.asleep(1 + max(-c.silent, 0)*lease1)
			s.want(c.silent >= 0, "P2", epoch(1, 1))
		})
	}
}

// V1: a state directory that becomes a voter's of another group object waits from then on, not from
// its start.
func TestNewGroupObject(t *testing.T) {
	s := newSolo(t, rosterOf(3), "P1")
	s.asleep(time.Minute)
	again := rosterOf(3)
	again.Group = "shop/scheduler, again"
	s.roster = again
	s.do(lease.Event{Type: lease.RosterChanged, Roster: again})
	s.asleep(lease1 - 1)
	s.want(false, "P3", epoch(1, 1))
	s.asleep(1)
	s.want(true, "P3", epoch(1, 1))
}

// V6: after a restart the promise runs in full, for it may have been renewed just before.
func TestRestartedVoter(t *testing.T) {
	s := newSolo(t, rosterOf(3), "P1")
	s.want(true, "P2", epoch(1, 1))
	s.asleep(lease1 / 2)
	s.want(true, "P2", epoch(1, 1))
	s.restart()
	s.asleep(lease1 - 1)
	s.want(false, "P3", epoch(1, 2))
	s.asleep(1)
	s.want(false, "P3", epoch(1, 1))
	s.want(true, "P3", epoch(1, 2))
}

// V7: a process of priority 0, or one that is not on the roster, or another pod of the name, gets
// no promise.
func TestWhoIsPromisedNothing(t *testing.T) {
	r := rosterOf(3)
	r.Members[1].Priority = 0
	s := newSolo(t, r, "P1")
	s.want(false, "P2", epoch(1, 1))
	pod := incarnationOf(r, "P3")
	pod.UID = "another"
	if v := s.ask(pod,
		lease.Request{Kind: lease.Vote, Epoch: epoch(1, 1), Lease: lease1}); v != nil {
		t.Errorf("another pod of the name is answered: %+v", *v)
	}
	if v := s.askBy("P9",
		lease.Request{Kind: lease.Vote, Epoch: epoch(1, 1), Lease: lease1}); v != nil {
		t.Errorf("who is not on the roster is answered: %+v", *v)
	}
	if v := s.askBy("P1",
		lease.Request{Kind: lease.Vote, Epoch: epoch(1, 1), Lease: lease1}); v != nil {
		t.Errorf("who says that it is this process itself is answered: %+v", *v)
	}
	s.want(true, "P3", epoch(1, 1))
}

// V8: whoever is nominated, suspected or gone, a renewal is promised.
func TestRenewalsIgnoreNominations(t *testing.T) {
	s := newSolo(t, rosterOf(3), "P1")
	s.want(true, "P2", epoch(1, 1))
	for _, e := range []lease.Event{
		{Type: lease.Nominated, Process: "P3"}, {Type: lease.Nominated,
			Process: "P1"}, {Type: lease.Suspected, Process: "P2"},
		{Type: lease.LinkDown, Process: "P2"}, {Type: lease.Withdrawn},
	} {
		s.do(e)
		s.want(true, "P2", epoch(1, 1))
	}
}

// V10: only the incarnation that was promised can give a promise back, and only with an epoch that
// is not below it; what it claimed before is no renewal afterwards.
func TestRelease(t *testing.T) {
	later := incarnationOf(rosterOf(3), "P2")
	later.Number++
	for _, c := range []struct {
		name string
		from lease.Incarnation
		e    lease.Epoch
		free bool
	}{
		{"the epoch", incarnationOf(rosterOf(3), "P2"), epoch(1, 5), true},
		{"a later one", incarnationOf(rosterOf(3), "P2"), epoch(1, 6), true},
		{"an earlier one, late", incarnationOf(rosterOf(3), "P2"), epoch(1, 4), false},
		{"another incarnation", later, epoch(1, 5), false},
		{"another process", incarnationOf(rosterOf(3), "P3"), epoch(1, 5), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSolo(t, rosterOf(3), "P1")
			s.want(true, "P2", epoch(1, 5))
			s.ask(c.from, lease.Request{Kind: lease.Release, Epoch: c.e})
			if c.free {
				s.want(false, "P2", epoch(1, 5)) // a claim that comes late
			}
			s.want(c.free, "P3", epoch(1, 9))
		})
	}
}

// V10: who has left the roster can still give back what it was promised.
func TestReleaseByOneThatLeft(t *testing.T) {
	s := newSolo(t, rosterOf(3), "P1")
	s.want(true, "P3", epoch(1, 1))
	gone := incarnationOf(s.roster, "P3")
	s.roster = next(s.roster, func(r *lease.Roster) { r.Members = r.Members[:2] })
	s.do(lease.Event{Type: lease.RosterChanged, Roster: s.roster})
	s.want(false, "P2", epoch(2, 1))
	s.ask(gone, lease.Request{Kind: lease.Release, Epoch: epoch(1, 1)})
	s.want(true, "P2", epoch(2, 1))
}
