package group

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/tools/events"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// reasonsOf are the reasons of the events that were recorded since it was last asked.
func reasonsOf(r *Reconciler) (reasons []string) {
	for all := r.Recorder.(*events.FakeRecorder).Events; len(all) > 0; {
		reasons = append(reasons, strings.Fields(<-all)[1])
	}
	return reasons
}

// asStored is a status as the API server gives it back.
func asStored(t *testing.T, status v1.ElectionGroupStatus) (stored v1.ElectionGroupStatus) {
	t.Helper()
	text, err := json.Marshal(status)
	if err == nil {
		err = json.Unmarshal(text, &stored)
	}
	if err != nil {
		t.Fatal(err)
	}
	return stored
}

// fails has a pass make no write to the status whose answer comes, and returns what it was to write.
func (s *scene) fails(t *testing.T, r *Reconciler, w *writes) decision {
	t.Helper()
	w.refuse = func(what string) error {
		if strings.HasPrefix(what, "podesta-") {
			return errors.New("the connection is lost")
		}
		return nil
	}
	d := decide(s.observation)
	next, _, err := r.apply(t.Context(), s.observation, d)
	if err == nil {
		t.Fatal("the write has not failed")
	}
	s.state, w.refuse = next, nil
	return d
}

// What is told of a write to the status is told once, whether its answer comes or not, and whether
// or not it was stored then.
func TestAnAnswerThatIsLost(t *testing.T) {
	for _, stored := range []bool{true, false} {
		s := newScene(3).sees("", 0, 1, 2)
		s.statusAt = s.now
		r, w := writing(t, s)
		registry := prometheus.NewRegistry()
		var err error
		if r.Metrics, err = NewMetrics(registry, r, r.Sightings); err != nil {
			t.Fatal(err)
		}
		tells := func(what string, want ...string) {
			t.Helper()
			if got := reasonsOf(r); !slices.Equal(got, want) {
				t.Errorf("stored: %t; %s: %q is told, want %q", stored, what, got, want)
			}
		}
		s.now = s.now.Add(400 * time.Millisecond) // the API server stores whole seconds
		roster := s.fails(t, r, w).roster.record
		tells("a roster, and no answer")
		if stored {
			s.group.ResourceVersion = "8"
			s.group.Status.Roster = asStored(t, v1.ElectionGroupStatus{Roster: roster}).Roster
			s.observation.published = s.newest(s.group)
		}
		s.applies(t, r)
		tells("it is seen, or written again", "RosterChanged")
		s.later(time.Minute)
		s.sees("p-2", 0, 1, 2)
		status := s.fails(t, r, w).status.status
		tells("a status, and no answer")
		if stored {
			s.group.ResourceVersion = "99"
			s.group.Status = asStored(t, status)
			s.observation.published = s.newest(s.group)
		}
		for _, what := range []string{"it is seen, or written again", "once more"} {
			s.applies(t, r)
			if what != "once more" {
				tells(what, "CoordinatorElected")
			}
			if n := exposed(t, registry)["podesta_elections_total g shop"]; n != 1 {
				t.Errorf("stored: %t; %s: %v elections are counted", stored, what, n)
			}
		}
		tells("once more")
	}
}
