package group

import (
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/roster"
)

// setBack loses what the manager knows, and puts a roster into the status of which p-0 alone is a
// voter. The agents go on with the one that they are told last.
func (s *scene) setBack() *roster.Roster {
	held := decideRoster(s.observation).roster
	older := s.observation.published.Roster.DeepCopy()
	older.Generation -= 5
	for i := range older.Members {
		older.Members[i].Voter = new(i == 0)
	}
	s.observation.published.Roster = older
	s.state = state{begun: s.now, statusAt: s.now, showing: true}
	s.inherited = true
	return held
}

// MC10: the agents are asked for their roster, and if that is not adopted within seconds, the
// status says what is wrong and what to do. Nobody is told a roster meanwhile.
func TestStatusSetBack(t *testing.T) {
	s := voting(3)
	held := s.setBack()
	s.loses(1, 0).loses(2, 0)
	d := decide(s.observation)
	if d.roster.setBack == nil || d.roster.roster != nil || d.roster.record != nil || d.status != nil ||
		d.again != setBackWithin {
		t.Fatalf("at once: %+v, status %+v, again in %v", d.roster, d.status, d.again)
	}
	s.state = s.next(d)
	s.later(setBackWithin)
	stalled := func() string {
		d := decide(s.observation)
		for _, c := range d.status.status.Conditions {
			if c.Type == v1.ConditionStalled {
				return c.Reason + ": " + c.Message
			}
		}
		return ""
	}
	const wrong = "StatusSetBack: the status holds the roster of generation 863995, and p-0, p-1, p-2 " +
		"use one of generation 864000: a backup was restored, or the status was wiped. Elections " +
		"continue; changes of members are suspended. "
	if got, want := stalled(), wrong+"No agent has shown a roster that a manager signed. Bring the "+
		"voters back, or run kubectl election adopt g -n shop --status if nothing runs that uses a "+
		"newer one"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	s.held = held
	if got, want := stalled(), wrong+"The newest that an agent has shown is of generation 864000, and "+
		"is adopted when a majority of its voters report and none reports a newer one. If the others "+
		"have certainly ended, run kubectl election adopt g -n shop"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if b := decide(s.observation).status.status.SetBack; b == nil || b.Newest != 864000 || b.Held != 864000 {
		t.Errorf("the status says %+v", b)
	}
	s.sees("", 1)
	s.edit(1, func(r *roster.Report) { r.Generation = 864000 })
	if d := decide(s.observation); d.roster.setBack != nil || d.roster.record == nil ||
		len(votersIn(d.roster.record)) != 3 {
		t.Errorf("a majority of its voters report: %+v", d.roster)
	}
}

// MC10: while the status is set back, agents are asked for the roster that they use.
func TestAgentsAreAskedForTheirRoster(t *testing.T) {
	s := voting(3)
	s.setBack()
	r, w := writing(t, s)
	s.applies(t, r)
	if !slices.Contains(w.all, "recall g") {
		t.Errorf("the writes were %q", w.all)
	}
}

// MC10: a roster that agents hold of a group object that was deleted is none of this one's.
func TestARosterOfAnotherGroupObjectIsNotHeld(t *testing.T) {
	s := newScene(1)
	r := reading(t, s)
	s.group.UID = "new"
	for uid, held := range map[string]bool{"": false, "old": false, "new": true} {
		r.Rosters = &writes{held: roster.Roster{GroupUID: uid}}
		if o, err := r.observe(t.Context(), keyIn("g")); err != nil || (o.held != nil) != held {
			t.Errorf("of %q: held %t, %v", uid, o.held != nil, err)
		}
	}
}

// A request to adopt a roster that cannot be read asks for nothing, and is told once.
func TestARequestToAdoptThatCannotBeReadIsToldOnce(t *testing.T) {
	group := annotated("")
	for name, value := range map[string]string{
		"no JSON":  "yes",
		"too long": `{"generation":7,"newest":8}` + strings.Repeat(" ", maxAdopt),
	} {
		group.Annotations = map[string]string{v1.AdoptAnnotation: value}
		request, ignored := adoptRequest(group)
		if request.Generation != 0 || len(ignored) > longestNote ||
			!strings.Contains(ignored, "kubectl annotate eg scheduler -n shop podesta.dev/adopt-") {
			t.Errorf("%s: generation %d is asked for: %q", name, request.Generation, ignored)
		}
	}
	group.Annotations = map[string]string{v1.AdoptAnnotation: `{"generation":7,"newest":8}`}
	if request, ignored := adoptRequest(group); request.Generation != 7 || request.Newest != 8 || ignored != "" {
		t.Errorf("%+v is asked for: %q", request, ignored)
	}
	s := voting(3)
	s.group.Annotations = map[string]string{v1.AdoptAnnotation: "yes"}
	toldOnce(t, s, reasonAdoptIgnored, "is ignored")
}

// The roster that agents use differs from the one in the status until one is adopted. That is no
// reason to write the same status again.
func TestAStatusThatWasSetBackIsWrittenOnce(t *testing.T) {
	s := voting(3)
	s.setBack()
	r, w := writing(t, s)
	s.later(time.Minute)
	for range 3 {
		s.applies(t, r)
		s.later(setBackWithin)
	}
	written := 0
	for _, what := range w.all {
		if strings.HasPrefix(what, string(statusOwner)) {
			written++
		}
	}
	if written != 1 {
		t.Errorf("it was written %d times: %q", written, w.all)
	}
}
