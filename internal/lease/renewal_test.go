package lease_test

import (
	"fmt"
	"math/bits"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
)

const beat = 25 * ms // of a lease of 100 ms

// divided is a group whose leaseholder, the last process, has led for so long that its rounds go to
// half of the voters.
func divided(n int) (g *play, leaseholder *actor) {
	r := rosterOf(n)
	r.LeaseMinimum = 100 * ms
	g = newPlay(r, false)
	leaseholder = g.actors[n-1]
	g.nominate(leaseholder.incarnation.Name)
	g.run(3 * time.Second)
	clear(g.renewed)
	return g, leaseholder
}

// watch lets time pass. It fails the test if the leaseholder or its epoch changes, or if its lease
// gets longer than 100 ms.
func (g *play) watch(t *testing.T, leaseholder *actor, d time.Duration) {
	t.Helper()
	epoch, _, _ := leaseholder.Permission()
	for end := g.now + d; g.now < end; g.run(ms) {
		e, deadline, ok := leaseholder.Permission()
		switch {
		case !ok || e != epoch || deadline <= g.clock(leaseholder):
			t.Fatalf("the lease has ended:\n%s", g.out.String())
		case leaseholder.Asks() != 100*ms:
			t.Fatalf("it asks for %v:\n%s", leaseholder.Asks(), g.out.String())
		}
	}
}

// total is how many renewals were sent.
func (g *play) total() (n int) {
	for _, all := range g.renewed {
		n += len(all)
	}
	return n
}

// LH11: a round of renewals goes to as many as make a majority with the leaseholder's own vote.
// Everybody gets at least every second one, and knows when the next is due.
func TestARoundGoesToHalfOfTheVoters(t *testing.T) {
	for n := 2; n <= 8; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			g, leaseholder := divided(n)
			const rounds = 80
			g.watch(t, leaseholder, rounds*beat+beat/2)
			if got, want := g.total(), rounds*(n/2); got < want-n || got > want+n {
				t.Errorf("%d renewals in %d rounds, want %d", got, rounds, want)
			}
			for _, q := range g.roster.Members[:n-1] {
				all := g.renewed[q.Name]
				for i, r := range all[1:] {
					if late := r.at - all[i].at - all[i].due; late > ms {
						t.Errorf("%s waits %v longer than the %v that it was told", q.Name, late, all[i].due)
					}
					if n == 2 && r.due != beat {
						t.Errorf("%s gets each round, and is told %v", q.Name, r.due)
					}
				}
			}
		})
	}
}

// LH11: whichever minority of the voters is lost, and whenever: no lease ends, and none gets longer.
func TestNoMinorityEndsALease(t *testing.T) {
	for n := 3; n <= 6; n++ {
		for lost := range 1 << (n - 1) {
			if bits.OnesCount(uint(lost)) > lease.Tolerates(n) {
				continue
			}
			for phase := range 2 * beat / (7 * ms) {
				g, leaseholder := divided(n)
				g.run(phase * 7 * ms)
				for i, a := range g.actors[:n-1] {
					a.down = a.down || lost&(1<<i) != 0 // silently: its links stay open
				}
				g.watch(t, leaseholder, time.Second)
			}
		}
	}
}

// LH11: voters that answer late make no lease longer, as long as a majority is quick. Their delay
// makes rounds go to all for 2 s, and then one is tried without them.
func TestLateVoters(t *testing.T) {
	g, leaseholder := divided(5)
	g.latencies[[2]string{"P1", "P5"}] = 90 * ms
	g.latencies[[2]string{"P3", "P5"}] = 90 * ms
	g.watch(t, leaseholder, 10*time.Second)
	leftOut := 0
	for _, all := range g.renewed {
		for _, r := range all {
			if r.due > beat {
				leftOut++
			}
		}
	}
	if got, all := g.total(), 400*4; got < all-8 || leftOut > 6*4 {
		t.Errorf("%d renewals in 10 s, %d of them of divided rounds; want %d and a round in 2 s",
			got, leftOut, all)
	}
	clear(g.latencies)
	g.watch(t, leaseholder, 3*time.Second)
	clear(g.renewed)
	g.watch(t, leaseholder, 10*time.Second)
	if got, half := g.total(), 400*2; got > half*11/10 {
		t.Errorf("%d renewals in 10 s, want some %d", got, half)
	}
}

// LH11, LH10: a lease that had to be longer for a moment gets short again, although one voter is
// late: a majority is quick.
func TestALateVoterKeepsNoLeaseLong(t *testing.T) {
	g, leaseholder := divided(5)
	late := func(by time.Duration, names ...string) {
		for _, name := range names {
			g.latencies[[2]string{name, "P5"}] = by
		}
	}
	late(20*ms, "P1", "P2", "P3", "P4")
	g.run(100 * ms)
	if got := leaseholder.Asks(); got != 200*ms {
		t.Fatalf("it asks for %v, want 200ms", got)
	}
	late(0, "P2", "P3", "P4")
	g.run(20 * time.Second)
	if got := leaseholder.Asks(); got != 100*ms {
		t.Fatalf("it asks for %v, want 100ms", got)
	}
	g.watch(t, leaseholder, 10*time.Second)
}

// LH11: of a process that was lost nothing is expected. It gets each round, so also the first one
// after it is back.
func TestWhoIsBackIsRenewedAtOnce(t *testing.T) {
	g, leaseholder := divided(5)
	g.part("P5", "P2", true)
	g.watch(t, leaseholder, 3*time.Second)
	clear(g.renewed)
	g.watch(t, leaseholder, 3*time.Second)
	if got, want := g.total(), 120*3; got < want-3 || got > want+3 {
		t.Errorf("%d renewals in 3 s, want %d: two votes that count, and the lost process", got, want)
	}
	for _, r := range g.renewed["P2"] {
		if r.due != beat {
			t.Fatalf("it gets each round, and is told %v", r.due)
		}
	}
	g.part("P5", "P2", false)
	clear(g.renewed)
	g.watch(t, leaseholder, beat+ms)
	if len(g.renewed["P2"]) == 0 {
		t.Errorf("P2 got none in a heartbeat:\n%s", g.out.String())
	}
}

// LH11: rounds go to all in the first two seconds, and while votes for a new roster are sought that
// only some have yet.
func TestRoundsThatGoToAll(t *testing.T) {
	r := rosterOf(5)
	r.LeaseMinimum = 100 * ms
	g := newPlay(r, false)
	g.nominate("P5")
	g.run(100 * ms)
	clear(g.renewed)
	g.watch(t, g.actor("P5"), 1800*ms)
	if got, all := g.total(), 72*4; got < all-4 {
		t.Errorf("after an election %d renewals in 1.8 s, want %d", got, all)
	}
	g.run(2 * time.Second)
	g.enrol(next(r, func(*lease.Roster) {}), "P5", "P4")
	clear(g.renewed)
	g.run(500 * ms)
	for _, name := range []string{"P1", "P2", "P3", "P4"} {
		if got := len(g.renewed[name]); got < 19 {
			t.Errorf("with a new roster %d renewals to %s in 0.5 s, want 20", got, name)
		}
	}
}

// LH11: rounds that are no more frequent than the roster's heartbeat go to all.
func TestSlowRoundsGoToAll(t *testing.T) {
	g := newPlay(rosterOf(5), false) // whose lease is always 1 s
	g.nominate("P5")
	g.run(3 * time.Second)
	clear(g.renewed)
	g.run(2 * time.Second)
	if got, all := g.total(), 20*4; got < all-4 {
		t.Errorf("%d renewals in 2 s, want %d", got, all)
	}
}

// LH11: a leaseholder that stood still, so that it could not ask the rest in time, asks all.
func TestALeaseholderThatStoodStillAsksAll(t *testing.T) {
	r := rosterOf(3)
	r.LeaseMinimum = 100 * ms
	s := newSolo(t, r, "P3")
	s.holding()
	asked := map[string]int{}
	answer := func(all []lease.Addressed) {
		clear(asked)
		for _, a := range all {
			if a.Request.Kind == lease.Renew {
				asked[a.To]++
				s.response(a.To, s.answer(a.Request, true))
			}
		}
	}
	for begun := s.now; s.now < begun+3*time.Second; {
		answer(s.after(s.Next() - s.now))
	}
	for len(asked) != 1 { // a round that left one out
		answer(s.after(s.Next() - s.now))
	}
	s.after(s.Next() - s.now) // the next one, which nobody answers
	s.asleep(beat + 5*ms)
	answer(s.do(lease.Event{Type: lease.Tick}).Requests)
	if asked["P1"] == 0 || asked["P2"] == 0 {
		t.Errorf("it asks %v", asked)
	}
}
