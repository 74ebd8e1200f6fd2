package manager

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/controllers/group"
	"github.com/podesta-dev/podesta/internal/roster"
)

// handedOut is a Publisher that remembers what was published.
type handedOut struct{ rosters []roster.Roster }

func (h *handedOut) Publish(r roster.Roster)         { h.rosters = append(h.rosters, r) }
func (h *handedOut) Disband(_, _ string)             {}
func (h *handedOut) Hold(_, _ string, _ roster.Hold) {}
func (h *handedOut) Recall(_, _ string)              {}

func (h *handedOut) Grace() time.Duration { return time.Second }

func (h *handedOut) Returning() time.Time { return time.Time{} }

func (h *handedOut) Held(_, _ string) (roster.Roster, bool) { return roster.Roster{}, false }

// A manager that still acts on an old state of the group, because another one leads by now and has
// written a roster, must neither overwrite that roster nor hand out its own.
func TestRosterOfAnOldStateIsNeitherPersistedNorHandedOut(t *testing.T) {
	namespace := newNamespace(t)
	stale := newGroup(t, namespace)
	newPod(t, namespace, 0)
	request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(stale)}
	newer, older := &handedOut{}, &handedOut{}
	reconcileOnce(t, kube, newer, request)
	if len(newer.rosters) != 1 {
		t.Fatalf("the leading manager handed out %d rosters, want 1", len(newer.rosters))
	}
	newPod(t, namespace, 1)
	if again := reconcileOnce(t, blind(stale), older, request); again.RequeueAfter == 0 {
		t.Error("after the conflict the group is not looked at again")
	}
	now := &v1.ElectionGroup{}
	must(t, kube.Get(bg, request.NamespacedName, now))
	if len(older.rosters) != 0 || now.Status.Roster.Generation != newer.rosters[0].Generation || len(now.Status.Roster.Members) != 1 {
		t.Errorf("the blind manager handed out %d rosters; persisted is %+v, want what the leading one wrote",
			len(older.rosters), now.Status.Roster)
	}
}

func reconcileOnce(t *testing.T, c client.Client, publisher group.Publisher, request reconcile.Request) reconcile.Result {
	t.Helper()
	result, err := newGroups(t, c, publisher).Reconcile(bg, request)
	must(t, err)
	return result
}

// uncached has the API server find the pods of a group, by their label. A manager's cache has an
// index of them, which the API server does not know.
type uncached struct{ client.Client }

func (u uncached) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	asked := new(client.ListOptions)
	asked.ApplyOptions(opts)
	if asked.FieldSelector != nil {
		if name, ok := asked.FieldSelector.RequiresExactMatch(v1.GroupLabel); ok {
			opts = []client.ListOption{
				client.InNamespace(asked.Namespace),
				client.MatchingLabels{v1.GroupLabel: name},
			}
		}
	}
	return u.Client.List(ctx, list, opts...)
}

// newGroups is a reconciler that no manager drives.
func newGroups(t *testing.T, c client.Client, publisher group.Publisher) *group.Reconciler {
	t.Helper()
	groups := &group.Reconciler{
		Client:    uncached{c},
		Recorder:  events.NewFakeRecorder(10),
		Rosters:   publisher,
		Sightings: roster.NewSightings(time.Now),
		Now:       time.Now,
		Debounce:  group.DefaultDebounce,
	}
	var err error
	groups.Metrics, err = group.NewMetrics(prometheus.NewRegistry(), groups, groups.Sightings)
	must(t, err)
	return groups
}

// The same in a Guarded group, where two managers that each make a step of their own would make
// two.
func TestStepOfAnOldStateIsNotMade(t *testing.T) {
	m := startManager(t, "")
	namespace, p := voting(t, m, 3)
	stale := groupIn(t, namespace)
	p = append(p, join(t, m, newPod(t, namespace, 3, onNode), nil))
	sees(t, namespace, "four voters", votersAre(p...))
	now := groupIn(t, namespace)
	board := &handedOut{}
	if again := reconcileOnce(t, blind(stale), board, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(stale)}); again.RequeueAfter == 0 {
		t.Error("after the conflict the group is not looked at again")
	}
	if after := groupIn(t, namespace); len(board.rosters) != 0 || after.Status.Roster.Generation != now.Status.Roster.Generation {
		t.Errorf("the blind manager handed out %d rosters; persisted is generation %d, was %d", len(board.rosters),
			after.Status.Roster.Generation, now.Status.Roster.Generation)
	}
}

// blind returns a client that reads a group as it was once.
func blind(stale *v1.ElectionGroup) client.Client {
	return interceptor.NewClient(kube, interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch,
		key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
		if group, ok := o.(*v1.ElectionGroup); ok {
			stale.DeepCopyInto(group)
			return nil
		}
		return c.Get(ctx, key, o, opts...)
	}})
}
