package group

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/membership"
	"github.com/podesta-dev/podesta/internal/roster"
)

// led is a Guarded group of three voters, p-2 of which holds epoch 7.
func led() *scene { return voting(3).holding("p-2", 7, 0, 1, 2).shown() }

// asks has an operator who sees the group as it is ask that p-2 step down.
func (s *scene) asks(t *testing.T, change func(*v1.StepDownRequest)) {
	t.Helper()
	asked := v1.StepDownRequest{
		ID:         "a",
		Generation: s.observation.published.Roster.Generation,
		Process:    v1.StepDownProcess{Name: "p-2", UID: "uid-2"},
		Epoch:      epochOf(s.observation.published),
	}
	if change != nil {
		change(&asked)
	}
	value, err := json.Marshal(asked)
	if err != nil {
		t.Fatal(err)
	}
	s.group.Annotations = map[string]string{v1.StepDownAnnotation: string(value)}
}

// told are the priorities that agents are told, and the events of the pass.
func (s *scene) told() (priorities []int32, events string) {
	was := s.observation.published.Roster
	d := s.pass()
	for _, p := range d.roster.Processes {
		priorities = append(priorities, p.Priority)
	}
	if d.record != nil {
		events = tell(rosterEvents(was, d.record, guarded(s.group)))
	}
	return priorities, events
}

func TestStepDown(t *testing.T) {
	for name, test := range map[string]struct {
		scene *scene
		after func(*scene) // another process coordinates
	}{
		"Guarded": {led(), func(s *scene) { s.holding("p-1", 8, 0, 1, 2) }},
		"Classic": {newScene(3).sees("p-2", 0, 1, 2).published(),
			func(s *scene) { s.sees("p-1", 0, 1, 2) }},
	} {
		t.Run(name, func(t *testing.T) {
			s := test.scene
			s.asks(t, nil)
			for _, want := range []struct {
				priorities, events string
				then               func(*scene)
			}{
				{"[1 2 0]", "StepDownBegan p-2 has priority 0 until another process coordinates", test.after},
				{"[1 2 3]", "StepDownEnded p-2 may coordinate again: another process coordinates",
					func(*scene) {}},
				{"[1 2 3]", "", func(*scene) {}},
			} {
				priorities, events := s.told()
				if got := fmt.Sprint(priorities); got != want.priorities || events != want.events {
					t.Errorf("%s %q, want %s %q", got, events, want.priorities, want.events)
				}
				want.then(s)
			}
		})
	}
}

// Who coordinates is not worked out for a request that was answered.
func TestAStepDownThatIsOverCostsNothing(t *testing.T) {
	for name, test := range map[string]struct {
		record *membership.StepDown
		want   bool
	}{
		"new":     {nil, true},
		"another": {&membership.StepDown{ID: "b", Outcome: membership.TimeOver}, true},
		"stands":  {&membership.StepDown{ID: "a", Outcome: membership.Standing}, true},
		"over":    {&membership.StepDown{ID: "a", Outcome: membership.TimeOver}, false},
	} {
		f := &membership.Facts{Roster: &membership.Roster{StepDown: test.record}}
		if awaitsCoordinator(f) {
			t.Errorf("%s: without a request", name)
		}
		f.StepDown.ID = "a"
		if got := awaitsCoordinator(f); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// What the next manager reads is what this one wrote.
func TestStepDownIsReadBack(t *testing.T) {
	s := led()
	s.asks(t, func(r *v1.StepDownRequest) {
		r.To, r.Seconds = &v1.StepDownProcess{Name: "p-0", UID: "uid-0"}, 600
	})
	priorities, events := s.told()
	want := "StepDownBegan p-2 has priority 0 until " +
		s.now.Add(10*time.Minute).UTC().Format(time.RFC3339)
	if fmt.Sprint(priorities) != "[1000000 2 0]" || events != want {
		t.Errorf("%v %q, want %q", priorities, events, want)
	}
	s.state.membership = membership.State{}
	if d := s.pass(); d.record != nil {
		t.Errorf("the next manager writes %+v", d.record.StepDown)
	}
	s.group.Annotations = nil
	if priorities, events = s.told(); fmt.Sprint(priorities) != "[1 2 3]" || events !=
		"StepDownEnded p-2 may coordinate again: the request was taken back or replaced" {
		t.Errorf("taken back: %v %q", priorities, events)
	}
}

// While nobody reports, nobody is known to coordinate, whatever the status shows.
func TestStepDownWaitsForReports(t *testing.T) {
	s := led()
	s.asks(t, nil)
	clear(s.sightings)
	if d := s.pass(); d.record != nil {
		t.Errorf("%+v", d.record.StepDown)
	}
}

// What somebody may leave in the annotation for ever costs a pass next to nothing, and nothing of
// it gets into the status that a status cannot hold.
func TestAStepDownThatCannotBeReadIsToldOnce(t *testing.T) {
	edit := func(change func(*v1.StepDownRequest)) string {
		s := led()
		s.asks(t, change)
		return s.group.Annotations[v1.StepDownAnnotation]
	}
	long := func(n int) string { return strings.Repeat("p", n) }
	to := &v1.StepDownProcess{Name: "p-0"}
	for name, value := range map[string]string{
		"no JSON":              "yes",
		"too long":             edit(nil) + strings.Repeat(" ", longestStepDown),
		"no ID":                edit(func(r *v1.StepDownRequest) { r.ID = "" }),
		"a long ID":            edit(func(r *v1.StepDownRequest) { r.ID = long(65) }),
		"an ID that moves":     edit(func(r *v1.StepDownRequest) { r.ID = "a\x1b[2J" }),
		"no generation":        edit(func(r *v1.StepDownRequest) { r.Generation = 0 }),
		"no process":           edit(func(r *v1.StepDownRequest) { r.Process.Name = "" }),
		"a name that is none":  edit(func(r *v1.StepDownRequest) { r.Process.Name = "p 2" }),
		"a long name":          edit(func(r *v1.StepDownRequest) { r.Process.Name = long(254) }),
		"no UID":               edit(func(r *v1.StepDownRequest) { r.Process.UID = "" }),
		"a long UID":           edit(func(r *v1.StepDownRequest) { r.Process.UID = types.UID(long(65)) }),
		"a successor of sorts": edit(func(r *v1.StepDownRequest) { r.To = to }),
		"time that runs back":  edit(func(r *v1.StepDownRequest) { r.Seconds = -1 }),
		"more than a day":      edit(func(r *v1.StepDownRequest) { r.Seconds = 86401 }),
		"time without an end":  edit(func(r *v1.StepDownRequest) { r.Seconds = 1 << 62 }),
	} {
		t.Run(name, func(t *testing.T) {
			group := led().group
			group.Annotations = map[string]string{v1.StepDownAnnotation: value}
			request, ignored := stepDownRequest(group)
			if request != (membership.StepDownRequest{}) || len(ignored) > longestNote ||
				!strings.Contains(ignored, "kubectl annotate eg g -n shop podesta.dev/step-down-") {
				t.Errorf("%+v: %q", request, ignored)
			}
			if n := testing.AllocsPerRun(10, func() { stepDownRequest(group) }); n > 60 {
				t.Errorf("%v allocations", n)
			}
		})
	}
	s := voting(3)
	s.group.Annotations = map[string]string{v1.StepDownAnnotation: "yes"}
	toldOnce(t, s, reasonStepDownIgnored, "is ignored")
}

// A process that stands aside is shown as such, with its own priority.
func TestWhoStandsAsideIsShown(t *testing.T) {
	s := led()
	s.asks(t, nil)
	s.pass()
	s.holding("p-1", 8, 0, 1, 2).hinders(roster.NotCandidatePriorityZero, 2)
	rows := decideStatus(s.observation, rosterDecision{}).status.Processes
	if got := rows[2]; got.NotCandidate != v1.NotCandidateSteppedDown || *got.Priority != 3 {
		t.Errorf("%+v", got)
	}
	s.hinders(roster.NotCandidateUnhealthy, 0, 1).at(roster.LeaseElecting, 0, 1, 2)
	s.hinders(roster.NotCandidateUnhealthy, 0, 1).hinders(roster.NotCandidatePriorityZero, 2)
	all := decideStatus(s.observation, rosterDecision{})
	says := conditionNamed(all, v1.ConditionCoordinatorElected).Message
	if !strings.Contains(says, "p-2 (SteppedDown)") || !strings.Contains(says, v1.StepDownAnnotation) {
		t.Errorf("nobody is a candidate: %s", says)
	}
}

func conditionNamed(d statusDecision, kind string) (found metav1.Condition) {
	for _, c := range d.status.Conditions {
		if c.Type == kind {
			found = c
		}
	}
	return found
}

// Both packages say how high priorities are.
func TestHighestPriority(t *testing.T) {
	if membership.MaxPriority != roster.MaxPriority {
		t.Errorf("%d and %d", membership.MaxPriority, roster.MaxPriority)
	}
}
