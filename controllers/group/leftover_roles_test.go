package group

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/test/bubble"
)

// finding is an API server that finds pods by their labels.
func finding(pods ...corev1.Pod) client.Client {
	return interceptor.NewClient(nil, interceptor.Funcs{
		List: func(_ context.Context, _ client.WithWatch, list client.ObjectList,
			options ...client.ListOption) error {
			o := (&client.ListOptions{}).ApplyOptions(options)
			for i := range pods {
				if o.LabelSelector.Matches(labels.Set(pods[i].Labels)) {
					list.(*corev1.PodList).Items = append(list.(*corev1.PodList).Items, pods[i])
				}
			}
			return nil
		},
	})
}

func podWith(name string, of ...string) corev1.Pod {
	all := map[string]string{}
	for i := 0; i < len(of); i += 2 {
		all[of[i]] = of[i+1]
	}
	return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: all}}
}

// The label goes from every pod without a group that has it, and from no other. One that cannot be
// changed does not keep it on the others, and is tried again until it can be. A minute later it is
// looked for once more: a pod may have left its group before that had its first pass.
func TestLeftoverRoles(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		failures := 0
		w := &writes{refuse: func(what string) error {
			if failures++; what == "unlabel p-1" && failures <= 2 {
				return errors.New("a webhook says no")
			}
			return nil
		}}
		l := &LeftoverRoles{
			Client: w.client(),
			Live: finding(
				podWith("p-1", v1.RoleLabel, v1.RoleCoordinator),
				podWith("p-2", v1.RoleLabel, "anything"),
				podWith("p-3", v1.RoleLabel, v1.RoleCoordinator, v1.GroupLabel, "g"),
				podWith("p-4", "app", "shop"),
			),
			Logger: slog.New(slog.DiscardHandler),
		}
		begun := time.Now()
		if err := l.Start(t.Context()); err != nil || !l.NeedLeaderElection() {
			t.Errorf("it ends with %v, and only the leader writes: %t", err, l.NeedLeaderElection())
		}
		want := []string{"unlabel p-1", "unlabel p-2", "unlabel p-1", "unlabel p-2", "unlabel p-1", "unlabel p-2"}
		if !slices.Equal(w.all, want) || time.Since(begun) != retryLeftovers+secondSweep {
			t.Errorf("within %v: %q, want %q", time.Since(begun), w.all, want)
		}
	})
}

// A manager that leads no more stops trying.
func TestLeftoverRolesEnd(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := &LeftoverRoles{
			Client: (&writes{refuse: func(string) error { return errors.New("no") }}).client(),
			Live:   finding(podWith("p-1", v1.RoleLabel, v1.RoleCoordinator)),
			Logger: slog.New(slog.DiscardHandler),
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- l.Start(ctx) }()
		synctest.Wait()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("it ends with %v", err)
		}
	})
}

// vanished is readable with no group any more.
type vanished struct {
	readable
	writes client.Client
}

func (vanished) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return apierrors.NewNotFound(schema.GroupResource{}, "")
}

func (v vanished) Apply(ctx context.Context, object runtime.ApplyConfiguration,
	options ...client.ApplyOption) error {
	return v.writes.Apply(ctx, object, options...)
}

// A group is deleted. The label goes from the pods that still name it, and from one that has just
// left it, which is known from the last pass alone; also if the API server is away for a moment.
func TestRolesOfADeletedGroup(t *testing.T) {
	s := newScene(2)
	s.pods[0].Labels = map[string]string{v1.RoleLabel: v1.RoleCoordinator}
	r := reading(t, s)
	away := true
	w := &writes{refuse: func(what string) error {
		if away && strings.HasPrefix(what, "unlabel") {
			return errors.New("the API server is away")
		}
		return nil
	}}
	r.Client = vanished{readable{scene: s}, w.client()}
	r.states.put(keyIn("g"), state{labels: roleLabels{pods: map[types.UID]string{"left": "p-9"}}})
	pass := func() error {
		_, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: keyIn("g")})
		return err
	}
	if pass() == nil {
		t.Fatal("the error is not told")
	}
	away, w.all = false, nil
	if err := pass(); err != nil {
		t.Fatal(err)
	}
	want := []string{"unlabel p-9", "unlabel " + s.pods[0].Name}
	slices.Sort(want)
	slices.Sort(w.all)
	if !slices.Equal(w.all, want) || r.states.len() != 0 {
		t.Errorf("the writes are %q, want %q; %d groups are remembered", w.all, want, r.states.len())
	}
}

// A group is deleted whose pod a policy keeps from losing the label. It is tried until the policy
// lets it go.
func TestARefusedRoleOfADeletedGroup(t *testing.T) {
	s := newScene(1)
	s.pods[0].Labels = map[string]string{v1.RoleLabel: v1.RoleCoordinator}
	r := reading(t, s)
	w := &writes{refuse: refusing("unlabel p-0")}
	r.Client = vanished{readable{scene: s}, w.client()}
	r.states.put(keyIn("g"), state{labels: roleLabels{
		pods:    map[types.UID]string{"uid-0": "p-0"},
		refused: map[types.UID]refusal{"uid-0": {message: "no", at: s.now}},
	}})
	pass := func() error {
		_, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: keyIn("g")})
		return err
	}
	for range 2 {
		if err := pass(); err == nil || !strings.Contains(err.Error(), "labels are immutable") {
			t.Fatalf("it says %v", err)
		}
	}
	w.refuse = nil
	if err := pass(); err != nil || len(w.all) != 3 || r.states.len() != 0 {
		t.Errorf("it says %v after %q, and remembers %d groups", err, w.all, r.states.len())
	}
}

// A group is deleted and made again before the manager looks: a pod that left it meanwhile loses
// the label all the same.
func TestRolesOfAGroupThatIsMadeAgain(t *testing.T) {
	s := newScene(1)
	s.group.UID = "new"
	r := reading(t, s)
	r.states.put(keyIn("g"), state{
		uid:    "old",
		labels: roleLabels{pods: map[types.UID]string{"left": "p-9"}},
	})
	o, err := r.observe(t.Context(), keyIn("g"))
	if err != nil {
		t.Fatal(err)
	}
	if d := decideRole(o, ""); len(d.remove) != 1 || d.remove[0].Name != "p-9" {
		t.Errorf("the label goes from %v, want p-9", d.remove)
	}
}
