package main

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// fakeServer is a fake cluster. The name of a resource must fit the object that it is read into: a
// real API server would answer that there is none.
type fakeServer struct{ kube client.WithWatch }

func (f fakeServer) watch(ctx context.Context, which reading, version string) (watch.Interface, error) {
	options, err := fakeOptions(which.namespace, which.options())
	if err != nil {
		return nil, err
	}
	options.Raw.ResourceVersion = version
	return f.kube.Watch(ctx, &v1.ElectionGroupList{}, options)
}

func (f fakeServer) patch(ctx context.Context, key types.NamespacedName, change []byte) error {
	group := &v1.ElectionGroup{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	return f.kube.Patch(ctx, group, client.RawPatch(types.MergePatchType, change))
}

// fakeOptions are the fake cluster's for those of the API server.
func fakeOptions(namespace string, o metav1.ListOptions) (*client.ListOptions, error) {
	byLabel, err := labels.Parse(o.LabelSelector)
	if err != nil {
		return nil, err
	}
	byField, err := fields.ParseSelector(o.FieldSelector)
	if err != nil {
		return nil, err
	}
	some := &client.ListOptions{Namespace: namespace, Raw: &o}
	if !byLabel.Empty() {
		some.LabelSelector = byLabel
	}
	if !byField.Empty() {
		some.FieldSelector = byField
	}
	return some, nil
}

func (f fakeServer) get(ctx context.Context, resource schema.GroupVersionResource,
	key types.NamespacedName, into runtime.Object) error {
	if err := f.fits(resource, into, ""); err != nil {
		return err
	}
	return f.kube.Get(ctx, key, into.(client.Object))
}

func (f fakeServer) list(ctx context.Context, resource schema.GroupVersionResource, namespace string,
	which metav1.ListOptions, into runtime.Object) error {
	if err := f.fits(resource, into, "List"); err != nil {
		return err
	}
	options, err := fakeOptions(namespace, which)
	if err != nil {
		return err
	}
	return f.kube.List(ctx, into.(client.ObjectList), options)
}

func (f fakeServer) review(ctx context.Context, resource schema.GroupVersionResource,
	question runtime.Object) error {
	if err := f.fits(resource, question, ""); err != nil {
		return err
	}
	is, err := f.kube.GroupVersionKindFor(question)
	if err != nil {
		return err
	}
	if says := question.GetObjectKind().GroupVersionKind(); says != is {
		return fmt.Errorf("a %v says that it is a %v", is, says)
	}
	return f.kube.Create(ctx, question.(client.Object))
}

// fits returns an error unless a resource has the objects of this type.
func (f fakeServer) fits(resource schema.GroupVersionResource, object runtime.Object,
	suffix string) error {
	kind, err := f.kube.GroupVersionKindFor(object)
	if err != nil {
		return err
	}
	kind.Kind = kind.Kind[:len(kind.Kind)-len(suffix)]
	if plural, _ := meta.UnsafeGuessKindToResource(kind); plural != resource {
		return fmt.Errorf("%v are read as %v", resource, plural)
	}
	return nil
}
