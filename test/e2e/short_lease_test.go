package e2e

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// A coordinator that asks for a short lease is replaced sooner after a kill than one whose lease
// never changes, in the same run on the same machine, and never before what its app was told has
// run out.
func TestGuardedShortLease(t *testing.T) {
	g := newGroup(t, "guarded-short")
	g.guarded()
	g.edit(always)
	g.agree("scheduler-4")
	g.shows("scheduler-4")
	took := map[int32][]time.Duration{}
	// The short one first: a leaseholder that had asked for a longer lease before would get there
	// slowly (LH10).
	for _, shortest := range []int32{100, 1000} {
		g.edit(func(s *v1.ElectionGroupSpec) { s.Timing.LeaseMinimumMilliseconds = shortest })
		g.await("every process to use the edited roster", reconciled)
		epoch := g.holdsByRoster("scheduler-4")
		for range 3 {
			pass(t, time.Now().Add(2*time.Second)) // the promises of its votes are for the longest lease
			if shortest < 1000 {
				g.asksForAShortLease("scheduler-4")
			}
			resume := stands(t, supervisor)
			may := g.permission("scheduler-4")
			killed := g.kill("scheduler-4")
			next := g.holds("", epoch).Status.Coordinator
			after := g.took(killed, next.Since.Time)
			if left := may.left(killed); may.MayAct && after < left {
				t.Errorf("%s holds %v after the kill; scheduler-4 was told %+v, which ended %v after it", next.Name, after, may, left)
			}
			took[shortest] = append(took[shortest], after)
			resume()
			epoch = g.holds("scheduler-4", next.Epoch).Status.Coordinator.Epoch
			g.agree("scheduler-4")
		}
		t.Logf("with leases of %d to 1000 ms, another one holds in the status after %v", shortest, took[shortest])
	}
	slices.Sort(took[100])
	slices.Sort(took[1000])
	if short, long := took[100][0], took[1000][1]; short > long/2 {
		t.Errorf("with a short lease it takes %v at best, else %v in the median", short, long)
	}
}

// asksForAShortLease waits until the leaseholder's lease is short. On a machine that is busy it is
// long, as it should be.
func (g *group) asksForAShortLease(pod string) {
	g.t.Helper()
	const short, name = 200 * time.Millisecond, "\npodesta_agent_lease_seconds "
	var asked string
	for begun := time.Now(); time.Since(begun) < patience; pass(g.t, time.Now().Add(250*time.Millisecond)) {
		_, text, _ := strings.Cut(g.metrics(pod), name)
		asked, _, _ = strings.Cut(text, "\n")
		seconds, err := strconv.ParseFloat(asked, 64)
		g.must(err)
		if 0 < seconds && seconds <= short.Seconds() {
			return
		}
	}
	g.t.Fatalf("%s asks for a lease of %s s for %v: no machine in use is as busy as that", pod, asked, patience)
}
