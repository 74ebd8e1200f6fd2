package api

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	podestav1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/inject"
)

// TestSamples applies config/samples to a namespace that enforces the restricted Pod Security
// standard.
func TestSamples(t *testing.T) {
	namespace := newNamespace(t)
	restricted := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	patch := client.RawPatch(client.Merge.Type(),
		[]byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}`))
	if err := kube.Patch(t.Context(), restricted, patch); err != nil {
		t.Fatal(err)
	}
	for _, object := range kustomize(t, "samples") {
		object.SetNamespace(namespace)
		applyStrictly(t, object)
	}

	var group podestav1.ElectionGroup
	if err := kube.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "scheduler"}, &group); err != nil {
		t.Fatal(err)
	}
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
	content, err := os.ReadFile(filepath.Join("..", "..", "config", "samples", "podesta_v1_electiongroup_classic.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(content, &object.Object); err != nil {
		t.Fatal(err)
	}
	object.SetNamespace(newNamespace(t))
	applyStrictly(t, object)
	var group podestav1.ElectionGroup
	if err := kube.Get(t.Context(), client.ObjectKeyFromObject(object), &group); err != nil || group.Spec.Safety != podestav1.Classic {
		t.Errorf("the sample is %q (%v); want Classic", group.Spec.Safety, err)
	}
}

// TestTwoReplicasSample applies the sample of two replicas and a witness, and makes a pod of each
// template in a namespace that enforces the restricted Pod Security standard: all three are of the
// group, and the witness is one.
func TestTwoReplicasSample(t *testing.T) {
	namespace := newNamespace(t)
	restricted := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	patch := client.RawPatch(client.Merge.Type(),
		[]byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}`))
	if err := kube.Patch(t.Context(), restricted, patch); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(filepath.Join("..", "..", "config", "samples", "two_replicas.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }() // it was only read
	decoder := yaml.NewYAMLOrJSONDecoder(file, 4096)
	var group string
	var witnesses, replicas int
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(&object.Object); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		object.SetNamespace(namespace)
		applyStrictly(t, object)
		template, found, _ := unstructured.NestedMap(object.Object, "spec", "template")
		if !found {
			group = object.GetName()
			continue
		}
		pod := &unstructured.Unstructured{Object: template}
		pod.SetAPIVersion("v1")
		pod.SetKind("Pod")
		pod.SetNamespace(namespace)
		pod.SetName(object.GetName())
		applyStrictly(t, pod)
		if pod.GetLabels()[podestav1.GroupLabel] != group {
			t.Errorf("a pod of %s has the labels %v", object.GetName(), pod.GetLabels())
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

// TestExampleManifests gets the agent into the manifests of the examples, applies them to a
// namespace that enforces the restricted Pod Security standard, and makes a pod of each template.
func TestExampleManifests(t *testing.T) {
	install, err := inject.NewInstall("", "", "")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join("..", "..", "examples", "manifests", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d manifests, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if text, _, err = inject.Manifests(text, install); err != nil {
				t.Fatal(err)
			}
			group, members := applyExample(t, text)
			if group == "" || len(members) != 1 || members[0] != group {
				t.Errorf("group %q; the pods with an agent are of %q", group, members)
			}
		})
	}
}

// applyExample applies a manifest. It returns the group's name, and for each template with an agent
// the group that its pods join.
func applyExample(t *testing.T, text []byte) (group string, members []string) {
	t.Helper()
	namespace := newNamespace(t)
	restricted := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	patch := client.RawPatch(client.Merge.Type(),
		[]byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}`))
	if err := kube.Patch(t.Context(), restricted, patch); err != nil {
		t.Fatal(err)
	}
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(&object.Object); errors.Is(err, io.EOF) {
			return group, members
		} else if err != nil {
			t.Fatal(err)
		}
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
		if _, found, _ := unstructured.NestedSlice(template, "spec", "initContainers"); found {
			members = append(members, pod.GetLabels()[podestav1.GroupLabel])
		}
	}
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
	if len(volumes) == 0 {
		return
	}
	if err := unstructured.SetNestedSlice(pod.Object, volumes, "spec", "volumes"); err != nil {
		t.Fatal(err)
	}
}

// TestInstallation applies config/default, and makes a pod of the manager's in the namespace that
// it brings.
func TestInstallation(t *testing.T) {
	for _, object := range kustomize(t, "default") {
		if object.GetKind() == "CustomResourceDefinition" { // all other tests use it at this moment
			continue
		}
		applyStrictly(t, object)
	}

	checkBindings(t)

	var manager appsv1.Deployment
	key := client.ObjectKey{Namespace: "podesta-system", Name: "podesta-manager"}
	if err := kube.Get(t.Context(), key, &manager); err != nil {
		t.Fatal(err)
	}
	template := manager.Spec.Template
	template.ObjectMeta.Namespace, template.ObjectMeta.Name = key.Namespace, key.Name
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	if err := kube.Create(t.Context(), pod, client.DryRunAll); err != nil {
		t.Errorf("a pod of the manager: %v", err)
	}

	var roster corev1.Service
	key.Name = "podesta-roster"
	if err := kube.Get(t.Context(), key, &roster); err != nil {
		t.Fatal(err)
	}
	for label, value := range roster.Spec.Selector { // the leader adds its own label to those of the template
		if template.Labels[label] != value && label != "podesta.dev/leader" {
			t.Errorf("Service %s selects %s=%s; the manager's pods have %v", roster.Name, label, value, template.Labels)
		}
	}
}

// checkBindings checks that every role that a binding of the installation names exists: the API
// server does not.
func checkBindings(t *testing.T) {
	t.Helper()
	var everywhere rbacv1.ClusterRoleBindingList
	var here rbacv1.RoleBindingList
	installed := client.MatchingLabels{"app.kubernetes.io/part-of": "podesta"}
	for _, list := range []client.ObjectList{&everywhere, &here} {
		if err := kube.List(t.Context(), list, installed); err != nil {
			t.Fatal(err)
		}
	}
	if len(everywhere.Items) == 0 || len(here.Items) == 0 {
		t.Errorf("%d cluster role bindings and %d role bindings; want some", len(everywhere.Items), len(here.Items))
	}
	for _, binding := range everywhere.Items {
		if err := kube.Get(t.Context(), client.ObjectKey{Name: binding.RoleRef.Name}, &rbacv1.ClusterRole{}); err != nil {
			t.Error(err)
		}
	}
	for _, binding := range here.Items {
		key := client.ObjectKey{Namespace: binding.Namespace, Name: binding.RoleRef.Name}
		if err := kube.Get(t.Context(), key, &rbacv1.Role{}); err != nil {
			t.Error(err)
		}
	}
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

// kustomize returns what `kubectl apply -k config/<folder>` would apply.
func kustomize(t *testing.T, folder string) []*unstructured.Unstructured {
	t.Helper()
	kubectl := filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl")
	command := exec.CommandContext(t.Context(), kubectl, "kustomize", filepath.Join("..", "..", "config", folder))
	command.Stderr = os.Stderr
	content, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %v", command, err)
	}
	var objects []*unstructured.Unstructured
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	for {
		object := &unstructured.Unstructured{}
		switch err := documents.Decode(&object.Object); {
		case errors.Is(err, io.EOF):
			return objects
		case err != nil:
			t.Fatalf("%v: %v", command, err)
		}
		objects = append(objects, object)
	}
}
