package lease_test

import (
	"slices"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
)

// V11: a grant waits until the promise is on the disk. If the request comes again it is answered
// once, and later renewals wait for nothing.
func TestAGrantWaitsForItsWrite(t *testing.T) {
	s := newSolo(t, rosterOf(3), "P1")
	s.slow = true
	ask := lease.Request{Kind: lease.Vote, Epoch: epoch(1, 1), Lease: lease1}
	for range 2 {
		if s.askBy("P2", ask) != nil {
			t.Fatal("it says that it has promised what is not on the disk")
		}
	}
	if len(s.writes) != 1 || s.writes[0].state.Highest != epoch(1, 1) ||
		s.writes[0].state.To.Name != "P2" {
		t.Fatalf("to be written: %+v", s.writes)
	}
	if v := s.askBy("P3",
		lease.Request{Kind: lease.Vote, Epoch: epoch(1, 2), Lease: lease1}); v == nil ||
		v.Granted {
		t.Errorf("a denial depends on nothing: %v", v)
	}
	if out := s.do(s.write()); len(out.Replies) != 1 || !out.Replies[0].Response.Granted ||
		out.Replies[0].To != "P2" {
		t.Errorf("when it is on the disk it says %+v", out.Replies)
	}
	s.want(true, "P2", epoch(1, 1))
	if s.out.Version != 0 {
		t.Error("a renewal changes nothing that is on the disk")
	}
}

// V11: of a heap of renewals, which a voter finds that was cut off, it answers the newest when its
// promise is on the disk. Others are answered, too.
func TestAHeapOfRenewalsIsAnsweredOnce(t *testing.T) {
	s := newSolo(t, rosterOf(3), "P1")
	s.slow = true
	vote := lease.Request{Kind: lease.Vote, Epoch: epoch(1, 1), Round: 1, Lease: lease1}
	renewal := lease.Request{Kind: lease.Renew, Epoch: epoch(1, 1), Lease: lease1}
	s.askBy("P2", vote)
	for renewal.Round = 2; renewal.Round <= 2000; renewal.Round++ {
		if s.askBy("P2", renewal) != nil {
			t.Fatal("it says that it has promised what is not on the disk")
		}
	}
	renewal.Round = 1990 // on another connection, perhaps
	s.askBy("P2", renewal)
	vote.Epoch, vote.Round = epoch(1, 2), 2001 // for which there is another write
	s.askBy("P2", vote)
	var rounds []uint64
	for len(s.writes) > 0 {
		for _, r := range s.do(s.write()).Replies {
			if r.To != "P2" || !r.Response.Granted {
				t.Errorf("it says %+v", r)
			}
			rounds = append(rounds, r.Response.Round)
		}
	}
	if want := []uint64{1, 2000, 2001}; !slices.Equal(rounds, want) {
		t.Errorf("it answers rounds %v, want %v", rounds, want)
	}
}

// V11: several writes may be under way, and one that ends covers those before it.
func TestALaterWriteCoversEarlierOnes(t *testing.T) {
	s := newSolo(t, rosterOf(3), "P1")
	s.slow = true
	for ballot := range int64(3) {
		s.askBy("P2", lease.Request{Kind: lease.Vote, Epoch: epoch(1, ballot+1), Lease: lease1})
	}
	if len(s.writes) != 3 {
		t.Fatalf("%d writes are under way", len(s.writes))
	}
	if out := s.do(lease.Event{Type: lease.Persisted, Version: s.writes[1].version}); len(
		out.Replies,
	) != 2 {
		t.Errorf("two of three are covered: %+v", out.Replies)
	}
	if out := s.do(lease.Event{Type: lease.Persisted, Version: s.writes[0].version}); len(
		out.Replies,
	) != 0 {
		t.Errorf("an earlier one that ends later says %+v", out.Replies)
	}
	if out := s.do(lease.Event{Type: lease.Persisted, Version: s.writes[2].version}); len(
		out.Replies,
	) != 1 {
		t.Errorf("the third: %+v", out.Replies)
	}
	s.do(lease.Event{Type: lease.Persisted, Version: s.writes[0].version})
	s.want(true, "P2", epoch(1, 3)) // at once: it is on the disk still
}

// V11: a write that fails takes with it those that are under way. The voter grants nothing until a
// later one has succeeded, and one lease has passed.
func TestAWriteThatFails(t *testing.T) {
	s := newSolo(t, rosterOf(3), "P1")
	s.slow = true
	s.askBy("P2", lease.Request{Kind: lease.Vote, Epoch: epoch(1, 1), Lease: lease1})
	s.askBy("P2", lease.Request{Kind: lease.Vote, Epoch: epoch(1, 2), Lease: lease1})
	lost := s.writes
	s.asleep(lease1 / 2)
	failed := s.now
	out := s.do(lease.Event{Type: lease.WriteFailed})
	if len(out.Replies) != 0 || out.Version == 0 {
		t.Fatalf("it says %+v, and asks to write version %d", out.Replies, out.Version)
	}
	for _, w := range lost {
		if late := s.do(lease.Event{Type: lease.Persisted, Version: w.version}); len(
			late.Replies,
		) != 0 {
			t.Errorf("a write of before the failure was known lets it say %+v", late.Replies)
		}
	}
	s.asleep(lease1)
	s.want(false, "P2", epoch(1, 3))
	if v := s.askBy("P3", lease.Request{Kind: lease.PreVote, Epoch: epoch(1, 0)}); v.Granted {
		t.Error("a PREVOTE is granted while nothing can be written")
	}
	s.writes = s.writes[len(s.writes)-1:]
	if out := s.do(s.write()); len(out.Replies) != 0 {
		t.Errorf("a later write lets it say what it dropped: %+v", out.Replies)
	}
	s.slow = false
	s.now = failed + lease1 - 1
	s.want(false, "P3", epoch(1, 3))
	s.want(false, "P2", epoch(1, 3)) // not even the incarnation that it had promised
	s.asleep(1)
	s.want(true, "P3", epoch(1, 3))
}

// V11: a voter whose disk is far behind promises nothing new, and renews what it has promised.
func TestAVoterWhoseDiskIsFarBehind(t *testing.T) {
	s := newSolo(t, rosterOf(3), "P1")
	s.want(true, "P2", epoch(1, 1))
	s.slow = true
	denied := int64(0)
	for ballot := int64(2); ballot < 1000 && denied == 0; ballot++ {
		if v := s.askBy("P2",
			lease.Request{Kind: lease.Vote, Epoch: epoch(1, ballot), Lease: lease1}); v != nil &&
			!v.Granted {
			denied = ballot
		}
	}
	if denied == 0 || len(s.writes) > 64 {
		t.Fatalf("denied ballot %d, %d writes are under way", denied, len(s.writes))
	}
	s.askBy("P2", lease.Request{Kind: lease.Renew, Epoch: epoch(1, denied-1), Lease: lease1})
	if out := s.do(lease.Event{Type: lease.Persisted,
		Version: s.writes[len(s.writes)-1].version}); len(
		out.Replies,
	) != int(
		denied,
	)-1 {
		t.Errorf("%d replies, with the renewal there should be %d", len(out.Replies), denied-1)
	}
}

// V11: the own vote counts when it is on the disk; others are asked meanwhile.
func TestTheOwnVoteWaitsForItsWrite(t *testing.T) {
	s := newSolo(t, rosterOf(3), "P3")
	s.slow = true
	s.do(lease.Event{Type: lease.Nominated, Process: "P3"})
	s.response("P1", s.answer(s.sent(lease.PreVote, "P1"), true))
	ask := s.sent(lease.Vote, "P1")
	s.response("P1", s.answer(ask, true))
	if s.may() {
		t.Fatal("it acts on its own vote, which is not on the disk")
	}
	s.do(s.write())
	if !s.may() {
		t.Error("its own vote is on the disk, and it does not act")
	}
}

// V11: a leaseholder whose own vote could not be written holds nothing.
func TestALeaseholderWhoseWriteFails(t *testing.T) {
	s := newSolo(t, rosterOf(1), "P1")
	s.do(lease.Event{Type: lease.Nominated, Process: "P1"})
	if !s.may() {
		t.Fatal("a group of one does not act")
	}
	if out := s.do(lease.Event{Type: lease.WriteFailed}); s.may() || !out.Revoke {
		t.Error("it holds what is not on the disk")
	}
}

// V5, LH10: the state directory has the roster's lease from the first promise on, and from a new
// roster on, so a renewal for a longer lease waits for no disk.
func TestARenewalForLongerWaitsForNoWrite(t *testing.T) {
	s := newSolo(t, rosterOf(3), "P1")
	ask := lease.Request{Kind: lease.Vote, Epoch: epoch(1, 1), Lease: lease1 / 10}
	s.askBy("P2", ask)
	if kept := s.State().Lease; kept != lease1 {
		t.Fatalf("of a promise for %v it keeps %v, want the roster's %v", ask.Lease, kept, lease1)
	}
	s.slow = true
	for _, ask.Lease = range []time.Duration{lease1 / 10, lease1 / 2, lease1} {
		if v := s.askBy("P2", ask); v == nil || !v.Granted {
			t.Errorf("a renewal for %v waits", ask.Lease)
		}
	}
	s.slow = false
	s.roster = next(s.roster, func(r *lease.Roster) { r.Lease = 2 * lease1 })
	s.do(lease.Event{Type: lease.RosterChanged, Roster: s.roster})
	s.slow = true
	ask.Lease = 2 * lease1
	if v := s.askBy("P2", ask); v == nil || !v.Granted {
		t.Error("when the roster's lease has become longer, a renewal waits")
	}
	if kept := s.State().Lease; kept != 2*lease1 {
		t.Errorf("it keeps %v, want %v", kept, 2*lease1)
	}
}

// V4, V11: a renewal of the older promise waits for that promise, and not for the new one beside
// it: with a slow disk a short lease would lapse at each new roster.
func TestARenewalOfTheOlderPromiseWaitsForThatOnly(t *testing.T) {
	older := lease.Request{Kind: lease.Renew, Epoch: epoch(1, 1), Lease: lease1}
	newer := lease.Request{Kind: lease.Vote, Epoch: epoch(2, 1), Lease: lease1}
	for _, written := range []bool{true, false} {
		s := newSolo(t, rosterOf(3), "P1")
		s.slow = !written
		s.askBy("P2", older) // the first request for an epoch may be a renewal: VOTE was lost
		s.slow = true
		s.roster = next(s.roster, func(*lease.Roster) {})
		s.do(lease.Event{Type: lease.RosterChanged, Roster: s.roster})
		if s.askBy("P2", newer) != nil {
			t.Error("the new epoch is granted before it is on the disk")
		}
		if v := s.askBy("P2", older); written && (v == nil || !v.Granted) {
			t.Errorf("the older promise is on the disk, and its renewal waits: %v", v)
		} else if !written && v != nil {
			t.Errorf("the older promise is not on the disk, and is renewed: %v", v)
		}
	}
}

// V11: an own vote that could not be written never counts, even if a later write succeeds.
func TestAnOwnVoteThatCouldNotBeWritten(t *testing.T) {
	s := newSolo(t, rosterOf(3), "P3")
	s.slow = true
	ask := s.seeking()
	s.do(lease.Event{Type: lease.WriteFailed})
	s.response("P1", s.answer(ask, true))
	for len(s.writes) > 0 {
		if s.do(s.write()); s.may() {
			t.Fatal("it acts on a vote that is not on the disk")
		}
	}
}
