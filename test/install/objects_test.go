package install

import (
	"maps"
	"os"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/podesta-dev/podesta/test/manifest"
)

// objects are the objects of a manifest, by kind and name.
type objects map[string]*unstructured.Unstructured

func key(kind, name string) string { return kind + "/" + name }

// parse reads a manifest. Two objects of one kind and name in it are an error.
func parse(t *testing.T, text string) objects {
	t.Helper()
	all := objects{}
	objects, err := manifest.Objects([]byte(text))
	must(t, err)
	for _, object := range objects {
		k := key(object.GetKind(), object.GetName())
		if all[k] != nil {
			t.Errorf("%s is there twice", k)
		}
		all[k] = object
	}
	return all
}

// installed are the objects of dist/install.yaml.
func installed(t *testing.T) objects { return parseFile(t, install) }

// everything are the objects of all of dist.
func everything(t *testing.T) objects {
	all := installed(t)
	maps.Copy(all, parseFile(t, inject))
	return all
}

func parseFile(t *testing.T, file string) objects {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	return parse(t, string(text))
}

// as converts the object of that kind and name.
func as[T any](t *testing.T, all objects, kind, name string) *T {
	t.Helper()
	object := all[key(kind, name)]
	if object == nil {
		t.Fatalf("no %s %s; there are %v", kind, name, slices.Sorted(maps.Keys(all)))
	}
	typed := new(T)
	must(t, runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, typed, true))
	return typed
}
