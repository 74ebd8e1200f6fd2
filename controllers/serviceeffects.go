package controllers

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// absentVersion is a resource version that no Service has: an apply that carries it makes the Service if there is none of that
// name (an API server compares versions with objects that it has, only), and conflicts if there is one. Without it a Service that
// came a moment ago would be adopted.
const absentVersion = "1"

// observeService looks for the Service that a group asks for. The cache holds such as carry the group's label only; so the API
// server is asked whether another one has the name, as long as the group has none.
func (r *ElectionGroups) observeService(ctx context.Context, group *v1.ElectionGroup, m *memory) (seenService, error) {
	seen := seenService{}
	if m.refusal.generation == group.Generation {
		seen.refused = m.refusal
	}
	key := client.ObjectKey{Namespace: group.Namespace, Name: serviceName(group)}
	service := &corev1.Service{}
	err := r.Client.Get(ctx, key, service)
	if apierrors.IsNotFound(err) && group.Spec.Service != nil {
		err = r.Live.Get(ctx, key, service)
	}
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return seen, fmt.Errorf("look for Service %s: %w", key.Name, err)
	case metav1.IsControlledBy(service, group):
		seen.ours = service
	default:
		seen.foreign = ownerOf(service)
	}
	return seen, nil
}

// keepService does what was decided about the group's Service. It reports whether the group is to be looked at again soon: the
// Service is another one than was observed, or the API server has refused it or does so no more, which the status is to say.
func (r *ElectionGroups) keepService(ctx context.Context, o observation, m *memory, step serviceStep) (again bool, err error) {
	refused := m.refusal.said != ""
	switch {
	case step.remove != nil:
		err = r.Client.Delete(ctx, step.remove, client.Preconditions{UID: &step.remove.UID})
		return false, ignoreReplaced(err)
	case step.settled:
		m.refusal = refusal{}
		return refused, nil
	case step.apply == nil:
		return false, nil
	}
	if step.apply.UID == nil {
		step.apply.WithResourceVersion(absentVersion)
	}
	err = r.Client.Apply(ctx, step.apply, serviceOwner, client.ForceOwnership)
	switch said := refusedFor(err); {
	case said != "":
		again = m.refusal.said != said
		m.refusal = refusal{said: said, at: o.now, generation: o.group.Generation}
		return again, nil
	case apierrors.IsConflict(err):
		return true, nil
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return false, nil // nobody will need it
	case err != nil:
		return false, fmt.Errorf("apply Service %s: %w", *step.apply.Name, err)
	}
	m.refusal = refusal{}
	return refused, nil
}

// refusedFor is what an API server says that will say the same again until a user acts; empty if it does not.
func refusedFor(err error) string {
	status := apierrors.APIStatus(nil)
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) || !errors.As(err, &status) ||
		!apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) {
		return ""
	}
	return status.Status().Message
}
