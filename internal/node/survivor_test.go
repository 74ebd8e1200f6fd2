package node_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/node"
)

// A process whose peers are all gone says so of each that it has tried to reach. Without a majority
// it elects no successor for the coordinator, and says so of the coordinator all the same. Only
// those whose links were closed or refused are known to have ended.
func TestTheLastOneShowsTheOthersAsCrashed(t *testing.T) {
	for _, algorithm := range election.Algorithms() {
		for _, n := range []int{3, 5} {
			for _, guarded := range []bool{true, false} {
				for gone, want := range map[string]election.Status{
					"closed": election.Crashed, "unreachable": node.NotAnswering, "silent": node.NotAnswering,
				} {
					name := fmt.Sprintf("%s of %d, guarded %t, %s", algorithm, n, guarded, gone)
					t.Run(name, func(t *testing.T) { survive(t, algorithm, n, guarded, gone, want) })
				}
			}
		}
	}
}

// survive has all but P1 end, the coordinator first, or vanish, or stand still.
func survive(t *testing.T, algorithm string, n int, guarded bool, gone string, want election.Status) {
	t.Helper()
	r := newRoster(guarded)
	r.Algorithm, r.Members = algorithm, voters(n, "P%d")
	p := start(t, "P1", r)
	highest := fmt.Sprintf("P%d", n)
	linked := []string{}
	down := node.Event{Type: node.LinkDown, Unreachable: gone != "closed"}
	relink := func(event node.Event) {
		for _, name := range p.links {
			if !slices.Contains(linked, name) {
				linked = append(linked, name)
				event.From = name
				p.step(event)
			}
		}
		linked = slices.DeleteFunc(linked,
			func(name string) bool { return !slices.Contains(p.links, name) })
	}
	relink(node.Event{Type: node.LinkUp})
	if guarded {
		p.request(highest, lease.Renew, 1)
	} else {
		p.receive(highest, electionMessage(election.Coordinator, highest))
	}
	relink(node.Event{Type: node.LinkUp})
	if gone != "silent" {
		for i := n; i > 1; i-- {
			if name := fmt.Sprintf("P%d", i); slices.Contains(linked, name) {
				down.From = name
				p.step(down)
			}
		}
	}
	for end := p.now + 10*time.Second; p.now < end; {
		p.now = max(p.next, p.now+ms)
		p.step(node.Event{Type: node.Tick})
		relink(down)
	}
	for _, e := range p.node.View().Table {
		known := e.Name == highest || gone != "silent" && slices.Contains(p.links, e.Name)
		if e.Name != "P1" && known && e.Status != want {
			t.Errorf("%s is %s; links to %v, table %v", e.Name, e.Status, p.links, p.node.View().Table)
		}
	}
}

// The leaseholder shows who does not answer its renewals, which nobody else asks anything, and shows
// it as any other again once it answers. If it stood still itself, answers may lie unread.
func TestTheLeaseholderShowsWhoStandsStill(t *testing.T) {
	p := join(t, 3, 3)
	for _, k := range []lease.Kind{lease.PreVote, lease.Vote} {
		p.answer(t, k)
	}
	shows := func() election.Status {
		for _, e := range p.node.View().Table {
			if e.Name == "P1" {
				return e.Status
			}
		}
		return ""
	}
	pass := func(d time.Duration, done func() bool) (took time.Duration) {
		for begun := p.now; p.now < begun+d; {
			p.now += 50 * ms
			p.step(t, node.Event{Type: node.Tick})
			p.answer(t, lease.Renew)
			if done() {
				return p.now - begun
			}
		}
		return 0
	}
	never := func() bool { return shows() != election.Normal }
	if took := pass(3*time.Second, never); took > 0 {
		t.Fatalf("all answer, and P1 is %s after %v", shows(), took)
	}
	p.mute("P1")
	if took := pass(time.Second, func() bool { return shows() == node.NotAnswering }); took == 0 {
		t.Fatalf("P1 has not answered for a second, and is %s", shows())
	}
	delete(p.muted, "P1")
	if took := pass(time.Second, func() bool { return shows() == election.Normal }); took == 0 {
		t.Fatalf("P1 answers again, and is %s", shows())
	}
	p.mute("P1")
	if took := pass(200*ms, never); took > 0 {
		t.Fatalf("P1 is %s after %v", shows(), took)
	}
	p.now += 600 * ms
	if took := pass(200*ms, never); took > 0 {
		t.Errorf("it stood still itself, and P1 is %s", shows())
	}
}

// A process that is no candidate does not answer an ELECTION, as if it had failed. It answers the
// leaseholder's renewals, so the leaseholder shows it as it is.
func TestWhoAnswersRenewalsIsNormal(t *testing.T) {
	p := join(t, 3, 1)
	for begun := p.now; p.now < begun+10*time.Second; {
		p.now += 50 * ms
		p.step(t, node.Event{Type: node.Tick})
		p.answer(t, lease.PreVote, lease.Vote, lease.Renew)
	}
	v := p.node.View()
	if v.Coordinator != "P1" {
		t.Fatalf("%q coordinates", v.Coordinator)
	}
	for _, e := range v.Table {
		if e.Name != "P1" && e.Status != election.Normal {
			t.Errorf("%s is %s", e.Name, e.Status)
		}
	}
}

// Of five, three stand still: those that answer nobody are all shown so, by a leaseholder that loses
// its lease over that, without a break, and by a process that finds no majority.
func TestWhoFindsNoMajorityShowsWhoStandsStill(t *testing.T) {
	for name, k := range map[string]int{"the leaseholder": 5, "a follower": 1} {
		t.Run(name, func(t *testing.T) {
			p := join(t, 5, k)
			silent := []string{"P2", "P3", "P4"}
			for _, kind := range []lease.Kind{lease.PreVote, lease.Vote} {
				p.answer(t, kind)
			}
			if k == 1 {
				silent = []string{"P3", "P4", "P5"}
				p.receive(t, "P5", node.Message{Type: node.LeaseRequest, Request: lease.Request{
					Kind: lease.Renew, Group: "g", Epoch: lease.NewEpoch(1, 1), Lease: leaseTime,
				}})
			}
			for _, q := range silent {
				p.mute(q)
			}
			p.loses = true
			shown := func() (all []string) {
				for _, e := range p.node.View().Table {
					// P1 answers the lease protocol only, here, and P5 asks it in an election, too.
					if e.Status == node.NotAnswering && e.Name != "P1" {
						all = append(all, e.Name)
					}
				}
				slices.Sort(all)
				return all
			}
			took := time.Duration(0)
			for begun := p.now; p.now < begun+10*time.Second; {
				p.now += 50 * ms
				p.step(t, node.Event{Type: node.Tick})
				p.answer(t, lease.Renew, lease.PreVote)
				switch complete := slices.Equal(shown(), silent); {
				case took == 0 && complete:
					took = p.now - begun
				case took > 0 && !complete:
					t.Fatalf("after %v it shows %v, then %v after %v", took, silent, shown(), p.now-begun)
				}
			}
			if took == 0 || took > 2*time.Second {
				t.Errorf("it shows %v, all of %v after %v", shown(), silent, took)
			}
		})
	}
}
