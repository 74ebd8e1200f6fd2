package install

import (
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// TestWhichServicesTheManagerMayWrite: those that a group owns and that lead to its coordinator,
// though RBAC lets it write all.
func TestWhichServicesTheManagerMayWrite(t *testing.T) {
	manager := impersonate(t, account)
	awaitPolicies(t, manager)
	const owned, selects, exposes = "an ElectionGroup owns", "select the coordinator", "outside the cluster"
	for name, test := range map[string]struct {
		edit func(*corev1.Service)
		says string // part of the refusal; empty: it passes
	}{
		"the group's":               {func(*corev1.Service) {}, ""},
		"without an owner":          {func(s *corev1.Service) { s.OwnerReferences = nil }, owned},
		"of a Deployment":           {func(s *corev1.Service) { s.OwnerReferences[0].Kind = "Deployment" }, owned},
		"of another API":            {func(s *corev1.Service) { s.OwnerReferences[0].APIVersion = "example.com/v1" }, owned},
		"owned, but not controlled": {func(s *corev1.Service) { s.OwnerReferences[0].Controller = nil }, owned},
		"another name":              {func(s *corev1.Service) { s.Name = "checkout" }, owned},
		"another group's name":      {func(s *corev1.Service) { s.Name = "bank-coordinator" }, owned},
		"another group's pods":      {func(s *corev1.Service) { s.Spec.Selector[v1.GroupLabel] = "bank" }, selects},
		"all pods of the group":     {func(s *corev1.Service) { delete(s.Spec.Selector, v1.RoleLabel) }, selects},
		"no selector":               {func(s *corev1.Service) { s.Spec.Selector = nil }, selects},
		"any pods":                  {func(s *corev1.Service) { s.Spec.Selector = map[string]string{"app": "bank", "tier": "x"} }, selects},
		"a load balancer":           {func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeLoadBalancer }, exposes},
		"an external address":       {func(s *corev1.Service) { s.Spec.ExternalIPs = []string{"192.0.2.1"} }, exposes},
	} {
		t.Run(name, func(t *testing.T) {
			service := coordinatorService(newNamespace(t))
			test.edit(service)
			check(t, manager.Create(t.Context(), service.DeepCopy(), client.DryRunAll), test.says)
			must(t, kube.Create(t.Context(), service)) // by an administrator all of it passes

			edit := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"ports":[{"port":81}]}}`))
			says := test.says
			if says == exposes {
				says = "" // somebody else has exposed it, and the manager leaves that as it is
			}
			check(t, manager.Patch(t.Context(), service.DeepCopy(), edit, client.DryRunAll), says)
			if says == selects {
				says = "" // it is the group's, whatever somebody made of it
			}
			check(t, manager.Delete(t.Context(), service.DeepCopy(), client.DryRunAll), says)
		})
	}
}

// TestTheManagerDoesNotTurnAServiceIntoAnother: neither is a foreign one adopted, nor a group's one
// exposed.
func TestTheManagerDoesNotTurnAServiceIntoAnother(t *testing.T) {
	manager := impersonate(t, account)
	awaitPolicies(t, manager)
	namespace := newNamespace(t)
	ours := coordinatorService(namespace)
	foreign := coordinatorService(newNamespace(t))
	foreign.OwnerReferences = nil
	must(t, kube.Create(t.Context(), ours))
	must(t, kube.Create(t.Context(), foreign))

	adopted := foreign.DeepCopy()
	adopted.OwnerReferences = coordinatorService(foreign.Namespace).OwnerReferences
	check(t, manager.Patch(t.Context(), adopted, client.MergeFrom(foreign)), "an ElectionGroup owns")
	exposed := ours.DeepCopy()
	exposed.Spec.Type = corev1.ServiceTypeNodePort
	check(t, manager.Patch(t.Context(), exposed, client.MergeFrom(ours)), "outside the cluster")
}

// check fails unless a request was refused with those words, or, with none, passed.
func check(t *testing.T, err error, says string) {
	t.Helper()
	if says == "" {
		if err != nil {
			t.Errorf("%v; want it to pass", err)
		}
		return
	}
	if err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("%v; want a refusal that says %q", err, says)
	}
}

// coordinatorService is what the manager keeps for the group shop.
func coordinatorService(namespace string) *corev1.Service {
	selector := map[string]string{v1.GroupLabel: "shop", v1.RoleLabel: v1.RoleCoordinator}
	service := &corev1.Service{ObjectMeta: named(namespace, "shop"+v1.CoordinatorServiceSuffix),
		Spec: corev1.ServiceSpec{Selector: maps.Clone(selector), Ports: []corev1.ServicePort{{Port: 80}}}}
	service.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1.GroupVersion.String(), Kind: "ElectionGroup", Name: "shop",
		UID: "1f1a4b0c-0000-4000-8000-000000000000", Controller: new(true)}}
	return service
}
