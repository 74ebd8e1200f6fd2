package group

import (
	"strings"
	"testing"
	"time"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/roster"
)

// supporting has the agents of all pods support a newest rules level.
func (s *scene) supporting(newest int32) *scene {
	for i := range s.pods {
		s.edit(i, func(r *roster.Report) { r.Rules = newest })
	}
	return s
}

// conditionOf is a condition of the status that is decided now, as "Reason: message".
func (s *scene) conditionOf(kind string) string {
	for _, c := range decideStatus(s.observation, decideRoster(s.observation)).status.Conditions {
		if c.Type == kind {
			return c.Reason + ": " + c.Message
		}
	}
	return ""
}

// MC11: the level in force is persisted, told to the agents, and read back.
func TestRulesLevelIsPersisted(t *testing.T) {
	s := voting(3).supporting(2)
	s.rules = 2
	if was := s.observation.published.Roster; was.Rules != 1 {
		t.Fatalf("it begins with %+v", was)
	}
	d := s.pass()
	if d.record == nil || d.record.Rules != 2 || d.roster == nil || d.roster.Rules != 2 {
		t.Fatalf("all support level 2: %+v, told %+v", d.record, d.roster)
	}
	if read := rosterFrom(d.record); read.Rules != 2 {
		t.Errorf("it reads %+v", read)
	}
}

// MC11: a manager that does not support the level in force makes no roster, tells nobody one, and
// says what to do.
func TestManagerOfAnotherRulesLevelStalls(t *testing.T) {
	for newest, want := range map[int32]string{
		1: "ManagerOutdated: the roster is of rules level 2, and this manager supports at most 1. Upgrade " +
			"the manager again. To go back, first bring back the older agents, and then the older manager " +
			"(docs/guides/upgrade.md). Until then no roster is made, so no voter comes or goes; elections go on",
		4: "ManagerTooNew: the roster is of rules level 2, and this manager supports none below 3. Install " +
			"the release between the two first (docs/guides/upgrade.md). Until then no roster is made, so no " +
			"voter comes or goes; elections go on",
	} {
		s := voting(3).supporting(2)
		s.rules = 2
		s.pass()
		s.acknowledge()
		s.state, s.rules = state{begun: s.now}, newest
		s.terminated(2)
		s.later(time.Hour)
		if d := decideRoster(s.observation); d.record != nil || d.roster != nil {
			t.Errorf("manager %d: %+v", newest, d)
		}
		if got := s.conditionOf(v1.ConditionStalled); got != want {
			t.Errorf("manager %d:\ngot  %s\nwant %s", newest, got, want)
		}
	}
}

// MC11: an agent that does not support the level in force is named, with what to do. One that has
// said nothing yet is not.
func TestAgentsOfAnotherRulesLevelAreNamed(t *testing.T) {
	s := voting(3).supporting(2)
	s.rules = 2
	s.pass()
	s.acknowledge()
	s.edit(1, func(r *roster.Report) { r.Rules = 1 })
	s.edit(2, func(r *roster.Report) { *r = roster.Report{} })
	const want = "the agents of p-1 do not support rules level 2, which is in force: it does not vote " +
		"until the level is another one. Bring all pods and the manager to the same release, one release " +
		"at a time (docs/guides/upgrade.md)"
	if got := s.conditionOf(v1.ConditionDegraded); !strings.Contains(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	s.supporting(2)
	if got := s.conditionOf(v1.ConditionDegraded); strings.Contains(got, "rules level") {
		t.Errorf("all support it: %s", got)
	}
}

// MC11: a roster that agents show has its level, too: a manager that does not support it adopts
// nothing.
func TestRulesLevelOfAShownRoster(t *testing.T) {
	s := voting(3).supporting(2)
	s.rules = 2
	s.pass()
	s.acknowledge()
	s.held = s.setBack()
	s.rules = 1
	if d := decideRoster(s.observation); d.record != nil || d.roster != nil || d.unsupported != 2 {
		t.Errorf("a manager of level 1: %+v", d)
	}
	s.rules = 2
	if d := decideRoster(s.observation); d.record == nil || d.record.Rules != 2 {
		t.Errorf("a manager of level 2: %+v", d.record)
	}
}
