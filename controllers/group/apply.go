package group

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/controllers/byuid"
)

// The field managers of what this controller applies, one a concern.
const (
	rosterOwner  = client.FieldOwner("podesta-roster")
	statusOwner  = client.FieldOwner("podesta-status")
	roleOwner    = client.FieldOwner("podesta-role")
	serviceOwner = client.FieldOwner("podesta-service")
)

// apply makes all writes of a pass. It returns the state to carry over, which holds what was
// written also when a later write failed, and when the group is to be reconciled again.
func (r *Reconciler) apply(ctx context.Context, o observation,
	d decision) (next state, again time.Duration, err error) {
	next = o.next(d)
	if o.replaces { // nobody saw that the old group was deleted
		r.Metrics.groupDeleted(client.ObjectKeyFromObject(o.group))
	}
	if d.roster.record != nil {
		err := r.persistRoster(ctx, o, d.roster, &next)
		if byuid.Replaced(err) {
			return next, o.debounce, nil // the group has changed since it was observed, or is gone
		} else if err != nil {
			return r.onlyRemove(ctx, o, d, next, fmt.Errorf("persist the roster: %w", err))
		}
		o.published.Roster = d.roster.record
	}
	if d.roster.setBack != nil {
		r.Rosters.Recall(o.group.Namespace, o.group.Name)
	}
	if d.roster.roster != nil {
		r.Rosters.Publish(*d.roster.roster)
	}
	r.Rosters.Hold(o.group.Namespace, o.group.Name, d.roster.hold)
	r.record(o.group, d.rosterEvents)
	if d.status != nil {
		err = r.publishStatus(ctx, o, *d.status, &next)
		if byuid.Replaced(err) {
			return next, o.debounce, nil
		} else if err != nil {
			return r.onlyRemove(ctx, o, d, next, fmt.Errorf("publish the status: %w", err))
		}
	}
	ofRole, errRole := r.applyRole(ctx, d.role, o.now, &next)
	ofService, errService := r.applyService(ctx, o, d.service, &next)
	if err := errors.Join(errRole, errService); err != nil {
		return next, 0, err
	}
	if ofRole || ofService {
		return next, sooner(d.again, o.debounce), nil
	}
	return next, d.again, nil
}

// onlyRemove is the rest of a pass of which a write has failed: nobody keeps the role label who is
// not to have it.
func (r *Reconciler) onlyRemove(ctx context.Context, o observation, d decision, next state,
	failed error) (state, time.Duration, error) {
	d.role.set = nil
	_, ofRole := r.applyRole(ctx, d.role, o.now, &next)
	return next, 0, errors.Join(failed, ofRole)
}

// persistRoster writes status.roster, and only if the group is still the one that was observed (MC1
// in internal/membership): the resource version goes with the write, so it fails with a conflict if
// somebody else, a second manager above all, has written in between.
func (r *Reconciler) persistRoster(ctx context.Context, o observation, d rosterDecision,
	next *state) error {
	version, err := r.writeStatus(ctx, o, v1.ElectionGroupStatus{Roster: d.record},
		next.observedVersion(o.group), rosterOwner)
	if err != nil {
		return err
	}
	status := o.published
	status.Roster = d.record
	next.wrote(status, version)
	next.membership = next.membership.Persisted(d.persist)
	return nil
}

// publishStatus writes the status, its roster apart, if it has changed, and only to the state that
// was observed. What others wrote into those fields is overwritten: they are ours.
func (r *Reconciler) publishStatus(ctx context.Context, o observation, d statusDecision,
	next *state) error {
	if changed(d.status, o.published) {
		next.writes.spend(o.now)
		status := d.status
		status.Roster = nil
		version, err := r.writeStatus(ctx, o, status, next.observedVersion(o.group), statusOwner)
		if err != nil {
			return err
		}
		status.Roster = o.published.Roster
		next.wrote(status, version)
		r.record(o.group, d.events)
	}
	next.showing, next.statusAt = true, o.now
	next.epoch = max(next.epoch, epochOf(d.status))
	r.Metrics.published(o.group, o.published, d.status)
	r.Metrics.wrong(o.group, d.degraded, stalledIn(d.status))
	return nil
}

// writeStatus writes a part of the status. It is forced, so that another field owner (a restored
// backup, an edit by hand) does not freeze the group. It returns the resource version that came of
// it.
func (r *Reconciler) writeStatus(ctx context.Context, o observation, part v1.ElectionGroupStatus,
	version string, owner client.FieldOwner) (written string, err error) {
	if slices.ContainsFunc(o.group.ManagedFields, ownsOurStatus) {
		written, err = r.replaceStatus(ctx, o, part, version, owner)
	} else {
		written, err = r.applyStatus(ctx, o.group, part, version, owner)
	}
	r.Metrics.wrote(owner, err)
	if err != nil {
		return "", r.outdated(o.group, err)
	}
	return written, nil
}

// applyStatus applies a part of the status, to this very group (UID) and to this very state of it.
// It returns the resource version that came of it.
func (r *Reconciler) applyStatus(ctx context.Context, group *v1.ElectionGroup,
	status v1.ElectionGroupStatus, version string, owner client.FieldOwner) (string, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&status)
	if err != nil {
		return "", err
	}
	u := &unstructured.Unstructured{Object: map[string]any{"status": content}}
	u.SetGroupVersionKind(v1.GroupVersion.WithKind("ElectionGroup"))
	u.SetNamespace(group.Namespace)
	u.SetName(group.Name)
	u.SetUID(group.UID)
	u.SetResourceVersion(version)
	wanted := client.ApplyConfigurationFromUnstructured(u)
	err = r.Client.Status().Apply(ctx, wanted, owner, client.ForceOwnership)
	return u.GetResourceVersion(), err
}

// outdated returns an error of the API server, and says what to do if its definition of groups
// lacks a field that was to be written. The API server then refuses the whole write, so nothing of
// what is persisted is lost; and what is not persisted is not handed out. Its error has no type.
func (r *Reconciler) outdated(group *v1.ElectionGroup, err error) error {
	if !strings.Contains(err.Error(), "field not declared in schema") && // when it is applied
		!strings.Contains(err.Error(), "strict decoding error: unknown field") { // in a patch
		return err
	}
	const note = "the CustomResourceDefinition of ElectionGroups is older than the manager: apply " +
		"the one of the manager's version (docs/guides/upgrade.md)"
	r.record(group, []notification{{corev1.EventTypeWarning, "DefinitionOutdated", "Apply", note}})
	return fmt.Errorf(note+": %w", err)
}
