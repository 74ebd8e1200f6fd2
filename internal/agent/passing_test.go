package agent_test

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/roster"
	"github.com/podesta-dev/podesta/test/bubble"
)

// A roster reaches one of two voters that live, and then no manager reaches anybody. The other one
// gets it from its peer, keeps it with its signature, and the group has a coordinator again. What a
// process passes on that the manager did not sign is not used.
func TestRosterIsPassedOn(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		manager, process := keyrings(t)
		var opened atomic.Int64
		g := startGroup(t, roster.Roster{
			Algorithm:  "Bully",
			Safety:     roster.Guarded,
			Lease:      time.Second,
			Preemption: roster.Always,
			GroupUID:   "uid-of-the-group",
		}, 3, func(g *group) {
			g.open = func(signed []byte) (roster.Roster, error) {
				opened.Add(1)
				return roster.Open(process, signed)
			}
		})
		g.agree("p3")
		g.kill("p1")

		next := g.roster
		next.Processes = slices.Clone(next.Processes)
		next.Generation++
		next.Processes[1].Priority = 9
		forged := next
		forged.Signed = []byte("a roster of mine")
		g.agents["p2"].updates <- roster.Update{Roster: &forged}
		time.Sleep(5 * time.Second)
		if v := g.agents["p3"].view(); v.Generation != 1 {
			t.Fatalf("p3 uses generation %d, which no manager has signed", v.Generation)
		}
		if n := opened.Load(); n == 0 || n > int64(5*time.Second/heartbeat)+1 {
			t.Errorf("%d signatures were checked in 5 s, want one a heartbeat at most", n)
		}

		signed := next
		var err error
		if signed.Signed, err = roster.Sign(manager, next); err != nil {
			t.Fatal(err)
		}
		g.agents["p2"].updates <- roster.Update{Roster: &signed}
		time.Sleep(10 * time.Second)
		p3 := g.agents["p3"]
		if v := p3.view(); v.Generation != 2 || v.Coordinator != "p2" {
			t.Errorf("p3 uses generation %d and follows %q", v.Generation, v.Coordinator)
		}
		p3.mu.Lock()
		defer p3.mu.Unlock()
		if kept := p3.kept[len(p3.kept)-1]; kept == nil || string(kept.Signed) != string(signed.Signed) {
			t.Error("p3 does not keep the roster as the manager signed it")
		}
	})
}

// keyrings are those of a manager and of a process that trusts it.
func keyrings(t *testing.T) (manager, process *identity.Keyring) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	authority, err := identity.NewAuthority(time.Now())
	must(err)
	bundle, _, err := authority.PEM()
	must(err)
	manager, process = identity.NewKeyring(time.Now), identity.NewKeyring(time.Now)
	cert, key, err := authority.IssueManager(time.Now())
	must(err)
	must(manager.SetCertificate(cert, key))
	must(process.SetTrust(bundle))
	return manager, process
}
