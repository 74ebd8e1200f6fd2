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

// lossy is a manager, with what it has told and counted.
type lossy struct {
	*scene
	*Reconciler
	*writes
	registry *prometheus.Registry
}

func newLossy(t *testing.T) *lossy {
	t.Helper()
	l := &lossy{scene: newScene(3).sees("", 0, 1, 2), registry: prometheus.NewRegistry()}
	l.statusAt = l.now
	l.Reconciler, l.writes = writing(t, l.scene)
	var err error
	if l.Metrics, err = NewMetrics(l.registry, l.Reconciler, l.Sightings); err != nil {
		t.Fatal(err)
	}
	return l
}

// passes has a pass, and wants these events told.
func (l *lossy) passes(t *testing.T, what string, want ...string) {
	t.Helper()
	l.applies(t, l.Reconciler)
	l.tells(t, what, want...)
}

// tells wants these events told since it last asked.
func (l *lossy) tells(t *testing.T, what string, want ...string) {
	t.Helper()
	if got := reasonsOf(l.Reconciler); !slices.Equal(got, want) {
		t.Errorf("%s: %q is told, want %q", what, got, want)
	}
}

// counts wants so many elections counted.
func (l *lossy) counts(t *testing.T, want float64) {
	t.Helper()
	if n := exposed(t, l.registry)["podesta_elections_total g shop"]; n != want {
		t.Errorf("%v elections are counted, want %v", n, want)
	}
}

// A roster was stored, and so was a status, and no answer came. What goes with them is told once,
// when the group is observed with them.
func TestAnAnswerThatIsLost(t *testing.T) {
	l := newLossy(t)
	l.later(400 * time.Millisecond) // the API server stores whole seconds
	roster := l.fails(t, l.Reconciler, l.writes).roster.record
	l.tells(t, "a roster, and no answer")
	l.stores(t, v1.ElectionGroupStatus{Roster: roster}, "8")
	l.passes(t, "it is seen", "RosterChanged")
	l.later(time.Minute)
	l.passes(t, "nobody coordinates")

	l.sees("p-2", 0, 1, 2)
	l.later(time.Minute)
	status := l.fails(t, l.Reconciler, l.writes).status.status
	l.later(time.Second)
	l.fails(t, l.Reconciler, l.writes)
	l.refuse = conflict
	l.passes(t, "the cache does not show it yet")
	status.Roster = status.Roster.DeepCopy()
	status.Roster.Digest = "of what another manager has written since"
	l.stores(t, status, "99")
	l.passes(t, "it is seen", "CoordinatorElected")
	l.counts(t, 1)
	l.passes(t, "once more")
	l.counts(t, 1)
}

// Neither was stored. What goes with them is told once, when they have been written again.
func TestAWriteThatIsMadeAgain(t *testing.T) {
	l := newLossy(t)
	l.fails(t, l.Reconciler, l.writes)
	l.tells(t, "a roster, and no answer")
	l.passes(t, "it is written again", "RosterChanged")
	l.later(time.Minute)
	l.passes(t, "nobody coordinates")

	l.sees("p-2", 0, 1, 2)
	l.later(time.Minute)
	l.fails(t, l.Reconciler, l.writes)
	l.tells(t, "a status, and no answer")
	l.passes(t, "it is written again", "CoordinatorElected")
	l.later(time.Minute)
	l.passes(t, "once more")
	l.counts(t, 1)
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
