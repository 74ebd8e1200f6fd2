package install

import (
	"context"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/controllers/byuid"
	"github.com/podesta-dev/podesta/test/envtest"
)

// TestWhatTheManagerMayChangeInAPod tries patches as the manager's ServiceAccount, which RBAC lets
// patch every pod. The same patches by somebody else pass, so it is the policy that refuses, and it
// looks at nobody else.
func TestWhatTheManagerMayChangeInAPod(t *testing.T) {
	manager := impersonate(t, account)
	awaitPolicies(t, manager)
	for name, test := range map[string]struct {
		pod, patch string
		says       string // part of the refusal; empty: it passes
	}{
		"mark the coordinator":        {"member", `{"metadata":{"labels":{"podesta.dev/role":"coordinator"}}}`, ""},
		"take the mark away":          {"marked", `{"metadata":{"labels":{"podesta.dev/role":null}}}`, ""},
		"also where the group is off": {"stray", `{"metadata":{"labels":{"podesta.dev/role":null}}}`, ""},
		"change nothing":              {"member", `{"metadata":{"labels":{"app":"shop"}}}`, ""},
		"another role":                {"member", `{"metadata":{"labels":{"podesta.dev/role":"king"}}}`, "only to coordinator"},
		"a role outside of groups":    {"stray", `{"metadata":{"labels":{"podesta.dev/role":"coordinator","app":"shop"}}}`, ""},
		"a role for any pod":          {"alien", `{"metadata":{"labels":{"podesta.dev/role":"coordinator"}}}`, "only on pods of a group"},
		"the leader's label":          {"member", `{"metadata":{"labels":{"podesta.dev/leader":"true"}}}`, "only in its own namespace"},
		"into another group":          {"member", `{"metadata":{"labels":{"podesta.dev/group":"mine"}}}`, "may change only the labels podesta.dev/role and podesta.dev/leader"},
		"out of its group":            {"member", `{"metadata":{"labels":{"podesta.dev/group":null}}}`, "may change only the labels podesta.dev/role and podesta.dev/leader"},
		"a label":                     {"member", `{"metadata":{"labels":{"app":"mine"}}}`, "may change only the labels podesta.dev/role and podesta.dev/leader"},
		"a label away":                {"member", `{"metadata":{"labels":{"app":null}}}`, "may change only the labels podesta.dev/role and podesta.dev/leader"},
		"all labels away":             {"marked", `{"metadata":{"labels":null}}`, "may change only the labels podesta.dev/role and podesta.dev/leader"},
		"an annotation":               {"member", `{"metadata":{"annotations":{"podesta.dev/note":"x"}}}`, "may change only the annotation"},
		"an annotation away":          {"marked", `{"metadata":{"annotations":null}}`, "may change only the annotation"},
		"the cost of its deletion":    {"member", `{"metadata":{"annotations":{"controller.kubernetes.io/pod-deletion-cost":"1000"}}}`, ""},
		"the image":                   {"member", `{"spec":{"containers":[{"name":"app","image":"mine"}]}}`, "may change only labels and annotations of a pod"},
		"the image, and a mark": {"member", `{"metadata":{"labels":{"podesta.dev/role":"coordinator"}},
			"spec":{"containers":[{"name":"app","image":"mine"}]}}`, "may change only labels and annotations of a pod"},
		"a deadline":  {"member", `{"spec":{"activeDeadlineSeconds":60}}`, "may change only labels and annotations of a pod"},
		"a finalizer": {"member", `{"metadata":{"finalizers":["podesta.dev/keep"]}}`, "may change only labels and annotations of a pod"},
		"an owner": {"member", `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"x","uid":"y"}]}}`,
			"may change only labels and annotations of a pod"},
	} {
		t.Run(name, func(t *testing.T) {
			pod := makePods(t)[test.pod]
			patch := client.RawPatch(types.StrategicMergePatchType, []byte(test.patch))
			check(t, manager.Patch(t.Context(), pod.DeepCopy(), patch), test.says)
			if test.says == "" {
				return
			}
			if err := kube.Patch(t.Context(), pod.DeepCopy(), patch); err != nil {
				t.Errorf("an administrator: %v; want it to pass", err)
			}
		})
	}
}

// TestTheManagerAppliesAsItDoes: the very writes of controllers/byuid, by server-side apply with
// the UID.
func TestTheManagerAppliesAsItDoes(t *testing.T) {
	manager := impersonate(t, account)
	awaitPolicies(t, manager) // without them all of it passes
	member := makePods(t)["member"]
	cost := func(pod *corev1.Pod) string {
		must(t, kube.Get(t.Context(), client.ObjectKeyFromObject(pod), pod))
		return pod.Labels[v1.RoleLabel] + "/" + pod.Annotations[corev1.PodDeletionCost]
	}
	for _, test := range []struct {
		own, during, after string // the cost of a pod's deletion: the user's, and what the manager makes of it
	}{
		{"", v1.RoleCoordinator + "/1000", "/"},
		{"7", v1.RoleCoordinator + "/7", "/7"},
	} {
		pod := member.DeepCopy()
		if test.own != "" {
			pod.Annotations = map[string]string{corev1.PodDeletionCost: test.own}
			must(t, kube.Update(t.Context(), pod))
		}
		_, err := byuid.SetLabel(t.Context(), manager, byuid.PodOf(pod), v1.RoleLabel, v1.RoleCoordinator,
			map[string]string{corev1.PodDeletionCost: "1000"}, "podesta-role")
		must(t, err)
		if got := cost(pod); got != test.during {
			t.Errorf("the coordinator's pod has %s, want %s", got, test.during)
		}
		_, err = byuid.RemoveLabel(t.Context(), manager, byuid.PodOf(pod), v1.RoleLabel, "podesta-role")
		must(t, err)
		if got := cost(pod); got != test.after {
			t.Errorf("after that its pod has %s, want %s", got, test.after)
		}
		member = pod
	}

	own := managerPod(t, "podesta-manager-applies")
	must(t, kube.Create(t.Context(), own))
	t.Cleanup(func() { must(t, kube.Delete(context.Background(), own, client.GracePeriodSeconds(0))) })
	leader := corev1ac.Pod(own.Name, own.Namespace).WithUID(own.UID).WithLabels(map[string]string{v1.LeaderLabel: "true"})
	must(t, manager.Apply(t.Context(), leader, client.FieldOwner("podesta-leader"), client.ForceOwnership))
}

// TestWhatTheManagerMayCreate: ConfigMaps and Secrets of one name each, though RBAC cannot name
// what is created.
func TestWhatTheManagerMayCreate(t *testing.T) {
	manager := impersonate(t, account)
	awaitPolicies(t, manager)
	namespace := newNamespace(t)
	for name, test := range map[string]struct {
		object  client.Object
		allowed bool
	}{
		"the trust":               {&corev1.ConfigMap{ObjectMeta: named(namespace, v1.TrustConfigMap)}, true},
		"another ConfigMap":       {&corev1.ConfigMap{ObjectMeta: named(namespace, "settings")}, false},
		"a ConfigMap of any name": {&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "podesta-trust"}}, false},
		"the CA":                  {&corev1.Secret{ObjectMeta: named(system, "podesta-ca")}, true},
		"another Secret":          {&corev1.Secret{ObjectMeta: named(system, "podesta")}, false},
		"the CA in another place": {&corev1.Secret{ObjectMeta: named(namespace, "podesta-ca")}, false},
		"a pod":                   {&corev1.Pod{ObjectMeta: named(namespace, "pod"), Spec: podSpec}, false},
		"a ServiceAccount":        {&corev1.ServiceAccount{ObjectMeta: named(namespace, "account")}, false},
		"a group":                 {&v1.ElectionGroup{ObjectMeta: named(namespace, "group")}, false},
		"a namespace":             {&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "mine"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			err := manager.Create(t.Context(), test.object.DeepCopyObject().(client.Object), client.DryRunAll)
			switch {
			case test.allowed:
				must(t, err)
			case !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err):
				t.Errorf("%v; want it to be refused", err)
			}
			if test.object.GetName() == v1.TrustConfigMap {
				return // which nobody else may: TestWhoMayWriteTheTrust
			}
			if err := kube.Create(t.Context(), test.object, client.DryRunAll); err != nil {
				t.Errorf("an administrator: %v; want it to pass", err)
			}
		})
	}
}

// TestTheAccountOfThatNameElsewhere is another user: a tenant may call a ServiceAccount what they
// like.
func TestTheAccountOfThatNameElsewhere(t *testing.T) {
	awaitPolicies(t, impersonate(t, account))
	namespace := newNamespace(t)
	user := "system:serviceaccount:" + namespace + ":podesta-manager"
	creates := authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{
		Verb: "create", Resource: "configmaps", Namespace: namespace,
	}}
	bind(t, creates, "rolebinding", "edit", "-n", namespace, "--clusterrole=podesta-manager", "--serviceaccount="+namespace+":podesta-manager")
	tenant := impersonate(t, user)
	settings := &corev1.ConfigMap{ObjectMeta: named(namespace, "settings")}
	must(t, tenant.Create(t.Context(), settings))
}

// awaitPolicies waits until the API server has taken up the policies, some seconds after they are
// created: until it refuses what each of them forbids.
func awaitPolicies(t *testing.T, manager client.Client) {
	t.Helper()
	alien := makePods(t)["alien"]
	role := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"podesta.dev/role":"coordinator"}}}`))
	inForce(t, "the policies of the manager", func() error {
		return manager.Patch(t.Context(), alien.DeepCopy(), role, client.DryRunAll)
	}, func() error {
		return manager.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: named(alien.Namespace, "settings")}, client.DryRunAll)
	}, func() error {
		service := coordinatorService(alien.Namespace)
		service.OwnerReferences = nil
		return manager.Create(t.Context(), service, client.DryRunAll)
	})
}

// inForce waits until policies refuse all of these requests.
func inForce(t *testing.T, policies string, requests ...func() error) {
	t.Helper()
	envtest.Eventually(t, policies+" to be in force", func() bool {
		for _, request := range requests {
			switch err := request(); {
			case err == nil:
				return false
			case !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err):
				t.Fatal(err) // this is no policy's refusal
			}
		}
		return true
	})
}

// impersonate returns a client with the rights of a ServiceAccount.
func impersonate(t *testing.T, account string) client.Client {
	t.Helper()
	return user(t, account, "system:serviceaccounts", "system:serviceaccounts:"+strings.Split(account, ":")[2])
}

var podSpec = corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app"}}}

// makePods makes pods in a namespace of their own: a member of a group, one that is marked, one
// that was marked and left its group, and one that was never in any.
func makePods(t *testing.T) map[string]*corev1.Pod {
	t.Helper()
	namespace := newNamespace(t)
	pods := map[string]*corev1.Pod{}
	for name, labels := range map[string]map[string]string{
		"member": {"app": "shop", v1.GroupLabel: "shop"},
		"marked": {"app": "shop", v1.GroupLabel: "shop", v1.RoleLabel: v1.RoleCoordinator},
		"stray":  {"app": "shop", v1.RoleLabel: v1.RoleCoordinator},
		"alien":  {"app": "shop"},
	} {
		pods[name] = &corev1.Pod{ObjectMeta: named(namespace, name), Spec: podSpec}
		pods[name].Labels = labels
		pods[name].Annotations = map[string]string{"note": "of its owner"}
		must(t, kube.Create(t.Context(), pods[name]))
	}
	return pods
}

func newNamespace(t *testing.T) string {
	t.Helper()
	return server.NewNamespace(t, "install-")
}

func named(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}
