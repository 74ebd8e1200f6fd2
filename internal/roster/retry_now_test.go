package roster

import (
	"testing"
	"time"

	"github.com/podesta-dev/podesta/test/bubble"
)

// After a restart of the manager agents come back within 15 seconds; one that learns from a peer
// that the manager is there does not wait that long.
func TestHurryCutsAPauseShort(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := NewClient(ClientConfig{})
		c.Hurry() // before the pause: it says nothing about this one
		begun := time.Now()
		time.AfterFunc(10*time.Second, c.Hurry)
		if !c.pause(t.Context(), time.Minute) {
			t.Fatal("the pause ended with its context")
		}
		if took := time.Since(begun); took < 10*time.Second || took > 10*time.Second+hurried {
			t.Errorf("hurried after 10 s, the pause took %v", took)
		}
	})
}

// An agent that follows anew is told again which roster counts.
func TestFollowsAnew(t *testing.T) {
	m := newManager(t)
	m.Publish(sample(1))
	g := newAgent(t, m, "a").run(t)
	for range 3 {
		if u := g.next(t); u.Roster == nil || u.Roster.Generation != 1 {
			t.Fatalf("the manager says %+v", u)
		}
		g.FollowAnew()
	}
}
