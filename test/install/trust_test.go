package install

import (
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/test/envtest"
)

// The controllers that delete what namespaces hold.
const (
	namespaceController = "system:serviceaccount:kube-system:namespace-controller"
	garbageCollector    = "system:serviceaccount:kube-system:generic-garbage-collector"
)

// tenant returns a client of somebody who may do everything with the ConfigMaps of a namespace.
func tenant(t *testing.T, namespace string) client.Client {
	t.Helper()
	_, err := kubectl("create", "role", "tenant", "-n", namespace, "--verb=*", "--resource=configmaps")
	must(t, err)
	gets := authorizationv1.SubjectAccessReviewSpec{User: "mallory", ResourceAttributes: &authorizationv1.ResourceAttributes{
		Verb: "get", Resource: "configmaps", Namespace: namespace,
	}}
	bind(t, gets, "rolebinding", "tenant", "-n", namespace, "--role=tenant", "--user=mallory")
	return user(t, "mallory")
}

// newTrust has the manager create the bundle, as it does.
func newTrust(t *testing.T, manager client.Client, namespace string) *corev1.ConfigMap {
	t.Helper()
	bundle := corev1ac.ConfigMap(v1.TrustConfigMap, namespace).WithData(map[string]string{v1.TrustKey: "the manager's"})
	must(t, manager.Apply(t.Context(), bundle, client.FieldOwner("podesta-trust"), client.ForceOwnership))
	trust := &corev1.ConfigMap{}
	must(t, kube.Get(t.Context(), types.NamespacedName{Namespace: namespace, Name: v1.TrustConfigMap}, trust))
	return trust
}

const trustChanges, trustDeletes = "only the manager of Podesta may change the ConfigMap podesta-trust", "only the manager of Podesta may delete the ConfigMap podesta-trust"

// TestWhoMayWriteTheTrust: whoever writes it says whom new agents take for the manager; in the
// manager's own namespace, whom scrapers of its metrics do.
func TestWhoMayWriteTheTrust(t *testing.T) {
	manager, empty := impersonate(t, account), newNamespace(t)
	mallory := tenant(t, empty)
	awaitTrustPolicy(t, mallory, empty)
	forged := &corev1.ConfigMap{ObjectMeta: named(empty, v1.TrustConfigMap), Data: map[string]string{v1.TrustKey: "forged"}}
	check(t, mallory.Create(t.Context(), forged.DeepCopy()), "only the manager of Podesta may create the ConfigMap podesta-trust")
	check(t, kube.Create(t.Context(), forged.DeepCopy()), "only the manager of Podesta may create the ConfigMap podesta-trust")
	for name, namespace := range map[string]string{"a tenant": newNamespace(t), "somebody in the manager's namespace": system} {
		tenant(t, namespace)
		trust := newTrust(t, manager, namespace)
		for what, patch := range map[string]string{
			"forges it":                `{"data":{"ca.crt":"forged"}}`,
			"makes it immutable":       `{"immutable":true}`,
			"moves it to binaryData":   `{"data":null,"binaryData":{"ca.crt":"Zm9yZ2Vk"}}`,
			"adds a file":              `{"data":{"other.crt":"x"}}`,
			"keeps it from deletion":   `{"metadata":{"finalizers":["example.com/keep"]}}`,
			"gives it an owner":        `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"x","uid":"y"}]}}`,
			"labels it":                `{"metadata":{"labels":{"app":"mine"}}}`,
			"gives it an annotation":   `{"metadata":{"annotations":{"note":"mine"}}}`,
			"forges it, and more data": `{"data":{"ca.crt":"forged","other.crt":"x"},"immutable":true}`,
		} {
			t.Run(name+" "+what, func(t *testing.T) {
				check(t, mallory.Patch(t.Context(), trust.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch))), trustChanges)
			})
		}
		check(t, mallory.Update(t.Context(), trust.DeepCopy()), "") // as storage is migrated
		check(t, mallory.Delete(t.Context(), trust.DeepCopy()), trustDeletes)
		check(t, mallory.DeleteAllOf(t.Context(), &corev1.ConfigMap{}, client.InNamespace(namespace)), trustDeletes)

		other := &corev1.ConfigMap{ObjectMeta: named(namespace, "settings")}
		check(t, mallory.Create(t.Context(), other), "")
		check(t, mallory.Delete(t.Context(), other), "")
		for _, patch := range []string{`{"data":{"ca.crt":"newer"}}`, `{"binaryData":null}`} {
			check(t, manager.Patch(t.Context(), trust, client.RawPatch(types.MergePatchType, []byte(patch))), "")
		}
		check(t, manager.Delete(t.Context(), trust), "")
	}
}

// TestATrustThatIsKeptCanBeFreed: the manager deletes one that it cannot write. Where a finalizer
// keeps it, whoever may change ConfigMaps may take that away, and change nothing else.
func TestATrustThatIsKeptCanBeFreed(t *testing.T) {
	manager, namespace := impersonate(t, account), newNamespace(t)
	mallory := tenant(t, namespace)
	awaitTrustPolicy(t, mallory, namespace)
	trust := newTrust(t, manager, namespace)
	const keep, free = `{"metadata":{"finalizers":["example.com/keep"]}}`, `{"metadata":{"finalizers":null}}`
	check(t, manager.Patch(t.Context(), trust, client.RawPatch(types.MergePatchType, []byte(keep))), "")
	check(t, mallory.Patch(t.Context(), trust.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(free))), trustChanges)
	check(t, manager.Delete(t.Context(), trust), "")
	forge := `{"data":{"ca.crt":"forged"},` + free[1:]
	check(t, mallory.Patch(t.Context(), trust.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(forge))), trustChanges)
	check(t, mallory.Patch(t.Context(), trust.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(free))), "")
	if err := kube.Get(t.Context(), client.ObjectKeyFromObject(trust), trust); !apierrors.IsNotFound(err) {
		t.Errorf("it is still there: %v", err)
	}
	newTrust(t, manager, namespace)
}

// TestANamespaceWithAGroupCanBeDeleted: by whoever empties namespaces in this cluster.
func TestANamespaceWithAGroupCanBeDeleted(t *testing.T) {
	manager, probe := impersonate(t, account), newNamespace(t)
	awaitTrustPolicy(t, tenant(t, probe), probe)
	for name, by := range map[string]client.Client{
		"the namespace controller": impersonate(t, namespaceController),
		"the garbage collector":    impersonate(t, garbageCollector),
		"one controller for all":   user(t, "system:kube-controller-manager", "system:masters"),
	} {
		t.Run(name, func(t *testing.T) {
			namespace := newNamespace(t)
			must(t, kube.Create(t.Context(), &v1.ElectionGroup{ObjectMeta: named(namespace, "scheduler")}))
			trust := newTrust(t, manager, namespace)
			if name == "the garbage collector" {
				must(t, by.Delete(t.Context(), trust))
				return
			}
			must(t, by.DeleteAllOf(t.Context(), &corev1.ConfigMap{}, client.InNamespace(namespace)))
			must(t, by.DeleteAllOf(t.Context(), &v1.ElectionGroup{}, client.InNamespace(namespace)))
			if err := kube.Get(t.Context(), client.ObjectKeyFromObject(trust), trust); !apierrors.IsNotFound(err) {
				t.Errorf("the ConfigMap: %v", err)
			}
		})
	}
	namespace := newNamespace(t) // where whoever empties it is somebody else
	mallory, trust := tenant(t, namespace), newTrust(t, manager, namespace)
	check(t, mallory.Delete(t.Context(), trust.DeepCopy()), trustDeletes)
	ending := &corev1.Namespace{}
	ending.Name = namespace
	must(t, kube.Delete(t.Context(), ending)) // it stays: there is no controller here
	envtest.Eventually(t, "who may, in a namespace that is being deleted", func() bool {
		return client.IgnoreNotFound(mallory.Delete(t.Context(), trust.DeepCopy())) == nil
	})
}

// awaitTrustPolicy waits until the API server has taken up the policy.
func awaitTrustPolicy(t *testing.T, tenant client.Client, namespace string) {
	t.Helper()
	inForce(t, "the policy podesta-trust", func() error {
		return tenant.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: named(namespace, v1.TrustConfigMap)}, client.DryRunAll)
	})
}
