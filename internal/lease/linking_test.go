package lease_test

import (
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
)

// C1: while the links of a large group are being made, a voter is asked when the link to it opens,
// and a pre-vote takes its time from when all are open. One that failed may open yet.
func TestAPreVoteWaitsForLinks(t *testing.T) {
	s := newSolo(t, rosterOf(20), "P20")
	asked := s.do(lease.Event{Type: lease.Nominated, Process: "P20"}).Requests
	if asked = append(asked, s.after(2*time.Second)...); len(asked) > 0 {
		t.Errorf("without a link it asks %v", asked)
	}
	for _, opens := range []bool{false, true} {
		event := lease.Event{Type: lease.LinkDown}
		if opens {
			event.Type = lease.LinkUp
		}
		for i, q := range s.roster.Members[:19] {
			event.Process = q.Name
			asked := append(s.do(event).Requests, s.after(100*ms)...)
			if asks := toward(asked, q.Name) == 1; asks != opens || asks != (len(asked) == 1) {
				t.Errorf("link %d opens: %t; it asks %v", i, opens, asked)
			}
			if phase := s.Phase(); phase != "Electing" {
				t.Fatalf("link %d: it is %s", i, phase)
			}
		}
	}
	s.after(max(s.T, s.roster.Timeout) - 101*ms)
	if phase := s.Phase(); phase != "Electing" {
		t.Errorf("before the time is over it is %s", phase)
	}
	s.after(2 * ms)
	if phase := s.Phase(); phase != "NoMajority" {
		t.Errorf("when the time is over it is %s", phase)
	}
}

// C1: it does not wait for ever, in a small group it does not wait, and once a majority has
// answered it waits for nobody.
func TestHowLongLinksAreWaitedFor(t *testing.T) {
	for n, links := range map[int]time.Duration{12: 0, 13: 3900 * ms, 100: 30 * time.Second} {
		s := newSolo(t, rosterOf(n), "P1")
		s.do(lease.Event{Type: lease.Nominated, Process: "P1"})
		for s.Phase() != "NoMajority" && s.now-start < time.Minute {
			s.after(10 * ms)
		}
		want := links + max(s.T, s.roster.Timeout) - 10*ms
		if took := s.now - start; took < want || took > want+30*ms {
			t.Errorf("of %d processes it reaches no majority after %v, want %v", n, took, want)
		}
	}
	for _, all := range []bool{true, false} { // of those that have answered would vote
		s := newSolo(t, rosterOf(13), "P13")
		s.do(lease.Event{Type: lease.Nominated, Process: "P13"})
		for i, q := range s.roster.Members[:6] {
			asked := s.do(lease.Event{Type: lease.LinkUp, Process: q.Name}).Requests
			p, _ := sent(asked, lease.PreVote, q.Name)
			votes := count(s.response(q.Name, s.answer(p, all || i > 0)).Requests, lease.Vote)
			if (votes > 0) != (all && i == 5) {
				t.Errorf("%d have answered, and it asks for %d votes", i+1, votes)
			}
		}
		s.after(max(s.T, s.roster.Timeout))
		if phase := s.Phase(); !all && phase != "Waiting" {
			t.Errorf("one of a majority would not vote; when the time is over it is %s", phase)
		}
	}
}

// C1: a process that waits for links gives up when the algorithm names another one, and not while
// it elects.
func TestAnotherOneIsNominatedMeanwhile(t *testing.T) {
	for _, c := range []struct {
		nominated string
		asks      bool
	}{{"P20", false}, {"", true}, {"P3", true}} {
		s := newSolo(t, rosterOf(20), "P3")
		s.do(lease.Event{Type: lease.Nominated, Process: "P3"})
		s.do(lease.Event{Type: lease.Nominated, Process: c.nominated})
		asked := s.do(lease.Event{Type: lease.LinkUp, Process: "P1"}).Requests
		if asks := toward(asked, "P1") > 0; asks != c.asks {
			t.Errorf("%q is nominated, and it asks: %t", c.nominated, asks)
		}
	}
}

// linkAll opens a link to each other process.
func (s *solo) linkAll() {
	for _, q := range s.roster.Members {
		if q.Name != s.config.Self.Name {
			s.do(lease.Event{Type: lease.LinkUp, Process: q.Name})
		}
	}
}

// C9: a process of a large group does not nominate itself while its links are being made: each that
// opens or fails begins the time anew.
func TestNobodyNominatesItselfWhileLinksAreBeingMade(t *testing.T) {
	s := newSolo(t, rosterOf(40), "P1")
	asked := 0
	for _, q := range s.roster.Members[1:] {
		asked += count(s.after(250*ms), lease.PreVote)
		asked += count(s.do(lease.Event{Type: lease.LinkUp, Process: q.Name}).Requests, lease.PreVote)
	}
	if asked > 0 {
		t.Errorf("it asks %d times within %v", asked, s.now-start)
	}
	least := s.roster.Lease + 6*s.T
	if early := count(s.after(least-10*ms), lease.PreVote); early > 0 {
		t.Errorf("it asks less than %v after the last link has opened", least)
	}
	if count(s.after(20*s.T+20*ms), lease.PreVote) == 0 {
		t.Error("it never asks")
	}
}

// C1: links that opened before this process took up the group are open, and those of another group
// are not.
func TestLinksOfBefore(t *testing.T) {
	s := newSolo(t, rosterOf(20), "P20")
	s.do(lease.Event{Type: lease.RosterChanged})
	s.linkAll()
	s.do(lease.Event{Type: lease.RosterChanged, Roster: s.roster})
	if asked := s.do(lease.Event{Type: lease.Nominated, Process: "P20"}).Requests; len(asked) != 19 {
		t.Errorf("over links that are open it asks %d processes", len(asked))
	}
	s.do(lease.Event{Type: lease.RosterChanged})
	s.do(lease.Event{Type: lease.RosterChanged, Roster: s.roster})
	if asked := s.do(lease.Event{Type: lease.Nominated, Process: "P20"}).Requests; len(asked) != 0 {
		t.Errorf("without links it asks %v", asked)
	}
}
