package install

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/podesta-dev/podesta/test/manifest"
)

// TestGitOps applies what the chart renders with the values of the examples for Argo CD and Flux, as
// they do. The second time changes nothing, and the cluster has all that the chart has: the tools see
// no difference.
func TestGitOps(t *testing.T) {
	own, _ := newServer(t)
	must(t, own.Kube.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: system}}))
	for _, test := range []struct {
		file   string
		object int
		values []string
	}{
		{filepath.Join("argocd", "applications.yaml"), 0, []string{"spec", "source", "helm", "valuesObject"}},
		{filepath.Join("flux", "release.yaml"), 1, []string{"spec", "values"}},
	} {
		examples, err := manifest.Read(filepath.Join(root, "config", test.file))
		must(t, err)
		values, found, err := unstructured.NestedMap(examples[test.object].Object, test.values...)
		if must(t, err); !found {
			t.Fatalf("%s has no values", test.file)
		}
		text, err := yaml.Marshal(values)
		must(t, err)
		file := filepath.Join(t.TempDir(), "values.yaml")
		must(t, os.WriteFile(file, text, 0o600))
		for name, object := range template(t, helms[0], "--namespace", system, "--values", file) {
			first := applied(t, own.Kube, object)
			second := applied(t, own.Kube, object)
			if difference := cmp.Diff(owned(first), owned(second)); difference != "" {
				t.Errorf("%s: applied again, %s is another:\n%s", test.file, name, difference)
			}
			if other, err := manifest.Other(object, second); err != nil || len(other) > 0 {
				t.Errorf("%s: of %s, the cluster has something else: %v, %v", test.file, name, other, err)
			}
		}
	}
}

// applied applies an object as a GitOps tool does that owns its fields, and returns what the API
// server has then.
func applied(t *testing.T, kube client.Client, object *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	live := object.DeepCopy()
	must(t, kube.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(live),
		client.FieldOwner("gitops"), client.ForceOwnership))
	return live
}

// owned is an object without what the API server itself writes to it meanwhile: its status.
func owned(object *unstructured.Unstructured) map[string]any {
	copied := object.DeepCopy()
	copied.SetResourceVersion("")
	copied.SetManagedFields(slices.DeleteFunc(copied.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Subresource == "status"
	}))
	delete(copied.Object, "status")
	return copied.Object
}

// TestAChartWithoutItsLink is an error. An archive of the repository may leave links out, as Flux's
// does, and what the chart would render then has no definition and no policy.
func TestAChartWithoutItsLink(t *testing.T) {
	for _, helm := range helms {
		folder := filepath.Join(t.TempDir(), "podesta")
		must(t, os.MkdirAll(filepath.Join(folder, "templates"), 0o700))
		for _, pattern := range []string{"*.yaml", "*.json", filepath.Join("templates", "*")} {
			files, err := filepath.Glob(filepath.Join(chart, pattern))
			must(t, err)
			for _, file := range files {
				name, err := filepath.Rel(chart, file)
				must(t, err)
				content, err := os.ReadFile(file)
				must(t, err)
				must(t, os.WriteFile(filepath.Join(folder, name), content, 0o600))
			}
		}
		_, err := tool(helm, "template", "podesta", folder, "--kube-version", "1.36.0")
		if said := saidBy(err); !strings.Contains(said, "lacks its folder config/") {
			t.Errorf("%s: it says %q", helm, said)
		}
	}
}
