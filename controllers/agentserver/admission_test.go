package agentserver

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/roster"
)

// reviewed is a review that accepts the token of pod p-0 in namespace shop, changed.
func reviewed(change func(*authenticationv1.TokenReviewStatus)) authenticationv1.TokenReviewStatus {
	s := authenticationv1.TokenReviewStatus{
		Authenticated: true,
		Audiences:     []string{v1.Audience},
		User: authenticationv1.UserInfo{
			Username: "system:serviceaccount:shop:default",
			Extra: map[string]authenticationv1.ExtraValue{
				extraPodName: {"p-0"},
				extraPodUID:  {"uid-0"},
			},
		},
	}
	change(&s)
	return s
}

// labelled is pod p-0 of a group.
func labelled(change func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop",
			Name:      "p-0",
			UID:       "uid-0",
			Labels:    map[string]string{v1.GroupLabel: "scheduler"},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	change(pod)
	return pod
}

// wantRefusal fails the test unless an error is a refusal that contains a text; empty: no error.
func wantRefusal(t *testing.T, what string, err error, text string) {
	t.Helper()
	if text == "" && err == nil {
		return
	}
	refusal, ok := errors.AsType[*roster.Refusal](err)
	if text == "" || !ok || !strings.Contains(refusal.Reason, text) {
		t.Errorf("%s: %v, want a refusal with %q", what, err, text)
	}
}

func TestWhichTokensAreTaken(t *testing.T) {
	type status = authenticationv1.TokenReviewStatus
	for _, test := range []struct {
		name    string
		change  func(*status)
		refused string
	}{
		{"a pod's own", func(*status) {}, ""},
		{"for several audiences", func(s *status) { s.Audiences = []string{"other", v1.Audience} }, ""},
		{"not authenticated", func(s *status) { s.Authenticated, s.Error = false, "expired" }, "expired"},
		{"for another audience", func(s *status) { s.Audiences = []string{"other"} }, "not for audience"},
		{"for none", func(s *status) { s.Audiences = nil }, "not for audience"},
		{"of a user", func(s *status) { s.User.Username = "jane:doe" }, "not a ServiceAccount"},
		{"of half a ServiceAccount", func(s *status) { s.User.Username = "system:serviceaccount:shop" }, "not a ServiceAccount"},
		{"of no pod", func(s *status) { s.User.Extra = nil }, "not bound to a pod"},
		{"of a pod without a UID", func(s *status) { delete(s.User.Extra, extraPodUID) }, "not bound to a pod"},
		{"of a UID without a pod", func(s *status) { delete(s.User.Extra, extraPodName) }, "not bound to a pod"},
	} {
		namespace, pod, uid, err := bearer(reviewed(test.change))
		wantRefusal(t, test.name, err, test.refused)
		if err == nil && (namespace != "shop" || pod != "p-0" || uid != "uid-0") {
			t.Errorf("%s: the bearer is %s/%s of UID %s", test.name, namespace, pod, uid)
		}
	}
}

// MC5: a pod gets a certificate only while it is the very one, has a group, and has not ended.
func TestWhichPodsAreAdmitted(t *testing.T) {
	for _, test := range []struct {
		name    string
		change  func(*corev1.Pod)
		refused string
	}{
		{"it runs", func(*corev1.Pod) {}, ""},
		{"it is coming", func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }, ""},
		{"it was replaced", func(p *corev1.Pod) { p.UID = "uid-1" }, "was replaced"},
		{"it has no group", func(p *corev1.Pod) { p.Labels = nil }, "has no label"},
		{"it has failed", func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, "has ended"},
		{"it has completed", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }, "has ended"},
	} {
		group, err := admissible(labelled(test.change), "uid-0")
		wantRefusal(t, test.name, err, test.refused)
		if err == nil && group != "scheduler" {
			t.Errorf("%s: admitted to %q", test.name, group)
		}
	}
}

// having is a reader that has some pods.
func having(pods ...*corev1.Pod) client.WithWatch {
	return interceptor.NewClient(nil, interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, key client.ObjectKey, object client.Object,
			_ ...client.GetOption) error {
			for _, pod := range pods {
				if client.ObjectKeyFromObject(pod) == key {
					pod.DeepCopyInto(object.(*corev1.Pod))
					return nil
				}
			}
			return apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, key.Name)
		},
	})
}

// MC5: the API server says whether a pod is there, not a cache, which may be stale.
func TestAPodThatOnlyTheCacheHasIsRefused(t *testing.T) {
	pod := labelled(func(*corev1.Pod) {})
	name := identity.Name{Namespace: "shop", Pod: "p-0", UID: "uid-0", Group: "scheduler"}
	stale := &Admission{Client: having(pod), Live: having()}
	wantRefusal(t, "it is gone", stale.Readmit(t.Context(), name), "does not exist")
	fresh := &Admission{Client: having(), Live: having(pod)}
	wantRefusal(t, "it is there", fresh.Readmit(t.Context(), name), "")
	name.Group = "another"
	wantRefusal(t, "it has changed its group", fresh.Readmit(t.Context(), name), "belongs to group")
}

// The leader's label leaves every other pod before this one gets it, and never leaves this one.
func TestTheLeaderIsMarked(t *testing.T) {
	var wrote []string
	c := interceptor.NewClient(nil, interceptor.Funcs{
		Apply: func(_ context.Context, _ client.WithWatch, object runtime.ApplyConfiguration,
			_ ...client.ApplyOption) error {
			pod, what := object.(*corev1ac.PodApplyConfiguration), "label "
			if pod.Labels == nil {
				what = "unlabel "
			}
			wrote = append(wrote, what+*pod.Name)
			return nil
		},
	})
	own := labelled(func(*corev1.Pod) {})
	other := labelled(func(p *corev1.Pod) { p.Name, p.UID = "p-1", "uid-1" })
	marked := labelled(func(p *corev1.Pod) { p.Labels[v1.LeaderLabel] = "true" })
	for _, test := range []struct {
		found []corev1.Pod
		want  []string
	}{
		{nil, []string{"label p-0"}},
		{[]corev1.Pod{*other}, []string{"unlabel p-1", "label p-0"}},
		{[]corev1.Pod{*own, *other}, []string{"unlabel p-1", "label p-0"}}, // its label says something else
		{[]corev1.Pod{*marked, *other}, []string{"unlabel p-1"}},
		{[]corev1.Pod{*marked}, nil},
	} {
		live := interceptor.NewClient(having(own), interceptor.Funcs{
			List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, _ ...client.ListOption) error {
				list.(*corev1.PodList).Items = test.found
				return nil
			},
		})
		wrote = nil
		if err := MarkLeader(t.Context(), c, live, "shop", "p-0"); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(wrote, test.want) {
			t.Errorf("the writes were %q, want %q", wrote, test.want)
		}
	}
}
