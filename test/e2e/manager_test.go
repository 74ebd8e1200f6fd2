package e2e

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/test/stage"
)

var (
	failoverGroups = flag.Int("failover-groups", 6, "how many groups of three TestManagerFailover has")
	failoverKilled = flag.Int("failover-killed", 4, "in how many of them the coordinator is killed with the manager")
)

// managerLease is how long the manager's Lease lasts in TestManagerFailover: longer than anything
// there takes. So what is shown while it lasts is not shown because it has expired.
const managerLease = patience

// steadyConnection is how old an agent's connection to a manager is before the agent expects
// another manager soon after it (steady in internal/roster); and a manager that stands by has found
// the one that leads long before.
const steadyConnection = 10 * time.Second

// The leading manager is killed, and at the same moment the coordinators of some groups, Guarded
// and Classic. Another manager stands by. It does not wait for the Lease, and the agents do not
// wait for long: the status is right soon.
func TestManagerFailover(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	cluster, err := stage.Up(t.Context(), root, state, os.Stderr, "--manager-arg=--leader-elect=true",
		fmt.Sprintf("--manager-arg=--leader-elect-lease-duration=%v", managerLease),
		fmt.Sprintf("--manager-arg=--leader-elect-renew-deadline=%v", managerLease*3/4))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
	groups := make([]*group, *failoverGroups)
	for i := range groups {
		groups[i] = newGroupOn(t, state, fmt.Sprintf("failover-%d", i))
		groups[i].found([]v1.Safety{v1.Guarded, v1.Classic}[i%2], 3)
	}
	for _, g := range groups {
		g.voting(3)
		g.shows("scheduler-2")
	}
	before := holderOn(t, groups[0])
	standBy(t, cluster, state)
	pass(t, time.Now().Add(steadyConnection))

	stands(t, cluster.PID) // nothing that is killed is started again
	killed := time.Now()
	killProgramOf(t, state, "manager")
	struck, others := groups[:*failoverKilled], groups[*failoverKilled:]
	for _, g := range struck {
		g.kill("scheduler-2")
	}
	var took []time.Duration
	for _, g := range struck {
		took = append(took, g.took(killed, g.shows("scheduler-1", "scheduler-2").Status.Coordinator.Since.Time))
	}
	slices.Sort(took)
	t.Logf("%d of %d groups: the status shows the next coordinator %v after manager and coordinators were killed, in the median; %v at most",
		len(struck), len(groups), took[len(took)/2].Round(time.Millisecond), took[len(took)-1].Round(time.Millisecond))
	if all := time.Since(killed); all >= managerLease {
		t.Errorf("the last status came after %v: not before the Lease had expired", all)
	}
	after := holderOn(t, groups[0])
	if *after.HolderIdentity == *before.HolderIdentity || *after.LeaseTransitions != *before.LeaseTransitions+1 {
		t.Errorf("the Lease is %+v after %+v: one manager was to follow another", after, before)
	}
	for _, g := range others { // the manager hears the agents whose groups had nothing to tell, too
		g.kill("scheduler-2")
		g.shows("scheduler-1", "scheduler-2")
	}
}

// standBy starts a second manager.
func standBy(t *testing.T, cluster *stage.Cluster, state string) {
	t.Helper()
	file := filepath.Join(state, "standby.log")
	log, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close() // the process has its own
	manager := cluster.AnotherManager()
	manager.Stderr = log
	if err := manager.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = manager.Process.Signal(syscall.SIGKILL)
		_ = manager.Wait() // it was killed
		if text, err := os.ReadFile(file); t.Failed() && err == nil {
			t.Logf("%s:\n%s", file, text[max(0, len(text)-4000):])
		}
	})
}

// holderOn is the Lease of the managers of a group's cluster.
func holderOn(t *testing.T, g *group) coordinationv1.LeaseSpec {
	t.Helper()
	lease := &coordinationv1.Lease{}
	g.must(g.Get(t.Context(), client.ObjectKey{Namespace: "podesta-system", Name: "podesta-manager"}, lease))
	if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" || lease.Spec.LeaseTransitions == nil {
		t.Fatalf("nobody holds the Lease: %+v", lease.Spec)
	}
	return lease.Spec
}
