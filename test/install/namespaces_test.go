package install

import (
	"slices"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/test/envtest"
)

// TestSomeNamespaces installs the chart for namespace shop. The manager has its rights there and in
// its own namespace, which suffice for its work. In another one it does nothing, and no pod gets an
// agent.
func TestSomeNamespaces(t *testing.T) {
	own, file := newServer(t)
	for _, name := range []string{"shop", "other"} {
		must(t, own.Kube.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	}
	_, err := tool(helms[0], "install", "podesta", chart, "--kubeconfig", file, "--namespace", "elections",
		"--create-namespace", "--set", "namespaces={shop}", "--set", "replicaCount=1")
	must(t, err)
	for _, test := range []struct {
		verb, group, resource, namespace, name string
		allowed                                bool
	}{
		{"list", "", "pods", "shop", "", true},
		{"patch", "podesta.dev", "electiongroups", "shop", "", false}, // only the status
		{"watch", "podesta.dev", "electiongroups", "shop", "", true},
		{"patch", "", "pods", "elections", "", true}, // the leader's label
		{"create", "authentication.k8s.io", "tokenreviews", "", "", true},
		{"list", "", "pods", "", "", false},
		{"list", "", "pods", "other", "", false},
		{"watch", "podesta.dev", "electiongroups", "", "", false},
		{"create", "", "configmaps", "other", "", false},
		{"create", "", "services", "other", "", false},
	} {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: "system:serviceaccount:elections:podesta-manager",
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: test.verb, Group: test.group,
				Resource: test.resource, Namespace: test.namespace, Name: test.name},
		}}
		must(t, own.Kube.Create(t.Context(), review))
		if review.Status.Allowed != test.allowed {
			t.Errorf("%s %s in %q: allowed is %v, want %v", test.verb, test.resource, test.namespace, review.Status.Allowed, test.allowed)
		}
	}

	groups := map[string]*v1.ElectionGroup{}
	for _, namespace := range []string{"other", "shop"} {
		group := &v1.ElectionGroup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "scheduler"}}
		must(t, own.Kube.Create(t.Context(), group))
		groups[namespace] = group
	}
	leftover := pod("shop", "left", map[string]string{v1.RoleLabel: v1.RoleCoordinator})
	must(t, own.Kube.Create(t.Context(), leftover))
	own.StartManager(t, envtest.ManagerOptions{Namespace: "elections", Namespaces: []string{"shop", "elections"}})
	envtest.Eventually(t, "the status of the group in shop", func() bool {
		must(t, own.Kube.Get(t.Context(), client.ObjectKeyFromObject(groups["shop"]), groups["shop"]))
		return len(groups["shop"].Status.Conditions) > 0
	})
	envtest.Eventually(t, "the trust in shop", func() bool {
		trust := client.ObjectKey{Namespace: "shop", Name: v1.TrustConfigMap}
		return own.Kube.Get(t.Context(), trust, &corev1.ConfigMap{}) == nil
	})
	envtest.Eventually(t, "the role label to go from a pod without a group", func() bool {
		must(t, own.Kube.Get(t.Context(), client.ObjectKeyFromObject(leftover), leftover))
		return leftover.Labels[v1.RoleLabel] == ""
	})
	must(t, own.Kube.Get(t.Context(), client.ObjectKeyFromObject(groups["other"]), groups["other"]))
	if conditions := groups["other"].Status.Conditions; len(conditions) > 0 {
		t.Errorf("the group in another namespace has a status: %v", conditions)
	}

	injected := func(namespace string) bool {
		created := pod(namespace, "scheduler-0", map[string]string{v1.GroupLabel: "scheduler"})
		must(t, own.Kube.Create(t.Context(), created, client.DryRunAll))
		return slices.ContainsFunc(created.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == v1.AgentContainer })
	}
	envtest.Eventually(t, "pods in shop to get the agent", func() bool { return injected("shop") })
	if injected("other") {
		t.Error("a pod in another namespace got the agent")
	}
}

func pod(namespace, name string, labels map[string]string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels},
		Spec: corev1.PodSpec{
			ServiceAccountName: "default",
			Containers:         []corev1.Container{{Name: "app", Image: "app"}},
		},
	}
}
