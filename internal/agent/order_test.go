package agent_test

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/roster"
	"github.com/podesta-dev/podesta/internal/transport"
	"github.com/podesta-dev/podesta/test/bubble"
)

// noted are the links of a process, with a note of what is asked of them.
type noted struct {
	transport.Links
	process *process

	mu       sync.Mutex
	wanted   []string // the links that are kept
	admitted int      // how many processes may send
	unlinked []string // what was sent to a process to which no link is kept
	released []string // to whom RELEASE was sent
	early    []string // what was sent to say that a lease ends while the app might act on it
	preVotes int      // how often it has asked whether the leaseholder is heard
}

func (n *noted) Link(names []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.wanted = slices.Clone(names)
	n.Links.Link(names)
}

func (n *noted) Admit(members []transport.Member) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.admitted = len(members)
	n.Links.Admit(members)
}

func (n *noted) Request(to string, r lease.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	what := string(r.Kind) + " to " + to
	if !slices.Contains(n.wanted, to) {
		n.unlinked = append(n.unlinked, what)
	}
	if r.Kind == lease.Release {
		n.released = append(n.released, to)
	}
	if r.Kind == lease.PreVote {
		n.preVotes++
	}
	ends := r.Kind == lease.Release || r.Kind == lease.StepDown
	if ends && n.process.ledger.Valid() {
		n.early = append(n.early, what)
	}
	n.Links.Request(to, r)
}

// startNoted starts a group of n processes that the highest leads, and returns the notes of a
// process's links.
func startNoted(t *testing.T, algorithm string, n int, name string) (*group, *noted) {
	var notes *noted
	g := startGroup(t, guarded(algorithm, roster.Never), n, func(g *group) {
		g.watch = func(p *process) transport.Links {
			if p.name != name {
				return p.links
			}
			notes = &noted{Links: p.links, process: p}
			return notes
		}
	})
	highest := g.roster.Processes[n-1].Name
	g.acts(highest)
	g.agree(highest)
	return g, notes
}

// LH6: the permission ends before anybody hears that the lease does; and RELEASE reaches every
// process, though the releaser needs no link any more when it has sent it: in a ring to nobody but
// its next two successors.
func TestOrderOfAHandOver(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		g, p5 := startNoted(t, "ChangRoberts", 5, "p5")
		p5.process.health <- errors.New("ill")
		took := g.acts("p4")
		synctest.Wait()
		p5.mu.Lock()
		defer p5.mu.Unlock()
		if len(p5.early) > 0 {
			t.Errorf("while its app may act it sends %v", p5.early)
		}
		if len(p5.unlinked) > 0 {
			t.Errorf("to processes to which it keeps no link it sends %v", p5.unlinked)
		}
		slices.Sort(p5.released)
		if !slices.Equal(p5.released, []string{"p1", "p2", "p3", "p4"}) || took > leaseTime/2 {
			t.Errorf("RELEASE was sent to %v; p4 acts after %v", p5.released, took)
		}
	})
}

// LH6: what an app was told over a session that it closes is not waited for, also when the lease
// has ended before that; and an app without a session is no candidate's.
func TestTheAppClosesItsSession(t *testing.T) {
	for _, ill := range []bool{true, false} {
		bubble.Test(t, func(t *testing.T) {
			g, p3 := startNoted(t, "Bully", 3, "p3")
			g.delay.Store(0)
			session := p3.process.ledger.Open()
			told, ok := session.Use()
			if !ok {
				t.Fatal("p3 may not act")
			}
			if ill {
				p3.process.health <- errors.New("ill")
				synctest.Wait()
				p3.mu.Lock()
				released := len(p3.released)
				p3.mu.Unlock()
				if released > 0 {
					t.Fatal("it releases while its app may act")
				}
			}
			session.Close()
			synctest.Wait()
			p3.mu.Lock()
			released := len(p3.released)
			p3.mu.Unlock()
			if released == 0 || virtual().Boot >= told.Deadline {
				t.Errorf("ill: %t; %v before the deadline its app relies on nothing: %d RELEASE",
					ill, told.Deadline-virtual().Boot, released)
			}
			g.acts("p2")
			g.agree("p2")
			if !p3.process.view().Withdrawn {
				t.Error("it is a candidate without its app")
			}
		})
	}
}

// LH6: while the app relies on what it was told over no session, or over one that was cut, nothing
// is released.
func TestNothingIsReleasedWhileTheAppMayAct(t *testing.T) {
	for _, cut := range []bool{true, false} {
		bubble.Test(t, func(t *testing.T) {
			g, p3 := startNoted(t, "Bully", 3, "p3")
			use := p3.process.ledger.Use
			if cut {
				session := p3.process.ledger.Open()
				defer session.Close()
				use = func() (lease.Permission, bool) { defer session.Cut(); return session.Use() }
			}
			told, ok := use()
			if !ok {
				t.Fatal("p3 may not act")
			}
			p3.process.health <- errors.New("ill")
			synctest.Wait()
			for virtual().Boot < told.Deadline {
				if may := g.may(); len(may) > 0 {
					t.Fatalf("%v may act %v before the deadline", may, told.Deadline-virtual().Boot)
				}
				<-time.After(time.Millisecond)
			}
			if took := g.acts("p2"); took > leaseTime/2 {
				t.Errorf("p2 acts %v after the deadline", took)
			}
		})
	}
}

// V1, V6: a voter that starts again keeps what its state directory says, for as long as it says.
func TestPromisesOutliveTheAgent(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		const long = 10 * time.Second
		g := startGroup(t, guarded("Bully", roster.Never), 3)
		g.acts("p3")
		p3 := g.agents["p3"]
		for _, name := range []string{"p1", "p2", "p3"} {
			g.kill(name)
		}
		for _, name := range []string{"p1", "p2"} {
			state := g.promised[name]
			if state.To.Name != "p3" || state.To.Number != p3.incarnation {
				t.Errorf("%s has saved a promise to %+v, want incarnation %d",
					name, state.To, p3.incarnation)
			}
			state.Lease = long
			g.promised[name] = state
			g.boot(name)
		}
		if own := g.promised["p3"].To; own.Number != p3.incarnation {
			t.Errorf("p3's own voter has promised %+v, want incarnation %d", own, p3.incarnation)
		}
		begun := time.Now()
		for len(g.may()) == 0 && time.Since(begun) < 3*long {
			<-time.After(time.Millisecond)
		}
		if took := time.Since(begun); took < long || took > 2*long {
			t.Errorf("%v may act after %v, and the promises run for %v", g.may(), took, long)
		}
	})
}
