package inject

import (
	"slices"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	podestav1 "github.com/podesta-dev/podesta/api/v1"
)

// Other policies change the pod as well, before ours and after it, so that each acts again on what
// the others made: there is one agent all the same.
func TestReinvocation(t *testing.T) {
	here := namespace(t, map[string]string{"test": "reinvocation"})
	for _, name := range []string{"a-mesh", "z-mesh"} { // policies act in the order of their names
		policy := &admissionv1.MutatingAdmissionPolicy{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: admissionv1.MutatingAdmissionPolicySpec{
				ReinvocationPolicy: admissionv1.IfNeededReinvocationPolicy,
				MatchConstraints: &admissionv1.MatchResources{
					NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"test": "reinvocation"}},
					ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
						Operations: []admissionv1.OperationType{admissionv1.Create},
						Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
					}}},
				},
				Mutations: []admissionv1.Mutation{{PatchType: admissionv1.PatchTypeApplyConfiguration,
					ApplyConfiguration: &admissionv1.ApplyConfiguration{Expression: `Object{
						metadata: Object.metadata{labels: {"passes": object.metadata.?labels["passes"].orValue("") + "x"}},
						spec: Object.spec{initContainers: [Object.spec.initContainers{name: "` + name + `", image: "mesh", restartPolicy: "Always"}]}}`}}},
			},
		}
		binding := &admissionv1.MutatingAdmissionPolicyBinding{ObjectMeta: policy.ObjectMeta,
			Spec: admissionv1.MutatingAdmissionPolicyBindingSpec{PolicyName: policy.Name}}
		mustCreate(t, policy)
		mustCreate(t, binding)
	}
	for deadline := time.Now().Add(time.Minute); ; { // nobody says when a policy acts
		if time.Now().After(deadline) {
			t.Fatal("the other policies never acted: nothing was tried")
		}
		pod := newPod(here)
		if err := kube.Create(t.Context(), pod, client.DryRunAll); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, c := range pod.Spec.InitContainers {
			names = append(names, c.Name)
		}
		if !slices.Contains(names, "a-mesh") || !slices.Contains(names, "z-mesh") {
			continue
		}
		if len(names) != 3 || names[0] != podestav1.AgentContainer {
			t.Errorf("init containers %v; want the agent, and the other policies'", names)
		}
		if passes := pod.Labels["passes"]; passes != "xxxx" {
			t.Errorf("passes %q; want two of each, or this test shows less than it says", passes)
		}
		return
	}
}

// A LimitRange's default CPU limit reaches the agent, as docs/guides/inject.md warns.
func TestLimitRange(t *testing.T) {
	here := namespace(t, nil)
	mustCreate(t, &corev1.LimitRange{
		ObjectMeta: metav1.ObjectMeta{Namespace: here, Name: "defaults"},
		Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{Type: corev1.LimitTypeContainer,
			Default: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}}}},
	})
	pod := newPod(here)
	for deadline := time.Now().Add(time.Minute); pod.Spec.Containers[0].Resources.Limits.Cpu().IsZero(); { // the API server sees it in its own time
		if time.Now().After(deadline) {
			t.Fatal("the LimitRange never acted: nothing was tried")
		}
		pod = newPod(here)
		if err := kube.Create(t.Context(), pod, client.DryRunAll); err != nil {
			t.Fatal(err)
		}
	}
	agent := pod.Spec.InitContainers[0].Resources
	if agent.Limits.Cpu().String() != "100m" || agent.Requests.Cpu().String() != "20m" {
		t.Errorf("limit %v, request %v; want the namespace's limit and the sidecar's request", agent.Limits.Cpu(), agent.Requests.Cpu())
	}
}

// A quota on limits.memory takes only pods whose containers all have one: the agent has, so that
// the app's is enough.
func TestMemoryQuota(t *testing.T) {
	here := namespace(t, nil)
	hard := corev1.ResourceList{corev1.ResourceLimitsMemory: resource.MustParse("1Gi")}
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: here, Name: "memory"},
		Spec:       corev1.ResourceQuotaSpec{Hard: hard},
	}
	mustCreate(t, quota)
	quota.Status = corev1.ResourceQuotaStatus{Hard: hard, Used: corev1.ResourceList{corev1.ResourceLimitsMemory: resource.MustParse("0")}}
	if err := kube.Status().Update(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); kube.Create(t.Context(), newPod(here), client.DryRunAll) == nil; { // as above
		if time.Now().After(deadline) {
			t.Fatal("the quota never acted: nothing was tried")
		}
	}
	pod := newPod(here)
	pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")}
	if err := kube.Create(t.Context(), pod, client.DryRunAll); err != nil {
		t.Errorf("a pod whose app has a limit: %v", err)
	}
}
