package group

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
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

// stores has the API server show a status at a resource version, as it gives it back.
func (s *scene) stores(t *testing.T, status v1.ElectionGroupStatus, version string) {
	t.Helper()
	text, err := json.Marshal(status)
	s.group.Status = v1.ElectionGroupStatus{}
	if err == nil {
		err = json.Unmarshal(text, &s.group.Status)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.group.ResourceVersion = version
	s.observation.published = s.newest(s.group)
}

// fails has a pass whose write to the status gets no answer, and returns what it was to write.
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
		s.later(400 * time.Millisecond) // the API server stores whole seconds
		roster := s.fails(t, r, w).roster.record
		tells("a roster, and no answer")
		if stored {
			s.stores(t, v1.ElectionGroupStatus{Roster: roster}, "8")
		}
		s.applies(t, r)
		tells("it is seen, or written again", "RosterChanged")
		s.later(time.Minute)
		s.applies(t, r)
		s.sees("p-2", 0, 1, 2)
		s.later(time.Minute)
		status := s.fails(t, r, w).status.status
		s.later(time.Second)
		s.fails(t, r, w) // the cache does not show it yet, nor does this answer come
		w.refuse = conflict
		if s.applies(t, r); !stored {
			w.refuse = nil
			s.applies(t, r)
			tells("it is written again", "CoordinatorElected")
		} else {
			tells("the cache does not show it yet")
			status.Roster = status.Roster.DeepCopy()
			status.Roster.Digest = "of what another manager has written since"
			s.stores(t, status, "99")
		}
		w.refuse = conflict
		s.applies(t, r)
		if stored {
			tells("it is seen", "CoordinatorElected")
		}
		w.refuse = nil
		s.applies(t, r)
		for _, told := range reasonsOf(r) {
			if told == "CoordinatorElected" {
				t.Errorf("stored: %t; it is told twice", stored)
			}
		}
		if n := exposed(t, registry)["podesta_elections_total g shop"]; n != 1 {
			t.Errorf("stored: %t; %v elections are counted", stored, n)
		}
	}
}

// Of a write that was refused, or never reached the API server, nothing is remembered; and of an API
// server that is away for long not more and more.
func TestWhatMayBeStored(t *testing.T) {
	groups := schema.GroupResource{Resource: "electiongroups"}
	for what, c := range map[string]struct {
		err  error
		want bool
	}{
		"no connection":     {fmt.Errorf("dial: %w", syscall.ECONNREFUSED), false},
		"a conflict":        {apierrors.NewConflict(groups, "g", nil), false},
		"too many requests": {apierrors.NewTooManyRequests("later", 1), false},
		"a lost connection": {errors.New("unexpected EOF"), true},
		"a slow etcd":       {apierrors.NewTimeoutError("later", 1), true},
		"a broken etcd":     {apierrors.NewInternalError(errors.New("etcd is away")), true},
	} {
		s := &state{}
		for range 2 * maxUnanswered {
			s.failed(c.err, newScene(0).group, v1.ElectionGroupStatus{}, nil)
		}
		want := 0
		if c.want {
			want = maxUnanswered
		}
		if len(s.unanswered) != want {
			t.Errorf("%s: %d writes are remembered, want %d", what, len(s.unanswered), want)
		}
	}
}
