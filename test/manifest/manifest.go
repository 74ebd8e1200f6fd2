// Package manifest reads the objects of YAML manifests.
package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Objects returns the objects of a manifest, in their order. Documents without content are left
// out.
func Objects(text []byte) (objects []*unstructured.Unstructured, err error) {
	for documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		object := &unstructured.Unstructured{}
		switch err := documents.Decode(&object.Object); {
		case errors.Is(err, io.EOF):
			return objects, nil
		case err != nil:
			return nil, err
		case len(object.Object) > 0:
			objects = append(objects, object)
		}
	}
}

// Read returns the objects of a file.
func Read(path string) ([]*unstructured.Unstructured, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	objects, err := Objects(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return objects, nil
}

// Pod returns the first pod of a file.
func Pod(path string) (*corev1.Pod, error) {
	objects, err := Read(path)
	if err != nil {
		return nil, err
	}
	for _, object := range objects {
		if object.GetKind() == "Pod" {
			pod := &corev1.Pod{}
			return pod, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, pod)
		}
	}
	return nil, fmt.Errorf("%s has no pod", path)
}
