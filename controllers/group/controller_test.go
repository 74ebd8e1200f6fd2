package group

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/roster"
)

func keyIn(group string) types.NamespacedName {
	return types.NamespacedName{Namespace: "shop", Name: group}
}

// readable is an API server that has the group and the pods of a scene, and takes no status.
type readable struct {
	client.Client
	*scene
}

// absent is the name of a group that the API server does not have.
const absent = "apps"

var errUnwritten = errors.New("nothing can be written")

func (r readable) Get(_ context.Context, key client.ObjectKey, object client.Object,
	_ ...client.GetOption) error {
	if group, ok := object.(*v1.ElectionGroup); ok && key.Name != absent {
		r.group.DeepCopyInto(group)
		return nil
	}
	return apierrors.NewNotFound(schema.GroupResource{}, "")
}

func (r readable) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	if groups, ok := list.(*v1.ElectionGroupList); ok {
		groups.Items = append(groups.Items, *r.group)
		return nil
	}
	for _, pod := range r.pods {
		list.(*corev1.PodList).Items = append(list.(*corev1.PodList).Items, *pod)
	}
	return nil
}

func (readable) Status() client.SubResourceWriter { return unwritable{} }

type unwritable struct{ client.SubResourceWriter }

func (unwritable) Apply(context.Context, runtime.ApplyConfiguration,
	...client.SubResourceApplyOption) error {
	return errUnwritten
}

// reading are the groups of a manager that reads a scene.
func reading(t *testing.T, s *scene) *Reconciler {
	t.Helper()
	now := func() time.Time { return s.now }
	r := &Reconciler{
		Client:    readable{scene: s},
		Rosters:   &writes{},
		Sightings: roster.NewSightings(now),
		Now:       now,
		Debounce:  DefaultDebounce,
	}
	var err error
	if r.Metrics, err = NewMetrics(prometheus.NewRegistry(), r, r.Sightings); err != nil {
		t.Fatal(err)
	}
	return r
}

// An error and a time are not said together: controller-runtime takes the error, and complains each
// time.
func TestAnErrorIsSaidAlone(t *testing.T) {
	r := reading(t, newScene(3))
	result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: keyIn("g")})
	if !errors.Is(err, errUnwritten) || result != (reconcile.Result{}) {
		t.Errorf("got %+v, %v", result, err)
	}
}

// A group is deleted and made again between two passes: what was told of the old one is not told of
// the new one.
func TestAGroupThatIsMadeAgainTellsNothingOfTheOld(t *testing.T) {
	s := newScene(3)
	s.group.UID = "old"
	r := reading(t, s)
	pass := func() {
		if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: keyIn("g")}); !errors.Is(
			err,
			errUnwritten,
		) {
			t.Fatal(err)
		}
	}
	series := func() int {
		all := make(chan prometheus.Metric, 100)
		r.Metrics.groups.Collect(all)
		return len(all)
	}
	pass()
	r.Metrics.published(s.group, v1.ElectionGroupStatus{}, status("p-1:Normal p-2:Coordinator"))
	if pass(); series() == 0 {
		t.Fatal("the group has no series")
	}
	s.group.UID = "new"
	if pass(); series() != 0 {
		t.Errorf("%d series of the old group", series())
	}
}
