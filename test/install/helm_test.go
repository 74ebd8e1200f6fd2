package install

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	controlplane "sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/podesta-dev/podesta/test/envtest"
)

// helms are the Helms that the chart is for, as hack/tools/install pins them.
var helms = []string{"helm.sh/helm/v4/cmd/helm", "helm.sh/helm/v3/cmd/helm"}

var chart = filepath.Join(root, "charts", "podesta")

const keep = "helm.sh/resource-policy"

// template renders the chart, as the release podesta, for a Kubernetes that can do all of it unless
// told otherwise.
func template(t *testing.T, helm string, arguments ...string) objects {
	t.Helper()
	rendered, err := tool(helm, append([]string{"template", "podesta", chart, "--kube-version", "1.36.0"}, arguments...)...)
	must(t, err)
	return parse(t, rendered)
}

// TestTheChartIsTheManifest: with the values as they come, both Helms render what dist has, and
// nothing that must be asked for. TestAnotherNamespace compares that.
func TestTheChartIsTheManifest(t *testing.T) {
	for _, helm := range helms {
		rendered := template(t, helm, "--namespace", system)
		for name, object := range rendered {
			if kept := object.GetAnnotations()[keep] == "keep"; kept != (object.GetKind() == "CustomResourceDefinition") {
				t.Errorf("%s: %s is kept when the release goes: %v", helm, name, kept)
			}
		}
		compare(t, everything(t), rendered)
	}
}

// withoutInjection takes away what dist/inject.yaml has.
func withoutInjection(all objects) objects {
	delete(all, key("MutatingAdmissionPolicy", "podesta-inject"))
	delete(all, key("MutatingAdmissionPolicyBinding", "podesta-inject"))
	delete(all, key("ValidatingAdmissionPolicy", "podesta-inject"))
	delete(all, key("ValidatingAdmissionPolicyBinding", "podesta-inject"))
	return all
}

// TestInjection: by itself where Kubernetes can, with the agent's image from where the manager's
// comes.
func TestInjection(t *testing.T) {
	mutating, validating := key("MutatingAdmissionPolicy", "podesta-inject"), key("ValidatingAdmissionPolicy", "podesta-inject")
	for _, helm := range helms {
		for _, test := range []struct {
			arguments            []string
			mutating, validating bool
		}{
			{[]string{"--kube-version", "1.36.0"}, true, true},
			{[]string{"--kube-version", "1.35.7"}, false, true},
			{[]string{"--kube-version", "1.35.7", "--set", "inject.enabled=true"}, true, true},
			{[]string{"--kube-version", "1.36.0", "--set", "inject.enabled=false"}, false, false},
		} {
			all := template(t, helm, test.arguments...)
			if all[mutating] != nil != test.mutating || all[validating] != nil != test.validating {
				t.Errorf("%s %v: policies mutate: %v, validate: %v; want %v, %v", helm, test.arguments, all[mutating] != nil,
					all[validating] != nil, test.mutating, test.validating)
			}
		}
		all := template(t, helm, set("images=registry.example.com/podesta-dev", "inject.image.tag=v1.2.3")...)
		for _, name := range []string{mutating, validating} {
			if text := fmt.Sprint(all[name].Object); !strings.Contains(text, "'registry.example.com/podesta-dev/agent:v1.2.3'") {
				t.Errorf("%s: the image of the values is not in %s:\n%s", helm, name, text)
			}
		}
	}
}

// compare fails unless the chart renders what the manifest has, apart from what is Helm's own: two
// labels, the annotation that keeps CRDs, and the namespace, which Helm makes itself.
func compare(t *testing.T, manifest, rendered objects) {
	t.Helper()
	want, got := map[string]any{}, map[string]any{}
	for name, object := range manifest {
		if object.GetKind() != "Namespace" {
			want[name] = object.Object
		}
	}
	for name, object := range rendered {
		unstructured.RemoveNestedField(object.Object, "metadata", "labels", "app.kubernetes.io/managed-by")
		unstructured.RemoveNestedField(object.Object, "metadata", "labels", "helm.sh/chart")
		unstructured.RemoveNestedField(object.Object, "metadata", "annotations", keep)
		got[name] = object.Object
	}
	if difference := cmp.Diff(want, got); difference != "" {
		t.Errorf("charts/podesta differs from config/ (bring the template up to date):\n- config/, + the chart\n%s", difference)
	}
}

// TestValues sets what a value is for, and looks where it should arrive.
func TestValues(t *testing.T) {
	private := []string{"image.repository=registry.example.com:5000/mirror/podesta", "image.tag=v1.2.3",
		"imagePullSecrets[0].name=pull"}
	digest := "sha256:" + strings.Repeat("0a", 32)
	for _, helm := range helms {
		all := template(t, helm, set(append(private, "priorityClassName=system-cluster-critical")...)...)
		pod := as[appsv1.Deployment](t, all, "Deployment", "podesta-manager").Spec.Template.Spec
		if image := pod.Containers[0].Image; image != "registry.example.com:5000/mirror/podesta:v1.2.3" {
			t.Errorf("image is %s", image)
		}
		pull := []corev1.LocalObjectReference{{Name: "pull"}}
		if !cmp.Equal(pod.ImagePullSecrets, pull) {
			t.Errorf("pull secrets are %v, want %v", pod.ImagePullSecrets, pull)
		}
		if pod.PriorityClassName != "system-cluster-critical" {
			t.Errorf("priority class is %q", pod.PriorityClassName)
		}

		all = template(t, helm, set(append(private, "image.digest="+digest, "replicaCount=1", "metrics.certificateSecret=metrics-tls")...)...)
		pod = as[appsv1.Deployment](t, all, "Deployment", "podesta-manager").Spec.Template.Spec
		if image := pod.Containers[0].Image; image != "registry.example.com:5000/mirror/podesta@"+digest {
			t.Errorf("image is %s, want the digest", image)
		}
		if all[key("PodDisruptionBudget", "podesta-manager")] != nil {
			t.Error("a single replica has a budget, which blocks every drain")
		}
		if len(pod.Volumes) != 1 || pod.Volumes[0].Secret == nil || pod.Volumes[0].Secret.SecretName != "metrics-tls" {
			t.Errorf("the volumes are %v, want the certificate for metrics", pod.Volumes)
		}

		all = template(t, helm, set("metrics.prometheusRule.enabled=true", "metrics.prometheusRule.labels.own=yes",
			"metrics.podMonitor.enabled=true", "metrics.podMonitor.labels.own=yes", "metrics.podMonitor.interval=7s",
			"metrics.dashboards.enabled=true", "metrics.dashboards.labels.own=yes", "metrics.dashboards.annotations.folder=Podesta")...)
		for _, name := range []string{key("PrometheusRule", "podesta"), key("PodMonitor", "podesta-agents"), key("ConfigMap", "podesta-dashboard-fleet")} {
			if object := all[name]; object == nil || object.GetLabels()["own"] != "yes" {
				t.Errorf("%s has not the label of the values: %v", name, object)
			}
		}
		if folder := all[key("ConfigMap", "podesta-dashboard-fleet")].GetAnnotations()["folder"]; folder != "Podesta" {
			t.Errorf("the annotation of the dashboards is %q", folder)
		}
		if text := fmt.Sprint(all[key("PodMonitor", "podesta-agents")].Object); !strings.Contains(text, "interval:7s") {
			t.Errorf("the interval of the values is not in %s", text)
		}

		all = template(t, helm, set("metrics.enabled=false", "crds.enabled=false", "networkPolicy.rosterFrom[0].ipBlock.cidr=10.0.0.0/8")...)
		if all[key("Service", "podesta-metrics")] != nil || all[key("CustomResourceDefinition", "electiongroups.podesta.dev")] != nil {
			t.Error("metrics or CRDs are there, and are switched off")
		}
		definition := template(t, helm, "--set", "crds.keep=false")[key("CustomResourceDefinition", "electiongroups.podesta.dev")]
		if kept := definition.GetAnnotations()[keep]; kept != "" {
			t.Errorf("with crds.keep=false, the definition's policy is %q", kept)
		}
		managers := as[appsv1.Deployment](t, all, "Deployment", "podesta-manager")
		rules := as[networkingv1.NetworkPolicy](t, all, "NetworkPolicy", "podesta-manager").Spec.Ingress
		if len(rules) != 1 || len(rules[0].From) != 2 || rules[0].From[0].IPBlock == nil {
			t.Fatalf("the NetworkPolicy lets in %v", rules)
		}
		if others := rules[0].From[1].PodSelector; others == nil || !selects(t, *others, managers.Spec.Template.Labels) {
			t.Errorf("the NetworkPolicy keeps managers from each other: they are let in by %v", others)
		}
	}
}

func set(values ...string) []string {
	var arguments []string
	for _, value := range values {
		arguments = append(arguments, "--set", value)
	}
	return arguments
}

// TestBadValuesAreRefused: a misspelt value is an error, not a default.
func TestBadValuesAreRefused(t *testing.T) {
	for _, helm := range helms {
		for _, bad := range []string{"replicas=3", "replicaCount=0", "image.digest=latest",
			"image.repository=ghcr.io/acme/manager:v1", "images=ghcr.io/acme/", "namespaces={Shop}",
			"inject.resources.limits.memory=much", "inject.resources.limit=1Gi",
			"image.pullPolicy=Sometimes", "imagePullSecrets[0]=pull", "logLevel=loud",
			"metrics.serviceMonitor.enable=true", "leaderElection.leaseDuration=2500ms",
			"podLabels.mesh=false", "nodeSelector.dedicated=true", "metrics.dashboards.labels.shown=1"} {
			name, _, _ := strings.Cut(strings.TrimSuffix(bad, "[0]=pull"), "=")
			name = name[strings.LastIndex(name, ".")+1:]
			_, err := tool(helm, "template", "podesta", chart, "--kube-version", "1.33.0", "--set", bad)
			if said := saidBy(err); !strings.Contains(said, name) {
				t.Errorf("%s: --set %s: it says %q; want an error that names %s", helm, bad, said, name)
			}
		}
		_, err := tool(helm, "template", "podesta", chart, "--kube-version", "1.32.0")
		if said := saidBy(err); !strings.Contains(said, "kubeVersion") {
			t.Errorf("%s: for Kubernetes 1.32, which is not supported, it says %q", helm, said)
		}
	}
}

// saidBy is what a program that failed said itself: the error of run begins with the command, and
// so with whatever it was given.
func saidBy(err error) string {
	if failed, ok := errors.AsType[*runError](err); ok {
		return failed.stderr
	}
	return ""
}

// newServer starts an API server of the test's own, and returns it with the kubeconfig of an
// administrator.
func newServer(t *testing.T) (own *envtest.Server, kubeconfig string) {
	t.Helper()
	own = &envtest.Server{Environment: &controlplane.Environment{
		UseExistingCluster:       new(false),
		ControlPlaneStartTimeout: patience,
		ControlPlaneStopTimeout:  patience,
	}}
	var err error
	own.Config, err = own.Start()
	must(t, err)
	t.Cleanup(func() { must(t, own.Stop()) })
	own.Kube, err = client.NewWithWatch(own.Config, client.Options{Scheme: kube.Scheme()})
	must(t, err)
	own.Core, err = kubernetes.NewForConfig(own.Config)
	must(t, err)
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	must(t, os.WriteFile(kubeconfig, own.KubeConfig, 0o600))
	return own, kubeconfig
}

// TestHelmInstallsUpgradesRollsBackAndUninstalls on a cluster of its own. The groups' definition stays, so
// that no group is lost.
func TestHelmInstallsUpgradesRollsBackAndUninstalls(t *testing.T) {
	own, file := newServer(t)
	admin := own.Kube
	definition := &unstructured.Unstructured{}
	definition.SetAPIVersion("apiextensions.k8s.io/v1")
	definition.SetKind("CustomResourceDefinition")
	definition.SetName("electiongroups.podesta.dev")
	for _, helm := range helms { // the second one finds the definition that the first has left
		on := []string{"--kubeconfig", file, "--namespace", system}
		for _, verb := range [][]string{
			{"install", "podesta", chart, "--create-namespace", "--dry-run=server"},
			{"install", "podesta", chart, "--create-namespace"},
			{"upgrade", "podesta", chart, "--set", "replicaCount=3"},
		} {
			_, err := tool(helm, append(verb, on...)...)
			must(t, err)
		}
		deployment := &appsv1.Deployment{}
		at := client.ObjectKey{Namespace: system, Name: "podesta-manager"}
		must(t, admin.Get(t.Context(), at, deployment))
		if *deployment.Spec.Replicas != 3 {
			t.Errorf("%s: %d replicas after the upgrade, want 3", helm, *deployment.Spec.Replicas)
		}
		_, err := tool(helm, append([]string{"rollback", "podesta", "1"}, on...)...)
		must(t, err)
		must(t, admin.Get(t.Context(), at, deployment))
		if *deployment.Spec.Replicas != 2 {
			t.Errorf("%s: %d replicas after the rollback, want 2", helm, *deployment.Spec.Replicas)
		}
		_, err = tool(helm, append([]string{"uninstall", "podesta"}, on...)...)
		must(t, err)
		if err := admin.Get(t.Context(), at, deployment); !apierrors.IsNotFound(err) {
			t.Errorf("%s: after uninstalling, the Deployment: %v; want it gone", helm, err)
		}
		if err := admin.Get(t.Context(), client.ObjectKeyFromObject(definition), definition); err != nil || definition.GetDeletionTimestamp() != nil {
			t.Errorf("%s: after uninstalling, the definition of ElectionGroup: %v, deleted %v; want it there", helm, err, definition.GetDeletionTimestamp())
		}
	}
}
