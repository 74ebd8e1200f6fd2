package lease_test

import (
	"slices"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
)

// quick is a RENEW of the shortest lease.
var quick = lease.Request{
	Kind:      lease.Renew,
	Epoch:     epoch(1, 1),
	Lease:     100 * ms,
	Heartbeat: 25 * ms,
}

// C8: a leaseholder that a majority does not hear is silent if it has let two renewals pass over an
// open link. If the link was closed, that is known; and one that still renews is not silent.
func TestWhetherALostLeaseholderIsSilent(t *testing.T) {
	for name, c := range map[string]struct {
		ask    func(s *solo) []lease.Addressed
		silent bool
	}{
		"the promise to it has run out": {func(s *solo) []lease.Addressed {
			return s.after(101 * ms)
		}, true},
		"its link was closed": {func(s *solo) []lease.Addressed {
			return append(s.do(lease.Event{Type: lease.LinkDown, Process: "P5"}).Requests, s.after(60*ms)...)
		}, false},
		"it renews, and the app reports it": {func(s *solo) []lease.Addressed {
			return append(s.do(lease.Event{Type: lease.Doubted, Process: "P5"}).Requests, s.after(ms)...)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSolo(t, rosterOf(5), "P1")
			s.askBy("P5", quick)
			s.do(lease.Event{Type: lease.Nominated, Process: "P5"})
			p, ok := sent(c.ask(s), lease.PreVote, "P2")
			if !ok {
				t.Fatal("it asks nobody")
			}
			var lost, silent bool
			for _, voter := range []string{"P2", "P3", "P4"} {
				out := s.response(voter, s.answer(p, false))
				lost, silent = lost || out.Suspect == "P5", silent || out.Silent == "P5"
			}
			if !lost || silent != c.silent {
				t.Errorf("nobody hears it; it is lost: %t, and silent: %t, want %t", lost, silent, c.silent)
			}
		})
	}
}

// C8: of a leaseholder that a process knows by hearsay alone it has missed nothing, whatever it has
// missed of the one before: a ring does not skip it.
func TestWhoWasNeverHeardIsNotSilent(t *testing.T) {
	s := newSolo(t, rosterOf(5), "P1")
	s.askBy("P5", quick)
	s.after(101 * ms)
	s.hearsay("P4", epoch(1, 2), "P2", "P3", "P4")
	if holder, _, _ := s.Following(); holder != "P4" {
		t.Fatalf("it follows %q", holder)
	}
	s.do(lease.Event{Type: lease.Nominated, Process: "P4"})
	p, ok := sent(s.after(s.T*3/2+ms), lease.PreVote, "P2")
	if !ok {
		t.Fatal("it does not ask again")
	}
	var lost, silent string
	for _, voter := range []string{"P2", "P3", "P5"} {
		out := s.response(voter, s.answer(p, false))
		lost, silent = lost+out.Suspect, silent+out.Silent
	}
	if lost != "P4" || silent != "" {
		t.Errorf("nobody hears P4: %q is lost, and %q silent", lost, silent)
	}
}

// suspecting is P1 of five, whose link to the leaseholder P5 was just closed, and what it asks.
func suspecting(t *testing.T) (s *solo, asked []lease.Addressed) {
	t.Helper()
	s = newSolo(t, rosterOf(5), "P1")
	s.askBy("P5", held(epoch(1, 1)))
	s.do(lease.Event{Type: lease.Nominated, Process: "P5"})
	asked = s.do(lease.Event{Type: lease.LinkDown, Process: "P5"}).Requests
	return s, append(asked, s.after(ms)...)
}

// C8: who follows by hearsay asks again as soon as the promises of a majority have run out, by
// their answers, and after T/2 at the earliest if the answers do not tell.
func TestHearsayIsAskedAboutAgain(t *testing.T) {
	for _, c := range []struct {
		name      string
		remaining []time.Duration // of P2, P3, P4, as they answer; less than 0: it hears nobody
		least     time.Duration
		most      time.Duration
	}{
		{
			name:      "a majority soon hears it no more",
			remaining: []time.Duration{10 * ms, 30 * ms, 90 * ms},
			least:     31 * ms,
			most:      32 * ms,
		},
		{
			name:      "some hear nobody already",
			remaining: []time.Duration{-1, 90 * ms, 30 * ms},
			least:     31 * ms,
			most:      32 * ms,
		},
		{
			name:      "it has just renewed",
			remaining: []time.Duration{lease1, lease1, lease1},
			least:     100 * ms,
			most:      300 * ms,
		},
		{
			name:      "the answers do not tell",
			remaining: []time.Duration{0, 0, 0},
			least:     100 * ms,
			most:      300 * ms,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, asked := suspecting(t)
			p, ok := sent(asked, lease.PreVote, "P2")
			if !ok {
				t.Fatal("it asks nobody")
			}
			begun := s.now
			for i, name := range []string{"P2", "P3", "P4"} {
				v := s.answer(p, false)
				if c.remaining[i] >= 0 {
					v.Heard, v.Holder, v.HolderEpoch = true, "P5", epoch(1, 1)
					v.Remaining = c.remaining[i]
				}
				s.response(name, v)
			}
			if holder, _, _ := s.Following(); holder != "P5" {
				t.Fatalf("it follows %q", holder)
			}
			for s.now < begun+c.most+ms {
				if _, ok = sent(s.after(ms), lease.PreVote, "P2"); ok {
					break
				}
			}
			if took := s.now - begun; !ok || took < c.least || took > c.most {
				t.Errorf("it asks again after %v: %t; want %v to %v", took, ok, c.least, c.most)
			}
		})
	}
}

// C8, found: with the first answer of four, no majority is left that does not hear the leaseholder.
// Only the second tells when the promises of a majority run out, so it is waited for.
func TestHearsayIsAskedAboutAgainInAnEvenGroup(t *testing.T) {
	s := newSolo(t, rosterOf(4), "P1")
	s.askBy("P4", held(epoch(1, 1)))
	s.do(lease.Event{Type: lease.Nominated, Process: "P4"})
	asked := s.do(lease.Event{Type: lease.LinkDown, Process: "P4"}).Requests
	p, ok := sent(append(asked, s.after(ms)...), lease.PreVote, "P2")
	if !ok {
		t.Fatal("it asks nobody")
	}
	for _, name := range []string{"P2", "P3"} {
		v := s.answer(p, false)
		v.Heard, v.Holder, v.HolderEpoch, v.Remaining = true, "P4", epoch(1, 1), 30*ms
		s.response(name, v)
	}
	if _, ok := sent(s.after(30*ms), lease.PreVote, "P2"); ok {
		t.Error("it asks before the promises have run out")
	}
	if _, ok := sent(s.after(2*ms), lease.PreVote, "P2"); !ok {
		t.Error("the promises have run out, and it does not ask")
	}
}

// C8: the leaseholder and another voter of five are gone. Two do not hear the leaseholder, and one
// does, until its promise has run out. Then it is asked, and not only after a heartbeat: an answer
// of the one that is gone could decide sooner, and does not come.
func TestWhoSoonHearsNobodyIsAskedThen(t *testing.T) {
	s, asked := suspecting(t)
	p, _ := sent(asked, lease.PreVote, "P4")
	s.response("P4", s.answer(p, false))
	p, _ = sent(asked, lease.PreVote, "P3")
	v := s.answer(p, false)
	v.Heard, v.Holder, v.HolderEpoch, v.Remaining = true, "P5", epoch(1, 1), 30*ms
	s.response("P3", v)
	if early := s.after(29 * ms); len(early) > 0 {
		t.Errorf("it asks too early: %v", early)
	}
	p, ok := sent(s.after(3*ms), lease.PreVote, "P3")
	if !ok {
		t.Fatal("the promise of P3 has run out, and it is not asked")
	}
	if s.response("P3", s.answer(p, false)).Suspect != "P5" {
		t.Error("a majority does not hear P5, and no election begins")
	}
}

// C8: liars that say that they are bound for a moment make a process ask twice as often at most.
func TestHearsayIsNotHastenedTwice(t *testing.T) {
	s := newSolo(t, rosterOf(5), "P1")
	s.askBy("P5", held(epoch(1, 1)))
	s.do(lease.Event{Type: lease.Nominated, Process: "P5"})
	asked := s.do(lease.Event{Type: lease.LinkDown, Process: "P5"}).Requests
	rounds, begun := 0, s.now
	for ; s.now < begun+2*time.Second; asked = append(s.after(ms), s.out.Requests...) {
		p, ok := sent(asked, lease.PreVote, "P2")
		if !ok {
			continue
		}
		rounds++
		for _, name := range []string{"P2", "P3", "P4"} {
			v := s.answer(p, false)
			v.Heard, v.Holder, v.HolderEpoch, v.Remaining = true, "P5", epoch(1, 1), 1
			s.response(name, v)
		}
	}
	if most := 2 * int(2*time.Second/(100*ms)); rounds < 10 || rounds > most {
		t.Errorf("it asks %d times in 2 s, want %d at most", rounds, most)
	}
}

// C9: if nobody holds for L + 6 T to L + 12 T, a candidate nominates itself; one that is no
// candidate never does.
func TestFallback(t *testing.T) {
	for _, c := range []struct {
		name  string
		tries bool
	}{{"P3", true}, {"P1", false}} {
		r := rosterOf(3)
		r.Members[0].Priority = 0
		s := newSolo(t, r, c.name)
		s.do(lease.Event{Type: lease.Nominated, Process: "P2"}) // which never holds
		asked := s.now
		for s.now-start < 5*time.Second && count(s.after(ms), lease.PreVote) == 0 {
			asked = s.now
		}
		switch waited := asked - start; {
		case !c.tries && waited < 4*time.Second:
			t.Errorf("%s asks after %v", c.name, waited)
		case c.tries && (waited < r.Lease+6*s.T-10*ms || waited > r.Lease+12*s.T+10*ms):
			t.Errorf("%s asks after %v", c.name, waited)
		}
	}
}

// F6: who does not hear the leaseholder, and reaches no majority that could tell, names nobody.
// When it hears the leaseholder again, it names it again.
func TestWithoutMajorityNobodyIsNamed(t *testing.T) {
	s := newSolo(t, rosterOf(3), "P1")
	held := lease.Request{Kind: lease.Renew, Epoch: epoch(1, 1), Lease: lease1}
	s.askBy("P3", held)
	s.do(lease.Event{Type: lease.LinkDown, Process: "P3"}) // P2 and P3 are dead
	s.do(lease.Event{Type: lease.Suspected, Process: "P3"})
	if holder, _, _ := s.Following(); holder != "P3" {
		t.Fatalf("it follows %q before it has asked", holder)
	}
	s.after(s.roster.Timeout + 2*s.T)
	for range 10 { // while it asks again and again
		if holder, _, _ := s.Following(); holder != "" || s.Phase() != "NoMajority" {
			t.Fatalf("it follows %q, %s", holder, s.Phase())
		}
		s.after(s.roster.Timeout)
	}
	s.askBy("P3", held)
	if holder, e, _ := s.Following(); holder != "P3" || e != epoch(1, 1) || s.Phase() != "Following" {
		t.Errorf("P3 is back, and it follows %q %s, %s", holder, e, s.Phase())
	}
}

// C8: the app reports that the leaseholder does not answer. The voters are asked, and what this
// process hears itself stays as it is: it tells others so, and it follows unless a majority hears
// nothing.
func TestDoubting(t *testing.T) {
	held := lease.Request{Kind: lease.Renew, Epoch: epoch(1, 1), Lease: lease1}
	for _, c := range []struct {
		name    string
		about   string
		hear    bool
		answers []string
		lost    bool
	}{
		{"they hear it", "P5", true, []string{"P2", "P3", "P4"}, false},
		{"they do not", "P5", false, []string{"P2", "P3", "P4"}, true},
		{"too few say that they do not", "P5", false, []string{"P2"}, false},
		{"another process", "P4", false, nil, false},
		{"nobody", "", false, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSolo(t, rosterOf(5), "P1")
			s.askBy("P5", held)
			s.do(lease.Event{Type: lease.Nominated, Process: "P5"})
			out := s.do(lease.Event{Type: lease.Doubted, Process: c.about})
			if out.Suspect != "" {
				t.Fatal("the election machine hears of it before the voters were asked")
			}
			p, asked := sent(append(slices.Clone(out.Requests), s.after(10*ms)...), lease.PreVote, "P2")
			if asked != (c.about == "P5") {
				t.Fatalf("it asks the voters: %t", asked)
			}
			if v := s.askBy("P4", lease.Request{Kind: lease.PreVote, Epoch: epoch(1, 0)}); !v.Heard {
				t.Error("it says that it does not hear the leaseholder")
			}
			lost := ""
			for _, q := range c.answers {
				v := s.answer(p, false)
				v.Heard, v.Holder, v.HolderEpoch = c.hear, "P5", epoch(1, 1)
				lost += s.response(q, v).Suspect
			}
			if (lost == "P5") != c.lost {
				t.Errorf("its election machine is to suspect %q", lost)
			}
			if v := s.askBy("P4", lease.Request{Kind: lease.PreVote, Epoch: epoch(1, 0)}); v.Heard == c.lost {
				t.Errorf("it says that it hears the leaseholder: %t", v.Heard)
			}
			if c.hear && len(s.after(50*ms)) > 0 {
				t.Error("the voters have answered, and it asks again")
			}
		})
	}
}
