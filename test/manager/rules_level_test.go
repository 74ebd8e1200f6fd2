package manager

import (
	"testing"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/controllers"
	"github.com/podesta-dev/podesta/internal/roster"
)

// ofRules starts a manager of a release with this newest rules level.
func ofRules(t *testing.T, address string, newest int32) *manager {
	t.Helper()
	return startManager(t, address, func(o *controllers.Options) { o.Rules = newest })
}

// supports has agents report that they support a newest rules level.
func supports(newest int32, processes ...*process) {
	for _, p := range processes {
		p.Change(func() { p.Report.Rules = newest })
	}
}

// inForce: the roster that is persisted has this rules level.
func inForce(level int32) func(*v1.ElectionGroup) bool {
	return func(g *v1.ElectionGroup) bool { return g.Status.Roster != nil && g.Status.Roster.Rules == level }
}

// told: the agents are told a roster of this rules level.
func told(level int32) func(roster.Update) bool {
	return func(u roster.Update) bool { return u.Roster != nil && u.Roster.Rules == level }
}

// MC11: the level is raised when the last of manager and agents supports the next one, whichever
// comes first, and lowered when an older agent comes under the newer manager.
func TestRulesLevelFollowsUpgrades(t *testing.T) {
	t.Run("manager first", func(t *testing.T) {
		m := ofRules(t, "", 2)
		namespace, p := voting(t, m, 3)
		sees(t, namespace, "level 1", inForce(1))
		supports(2, p[0], p[1])
		chatter(t, p...)
		sees(t, namespace, "level 1 with one older agent", inForce(1))
		supports(2, p[2])
		sees(t, namespace, "level 2", inForce(2))
		for _, q := range p {
			q.Hears(t, "a roster of level 2", told(2))
		}
		supports(1, p[0])
		sees(t, namespace, "level 1 again", inForce(1))
		p[0].Hears(t, "a roster of level 1", told(1))
	})
	t.Run("agents first, and back", func(t *testing.T) {
		old := ofRules(t, "", 1)
		namespace, p := voting(t, old, 3)
		supports(2, p...)
		chatter(t, p...)
		sees(t, namespace, "level 1 under the older manager", inForce(1))
		old.Stop()
		m := ofRules(t, old.Address, 2)
		sees(t, namespace, "level 2 under the newer manager", inForce(2))
		for _, q := range p {
			q.Hears(t, "a roster of level 2", told(2))
		}
		m.Stop()
		ofRules(t, old.Address, 1)
		seen := sees(t, namespace, "the older manager stall", stalledBy("ManagerOutdated"))
		if last := seen[len(seen)-1].Status.Roster; last.Rules != 2 {
			t.Errorf("it leaves %+v", last)
		}
	})
}
