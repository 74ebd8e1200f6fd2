package agent_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/podesta-dev/podesta/internal/roster"
	"github.com/podesta-dev/podesta/test/bubble"
)

// newest is the newest report of a process.
func (p *process) newest() roster.Report {
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reports[len(p.reports)-1]
}

// The epoch that a leaseholder reports of its election stays when the epoch of its lease changes in
// place, and becomes another one when it obtains a lease again: so the manager can tell the two
// apart. Of another process's lease nobody says that much.
func TestReportTellsALeaseThatGoesOnFromANewOne(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		g := startGroup(t, guarded("Bully", roster.Delayed), 3)
		g.edit(func(r *roster.Roster) { r.Processes[0].Priority, r.Processes[1].Priority = 0, 0 })
		g.acts("p3")
		g.agree("p3")
		p3 := g.agents["p3"]
		epochs := func() (elected, now int64) {
			r := p3.newest()
			if r.LastElection == nil {
				t.Fatalf("p3 acts, and reports no election: %+v", r)
			}
			return r.LastElection.Epoch, r.Epoch
		}
		first, before := epochs()
		if first == 0 || first > before {
			t.Fatalf("p3 was elected under epoch %d and acts under %d", first, before)
		}
		if r := g.agents["p1"].newest(); r.LastElection == nil || r.LastElection.Epoch != 0 {
			t.Errorf("p1 reports of p3's election: %+v", r.LastElection)
		}

		g.edit(func(r *roster.Roster) { r.Timeout++ })
		<-time.After(2 * leaseTime)
		elected, now := epochs()
		if elected != first || now <= before {
			t.Errorf("after a new generation p3 acts under %d and was elected under %d; want more than "+
				"%d, and %d", now, elected, before, first)
		}

		g.cut("p3", true)
		<-time.After(2 * leaseTime)
		if may := g.may(); len(may) > 0 {
			t.Fatalf("cut off for two leases, %v may act", may)
		}
		before = now
		g.cut("p3", false)
		g.acts("p3")
		if elected, now = epochs(); elected <= first || elected > now || now <= before {
			t.Errorf("after a lapse p3 acts under %d and was elected under %d", now, elected)
		}
	})
}
