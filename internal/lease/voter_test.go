package lease_test

import (
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
)

const lease1 = time.Second // of rosterOf

// V2, V5: a promise binds the voter for L from receipt, to the nanosecond, on its own clock;
// renewals make it longer.
func TestPromiseRunsForItsLease(t *testing.T) {
	s := newSolo(t, rosterOf(3), "P1")
	s.want(true, "P2", epoch(1, 1))
	s.asleep(lease1 - 1)
	s.want(false, "P3", epoch(1, 2))
	s.want(true, "P2", epoch(1, 1)) // a renewal
	s.asleep(lease1 - 1)
	s.want(false, "P3", epoch(1, 2))
	s.asleep(1)
	s.want(true, "P3", epoch(1, 2))
	s.want(false, "P2", epoch(1, 3)) // the other one is bound now
}

// V2, V3, V5, V7, V4: which claims a voter promises that has promised 1.5 to P2.
func TestWhatIsPromised(t *testing.T) {
	other := func(change func(*lease.Incarnation)) lease.Incarnation {
		l := lifeOf(rosterOf(3), "P2")
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
		{"V3 the very same again", lifeOf(rosterOf(3), "P2"), epoch(1, 5), lease1, 0, true},
		{"V3 the very same after it has run out", lifeOf(rosterOf(3), "P2"), epoch(1, 5), lease1, 2 * lease1, true},
		{"V3 a higher ballot of the same life", lifeOf(rosterOf(3), "P2"), epoch(1, 6), lease1, 0, true},
		{"V3 a lower ballot of the same life", lifeOf(rosterOf(3), "P2"), epoch(1, 4), lease1, 0, false},
		{"V2 another process", lifeOf(rosterOf(3), "P3"), epoch(1, 6), lease1, 0, false},
		{"V2 another process, just before the end", lifeOf(rosterOf(3), "P3"), epoch(1, 6), lease1, lease1 - 1, false},
		{"V2 another process, at the end", lifeOf(rosterOf(3), "P3"), epoch(1, 6), lease1, lease1, true},
		{"V3 another process with the used epoch", lifeOf(rosterOf(3), "P3"), epoch(1, 5), lease1, 2 * lease1, false},
		{"V3 another process with a lower one", lifeOf(rosterOf(3), "P3"), epoch(1, 4), lease1, 2 * lease1, false},
		{"V2 a later life", other(func(l *lease.Incarnation) { l.Number++ }), epoch(1, 6), lease1, 0, false},
		{"V2 a life with another memory", other(func(l *lease.Incarnation) { l.StateID = "another" }), epoch(1, 6), lease1, 0, false},
		{"V3 a later life with the used epoch", other(func(l *lease.Incarnation) { l.Number++ }), epoch(1, 5), lease1, 2 * lease1, false},
		{"V4 an older generation", lifeOf(rosterOf(3), "P2"), epoch(0, 9), lease1, 0, false},
		{"V4 a newer generation", lifeOf(rosterOf(3), "P2"), epoch(2, 1), lease1, 0, false},
		{"V5 a longer lease than the roster's", lifeOf(rosterOf(3), "P2"), epoch(1, 5), lease1 + 1, 0, false},
		{"V5 no lease", lifeOf(rosterOf(3), "P2"), epoch(1, 6), 0, 0, false},
		{"V5 a shorter lease", lifeOf(rosterOf(3), "P2"), epoch(1, 6), lease1 / 2, 0, true},
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

// V5: a promise gets no shorter by a renewal or another epoch of the same life with a shorter
// lease.
func TestPromiseGetsNoShorter(t *testing.T) {
	for _, e := range []lease.Epoch{epoch(1, 1), epoch(1, 2)} {
		s := newSolo(t, rosterOf(3), "P1")
		s.want(true, "P2", epoch(1, 1))
		s.askBy("P2", lease.Request{Kind: lease.Vote, Epoch: e, Lease: 1})
		s.asleep(lease1 - 1)
		s.want(false, "P3", epoch(1, 9))
		if s.State().Lease < lease1-2 {
			t.Errorf("%s: the memory says that it runs %v at most", e, s.State().Lease)
		}
	}
}

// V1: who is no voter by its own roster, or has another memory, promises nothing; who has become
// one is silent for a lease.
func TestWhoVotes(t *testing.T) {
	for _, c := range []struct {
		name     string
		change   func(*lease.Roster)
		remember lease.State
		silent   time.Duration // then it promises; 0: at once; -1: never
	}{
		{"a voter of old", func(*lease.Roster) {}, lease.State{Group: "shop/scheduler", Generation: 1, Voted: true}, 0},
		{"a new voter", func(*lease.Roster) {}, lease.State{}, lease1},
		{"a voter of an earlier group of the name", func(*lease.Roster) {}, lease.State{Group: "old", Generation: 7, Voted: true}, lease1},
		{"whose earlier group had a longer lease", func(*lease.Roster) {}, lease.State{Group: "old", Voted: true, Lease: 3 * lease1}, 3 * lease1},
		{"no voter", func(r *lease.Roster) { r.Members[0].Voter = false }, lease.State{}, -1},
		{"another memory", func(r *lease.Roster) { r.Members[0].StateID = "the lost one" }, lease.State{}, -1},
		{"another pod", func(r *lease.Roster) { r.Members[0].UID = "the old one" }, lease.State{}, -1},
		{"not on the roster", func(r *lease.Roster) { r.Members = r.Members[1:] }, lease.State{}, -1},
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

// V1: a memory that becomes a voter's of another group object waits from then on, not from its
// start.
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

// V4: a roster that is taken refuses everything below, also after a restart, but for what it
// renews; an older one is never taken again.
func TestGenerations(t *testing.T) {
	s := newSolo(t, rosterOf(3), "P1")
	old := s.roster
	s.want(true, "P2", epoch(1, 1))
	s.roster = next(old, func(*lease.Roster) {})
	if out := s.do(lease.Event{Type: lease.RosterChanged, Roster: s.roster}); out.Version == 0 {
		t.Error("the generation is not synced before it is acknowledged")
	}
	s.want(false, "P2", epoch(1, 2))
	s.want(true, "P2", epoch(2, 1)) // the same life: at once
	s.do(lease.Event{Type: lease.RosterChanged, Roster: old})
	s.want(false, "P2", epoch(1, 2))
	newest := s.roster
	s.roster = old
	s.restart()
	s.asleep(lease1)
	if v := s.askBy("P3", lease.Request{Kind: lease.Vote, Epoch: epoch(1, 9), Lease: lease1}); v != nil && v.Granted {
		t.Error("after a restart it promises under the older generation")
	}
	s.roster = newest
	s.do(lease.Event{Type: lease.RosterChanged, Roster: newest})
	s.want(true, "P3", epoch(2, 2))
}

// V4: for a lease after it took a roster a voter renews what it has promised under the one before,
// to the nanosecond, also beside the new epoch that the same life has claimed since, and to nobody
// else. MC4 waits two leases for that.
func TestOlderPromiseIsRenewedForALease(t *testing.T) {
	taken := func(t *testing.T) *solo {
		s := newSolo(t, rosterOf(3), "P1")
		s.want(true, "P2", epoch(1, 1))
		s.roster = next(s.roster, func(*lease.Roster) {})
		s.do(lease.Event{Type: lease.RosterChanged, Roster: s.roster})
		s.asleep(lease1 - 1)
		return s
	}
	t.Run("until then", func(t *testing.T) {
		s := taken(t)
		s.want(true, "P2", epoch(1, 1))
		s.asleep(1)
		s.want(false, "P2", epoch(1, 1))
		s.asleep(lease1 - 2)
		s.want(false, "P3", epoch(2, 1)) // the last renewal runs in full
		s.asleep(1)
		s.want(true, "P3", epoch(2, 1))
		s.want(false, "P2", epoch(1, 1))
	})
	t.Run("beside the new epoch", func(t *testing.T) {
		s := taken(t)
		s.want(true, "P2", epoch(2, 1))
		s.want(true, "P2", epoch(1, 1))
		s.want(false, "P2", epoch(1, 2))
		if e := s.State().Highest; e != epoch(2, 1) {
			t.Errorf("the highest that it has promised is %s", e)
		}
		s.asleep(lease1 - 1)
		s.want(false, "P3", epoch(2, 2))
	})
	t.Run("not once it is another's", func(t *testing.T) {
		s := taken(t)
		s.asleep(1)
		s.want(true, "P3", epoch(2, 1))
		s.want(false, "P2", epoch(1, 1))
		s.want(false, "P3", epoch(1, 1)) // it is not that one's (G2)
	})
	t.Run("not once it is released", func(t *testing.T) {
		s := taken(t)
		s.want(true, "P2", epoch(2, 1))
		s.do(lease.Event{Type: lease.Requested, From: lifeOf(s.roster, "P2"),
			Request: lease.Request{Kind: lease.Release, Epoch: epoch(2, 1), Group: s.roster.Group}})
		s.want(false, "P2", epoch(1, 1))
		s.want(true, "P2", epoch(2, 2))
		s.want(false, "P2", epoch(1, 1))
	})
	t.Run("not one of the roster before that", func(t *testing.T) {
		s := taken(t)
		s.want(true, "P2", epoch(2, 1))
		s.roster = next(s.roster, func(*lease.Roster) {})
		s.do(lease.Event{Type: lease.RosterChanged, Roster: s.roster})
		s.want(false, "P2", epoch(1, 1))
		s.want(true, "P2", epoch(2, 1))
	})
	t.Run("not for longer because of yet another roster", func(t *testing.T) {
		s := taken(t)
		s.roster = next(s.roster, func(*lease.Roster) {})
		s.do(lease.Event{Type: lease.RosterChanged, Roster: s.roster})
		s.want(true, "P2", epoch(1, 1))
		s.asleep(1)
		s.want(false, "P2", epoch(1, 1))
	})
	t.Run("not after a restart", func(t *testing.T) {
		s := taken(t)
		s.restart()
		s.want(false, "P2", epoch(1, 1))
	})
	t.Run("not who never coordinates by the new one", func(t *testing.T) {
		s := taken(t)
		s.roster = next(s.roster, func(r *lease.Roster) { r.Members[1].Priority = 0 })
		s.do(lease.Event{Type: lease.RosterChanged, Roster: s.roster})
		s.want(false, "P2", epoch(1, 1))
	})
	t.Run("not for longer than the new lease", func(t *testing.T) {
		s := taken(t)
		s.roster = next(s.roster, func(r *lease.Roster) { r.Lease = lease1 / 2 })
		s.do(lease.Event{Type: lease.RosterChanged, Roster: s.roster})
		if v := s.askBy("P2", lease.Request{Kind: lease.Vote, Epoch: epoch(1, 1), Lease: lease1}); v.Granted {
			t.Error("it is renewed for the longer lease")
		}
	})
}

// V4: that a generation was acknowledged outlives a restart, also if nothing was promised under it.
func TestAcknowledgedGenerationIsRemembered(t *testing.T) {
	s := newSolo(t, rosterOf(3), "P1")
	old := s.roster
	s.do(lease.Event{Type: lease.RosterChanged, Roster: next(old, func(*lease.Roster) {})})
	s.restart() // with the old roster
	s.asleep(lease1)
	if v := s.askBy("P3", lease.Request{Kind: lease.Vote, Epoch: epoch(1, 9), Lease: lease1}); v != nil && v.Granted {
		t.Error("it promises under the older generation")
	}
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
	pod := lifeOf(r, "P3")
	pod.UID = "another"
	if v := s.ask(pod, lease.Request{Kind: lease.Vote, Epoch: epoch(1, 1), Lease: lease1}); v != nil {
		t.Errorf("another pod of the name is answered: %+v", *v)
	}
	if v := s.askBy("P9", lease.Request{Kind: lease.Vote, Epoch: epoch(1, 1), Lease: lease1}); v != nil {
		t.Errorf("who is not on the roster is answered: %+v", *v)
	}
	s.want(true, "P3", epoch(1, 1))
}

// V8: whoever is nominated, suspected or gone, a renewal is promised.
func TestRenewalsIgnoreNominations(t *testing.T) {
	s := newSolo(t, rosterOf(3), "P1")
	s.want(true, "P2", epoch(1, 1))
	for _, e := range []lease.Event{
		{Type: lease.Nominated, Process: "P3"}, {Type: lease.Nominated, Process: "P1"}, {Type: lease.Suspected, Process: "P2"},
		{Type: lease.LinkDown, Process: "P2"}, {Type: lease.Withdrawn},
	} {
		s.do(e)
		s.want(true, "P2", epoch(1, 1))
	}
}

// V9: a PREVOTE is answered as a claim would be, says who holds, and changes nothing.
func TestSound(t *testing.T) {
	s := newSolo(t, rosterOf(3), "P1")
	before := s.State()
	sound := lease.Request{Kind: lease.PreVote, Epoch: epoch(1, 0), Round: 4}
	if v := s.askBy("P3", sound); !v.Granted || v.Holder != "" || v.Round != 4 || v.Kind != lease.PreVote {
		t.Errorf("free: %+v", *v)
	}
	if s.State() != before || s.out.Version != 0 {
		t.Error("a PREVOTE has changed the voter")
	}
	s.askBy("P2", lease.Request{Kind: lease.Renew, Epoch: epoch(1, 3), Lease: lease1})
	s.asleep(lease1 / 4)
	if v := s.askBy("P3", sound); v.Granted || v.Holder != "P2" || v.HolderEpoch != epoch(1, 3) || v.Remaining != lease1*3/4 || !v.Heard ||
		v.Highest != epoch(1, 3) || v.Generation != 1 {
		t.Errorf("bound: %+v", *v)
	}
	if v := s.askBy("P2", sound); !v.Granted {
		t.Errorf("the holder itself: %+v", *v)
	}
	s.asleep(lease1 / 4) // T and two heartbeats, 400 ms, since the claim
	if v := s.askBy("P3", sound); v.Heard || v.Holder != "P2" || v.Remaining != lease1/2 {
		t.Errorf("no longer heard, still bound: %+v", *v)
	}
	s.asleep(lease1)
	if v := s.askBy("P3", sound); !v.Granted || v.Holder != "" {
		t.Errorf("run out: %+v", *v)
	}
}

// V9: a holder is heard while its claims come, its link is open and it has not steppedDown; a claim
// that is not held says nothing.
func TestHears(t *testing.T) {
	held := lease.Request{Kind: lease.Renew, Epoch: epoch(1, 1), Lease: lease1}
	for _, c := range []struct {
		name  string
		do    func(*solo)
		heard bool
	}{
		{"held", func(s *solo) { s.askBy("P2", held) }, true},
		{"just in time", func(s *solo) { s.askBy("P2", held); s.asleep(400*ms - 1) }, true},
		{"too long ago", func(s *solo) { s.askBy("P2", held); s.asleep(400 * ms) }, false},
		{"not held", func(s *solo) { s.want(true, "P2", epoch(1, 1)) }, false},
		{"its link is closed", func(s *solo) { s.askBy("P2", held); s.do(lease.Event{Type: lease.LinkDown, Process: "P2"}) }, false},
		{"another link is closed", func(s *solo) { s.askBy("P2", held); s.do(lease.Event{Type: lease.LinkDown, Process: "P3"}) }, true},
		{"it has steppedDown", func(s *solo) {
			s.askBy("P2", held)
			s.askBy("P2", lease.Request{Kind: lease.StepDown, Epoch: epoch(1, 1)})
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSolo(t, rosterOf(3), "P1")
			c.do(s)
			if v := s.askBy("P3", lease.Request{Kind: lease.PreVote, Epoch: epoch(1, 0)}); v.Heard != c.heard {
				t.Errorf("heard is %v", v.Heard)
			}
		})
	}
}

// V10: only the life that was promised can give a promise back, and only with an epoch that is not
// below it; what it claimed before is no renewal afterwards.
func TestRelease(t *testing.T) {
	later := lifeOf(rosterOf(3), "P2")
	later.Number++
	for _, c := range []struct {
		name string
		from lease.Incarnation
		e    lease.Epoch
		free bool
	}{
		{"the epoch", lifeOf(rosterOf(3), "P2"), epoch(1, 5), true},
		{"a later one", lifeOf(rosterOf(3), "P2"), epoch(1, 6), true},
		{"an earlier one, late", lifeOf(rosterOf(3), "P2"), epoch(1, 4), false},
		{"another life", later, epoch(1, 5), false},
		{"another process", lifeOf(rosterOf(3), "P3"), epoch(1, 5), false},
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
	gone := lifeOf(s.roster, "P3")
	s.roster = next(s.roster, func(r *lease.Roster) { r.Members = r.Members[:2] })
	s.do(lease.Event{Type: lease.RosterChanged, Roster: s.roster})
	s.want(false, "P2", epoch(2, 1))
	s.ask(gone, lease.Request{Kind: lease.Release, Epoch: epoch(1, 1)})
	s.want(true, "P2", epoch(2, 1))
}
