package group

import (
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/roster"
)

// Agents that a manager with an old cache has taken to another group object of the name report
// about that one: here they acknowledge nothing and follow nobody.
func TestReportsOfAnotherGroupObject(t *testing.T) {
	s := voting(3).holding("p-2", 7, 0, 1, 2)
	s.group.UID = "this"
	for i := range s.pods {
		s.edit(i, func(r *roster.Report) {
			r.GroupUID = "that"
			*r = about(s.group.UID, *r)
		})
	}
	for _, r := range factsOf(s.observation).Reports {
		if !r.OtherGroup || r.Coordinator != "" || r.StateID != "m" || r.Generation == 0 {
			t.Errorf("the rules of voters hear %+v", r)
		}
	}
	if v := decideStatus(s.observation, rosterDecision{}); v.status.Coordinator != nil {
		t.Errorf("the coordinator shown is %+v", v.status.Coordinator)
	}
	for i := range s.pods {
		s.edit(i, func(r *roster.Report) { r.GroupUID = "this" })
	}
	s.holding("p-2", 7, 0, 1, 2)
	for uid, seen := range s.sightings {
		seen.Report = about(s.group.UID, seen.Report)
		s.sightings[uid] = seen
	}
	if got := coordinatorName(decideStatus(s.observation, rosterDecision{}).status); got != "p-2" {
		t.Errorf("back in this one, the coordinator shown is %q", got)
	}
}

// T8: a group that is made again under its name within a second of its deletion has a generation of
// its own, also when no agent can tell which one it used.
func TestGenerationAfterADeletedGroups(t *testing.T) {
	s := voting(3)
	var all states
	was := s.membership.Roster().Generation + 10 // more than one a second: it is ahead of the clock
	newest := *s.membership.Roster()
	newest.Generation = was
	all.put(keyIn("g"), state{membership: s.membership.Persisted(&newest)})
	all.drop(keyIn("g"), noon)
	if got := all.generationBefore(keyIn("g")); got != was {
		t.Fatalf("after generation %d: %d is remembered", was, got)
	}
	again := newGuarded(3)
	again.after = all.generationBefore(keyIn("g"))
	again.now = noon
	if d := again.pass(); d.record == nil || d.record.Generation <= was {
		t.Errorf("after generation %d: %+v", was, d.record)
	}
	all.put(keyIn("i"), state{after: was}) // deleted again before it had a roster
	if all.drop(keyIn("i"), noon); all.generationBefore(keyIn("i")) != was {
		t.Errorf("after generation %d: %d is remembered", was, all.generationBefore(keyIn("i")))
	}
	all.drop(keyIn("h"), noon.Add(time.Hour))
	if got := all.generationBefore(keyIn("g")); got != 0 {
		t.Errorf("the clock has passed it, and %d is remembered", got)
	}
}
