// Package manifest reads and applies the objects of YAML manifests.
package manifest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
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

// Apply applies the objects of a file server-side, as kubectl does, or those of a folder's YAML
// files but its kustomization, in the order of their names.
func Apply(ctx context.Context, kube client.Client, path, owner string) error {
	files := []string{path}
	if info, err := os.Stat(path); err != nil {
		return err
	} else if info.IsDir() {
		if files, err = filepath.Glob(filepath.Join(path, "*.yaml")); err != nil {
			return err
		}
	}
	for _, file := range files {
		if filepath.Base(file) == "kustomization.yaml" {
			continue
		}
		objects, err := Read(file)
		if err != nil {
			return err
		}
		for _, object := range objects {
			err := kube.Apply(ctx, client.ApplyConfigurationFromUnstructured(object),
				client.FieldOwner(owner))
			if err != nil {
				return fmt.Errorf("%s: %s %s: %w", file, object.GetKind(), object.GetName(), err)
			}
		}
	}
	return nil
}
