package agent_test

import (
	"errors"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/roster"
	"github.com/podesta-dev/podesta/test/bubble"
)

const leaseTime = time.Second

func guarded(algorithm, preemption string) roster.Roster {
	return roster.Roster{Algorithm: algorithm, Safety: roster.Guarded, Lease: leaseTime, Preemption: preemption, Stable: 5 * time.Second}
}

// may is who may act now.
func (g *group) may() (names []string) {
	for name, p := range g.agents {
		if p.ledger.Valid() {
			names = append(names, name)
		}
	}
	return names
}

// vanish cuts a process off as SIGKILL does, without waiting for what is left of it here.
func (g *group) vanish(name string) {
	p := g.agents[name]
	delete(g.agents, name)
	g.network.Kill(name)
	p.stop()
	g.t.Cleanup(func() { <-p.done })
}

// acts waits until that process may act, and returns how long that took. All the while at most one
// may.
func (g *group) acts(want string) time.Duration {
	g.t.Helper()
	return g.actsOne(want, func(may string) bool { return may == want })
}

// actsAfter is acts for any process but the one before.
func (g *group) actsAfter(before string) time.Duration {
	g.t.Helper()
	return g.actsOne("another", func(may string) bool { return may != before })
}

func (g *group) actsOne(want string, is func(may string) bool) time.Duration {
	g.t.Helper()
	begun := time.Now()
	for time.Since(begun) < time.Minute {
		may := g.may()
		if len(may) > 1 {
			g.t.Fatalf("%v may act at once", may)
		}
		if len(may) == 1 && is(may[0]) {
			return time.Since(begun)
		}
		<-time.After(time.Millisecond)
	}
	g.t.Fatalf("%v may act, want %s", g.may(), want)
	return 0
}

// A roster that the disk refuses is used when the disk takes it: the manager says it once.
func TestRosterThatCouldNotBeKept(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		g := startGroup(t, guarded("Bully", roster.Delayed), 3)
		g.acts("p3")
		p := g.agents["p1"]
		full := func(is bool) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.full = is
		}
		full(true)
		g.edit(func(r *roster.Roster) { r.Timeout++ })
		<-time.After(3 * time.Second)
		if generation := p.view().Generation; generation != 1 {
			t.Errorf("it uses generation %d, which it could not keep", generation)
		}
		full(false)
		<-time.After(2 * time.Second)
		if generation := p.view().Generation; generation != 2 {
			t.Errorf("its disk is well again, and it uses generation %d", generation)
		}
	})
}

// A process that leaves its group and comes back in one incarnation still knows what its app was
// told: while that runs, no promise to it is given back, whatever becomes of what it claims
// meanwhile (H6).
func TestComingBackForgetsNothingThatTheAppWasTold(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		g := startGroup(t, guarded("Bully", roster.Never), 3)
		g.acts("p3")
		g.agree("p3")
		p3 := g.agents["p3"]
		told, ok := p3.ledger.Use()
		if !ok {
			t.Fatal("p3 may not act")
		}
		g.delay.Store(int64(20 * time.Millisecond))
		p3.updates <- roster.Update{Gone: true}
		before := p3.claims(t)
		g.edit(func(*roster.Roster) {})
		for p3.claims(t) == before { // it claims anew
			<-time.After(time.Millisecond)
		}
		p3.health <- errors.New("ill") // and gives up what nobody has promised yet
		for virtual().Boot < told.Deadline {
			if may := g.may(); len(may) > 0 {
				t.Fatalf("%v may act, and p3's app relies on its permission for %v more", may, told.Deadline-virtual().Boot)
			}
			<-time.After(time.Millisecond)
		}
		g.acts("p2")
	})
}

// claims is how many claims a process has sent.
func (p *process) claims(t *testing.T) float64 { return p.sent(t).claims }

// An app that dies while its process is in no group is not well when the process joins one.
func TestAppDiesOutsideTheGroup(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		g := startGroup(t, guarded("Bully", roster.Never), 3)
		g.acts("p3")
		p3 := g.agents["p3"]
		p3.updates <- roster.Update{Gone: true}
		p3.health <- errors.New("ill")
		g.edit(func(*roster.Roster) {})
		g.acts("p2")
		g.agree("p2")
		if !p3.view().Withdrawn {
			t.Error("p3 is a candidate, and its app is ill")
		}
	})
}
