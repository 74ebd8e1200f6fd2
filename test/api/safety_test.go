package api

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// TestSafetyCannotBeChanged tries the rule on a server that knows a second value. While the API has only Classic, a change
// is refused for its value already, so the test serves a copy of the API, under a group of its own, that has Guarded too.
func TestSafetyCannotBeChanged(t *testing.T) {
	const group = "two-safeties.podesta.dev"
	serveWithGuarded(t, group)

	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: "v1", Kind: "ElectionGroup"})
	object.SetNamespace(newNamespace(t))
	object.SetName("scheduler")
	setSafety(t, object, "Guarded")
	if err := kube.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}

	setSafety(t, object, "Classic")
	checkRefusal(t, kube.Update(t.Context(), object),
		"spec.safety cannot be changed: delete the group and create it anew")
	unstructured.RemoveNestedField(object.Object, "spec", "safety") // the default would be a change as well
	checkRefusal(t, kube.Update(t.Context(), object), "spec.safety cannot be changed")
}

// serveWithGuarded installs the CRD under another API group, with Guarded among the values of spec.safety.
func serveWithGuarded(t *testing.T, group string) {
	t.Helper()
	crd := readCRD(t)
	crd.Name = crd.Spec.Names.Plural + "." + group
	crd.Spec.Group = group
	spec := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	safety := spec.Properties["safety"]
	safety.Enum = []apiextensionsv1.JSON{{Raw: []byte(`"Classic"`)}, {Raw: []byte(`"Guarded"`)}}
	spec.Properties["safety"] = safety

	options := envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{crd}}
	if _, err := envtest.InstallCRDs(config, options); err != nil {
		t.Fatal(err)
	}
}

func setSafety(t *testing.T, object *unstructured.Unstructured, safety string) {
	t.Helper()
	if err := unstructured.SetNestedField(object.Object, safety, "spec", "safety"); err != nil {
		t.Fatal(err)
	}
}
