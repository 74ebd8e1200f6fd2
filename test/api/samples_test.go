package api

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	podestav1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/inject"
	"github.com/podesta-dev/podesta/test/envtest"
	"github.com/podesta-dev/podesta/test/manifest"
)

var samples = filepath.Join(envtest.Root, "config", "samples")

// TestSamples applies config/samples to a namespace that enforces the restricted Pod Security
// standard.
func TestSamples(t *testing.T) {
	namespace := restrictedNamespace(t)
	for _, object := range kustomizeSamples(t) {
		object.SetNamespace(namespace)
		applyStrictly(t, object)
	}

	var group podestav1.ElectionGroup
	must(t, kube.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "scheduler"}, &group))
	for _, process := range group.Spec.Processes { // every process that the sample names is a pod of the sample, and joins
		var pod corev1.Pod
		if err := kube.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: process.Name}, &pod); err != nil {
			t.Error(err)
		} else if pod.Labels[podestav1.GroupLabel] != group.Name {
			t.Errorf("pod %s joins group %q; want %q", pod.Name, pod.Labels[podestav1.GroupLabel], group.Name)
		}
	}
}

// TestClassicSample applies the sample that kustomize leaves out, since it is of the same name.
func TestClassicSample(t *testing.T) {
	objects, err := manifest.Read(filepath.Join(samples, "podesta_v1_electiongroup_classic.yaml"))
	must(t, err)
	objects[0].SetNamespace(newNamespace(t))
	applyStrictly(t, objects[0])
	var group podestav1.ElectionGroup
	err = kube.Get(t.Context(), client.ObjectKeyFromObject(objects[0]), &group)
	if err != nil || group.Spec.Safety != podestav1.Classic {
		t.Errorf("the sample is %q (%v); want Classic", group.Spec.Safety, err)
	}
}

// TestTwoReplicasSample applies the sample of two replicas and a witness: all three are of the
// group, and the witness is one.
func TestTwoReplicasSample(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(samples, "two_replicas.yaml"))
	must(t, err)
	group, pods := applyWorkloads(t, text)
	var witnesses, replicas int
	for _, pod := range pods {
		if pod.GetLabels()[podestav1.GroupLabel] != group {
			t.Errorf("a pod of %s has the labels %v", pod.GetName(), pod.GetLabels())
		}
		if pod.GetLabels()[podestav1.WitnessLabel] == podestav1.WitnessTrue {
			witnesses++
		} else {
			replicas++
		}
	}
	if group == "" || witnesses != 1 || replicas != 1 {
		t.Errorf("group %q, %d witnesses, %d workloads of replicas", group, witnesses, replicas)
	}
}

// TestExampleManifests gets the agent into the manifests of the examples, and applies them.
func TestExampleManifests(t *testing.T) {
	install, err := inject.NewInstall("", "", "")
	must(t, err)
	files, err := filepath.Glob(filepath.Join(envtest.Root, "examples", "manifests", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d manifests, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			must(t, err)
			text, _, err = inject.Manifests(text, install)
			must(t, err)
			group, pods := applyWorkloads(t, text)
			members := 0
			for _, pod := range pods {
				_, agent, _ := unstructured.NestedSlice(pod.Object, "spec", "initContainers")
				if agent && pod.GetLabels()[podestav1.GroupLabel] == group {
					members++
				}
			}
			if group == "" || members != 1 {
				t.Errorf("group %q; %d workloads have an agent of it, want 1", group, members)
			}
		})
	}
}

// applyWorkloads applies a manifest to a namespace that enforces the restricted Pod Security
// standard, and makes a pod of each template there. It returns the group's name and the pods.
func applyWorkloads(t *testing.T, text []byte) (group string, pods []*unstructured.Unstructured) {
	t.Helper()
	namespace := restrictedNamespace(t)
	objects, err := manifest.Objects(text)
	must(t, err)
	for _, object := range objects {
		object.SetNamespace(namespace)
		applyStrictly(t, object)
		if object.GetKind() == "ElectionGroup" {
			group = object.GetName()
		}
		template, found, _ := unstructured.NestedMap(object.Object, "spec", "template")
		if !found {
			continue
		}
		pod := &unstructured.Unstructured{Object: template}
		pod.SetAPIVersion("v1")
		pod.SetKind("Pod")
		pod.SetNamespace(namespace)
		pod.SetName(object.GetName())
		claimVolumes(t, object, pod)
		applyStrictly(t, pod)
		pods = append(pods, pod)
	}
	return group, pods
}

// claimVolumes gives a pod the volumes that its StatefulSet's claims would give it.
func claimVolumes(t *testing.T, set, pod *unstructured.Unstructured) {
	t.Helper()
	claims, _, _ := unstructured.NestedSlice(set.Object, "spec", "volumeClaimTemplates")
	volumes, _, _ := unstructured.NestedSlice(pod.Object, "spec", "volumes")
	for _, claim := range claims {
		name, _, _ := unstructured.NestedString(claim.(map[string]any), "metadata", "name")
		volumes = append(volumes, map[string]any{
			"name":                  name,
			"persistentVolumeClaim": map[string]any{"claimName": name},
		})
	}
	if len(volumes) > 0 {
		must(t, unstructured.SetNestedSlice(pod.Object, volumes, "spec", "volumes"))
	}
}

// restrictedNamespace makes a namespace that enforces the restricted Pod Security standard.
func restrictedNamespace(t *testing.T) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "api-",
		Labels:       map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}
	must(t, kube.Create(t.Context(), namespace))
	return namespace.Name
}

// applyStrictly applies an object; a field that the server does not know is an error.
func applyStrictly(t *testing.T, object *unstructured.Unstructured) {
	t.Helper()
	strict := client.WithFieldValidation(kube, metav1.FieldValidationStrict)
	configuration := client.ApplyConfigurationFromUnstructured(object)
	if err := strict.Apply(t.Context(), configuration, client.FieldOwner("test")); err != nil {
		t.Errorf("%s %s: %v", object.GetKind(), object.GetName(), err)
	}
}

// kustomizeSamples returns what `kubectl apply -k config/samples` would apply.
func kustomizeSamples(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	kubectl := filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl")
	command := exec.CommandContext(t.Context(), kubectl, "kustomize", samples)
	command.Stderr = os.Stderr
	content, err := command.Output()
	must(t, err)
	objects, err := manifest.Objects(content)
	must(t, err)
	return objects
}
