package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	manifests "github.com/podesta-dev/podesta/test/manifest"
)

// apply applies the objects of a file, or of all files of a directory, server-side, as kubectl
// does.
func (c *Cluster) apply(ctx context.Context, manifest string) error {
	c.options.Report("applying " + manifest)
	objects, err := read(manifest)
	if err != nil {
		return err
	}
	kube, err := client.New(c.Config, client.Options{})
	if err != nil {
		return err
	}
	for _, object := range objects {
		err := kube.Apply(ctx, client.ApplyConfigurationFromUnstructured(object),
			client.FieldOwner("cluster"))
		if err != nil {
			return fmt.Errorf("applying %s %s of %s: %w", object.GetKind(), object.GetName(), manifest, err)
		}
	}
	return nil
}

// read returns the objects of a file, or those of the YAML files of a directory in the order of
// their names. It leaves kustomizations out.
func read(manifest string) ([]*unstructured.Unstructured, error) {
	files := []string{manifest}
	if info, err := os.Stat(manifest); err != nil {
		return nil, err
	} else if info.IsDir() {
		if files, err = filepath.Glob(filepath.Join(manifest, "*.yaml")); err != nil {
			return nil, err
		}
	}
	var objects []*unstructured.Unstructured
	for _, file := range files {
		if filepath.Base(file) == "kustomization.yaml" {
			continue
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		ofFile, err := parse(content)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		objects = append(objects, ofFile...)
	}
	if len(objects) == 0 {
		return nil, fmt.Errorf("%s: no objects to apply", manifest)
	}
	return objects, nil
}

// parse returns the objects of the documents of a file.
func parse(content []byte) ([]*unstructured.Unstructured, error) {
	objects, err := manifests.Objects(content)
	if err != nil {
		return nil, err
	}
	for _, object := range objects {
		if object.GetKind() == "" || object.GetName() == "" ||
			strings.HasSuffix(object.GetKind(), "List") {
			return nil, errors.New("an object needs a kind and a name, and must not be a list")
		}
	}
	return objects, nil
}
