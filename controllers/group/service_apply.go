package group

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/controllers/byuid"
)

// absentVersion is a resource version that no Service has: an apply that carries it makes the
// Service if there is none of that name (an API server compares versions only with objects that it
// has), and conflicts if there is one. Without it a Service that was created a moment ago would be
// adopted.
const absentVersion = "1"

// observeService reads the Service that a group asks for. The cache only holds Services that carry
// the group's label; so the API server is asked whether another one has the name, now and then as
// long as the group has none.
func (r *Reconciler) observeService(ctx context.Context, group *v1.ElectionGroup, last state,
	now time.Time) (seenService, error) {
	seen := seenService{}
	if last.refusal.generation == group.Generation {
		seen.refused = last.refusal
	}
	key := client.ObjectKey{Namespace: group.Namespace, Name: serviceName(group)}
	service := &corev1.Service{}
	err := r.Client.Get(ctx, key, service)
	if apierrors.IsNotFound(err) && group.Spec.Service != nil {
		if last.lookup.counts(group, now) {
			seen.lookup = last.lookup
			seen.foreign = last.lookup.foreign
			return seen, nil
		}
		seen.lookup = lookup{at: now, generation: group.Generation}
		err = r.Live.Get(ctx, key, service)
	}
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return seen, fmt.Errorf("read Service %s: %w", key.Name, err)
	case metav1.IsControlledBy(service, group):
		seen.ours, seen.lookup = service, lookup{}
	default:
		seen.foreign = ownerOf(service)
		seen.lookup.foreign = seen.foreign
	}
	return seen, nil
}

// applyService does what was decided about the group's Service. It reports whether the group is to
// be reconciled again soon: the Service is another one than was observed, or the API server has
// refused it or does so no longer, which the status is to say.
func (r *Reconciler) applyService(ctx context.Context, o observation, d serviceDecision,
	next *state) (soon bool, err error) {
	refused := o.refusal.message != ""
	next.lookup = o.service.lookup
	switch {
	case d.err != nil:
		return false, d.err
	case d.remove != nil:
		err = r.Client.Delete(ctx, d.remove, client.Preconditions{UID: &d.remove.UID})
		if byuid.Replaced(err) {
			return false, nil
		}
		return false, err
	case d.upToDate:
		next.refusal = refusal{}
		return refused, nil
	case d.apply == nil:
		return false, nil
	}
	if d.apply.UID == nil {
		d.apply.WithResourceVersion(absentVersion)
	}
	err = r.Client.Apply(ctx, d.apply, serviceOwner, client.ForceOwnership)
	message := refusedFor(err)
	if message == "" {
		next.lookup = lookup{} // there is a Service now, or may be
	}
	switch {
	case message != "":
		soon = o.refusal.message != message
		next.refusal = refusal{
			message:    message,
			at:         o.now,
			generation: o.group.Generation,
		}
		return soon, nil
	case apierrors.IsConflict(err):
		return true, nil
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return false, nil // nobody will need it
	case err != nil:
		return false, fmt.Errorf("apply Service %s: %w", *d.apply.Name, err)
	}
	next.refusal = refusal{}
	return refused, nil
}
