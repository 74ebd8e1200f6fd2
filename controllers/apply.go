package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// The field managers of what the manager applies, one a concern.
const (
	rosterOwner  = client.FieldOwner("podesta-roster")
	statusOwner  = client.FieldOwner("podesta-status")
	roleOwner    = client.FieldOwner("podesta-role")
	serviceOwner = client.FieldOwner("podesta-service")
	trustOwner   = client.FieldOwner("podesta-trust")
	leaderOwner  = client.FieldOwner("podesta-leader")
)

// persistRoster writes status.roster, and only if the group is still the one that was observed: the resource version goes
// with the apply, so whoever else has written in between (a second manager above all) makes it fail with a conflict.
func (r *ElectionGroups) persistRoster(ctx context.Context, o observation, m *memory, record *v1.RosterStatus) error {
	// Forced, so that a field owner (a restored backup, an edit by hand) does not freeze the group; what protects a roster
	// that another manager wrote in between is the resource version.
	version, err := r.applyStatus(ctx, o.group, v1.ElectionGroupStatus{Roster: record}, observedVersion(o, m), rosterOwner, client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("persist the roster: %w", err)
	}
	status := o.published
	status.Roster = record
	m.wrote(status, version)
	m.roster = record.DeepCopy() // from here on it may be lost, too
	return nil
}

// observedVersion is the resource version of the status that the observation speaks of.
func observedVersion(o observation, m *memory) string {
	if older(o.group.ResourceVersion, m.version) {
		return m.version
	}
	return o.group.ResourceVersion
}

// publishView writes the status, its roster apart, and only to the state that was observed. What others wrote into those
// fields is overwritten: they are ours.
func (r *ElectionGroups) publishView(ctx context.Context, o observation, m *memory, v view) error {
	status := v.status
	status.Roster = nil
	version, err := r.applyStatus(ctx, o.group, status, observedVersion(o, m), statusOwner, client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("publish the status: %w", err)
	}
	m.wrote(v.status, version)
	return nil
}

// applyStatus applies a part of the status, to this very group (UID) and, if version is given, to this very state of it. It
// returns the resource version that came of it.
func (r *ElectionGroups) applyStatus(ctx context.Context, group *v1.ElectionGroup, status v1.ElectionGroupStatus,
	version string, opts ...client.SubResourceApplyOption) (string, error) {
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
	if err := r.Client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(u), opts...); err != nil {
		return "", err
	}
	return u.GetResourceVersion(), nil
}

// moveRole takes the role label off every pod but the coordinator's, then puts it on the coordinator's. So there may be a
// moment without the label, never one with two.
func (r *ElectionGroups) moveRole(ctx context.Context, o observation, m *memory, coordinator string) error {
	if err := r.unmarkStrays(ctx, o, m); err != nil {
		return err
	}
	held := false
	for _, pod := range o.holders {
		if pod.Name == coordinator {
			held = true
			continue
		}
		if err := r.unmark(ctx, m, pod); err != nil {
			return fmt.Errorf("take the role label off pod %s: %w", pod.Name, err)
		}
	}
	for _, pod := range o.pods {
		if pod.Name == coordinator && !held {
			if err := r.mark(ctx, m, pod); err != nil {
				return fmt.Errorf("put the role label on pod %s: %w", pod.Name, err)
			}
		}
	}
	return nil
}

// unmarkStrays takes the role label off pods that left the group with it: they are no longer watched.
func (r *ElectionGroups) unmarkStrays(ctx context.Context, o observation, m *memory) error {
	for uid, name := range m.marked {
		if slices.ContainsFunc(o.pods, func(pod *corev1.Pod) bool { return pod.UID == uid }) {
			continue
		}
		stray := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: o.group.Namespace, Name: name, UID: uid}}
		if err := r.unmark(ctx, m, stray); err != nil {
			return fmt.Errorf("take the role label off pod %s, which left the group: %w", name, err)
		}
	}
	return nil
}

// mark applies the role label to this very pod: with the UID, an apply never makes a pod.
func (r *ElectionGroups) mark(ctx context.Context, m *memory, pod *corev1.Pod) error {
	label := corev1ac.Pod(pod.Name,
		pod.Namespace).WithUID(pod.UID).WithLabels(map[string]string{v1.RoleLabel: v1.RoleCoordinator})
	err := r.Client.Apply(ctx, label, roleOwner, client.ForceOwnership)
	if err != nil {
		return ignoreReplaced(err)
	}
	if label.ResourceVersion != nil {
		m.roles[pod.UID] = role{coordinator: true, version: *label.ResourceVersion}
		m.marked[pod.UID] = pod.Name
	}
	return nil
}

// unmark removes the label by a patch rather than by applying without it: so it goes also where someone else put it, such as
// a pod template.
func (r *ElectionGroups) unmark(ctx context.Context, m *memory, pod *corev1.Pod) error {
	patched := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
	patch := fmt.Sprintf(`{"metadata":{"uid":%q,"labels":{%q:null}}}`, pod.UID, v1.RoleLabel)
	err := r.Client.Patch(ctx, patched, client.RawPatch("application/merge-patch+json", []byte(patch)), roleOwner)
	if err = ignoreReplaced(err); err != nil {
		return err
	}
	delete(m.marked, pod.UID)
	if patched.ResourceVersion == "" {
		return nil // the pod is gone
	}
	m.roles[pod.UID] = role{coordinator: false, version: patched.ResourceVersion}
	return nil
}

// ignoreReplaced ignores that a pod is gone or another one has its name: the watch brings the news.
func ignoreReplaced(err error) error {
	if Replaced(err) {
		return nil
	}
	return err
}

// Replaced reports whether a patch that names a UID was refused because no object of the name has it. API servers say so in three
// ways: not found, conflict, and, for a merge patch of another object of that name, that the UID is immutable.
func Replaced(err error) bool {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return true
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(c metav1.StatusCause) bool { return c.Field == "metadata.uid" })
}
