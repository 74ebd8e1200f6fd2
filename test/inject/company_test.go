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
	"github.com/podesta-dev/podesta/internal/check"
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

// What kubectl election check says of a LimitRange is what the API server does with an agent.
func TestLimitRangesThatRefuse(t *testing.T) {
	cpu := func(q string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(q)}
	}
	memory := func(q string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(q)}
	}
	type item = corev1.LimitRangeItem
	for name, test := range map[string]struct {
		item    item
		refuses bool
	}{
		"min":                     {item{Min: cpu("50m")}, true},
		"min that is asked for":   {item{Min: cpu("20m")}, false},
		"min of the limit":        {item{Min: memory("256Mi")}, true},
		"max":                     {item{Max: memory("64Mi")}, true},
		"max that is the limit":   {item{Max: cpu("1")}, false},
		"max below what is asked": {item{Max: cpu("10m")}, true},
		"ratio":                   {item{Default: cpu("1"), MaxLimitRequestRatio: cpu("49")}, true},
		"ratio that is kept":      {item{Default: cpu("1"), MaxLimitRequestRatio: cpu("50")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			here := namespace(t, nil)
			test.item.Type = corev1.LimitTypeContainer
			limits := &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Namespace: here, Name: "all"},
				Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{test.item}}}
			mustCreate(t, limits) // and it is read back with Kubernetes' own defaults
			if said := check.Refusing([]corev1.LimitRange{*limits}, nil); (len(said) > 0) != test.refuses {
				t.Errorf("the check says %q", said)
			}
			for deadline := time.Now().Add(time.Minute); ; { // as above
				pod := newPod(here)
				err := kube.Create(t.Context(), pod, client.DryRunAll)
				app := pod.Spec.Containers[0].Resources
				if err != nil || len(app.Limits)+len(app.Requests) > 0 {
					if (err != nil) != test.refuses {
						t.Errorf("a pod with an agent: %v", err)
					}
					break
				}
				if time.Now().After(deadline) {
					t.Fatal("the LimitRange never acted: nothing was tried")
				}
			}
			alone := newPod(here)
			alone.Labels = nil
			if err := kube.Create(t.Context(), alone, client.DryRunAll); err != nil {
				t.Errorf("a pod without an agent: %v", err)
			}
		})
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
