package main

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// apiServer reads and writes objects of kinds that the command names. It knows no other: a client
// that has all kinds of Kubernetes makes the program 17 MB larger (docs/evidence/measurements.md).
type apiServer struct {
	kube  dynamic.Interface
	rest  rest.Interface
	limit time.Duration // of each answer, a watch excepted
}

// answerTime is how long the API server may take to answer, unless --request-timeout is more.
const answerTime = 30 * time.Second

func newAPIServer(config *rest.Config) (*apiServer, error) {
	config = dynamic.ConfigFor(config)
	config.WarningHandlerWithContext = rest.NoWarnings{} // the library's has them in a log's form
	client, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, noCluster(err)
	}
	return &apiServer{
		kube:  dynamic.New(client),
		rest:  client,
		limit: max(config.Timeout, answerTime),
	}, nil
}

// get reads an object into one of its type.
func (s *apiServer) get(ctx context.Context, resource schema.GroupVersionResource,
	key types.NamespacedName, into runtime.Object) error {
	ctx, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	object, err := s.kube.Resource(resource).Namespace(key.Namespace).Get(ctx, key.Name,
		metav1.GetOptions{})
	if err != nil {
		return s.known(ctx, resource, err)
	}
	return decode(object, into)
}

// list reads the objects of a namespace into a list of their type; of all, if the namespace is
// empty.
func (s *apiServer) list(ctx context.Context, resource schema.GroupVersionResource,
	namespace string, which metav1.ListOptions, into runtime.Object) error {
	ctx, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	objects, err := s.kube.Resource(resource).Namespace(namespace).List(ctx, which)
	if err != nil {
		return s.known(ctx, resource, err)
	}
	return decode(objects, into)
}

// review has the API server answer a review, in which its kind is written, and reads the answer
// into it.
func (s *apiServer) review(ctx context.Context, resource schema.GroupVersionResource,
	review runtime.Object) error {
	ctx, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(review)
	if err != nil {
		return err
	}
	answer, err := s.kube.Resource(resource).Create(ctx, &unstructured.Unstructured{Object: content},
		metav1.CreateOptions{})
	if err != nil {
		return err
	}
	return decode(answer, review)
}

// decode turns what the API server sent into an object of its type. Fields that it does not have
// are ignored.
func decode(from runtime.Unstructured, into runtime.Object) error {
	return runtime.DefaultUnstructuredConverter.FromUnstructured(from.UnstructuredContent(), into)
}

// known returns an error as it is, or that the API server has no such resource. An API server
// forbids what it does not have, too, to whom no rule allows it. So it is asked then: everybody who
// has logged in may know what it has.
func (s *apiServer) known(
	ctx context.Context, resource schema.GroupVersionResource, err error,
) error {
	absent := &meta.NoResourceMatchError{PartialResource: resource}
	switch {
	case apierrors.IsNotFound(err) && !namesAGroup(err):
		return absent
	case !apierrors.IsForbidden(err):
		return err
	}
	path := []string{"apis", resource.Group, resource.Version}
	if resource.Group == "" {
		path = []string{"api", resource.Version}
	}
	answer, unanswered := s.rest.Get().AbsPath(path...).Do(ctx).Raw()
	if apierrors.IsNotFound(unanswered) {
		return absent
	}
	var has metav1.APIResourceList
	if unanswered != nil || json.Unmarshal(answer, &has) != nil {
		return err
	}
	if slices.ContainsFunc(has.APIResources, func(r metav1.APIResource) bool {
		return r.Name == resource.Resource
	}) {
		return err
	}
	return absent
}
