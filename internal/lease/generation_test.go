package lease_test

import (
	"testing"

	"github.com/podesta-dev/podesta/internal/lease"
)

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
	s.want(true, "P2", epoch(2, 1)) // the same incarnation: at once
	s.do(lease.Event{Type: lease.RosterChanged, Roster: old})
	s.want(false, "P2", epoch(1, 2))
	newest := s.roster
	s.roster = old
	s.restart()
	s.asleep(lease1)
	if v := s.askBy("P3",
		lease.Request{Kind: lease.Vote, Epoch: epoch(1, 9), Lease: lease1}); v != nil &&
		v.Granted {
		t.Error("after a restart it promises under the older generation")
	}
	s.roster = newest
	s.do(lease.Event{Type: lease.RosterChanged, Roster: newest})
	s.want(true, "P3", epoch(2, 2))
}

// older is a voter that has promised 1.1 to P2, and took the next roster almost a lease ago.
func older(t *testing.T) *solo {
	t.Helper()
	s := newSolo(t, rosterOf(3), "P1")
	s.want(true, "P2", epoch(1, 1))
	s.roster = next(s.roster, func(*lease.Roster) {})
	s.do(lease.Event{Type: lease.RosterChanged, Roster: s.roster})
	s.asleep(lease1 - 1)
	return s
}

// V4: for a lease after it took a roster a voter renews what it has promised under the one before,
// to the nanosecond, also beside the new epoch that the same incarnation has claimed since, and to
// nobody else. MC4 waits two leases for that.
func TestOlderPromiseIsRenewedForALease(t *testing.T) {
	t.Run("until then", func(t *testing.T) {
		s := older(t)
		s.want(true, "P2", epoch(1, 1))
		s.asleep(1)
		s.want(false, "P2", epoch(1, 1))
		s.asleep(lease1 - 2)
		s.want(false, "P3", epoch(2, 1)) // the last renewal runs in full
		s.asleep(1)
		s.want(true, "P3", epoch(2, 1))
		s.want(false, "P2", epoch(1, 1))
	})
	t.Run("whatever lease is asked for", func(t *testing.T) { // LH10
		s := older(t)
		ask := lease.Request{Kind: lease.Renew, Epoch: epoch(1, 1), Lease: lease1 / 10}
		if v := s.askBy("P2", ask); v == nil || !v.Granted {
			t.Error("a renewal for a tenth of the lease is refused, almost a lease after the roster")
		}
		s.asleep(1)
		if v := s.askBy("P2", ask); v == nil || v.Granted {
			t.Error("a lease after the roster, it is granted")
		}
	})
	t.Run("beside the new epoch", func(t *testing.T) {
		s := older(t)
		s.want(true, "P2", epoch(2, 1))
		s.want(true, "P2", epoch(1, 1))
		s.want(false, "P2", epoch(1, 2))
		if e := s.State().Highest; e != epoch(2, 1) {
			t.Errorf("the highest that it has promised is %s", e)
		}
		s.asleep(lease1 - 1)
		s.want(false, "P3", epoch(2, 2))
	})
}

// V4: what a voter that has taken a roster does not renew.
func TestOlderPromiseIsNotRenewed(t *testing.T) {
	t.Run("not once it is another's", func(t *testing.T) {
		s := older(t)
		s.asleep(1)
		s.want(true, "P3", epoch(2, 1))
		s.want(false, "P2", epoch(1, 1))
		s.want(false, "P3", epoch(1, 1)) // it is not that one's (G2)
	})
	t.Run("not once it is released", func(t *testing.T) {
		s := older(t)
		s.want(true, "P2", epoch(2, 1))
		s.do(lease.Event{Type: lease.Requested, From: incarnationOf(s.roster, "P2"),
			Request: lease.Request{Kind: lease.Release, Epoch: epoch(2, 1), Group: s.roster.Group}})
		s.want(false, "P2", epoch(1, 1))
		s.want(true, "P2", epoch(2, 2))
		s.want(false, "P2", epoch(1, 1))
	})
	t.Run("not one of the roster before that", func(t *testing.T) {
		s := older(t)
		s.want(true, "P2", epoch(2, 1))
		s.roster = next(s.roster, func(*lease.Roster) {})
		s.do(lease.Event{Type: lease.RosterChanged, Roster: s.roster})
		s.want(false, "P2", epoch(1, 1))
		s.want(true, "P2", epoch(2, 1))
	})
	t.Run("not for longer because of yet another roster", func(t *testing.T) {
		s := older(t)
		s.roster = next(s.roster, func(*lease.Roster) {})
		s.do(lease.Event{Type: lease.RosterChanged, Roster: s.roster})
		s.want(true, "P2", epoch(1, 1))
		s.asleep(1)
		s.want(false, "P2", epoch(1, 1))
	})
	t.Run("not after a restart", func(t *testing.T) {
		s := older(t)
		s.restart()
		s.want(false, "P2", epoch(1, 1))
	})
	t.Run("not who never coordinates by the new one", func(t *testing.T) {
		s := older(t)
		s.roster = next(s.roster, func(r *lease.Roster) { r.Members[1].Priority = 0 })
		s.do(lease.Event{Type: lease.RosterChanged, Roster: s.roster})
		s.want(false, "P2", epoch(1, 1))
	})
	t.Run("not for longer than the new lease", func(t *testing.T) {
		s := older(t)
		s.roster = next(s.roster, func(r *lease.Roster) { r.Lease = lease1 / 2 })
		s.do(lease.Event{Type: lease.RosterChanged, Roster: s.roster})
		if v := s.askBy("P2",
			lease.Request{Kind: lease.Vote, Epoch: epoch(1, 1), Lease: lease1}); v.Granted {
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
	if v := s.askBy("P3",
		lease.Request{Kind: lease.Vote, Epoch: epoch(1, 9), Lease: lease1}); v != nil &&
		v.Granted {
		t.Error("it promises under the older generation")
	}
}
