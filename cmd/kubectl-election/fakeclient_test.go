package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

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
type fakeServer struct {
	kube client.WithWatch
	// lease returns the managers' Lease at each reading.
	lease func(ctx context.Context) (*coordinationv1.Lease, error)
}

// leading is the Lease of a manager that leads: each reading finds it renewed.
func leading() func(context.Context) (*coordinationv1.Lease, error) {
	var read atomic.Int64
	return func(context.Context) (*coordinationv1.Lease, error) {
		return leaseOf("podesta-manager-7d4f-abc_17", noon.Add(time.Duration(read.Add(1))*time.Microsecond)), nil
	}
}

func leaseOf(holder string, renewed time.Time) *coordinationv1.Lease {
	return &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{
		HolderIdentity:       &holder,
		LeaseDurationSeconds: new(int32(8)),
		RenewTime:            &metav1.MicroTime{Time: renewed},
	}}
}

var errNoPod = errors.New("there is no such pod")

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
	if lease, ok := into.(*coordinationv1.Lease); ok && f.lease != nil {
		read, err := f.lease(ctx)
		if err == nil {
			read.DeepCopyInto(lease)
		}
		return err
	}
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
