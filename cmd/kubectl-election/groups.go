package main

import (
	"context"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// groupsResource is what the API server calls groups.
var groupsResource = v1.GroupVersion.WithResource("electiongroups")

// watch begins after a version of a list. An event's object is a group, or the status of an error.
func (s *apiServer) watch(
	ctx context.Context, which reading, version string,
) (watch.Interface, error) {
	options := which.options()
	options.ResourceVersion, options.AllowWatchBookmarks = version, true
	events, err := s.kube.Resource(groupsResource).Namespace(which.namespace).Watch(ctx, options)
	if err != nil {
		return nil, s.known(ctx, groupsResource, err)
	}
	return watch.Filter(events, groupEvent), nil
}

// patch applies a JSON merge patch to a group.
func (s *apiServer) patch(ctx context.Context, key types.NamespacedName, change []byte) error {
	ctx, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	_, err := s.kube.Resource(groupsResource).Namespace(key.Namespace).Patch(ctx, key.Name,
		types.MergePatchType, change, metav1.PatchOptions{})
	return err
}

// options selects what is read.
func (r reading) options() (o metav1.ListOptions) {
	o.LabelSelector = r.labels
	if r.name != "" {
		o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, r.name).String()
	}
	return o
}

// groupName returns the name that an argument has, which may be as -o name prints it: TYPE/NAME.
func groupName(argument string) string {
	kind, name, found := strings.Cut(argument, "/")
	kind = strings.TrimSuffix(kind, "."+v1.GroupVersion.Group)
	if found && slices.Contains([]string{"eg", "electiongroup", "electiongroups"}, kind) {
		return name
	}
	return argument
}

// keyOf returns the name of a group, with its namespace.
func keyOf(g *v1.ElectionGroup) types.NamespacedName {
	return types.NamespacedName{Namespace: g.Namespace, Name: g.Name}
}

// groupEvent returns an event with a group as its object. One that cannot be is an error.
func groupEvent(e watch.Event) (_ watch.Event, keep bool) {
	object, ok := e.Object.(*unstructured.Unstructured)
	if !ok || e.Type == watch.Error {
		return e, true
	}
	group := &v1.ElectionGroup{}
	if err := decode(object, group); err != nil {
		return watch.Event{Type: watch.Error, Object: &metav1.Status{
			Status:  metav1.StatusFailure,
			Message: "decode an event of the watch: " + err.Error(),
		}}, true
	}
	return watch.Event{Type: e.Type, Object: group}, true
}
