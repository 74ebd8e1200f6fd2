package install

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// TestEverythingPassesADryRun sends each object of dist once more, as another field manager; what
// an API server would only warn of fails.
func TestEverythingPassesADryRun(t *testing.T) {
	strict := client.WithFieldValidation(kube, "Strict")
	for name, object := range everything(t) {
		configuration := client.ApplyConfigurationFromUnstructured(object)
		if err := strict.Apply(t.Context(), configuration, client.FieldOwner("test"), client.ForceOwnership, client.DryRunAll); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, mode := range []string{"--server-side", "--server-side=false"} { // upgrades over what is there, by either way
		if _, err := kubectl("apply", "--validate=strict", "--dry-run=server", mode, "-f", install, "-f", inject); err != nil {
			t.Error(err)
		}
	}
}

// TestTheManagersPodIsRestricted makes a pod of the Deployment's template in the namespace that
// enforces the standard; the namespace refuses one that is less careful, or this test could not
// fail.
func TestTheManagersPodIsRestricted(t *testing.T) {
	pod := managerPod(t, "careful")
	if err := kube.Create(t.Context(), pod, client.DryRunAll); err != nil {
		t.Error(err)
	}
	container := pod.Spec.Containers[0].SecurityContext
	if container.ReadOnlyRootFilesystem == nil || !*container.ReadOnlyRootFilesystem {
		t.Error("the manager's root file system can be written to")
	}
	careless := managerPod(t, "careless")
	careless.Spec.Containers[0].SecurityContext.Capabilities = nil
	if err := kube.Create(t.Context(), careless, client.DryRunAll); !apierrors.IsForbidden(err) ||
		!strings.Contains(err.Error(), "PodSecurity") {
		t.Errorf("a pod that keeps its capabilities: %v; want PodSecurity to forbid it", err)
	}
}

// TestSelectors: whatever selects the manager's pods selects those of the template; the roster's
// Service the leader only.
func TestSelectors(t *testing.T) {
	all := installed(t)
	pod := labels.Set(managerPod(t, "any").Labels)
	budget := as[policyv1.PodDisruptionBudget](t, all, "PodDisruptionBudget", "podesta-manager")
	for name, selector := range map[string]map[string]string{
		"the Deployment":          as[appsv1.Deployment](t, all, "Deployment", "podesta-manager").Spec.Selector.MatchLabels,
		"the budget":              budget.Spec.Selector.MatchLabels,
		"Service podesta-metrics": as[corev1.Service](t, all, "Service", "podesta-metrics").Spec.Selector,
	} {
		if !labels.SelectorFromSet(selector).Matches(pod) {
			t.Errorf("%s selects %v; the manager's pods have %v", name, selector, pod)
		}
	}
	roster := labels.SelectorFromSet(as[corev1.Service](t, all, "Service", "podesta-roster").Spec.Selector)
	if roster.Matches(pod) {
		t.Error("Service podesta-roster selects a manager that does not lead")
	}
	if leader := labels.Merge(pod, labels.Set{v1.LeaderLabel: "true"}); !roster.Matches(leader) {
		t.Errorf("Service podesta-roster selects %v; the leader has %v", roster, leader)
	}
}

// TestTheOptionalPartsAreWellFormed: the NetworkPolicy for groups, and the ServiceMonitor, whose
// kind this server does not know.
func TestTheOptionalPartsAreWellFormed(t *testing.T) {
	for _, name := range []string{"agents.yaml", "agents-metrics.yaml"} {
		policy := filepath.Join(root, "config", "network-policy", name)
		if _, err := kubectl("apply", "--server-side", "--validate=strict", "--dry-run=server", "-n", "default", "-f", policy); err != nil {
			t.Error(err)
		}
	}
	rendered, err := tool("kustomize", "build", filepath.Join(root, "config", "prometheus"))
	must(t, err)
	monitor := parse(t, rendered)[key("ServiceMonitor", "podesta-manager")]
	selector, _, err := unstructured.NestedStringMap(monitor.Object, "spec", "selector", "matchLabels")
	must(t, err)
	service := as[corev1.Service](t, installed(t), "Service", "podesta-metrics")
	if !labels.SelectorFromSet(selector).Matches(labels.Set(service.Labels)) {
		t.Errorf("the ServiceMonitor selects %v; Service podesta-metrics has %v", selector, service.Labels)
	}
	if monitor.GetNamespace() != service.Namespace {
		t.Errorf("the ServiceMonitor is in %s, the Service in %s", monitor.GetNamespace(), service.Namespace)
	}
}

// TestAnotherNamespace moves config/ and the chart to another namespace, with monitors, alerts and
// dashboards. Both are the same there, and nothing stays behind, least of all in the policies, which know the manager by its user name.
func TestAnotherNamespace(t *testing.T) {
	elsewhere := t.TempDir()
	must(t, os.CopyFS(elsewhere, os.DirFS(filepath.Join(root, "config"))))
	move(t, filepath.Join(elsewhere, "default"), "# - ../prometheus #", "- ../prometheus #", "# - ../grafana #", "- ../grafana #")
	rendered, err := tool("kustomize", "build", filepath.Join(elsewhere, "default"))
	must(t, err)
	if at := strings.Index(rendered, system); at >= 0 {
		t.Errorf("%s is left in what kustomize renders:\n%s", system, rendered[max(0, at-300):at+50])
	}
	for _, helm := range helms {
		all := template(t, helm, "--namespace", "elections", "--set", "metrics.serviceMonitor.enabled=true",
			"--set", "metrics.podMonitor.enabled=true", "--set", "metrics.prometheusRule.enabled=true",
			"--set", "metrics.dashboards.enabled=true")
		for name, object := range all {
			if text := fmt.Sprint(object.Object); strings.Contains(text, system) {
				t.Errorf("%s is left in what %s renders of %s", system, helm, name)
			}
		}
		compare(t, parse(t, rendered), withoutInjection(all))
	}
}

// move has the kustomization of a folder be in namespace elections, and makes other replacements in
// it.
func move(t *testing.T, folder string, replacements ...string) {
	t.Helper()
	file := filepath.Join(folder, "kustomization.yaml")
	content, err := os.ReadFile(file)
	must(t, err)
	all := append([]string{"\nnamespace: podesta-system\n", "\nnamespace: elections\n"}, replacements...)
	for i := 0; i < len(all); i += 2 {
		if !strings.Contains(string(content), all[i]) {
			t.Fatalf("%s has no %q", file, all[i])
		}
	}
	must(t, os.WriteFile(file, []byte(strings.NewReplacer(all...).Replace(string(content))), 0o600))
}

// managerPod is a pod as the Deployment of dist/install.yaml would make it.
func managerPod(t *testing.T, name string) *corev1.Pod {
	t.Helper()
	spec := as[appsv1.Deployment](t, installed(t), "Deployment", "podesta-manager").Spec.Template
	pod := &corev1.Pod{ObjectMeta: spec.ObjectMeta, Spec: spec.Spec}
	pod.Namespace, pod.Name = system, name
	return pod
}
