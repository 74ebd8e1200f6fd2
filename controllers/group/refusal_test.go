package group

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// refusing is an API server with a policy against these writes.
func refusing(all ...string) func(string) error {
	return func(what string) error {
		if slices.Contains(all, what) {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "p",
				errors.New("labels are immutable"))
		}
		return nil
	}
}

// labelsOf are the writes of the role label.
func labelsOf(w *writes) (some []string) {
	for _, what := range w.all {
		if strings.Contains(what, "label ") {
			some = append(some, what)
		}
	}
	return some
}

// A policy refuses the role label. The Service is made all the same, the status tells, and the label
// is tried again now and then.
func TestALabelThatIsRefused(t *testing.T) {
	s := newScene(3).sees("p-2", 0, 1, 2)
	s.statusAt = s.now
	s.group.Spec.Service = &v1.CoordinatorService{Ports: []v1.CoordinatorPort{{Port: 80, Protocol: v1.TCP}}}
	r, w := writing(t, s)
	s.applies(t, r) // the roster
	s.later(time.Minute)
	w.refuse = refusing("label p-2 of uid-2")
	if again := s.applies(t, r); again != s.debounce || !slices.ContainsFunc(w.all, func(what string) bool {
		return strings.HasPrefix(what, "service")
	}) {
		t.Errorf("the next pass is in %v, after %q", again, w.all)
	}
	const told = "Stalled=True/RoleLabelRefused"
	s.later(s.debounce)
	if again := s.applies(t, r); again != retryRefused-s.debounce || len(labelsOf(w)) != 1 {
		t.Errorf("the next pass is in %v, after %q", again, w.all)
	}
	decided := func() statusDecision { return decideStatus(s.observation, decideRoster(s.observation)) }
	v := decided()
	if got := conditionsIn(v); !strings.Contains(got, told) ||
		!strings.Contains(got, "CoordinatorElected=True") {
		t.Errorf("it tells %s", got)
	}
	if c := v.status.Conditions[4]; !strings.Contains(c.Message,
		"the API server refuses to put label podesta.dev/role on pod p-2: ") ||
		!strings.Contains(c.Message, "labels are immutable") {
		t.Errorf("it tells %q", c.Message)
	}
	s.later(retryRefused)
	w.refuse = nil
	if again := s.applies(t, r); again != s.debounce || len(labelsOf(w)) != 2 {
		t.Errorf("the next pass is in %v, after %q", again, w.all)
	}
	if got := conditionsIn(decided()); strings.Contains(got, told) {
		t.Errorf("the label is there, and it tells %s", got)
	}
}

// A pod that keeps the label against the manager's will keeps it from all others of the group: a
// Service would lead to both. One that has left the group does not.
func TestALabelThatStays(t *testing.T) {
	for name, test := range map[string]struct {
		left bool
		want []string
	}{
		"on a pod of the group":            {false, []string{"unlabel p-0"}},
		"on a pod that has left the group": {true, []string{"unlabel p-0", "label p-2 of uid-2"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(3).sees("p-2", 1, 2)
			s.statusAt = s.now
			r, w := writing(t, s)
			s.applies(t, r) // the roster
			s.later(time.Minute)
			if test.left {
				s.pods = s.pods[1:]
				s.labels.pods = map[types.UID]string{"uid-0": "p-0"}
			} else {
				s.pods[0].Labels = map[string]string{v1.RoleLabel: v1.RoleCoordinator}
			}
			w.refuse = refusing("unlabel p-0")
			s.applies(t, r)
			s.later(s.debounce)
			s.applies(t, r)
			if got := labelsOf(w); !slices.Equal(got, test.want) {
				t.Errorf("the writes are %q, want %q", got, test.want)
			}
			c := decideStatus(s.observation, decideRoster(s.observation)).status.Conditions[4]
			const told = "the API server refuses to take label podesta.dev/role off pod p-0: "
			if !strings.Contains(c.Message, told) {
				t.Errorf("it tells %q, want %q", c.Message, told)
			}
		})
	}
}

// A status, or a roster, that the API server refuses keeps no label on a pod that is not to have it.
func TestTheLabelGoesThoughTheStatusIsRefused(t *testing.T) {
	refused := errors.New("field not declared in schema")
	for _, owner := range []client.FieldOwner{statusOwner, rosterOwner} {
		s := newScene(3).sees("p-2", 1, 2).published()
		s.later(time.Minute)
		s.sees("p-1", 1, 2)
		s.pods[0].Labels = map[string]string{v1.RoleLabel: v1.RoleCoordinator}
		if owner == rosterOwner { // a new one is due
			s.adds(newScene(4).pods[3])
		}
		r, w := writing(t, s)
		w.refuse = func(what string) error {
			if strings.HasPrefix(what, string(owner)) {
				return refused
			}
			return nil
		}
		_, _, err := r.apply(t.Context(), s.observation, decide(s.observation))
		got := labelsOf(w)
		if !errors.Is(err, refused) || !slices.Equal(got, []string{"unlabel p-0"}) {
			t.Errorf("%s: the writes are %q (%v)", owner, got, err)
		}
	}
}

// A pod that cannot be written does not keep the others' labels as they are.
func TestALabelThatCannotBeTakenOff(t *testing.T) {
	down := apierrors.NewInternalError(errors.New("failed calling webhook"))
	for name, test := range map[string]struct {
		left bool
		want []string
	}{
		"on a pod of the group":            {false, []string{"unlabel p-0", "unlabel p-1"}},
		"on a pod that has left the group": {true, []string{"unlabel p-0", "unlabel p-1", "label p-2 of uid-2"}},
	} {
		s := newScene(3).sees("p-2", 1, 2)
		s.statusAt = s.now
		r, w := writing(t, s)
		s.applies(t, r) // the roster
		s.later(time.Minute)
		s.pods[1].Labels = map[string]string{v1.RoleLabel: v1.RoleCoordinator}
		if test.left {
			s.pods = s.pods[1:]
			s.labels.pods = map[types.UID]string{"uid-0": "p-0"}
		} else {
			s.pods[0].Labels = s.pods[1].Labels
		}
		w.refuse = func(what string) error {
			if what == "unlabel p-0" {
				return down
			}
			return nil
		}
		_, _, err := r.apply(t.Context(), s.observation, decide(s.observation))
		if got := labelsOf(w); !errors.Is(err, down) || !slices.Equal(got, test.want) {
			t.Errorf("%s: the writes are %q (%v), want %q", name, got, err, test.want)
		}
	}
}

// looks is an API server without Services, or with somebody else's, that counts how often it is
// asked.
type looks struct {
	client.Reader
	foreign bool
	asked   int
}

func (l *looks) Get(_ context.Context, key client.ObjectKey, object client.Object,
	_ ...client.GetOption) error {
	l.asked++
	if !l.foreign {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "services"}, key.Name)
	}
	*object.(*corev1.Service) = corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	return nil
}

// Passes come often, and what the API server says of a name that is taken, or of a Service that it
// refuses, counts for a while; and no longer when the spec changes, or a Service was made.
func TestTheAPIServerIsAskedForAServiceNowAndThen(t *testing.T) {
	s := newScene(1)
	s.group.Spec.Service = &v1.CoordinatorService{Ports: []v1.CoordinatorPort{{Port: 80, Protocol: v1.TCP}}}
	r, w := writing(t, s)
	r.Client = readable{w.client(), s}
	server := &looks{foreign: true}
	r.Live = server
	w.refuse = refusing("service g-coordinator on " + absentVersion)
	pass := func(want int, why string) {
		t.Helper()
		seen, err := r.observeService(t.Context(), s.group, s.state, s.now)
		if err != nil {
			t.Fatal(err)
		}
		s.service = seen
		if (seen.foreign != "") != server.foreign || server.asked != want {
			t.Errorf("%s: it was asked %d times, and the Service is foreign: %q", why, server.asked, seen.foreign)
		}
		if _, err := r.applyService(t.Context(), s.observation, decideService(s.observation), &s.state); err != nil {
			t.Fatal(err)
		}
	}
	pass(1, "the first pass")
	pass(1, "at once")
	s.later(retryRefused)
	pass(2, "after a while")
	server.foreign = false
	s.group.Generation++
	pass(3, "the spec has changed")
	pass(3, "what it asks for is refused")
	s.later(retryRefused)
	w.refuse = nil
	pass(4, "after a while")
	pass(5, "it was made")
}
