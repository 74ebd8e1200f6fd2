package agent_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/podesta-dev/podesta/internal/roster"
	"github.com/podesta-dev/podesta/test/bubble"
)

// asked is how often the process has asked the voters whether they hear the leaseholder.
func (n *noted) asked() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.preVotes
}

// A process that stood still reads what has arrived before a timer runs out: it does not take its
// own silence for that of others. (The failure detector makes up for that itself; the lease's
// follower, which counts from the last RENEW, does not.)
func TestAProcessThatStoodStill(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		g, notes := startNoted(t, "Bully", 3, "p1")
		time.Sleep(2 * time.Second)
		p1 := g.agents["p1"]
		before, asked := p1.view().Last, notes.asked()
		for i := range 30 {
			p1.mu.Lock()
			p1.stands = time.Second
			p1.mu.Unlock()
			same := g.roster
			same.AppHealth = askedAt(int32(i + 1))
			p1.updates <- roster.Update{Roster: &same}
			time.Sleep(time.Second + time.Duration(i)*7*time.Millisecond)
			synctest.Wait()
			if v := p1.view(); v.Coordinator != "p3" || v.Last != before {
				t.Fatalf("after pause %d it follows %q: %+v", i+1, v.Coordinator, v.Last)
			}
			if notes.asked() != asked {
				t.Fatalf("after pause %d it asks the voters whether they hear p3", i+1)
			}
		}
	})
}
