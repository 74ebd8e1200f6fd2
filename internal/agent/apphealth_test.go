package agent_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podesta-dev/podesta/internal/roster"
	"github.com/podesta-dev/podesta/test/bubble"
)

func askedAt(port int32) roster.AppHealth {
	return roster.AppHealth{Handler: roster.TCPSocket, Port: port, Period: time.Second, Timeout: time.Second, FailureThreshold: 2, SuccessThreshold: 10}
}

// asks checks how a process's app was asked so far.
func (p *process) asks(t *testing.T, want ...roster.AppHealth) {
	t.Helper()
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Equal(p.probed, want) {
		t.Errorf("the app was asked %+v, want %+v", p.probed, want)
	}
}

// lastKept is the roster on a process's disk.
func (p *process) lastKept(t *testing.T) *roster.Roster {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.kept) == 0 {
		t.Fatal("no roster was kept")
	}
	return p.kept[len(p.kept)-1]
}

// recheck gives every agent the same roster with another AppHealth, in the same generation.
func (g *group) recheck(h roster.AppHealth) {
	g.roster.AppHealth = h
	same := g.roster
	for _, p := range g.agents {
		p.updates <- roster.Update{Roster: &same}
	}
}

// How apps are asked changes while a group runs, and nothing else does: no generation, no epoch, no
// election.
func TestAppHealthIsNoElectionsBusiness(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		g := startGroup(t, guarded("Bully", roster.Never), 3)
		g.acts("p3")
		g.agree("p3")
		before := g.agents["p1"].view()
		none := roster.AppHealth{}
		g.recheck(askedAt(8080))
		for _, p := range g.agents {
			p.asks(t, none, askedAt(8080))
			if kept := p.lastKept(t); kept.AppHealth != askedAt(8080) || kept.Generation != g.roster.Generation {
				t.Errorf("kept: %+v", kept)
			}
		}
		g.recheck(askedAt(8080))
		g.recheck(none)
		time.Sleep(10 * time.Second)
		g.agents["p1"].asks(t, none, askedAt(8080), none)
		if now := g.agents["p1"].view(); now.Epoch != before.Epoch || now.Last != before.Last || now.Generation != before.Generation || now.Coordinator != "p3" {
			t.Errorf("it was %+v, and is %+v", before, now)
		}
		if may := g.may(); !slices.Equal(may, []string{"p3"}) {
			t.Errorf("%v may act", may)
		}
	})
}

// A late roster does not turn it back, a newer one that says the same does not begin anew, and one
// that says otherwise counts.
func TestAppHealthOfRosters(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		g := startGroup(t, guarded("Bully", roster.Never), 3)
		g.acts("p3")
		none, late := roster.AppHealth{}, g.roster
		g.edit(func(r *roster.Roster) { r.AppHealth = askedAt(1) })
		late.AppHealth = askedAt(2)
		p1 := g.agents["p1"]
		p1.updates <- roster.Update{Roster: &late}
		g.edit(func(r *roster.Roster) { r.Algorithm = "RingList" })
		p1.asks(t, none, askedAt(1))
		g.edit(func(r *roster.Roster) { r.AppHealth = askedAt(3) })
		p1.asks(t, none, askedAt(1), askedAt(3))
	})
}

// Without a group nobody says how to ask; who comes back is told anew.
func TestAppIsNotAskedOutsideTheGroup(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		g := startGroup(t, guarded("Bully", roster.Never), 3)
		g.recheck(askedAt(1))
		p3 := g.agents["p3"]
		p3.updates <- roster.Update{Gone: true}
		p3.asks(t, roster.AppHealth{}, askedAt(1), roster.AppHealth{})
		p3.updates <- roster.Update{Roster: &g.roster}
		p3.asks(t, roster.AppHealth{}, askedAt(1), roster.AppHealth{}, askedAt(1))
	})
}

// The manager is told why a process is no candidate, also when one reason follows another.
func TestTheManagerIsToldWhatTheAppLacks(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		g := startGroup(t, guarded("Bully", roster.Never), 3)
		g.acts("p3")
		p := g.agents["p1"]
		reports := func(want string) {
			t.Helper()
			synctest.Wait()
			p.mu.Lock()
			defer p.mu.Unlock()
			if got := p.reports[len(p.reports)-1].NotCandidate; got != want {
				t.Errorf("it reports %q, want %q", got, want)
			}
		}
		session := p.ledger.Open()
		reports("")
		session.Close()
		reports(roster.NotCandidateNoSession)
		p.health <- errors.New("503")
		reports(roster.NotCandidateUnhealthy)
		p.health <- nil
		reports(roster.NotCandidateNoSession)
		p.ledger.Open()
		reports("")
	})
}

// wantsSessions has only those be candidates whose app has a session.
func wantsSessions(g *group) { g.roster.AppHealth = roster.AppHealth{Handler: roster.Session} }

// nobody checks that for a while no process coordinates.
func (g *group) nobody() {
	g.t.Helper()
	for range 200 {
		time.Sleep(100 * time.Millisecond)
		for name, p := range g.agents {
			if v := p.view(); v.Coordinator != "" || p.ledger.Valid() {
				g.t.Fatalf("%s: %q coordinates, and no app has a session", name, v.Coordinator)
			}
		}
	}
}

// In a group that wants sessions nobody coordinates before an app has opened one. Then it is at
// once, and who has none never is, whatever its priority.
func TestNoSessionNoCandidate(t *testing.T) {
	for _, safety := range []string{roster.Guarded, roster.Classic} {
		t.Run(safety, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				r := guarded("Bully", roster.Always)
				r.Safety = safety
				g := startGroup(t, r, 3, wantsSessions)
				g.nobody()
				if got := g.agents["p2"].last().NotCandidate; got != roster.NotCandidateNoSession {
					t.Errorf("p2 reports %q", got)
				}
				first := g.agents["p1"].ledger.Open()
				if took := g.agree("p1"); took > leaseTime {
					t.Errorf("p1 took %v", took)
				}
				g.agents["p3"].ledger.Open()
				g.agree("p3")
				first.Close()
				g.kill("p3")
				g.agents["p2"].ledger.Open()
				g.agree("p2")
			})
		})
	}
}

// An app that keeps a session need not be named in the roster: the pod may say so. Then its process
// is no candidate before the first session, and again after the last one. The other processes are
// candidates without one.
func TestAnAppThatKeepsASession(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		g := startGroup(t, guarded("Bully", roster.Always), 3, func(g *group) { g.expected = "p3" })
		g.acts("p2")
		p3 := g.agents["p3"]
		if got := p3.last().NotCandidate; got != roster.NotCandidateNoSession {
			t.Errorf("p3 reports %q", got)
		}
		session := p3.ledger.Open()
		g.acts("p3")
		session.Close()
		g.acts("p2")
		g.recheck(roster.AppHealth{Handler: roster.Session})
		g.recheck(roster.AppHealth{})
		g.acts("p2")
		if got := p3.last().NotCandidate; got != roster.NotCandidateNoSession {
			t.Errorf("p3 reports %q", got)
		}
	})
}

// The first session is written to the disk at once, though the voter has nothing to write: an agent
// that is restarted must know of it. Later ones are not.
func TestTheFirstSessionIsWritten(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		g := startGroup(t, guarded("Bully", roster.Never), 3)
		g.agree("p3")
		p := g.agents["p1"]
		writes := func() int {
			synctest.Wait()
			p.mu.Lock()
			defer p.mu.Unlock()
			return len(p.kept)
		}
		before, promised := writes(), p.promised
		p.ledger.Open()
		if got := writes(); got != before+1 || p.promised != promised {
			t.Errorf("%d writes, and what it promised is %+v, before %+v", got-before, p.promised, promised)
		}
		p.ledger.Open().Close()
		if got := writes(); got != before+1 {
			t.Errorf("%d writes", got-before)
		}
	})
}

// What the group wants may change while it runs, in the same generation; an agent that was told how
// to see its app's health does not mind.
func TestSessionsThatAreWantedLater(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		g := startGroup(t, guarded("Bully", roster.Never), 3)
		g.acts("p3")
		g.agents["p2"].ledger.Open()
		g.recheck(roster.AppHealth{Handler: roster.Session})
		g.acts("p2")
		g.agree("p2")
		if got := g.agents["p3"].last().NotCandidate; got != roster.NotCandidateNoSession {
			t.Errorf("p3 reports %q", got)
		}
		g.recheck(roster.AppHealth{})
		synctest.Wait()
		if got := g.agents["p3"].last().NotCandidate; got != "" {
			t.Errorf("p3 reports %q", got)
		}
	})
	bubble.Test(t, func(t *testing.T) {
		g := startGroup(t, guarded("Bully", roster.Never), 3, wantsSessions, func(g *group) { g.ownHealth = true })
		g.acts("p3")
	})
}
