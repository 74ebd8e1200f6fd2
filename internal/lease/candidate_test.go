package lease_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
)

// C2: a candidate follows the holder that the voters hear, and deposes nobody: of 3 two that hear
// it, of 4 two.
func TestCandidateFollowsTheHolder(t *testing.T) {
	for n, hear := range map[int][]string{3: {"P1", "P2"}, 4: {"P1", "P2"}} {
		r := rosterOf(n)
		self := r.Members[n-1].Name
		s := newSolo(t, r, self)
		s.do(lease.Event{Type: lease.Nominated, Process: self})
		p := s.sent(lease.PreVote, "P1")
		for _, q := range hear {
			v := s.answer(p, false)
			v.Heard, v.Holder, v.HolderEpoch = true, "P2", epoch(1, 4)
			s.response(q, v)
		}
		if s.out.Appoint != "P2" {
			t.Errorf("%d voters: its election machine is told %q", n, s.out.Appoint)
		}
		if holder, e, _ := s.Following(); holder != "P2" || e != epoch(1, 4) {
			t.Errorf("%d voters: it follows %q %s", n, holder, e)
		}
	}
}

// C3: the ballot is one above what a majority has promised at most. A rogue voter cannot push it
// up, nor spend the generation.
func TestBallot(t *testing.T) {
	for _, c := range []struct {
		name    string
		highest []lease.Epoch // of P1 to P4; P5 asks
		want    int64
	}{
		{"nobody has promised", []lease.Epoch{0, 0, 0, 0}, 1},
		{"all have", []lease.Epoch{epoch(1, 4), epoch(1, 4), epoch(1, 4), epoch(1, 4)}, 5},
		{"a majority has promised less",
			[]lease.Epoch{epoch(1, 2), epoch(1, 3), epoch(1, 9), epoch(1, 9)}, 4},
		{"of an older generation",
			[]lease.Epoch{epoch(0, 9), epoch(0, 9), epoch(0, 9), epoch(0, 9)}, 1},
		{"a rogue", []lease.Epoch{epoch(1, lease.MaxBallot), epoch(1, 2), 0, 0}, 3 + 1024},
		{"a rogue in a newer generation",
			[]lease.Epoch{epoch(1<<30, 5), epoch(1, 2), epoch(1, 2), epoch(1, 2)}, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := rosterOf(5)
			s := newSolo(t, r, "P5")
			s.do(lease.Event{Type: lease.Nominated, Process: "P5"})
			p := s.sent(lease.PreVote, "P1")
			responses := []int{0, 1, 2, 3}
			if c.highest[2] == 0 && c.highest[1] != 0 {
				responses = []int{0, 1} // the rogue is one of the first majority
			}
			for _, i := range responses {
				v := s.answer(p, true)
				v.Highest = c.highest[i]
				s.response(r.Members[i].Name, v)
				if claim, ok := sent(s.out.Requests, lease.Vote, "P1"); ok {
					if got := claim.Epoch.Ballot(); got > c.want {
						t.Errorf("it claims %s, want ballot %d at most", claim.Epoch, c.want)
					}
					return
				}
			}
			t.Error("it never claims")
		})
	}
}

// C3: used up ballots are said, and nothing is claimed in another generation.
func TestBallotsSpent(t *testing.T) {
	s := newSolo(t, rosterOf(3), "P3")
	s.want(true, "P2", epoch(1, lease.MaxBallot))
	s.askBy("P2", lease.Request{Kind: lease.Release, Epoch: epoch(1, lease.MaxBallot)})
	s.do(lease.Event{Type: lease.Nominated, Process: "P3"})
	p := s.sent(lease.PreVote, "P1")
	v := s.answer(p, true)
	v.Highest = epoch(1, lease.MaxBallot)
	s.response("P1", v)
	if s.Phase() != "BallotsSpent" {
		t.Errorf("it is %s", s.Phase())
	}
	if p, ok := sent(append(s.out.Requests, s.after(time.Second)...), lease.Vote, "P1"); ok {
		t.Errorf("it claims %s", p.Epoch)
	}
	s.roster = next(s.roster, func(*lease.Roster) {})
	s.do(lease.Event{Type: lease.RosterChanged, Roster: s.roster})
	if s.Phase() == "BallotsSpent" {
		t.Error("it says so of the next generation, too")
	}
}

// C4: promises that nobody hears still run: it stays nominated, and asks again when enough have run
// out, or at a RELEASE; not all the time.
func TestCandidateWaitsForPromises(t *testing.T) {
	s := newSolo(t, rosterOf(3), "P3")
	s.want(true, "P2", epoch(1, 1))
	s.do(lease.Event{Type: lease.Nominated, Process: "P3"})
	v := s.answer(s.sent(lease.PreVote, "P1"), false)
	v.Holder, v.HolderEpoch, v.Remaining = "P2", epoch(1, 1), 800*ms
	s.response("P1", v)
	if s.Phase() != "Waiting" {
		t.Errorf("it is %s", s.Phase())
	}
	if n := count(s.after(100*ms), lease.PreVote); n > 0 {
		t.Errorf("it asks %d times too early", n)
	}
	s.askBy("P2", lease.Request{Kind: lease.Release, Epoch: epoch(1, 1)})
	if _, ok := sent(append(s.out.Requests, s.after(100*ms)...), lease.PreVote, "P1"); !ok {
		t.Error("a RELEASE comes, and it does not ask")
	}
}

// C4: a process that is back at once has a vote that is bound for long (V6), and those of the
// others are bound for a moment. As soon as three of five would not vote it has failed; the fourth
// answer tells it that a majority is bound for that moment only.
func TestWhoIsBackIsNotHeldUpByItsOwnPromise(t *testing.T) {
	s := newSolo(t, rosterOf(5), "P5")
	s.want(true, "P4", epoch(1, 1))
	s.restart()
	asks := s.do(lease.Event{Type: lease.Nominated, Process: "P5"}).Requests
	for _, q := range []string{"P1", "P2", "P3"} {
		s.deny(asks, q, 40*ms)
	}
	if _, ok := sent(s.after(40*ms), lease.PreVote, "P3"); ok {
		t.Error("it asks again before the promises have run out")
	}
	if _, ok := sent(s.after(2*ms), lease.PreVote, "P3"); !ok {
		t.Errorf("the promises have run out, and it does not ask again; it is %s", s.Phase())
	}
}

// C4, found: one of five is dead, two would promise, and two are bound for a moment. That leaves no
// doubt that a majority is possible, so the pre-vote goes on. It does not wait for the dead one, nor
// for a heartbeat: it asks those that are bound when the first of them is free, and no sooner.
func TestWhoIsBoundForAMomentIsAskedAfterIt(t *testing.T) {
	s := newSolo(t, rosterOf(5), "P4")
	s.askBy("P5", lease.Request{Kind: lease.Renew, Epoch: epoch(1, 1), Lease: 60 * ms})
	s.do(lease.Event{Type: lease.LinkDown, Process: "P5"})
	asks := s.do(lease.Event{Type: lease.Nominated, Process: "P4"}).Requests
	for _, q := range []string{"P1", "P2"} {
		p, _ := sent(asks, lease.PreVote, q)
		v := s.answer(p, true)
		v.Holder, v.Remaining = "P4", 900*ms // from an earlier attempt
		s.response(q, v)
	}
	s.deny(asks, "P3", 40*ms)
	if early := s.after(40 * ms); len(early) > 0 {
		t.Errorf("it asks before the promise of P3 has run out: %v", early)
	}
	asks = s.after(2 * ms)
	p, ok := sent(asks, lease.PreVote, "P3")
	if !ok || len(asks) != 1 {
		t.Fatalf("the promise of P3 has run out, and it asks %v; it is %s", asks, s.Phase())
	}
	s.response("P3", s.answer(p, true))
	s.sent(lease.Vote, "P3")
}

// C4: once it has asked again, it waits for the answers. What it heard before says when the voter is
// free, and not how long after each question: or it would ask every 2 ms for as long as the answers
// take.
func TestWhoIsFreeByNowIsAskedOnce(t *testing.T) {
	s := newSolo(t, rosterOf(5), "P4")
	asks := s.do(lease.Event{Type: lease.Nominated, Process: "P4"}).Requests
	p, _ := sent(asks, lease.PreVote, "P1")
	s.response("P1", s.answer(p, true))
	s.deny(asks, "P2", ms)
	s.deny(asks, "P3", ms)
	if n := count(s.after(90*ms), lease.PreVote); n != 2 {
		t.Errorf("while P2 and P3 do not answer, they are asked %d times in all instead of once each", n)
	}
}

// C1, C6: a question or a VOTE may be lost with its link, also to a voter that has answered before. One
// that is bound, by what it has answered, is not asked.
func TestALostQuestionIsAskedAgain(t *testing.T) {
	s := newSolo(t, rosterOf(5), "P5")
	asks := s.do(lease.Event{Type: lease.Nominated, Process: "P5"}).Requests
	s.deny(asks, "P1", 5*ms)
	s.deny(asks, "P2", 50*ms)
	s.after(10 * ms)
	for name, asked := range map[string]bool{"P1": true, "P2": false} {
		asks := s.do(lease.Event{Type: lease.LinkUp, Process: name}).Requests
		if _, ok := sent(asks, lease.PreVote, name); ok != asked {
			t.Errorf("the link to %s opens, and it is asked: %t", name, ok)
		}
	}
	s = newSolo(t, rosterOf(5), "P5")
	asks = s.do(lease.Event{Type: lease.Nominated, Process: "P5"}).Requests
	p, _ := sent(asks, lease.PreVote, "P1")
	s.response("P1", s.answer(p, true))
	s.response("P2", s.answer(p, true))
	s.response("P1", s.answer(s.sent(lease.Vote, "P1"), true))
	for name, asked := range map[string]bool{"P1": false, "P2": true} {
		s.after(ms)
		asks := s.do(lease.Event{Type: lease.LinkUp, Process: name}).Requests
		_, ok := sent(asks, lease.Vote, name)
		if n := count(asks, lease.Vote); ok != asked || n > 1 {
			t.Errorf("the link to %s opens, it gets the VOTE again: %t, and %d do", name, ok, n)
		}
	}
}

// C3: who has withdrawn since it asked for pre-votes asks for no votes.
func TestWhoHasWithdrawnAsksForNoVotes(t *testing.T) {
	s := newSolo(t, rosterOf(3), "P3")
	s.do(lease.Event{Type: lease.Nominated, Process: "P3"})
	p := s.sent(lease.PreVote, "P1")
	s.do(lease.Event{Type: lease.Withdrawn})
	if out := s.response("P1", s.answer(p, true)); count(out.Requests, lease.Vote) > 0 {
		t.Error("it asks for votes")
	}
}

// C8: what a process waited for before the leaseholder was heard again, or has stepped down, does not
// hold up what comes next.
func TestAPauseEndsWithWhatItWasFor(t *testing.T) {
	release := lease.Request{Kind: lease.Release, Epoch: epoch(1, 1), Heir: "P3"}
	stepDown := lease.Request{Kind: lease.StepDown, Epoch: epoch(1, 1), Heir: "P3"}
	for name, next := range map[string]func(*solo){
		"it is the heir": func(s *solo) {
			s.askBy("P2", stepDown)
			s.askBy("P2", release)
			s.do(lease.Event{Type: lease.Nominated, Process: "P3"})
		},
		"the leaseholder is heard, and gone": func(s *solo) {
			s.askBy("P2", held(epoch(1, 1)))
			s.do(lease.Event{Type: lease.LinkDown, Process: "P2"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSolo(t, rosterOf(3), "P3")
			s.askBy("P2", held(epoch(1, 1)))
			s.do(lease.Event{Type: lease.LinkDown, Process: "P2"})
			s.hearsay("P2", epoch(1, 1), "P1", "P2")
			if holder, _, _ := s.Following(); holder != "P2" {
				t.Fatalf("it follows %q", holder)
			}
			if n := count(s.after(5*ms), lease.PreVote); n > 0 {
				t.Fatal("it does not wait")
			}
			next(s)
			asked := s.out.Requests
			if asked = append(asked, s.after(5*ms)...); count(asked, lease.PreVote) == 0 {
				t.Error("it waits still")
			}
		})
	}
}

// deny answers a PREVOTE to a voter that is bound to P5 for so long.
func (s *solo) deny(asks []lease.Addressed, q string, remaining time.Duration) {
	p, _ := sent(asks, lease.PreVote, q)
	v := s.answer(p, false)
	v.Holder, v.HolderEpoch, v.Remaining = "P5", epoch(1, 1), remaining
	s.response(q, v)
}

// C4: voters that use another roster deny at once; that is no reason to ask them without a pause.
func TestCandidateDoesNotStorm(t *testing.T) {
	s := newSolo(t, rosterOf(3), "P3")
	s.do(lease.Event{Type: lease.Nominated, Process: "P3"})
	asked := 0
	for range 1000 { // a second
		if p, ok := sent(s.out.Requests, lease.PreVote, "P1"); ok {
			asked++
			v := s.answer(p, false)
			v.Generation = 2
			for _, q := range []string{"P1", "P2"} {
				s.response(q, v)
			}
		}
		s.out.Requests = s.after(ms)
	}
	if asked == 0 || asked > 15 {
		t.Errorf("it asks %d times in a second", asked)
	}
}

func count(all []lease.Addressed, k lease.Kind) (n int) {
	for _, a := range all {
		if a.Request.Kind == k {
			n++
		}
	}
	return n
}

// C1: who would not promise is asked again every heartbeat. Two of five are down; one voter has yet
// to notice that the link of the dead holder is closed, and nobody's promise to it has run out.
func TestAnswersAreAskedForAgain(t *testing.T) {
	s := newSolo(t, rosterOf(5), "P3")
	s.do(lease.Event{Type: lease.Nominated, Process: "P3"})
	died := s.now
	for beat := 0; s.now < died+lease1+s.roster.Heartbeat+ms; beat++ {
		asks := s.out.Requests
		for _, q := range []string{"P1", "P2"} {
			p, ok := sent(asks, lease.PreVote, q)
			if !ok {
				t.Fatalf("it does not ask %s again after %v", q, s.now-died)
			}
			v := s.answer(p, s.now >= died+lease1)
			v.Holder, v.HolderEpoch, v.Heard, v.Remaining = "P5", epoch(
				1,
				1,
			), q == "P1" &&
				beat == 0, max(
				0,
				died+lease1-s.now,
			)
			s.response(q, v)
			if holder, _, _ := s.Following(); holder != "" {
				t.Fatalf("it follows %s, which is dead", holder)
			}
			if _, ok := sent(s.out.Requests, lease.Vote, q); ok {
				return
			}
		}
		for s.out.Requests = nil; len(s.out.Requests) == 0; {
			s.out.Requests = s.after(ms)
		}
	}
	t.Errorf("it claims nothing %v after the holder died; it is %s", s.now-died, s.Phase())
}

// C4: once something was released, those who have not heard of it yet are asked again in a moment,
// and not after a heartbeat. Its own promise is free, two are not, one voter does not answer.
func TestReleaseIsHeardOfInAMoment(t *testing.T) {
	s := newSolo(t, rosterOf(5), "P4")
	asks := s.do(lease.Event{Type: lease.Nominated, Process: "P4"}).Requests
	for _, q := range []string{"P1", "P2"} {
		p, _ := sent(asks, lease.PreVote, q)
		v := s.answer(p, false)
		v.Holder, v.HolderEpoch, v.Remaining = "P5", epoch(1, 1), 900*ms
		s.response(q, v)
	}
	s.askBy("P5", lease.Request{Kind: lease.Release, Epoch: epoch(1, 1)})
	if _, ok := sent(append(s.out.Requests, s.after(11*ms)...), lease.PreVote, "P1"); !ok {
		t.Error("it does not ask again")
	}
}

// C4: a candidate that has a new roster before its voters asks those that answer again in a moment,
// and not after a heartbeat, or after T: they are about to get it. After a heartbeat it does not
// hurry any more.
func TestANewRosterReachesTheVotersInAMoment(t *testing.T) {
	for _, older := range [][]string{{"P2"}, {"P1", "P2", "P3"}} {
		s := newSolo(t, rosterOf(5), "P4")
		s.roster = next(s.roster, func(*lease.Roster) {})
		s.asleep(time.Minute)
		s.do(lease.Event{Type: lease.RosterChanged, Roster: s.roster})
		asks := s.do(lease.Event{Type: lease.Nominated, Process: "P4"}).Requests
		asked := 0
		for end := s.now + 3*s.roster.Heartbeat; s.now < end; asks = s.after(ms) {
			for _, q := range older {
				if p, ok := sent(asks, lease.PreVote, q); ok {
					v := s.answer(p, false)
					v.Generation--
					s.response(q, v)
					asked++
				}
			}
			if s.now == end-2*s.roster.Heartbeat && asked < 8*len(older) {
				t.Errorf("in a heartbeat it asks %v %d times", older, asked)
			}
		}
		if asked > 15*len(older) {
			t.Errorf("in three heartbeats it asks %v %d times", older, asked)
		}
	}
}

// C5: who reaches no majority, twice, rests for 4 to 8 T and is no candidate meanwhile; unless
// nobody else could coordinate.
func TestCandidateWithoutMajorityRests(t *testing.T) {
	r := rosterOf(3)
	r.Timeout = 500 * ms
	s := newSolo(t, r, "P3")
	s.do(lease.Event{Type: lease.Nominated, Process: "P3"})
	for begun := s.now; !s.Rests(); s.after(ms) {
		if s.now-begun > 2*r.Timeout+s.T+10*ms {
			t.Fatal("it does not rest")
		}
	}
	begun := s.now
	if v := s.askBy("P1", lease.Request{Kind: lease.PreVote, Epoch: epoch(1, 0)}); v.Candidate {
		t.Error("it says that it is a candidate")
	}
	for s.Rests() {
		s.after(ms)
	}
	if rest := s.now - begun; rest < 4*s.T-2*ms || rest > 8*s.T+2*ms {
		t.Errorf("it rests for %v", rest)
	}
}

// C6: of six voters two are dead, and the votes of the others are split: neither candidate has a
// majority, and neither has been denied by so many that none is left, because the dead deny
// nothing. They do not keep each other's votes for a whole lease.
func TestASplitVote(t *testing.T) {
	g := newPlay(rosterOf(6), false)
	for _, dead := range []string{"P1", "P2"} {
		g.kill(dead)
	}
	for _, far := range [][2]string{{"P5", "P4"}, {"P6", "P3"}, {"P5", "P6"}, {"P6", "P5"}} {
		g.latencies[far] = 5 * ms
	}
	p6 := g.actor("P6") // draws other random delays than P5
	p6.Machine = lease.New(lease.Config{Self: p6.incarnation, Saved: p6.disk, Seed: 8, Now: g.read(p6)})
	g.step(p6, lease.Event{Type: lease.RosterChanged, Roster: g.roster})
	begun := g.now
	g.nominate("P5", "P5")
	g.nominate("P6", "P6")
	for len(g.acting()) == 0 && g.now < begun+10*lease1 {
		g.run(ms)
	}
	if took := g.now - begun; took >= lease1 {
		t.Errorf("somebody acts after %v:\n%s", took, g.out.String())
	}
}

// C6, found: the leaseholder of five is gone, two of the others ask for votes in the same
// millisecond, and each gets two. They know at once that neither can win, for the leaseholder that
// they have lost will hardly vote; and the higher one asks again at once.
func TestASplitVoteAfterALeaseholderIsLost(t *testing.T) {
	g := newPlay(rosterOf(5), false)
	g.nominate("P5")
	g.run(2 * lease1)
	if held, _ := g.holder(); held != "P5" {
		t.Fatalf("%q holds the lease:\n%s", held, g.out.String())
	}
	for _, far := range [][2]string{{"P3", "P1"}, {"P4", "P2"}} {
		g.latencies[far] = ms / 2
	}
	g.part("P3", "P4", true) // as far as P3 knows: so it takes itself for the highest
	g.cut[[2]string{"P3", "P4"}], g.cut[[2]string{"P4", "P3"}] = false, false
	g.kill("P5")
	g.nominate("P3", "P3")
	g.nominate("P4", "P4", "P1", "P2")
	split := func() bool { return strings.Count(g.out.String(), "VOTE 1.2 denied") >= 2 }
	for !split() {
		if g.now > time.Hour+4*lease1 {
			t.Fatalf("the votes are never split:\n%s", g.out.String())
		}
		g.run(ms / 4)
	}
	begun := g.now
	for len(g.acting()) == 0 && g.now < begun+lease1 {
		g.run(ms / 4)
	}
	if took := g.now - begun; took > 10*ms || !slices.Equal(g.acting(), []string{"P4"}) {
		t.Errorf("%v act %v after the votes were split:\n%s", g.acting(), took, g.out.String())
	}
}

// C6, found: a voter that was restarted denies, because it is bound to what it held before, and
// others have disks that take longer than 2 T. They are waited for if they would have promised by
// the pre-vote, whatever this process's own disk takes, and so is this process itself.
func TestSlowDisksAreNoSplit(t *testing.T) {
	for name, c := range map[string]struct {
		supports   bool          // P1, by its answer to the pre-vote; else P2 does
		own, other time.Duration // what the disks of this process and of P1 take; 0: no answer
		gives      time.Duration // up after so long; 0: it is elected
	}{
		"all disks take more than 2 T": {true, 420 * ms, 700 * ms, 0},
		"only the other one's does":    {true, 5 * ms, 700 * ms, 0},
		"only its own does":            {true, 700 * ms, 5 * ms, 0},
		"it has died since":            {true, 5 * ms, 0, lease1},
		"it was dead before":           {false, 5 * ms, 0, 400 * ms},
		"its own never writes":         {true, 0, 5 * ms, lease1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSolo(t, rosterOf(4), "P3") // three are a majority
			s.slow = true
			s.do(lease.Event{Type: lease.Nominated, Process: "P3"})
			ask := s.sent(lease.PreVote, "P1")
			s.response("P4", s.answer(ask, true))
			if c.supports {
				s.response("P1", s.answer(ask, true))
			} else {
				s.response("P2", s.answer(ask, true))
			}
			p := s.sent(lease.Vote, "P1")
			begun, released := s.now, time.Duration(0)
			s.response("P2", s.answer(p, false))
			s.response("P4", s.answer(p, true))
			for s.now < begun+2*lease1 && !s.may() && released == 0 {
				asked := s.after(5 * ms)
				waited := s.now - begun
				if waited == c.own {
					s.do(s.write())
				}
				if waited == c.other {
					s.response("P1", s.answer(p, true))
				}
				if _, ok := sent(asked, lease.Release, "P1"); ok {
					released = waited
				}
			}
			if s.may() != (c.gives == 0) || released != c.gives {
				t.Errorf("it holds the lease: %t; it gives up after %v, want %v", s.may(), released, c.gives)
			}
		})
	}
}
