package group

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/controllers/byuid"
)

// roleWrite is a write of the role label to a pod, which the cache may not show yet.
type roleWrite struct {
	coordinator bool
	version     string // resource version of the pod after it
}

// roleLabels are the pods that carry the role label.
type roleLabels struct {
	writes map[types.UID]roleWrite // that the cache does not show yet
	pods   map[types.UID]string    // by name; of the group, or gone from it with the label
}

// roleDecision is which pods lose the role label, and which one gets it.
type roleDecision struct {
	labels roleLabels // before that
	remove []byuid.Pod
	set    *byuid.Pod
}

// observedLabels returns which pods carry the role label now, as far as this manager knows.
func observedLabels(o observation) roleLabels {
	l := roleLabels{writes: map[types.UID]roleWrite{}, pods: map[types.UID]string{}}
	maps.Copy(l.pods, o.labels.pods)
	for _, pod := range o.pods {
		has := pod.Labels[v1.RoleLabel] == v1.RoleCoordinator
		if write, ok := o.labels.writes[pod.UID]; ok && older(pod.ResourceVersion, write.version) {
			has = write.coordinator
			l.writes[pod.UID] = write
		}
		delete(l.pods, pod.UID)
		if has {
			l.pods[pod.UID] = pod.Name
		}
	}
	return l
}

// decideRole moves the role label to the coordinator's pod; an empty coordinator is nobody.
func decideRole(o observation, coordinator string) roleDecision {
	d := roleDecision{labels: observedLabels(o)}
	for _, uid := range slices.Sorted(maps.Keys(d.labels.pods)) {
		name := d.labels.pods[uid]
		inGroup := slices.ContainsFunc(o.pods, func(pod *corev1.Pod) bool { return pod.UID == uid })
		if name != coordinator ||
			!inGroup { // a pod that left the group with the label is not watched any more
			d.remove = append(d.remove,
				byuid.Pod{
					Namespace: o.group.Namespace,
					Name:      name,
					UID:       uid,
				})
		}
	}
	for _, pod := range o.pods {
		if _, has := d.labels.pods[pod.UID]; !has && pod.Name == coordinator {
			d.set = new(byuid.PodOf(pod))
		}
	}
	return d
}

// withoutLabel is how long no pod has the label when it moves. Kubernetes' controller for endpoints
// writes a Service's EndpointSlice when the label leaves a pod. If the label comes to another one
// before the controller's own cache shows that write, the controller tries again only after a
// second (kubernetes/kubernetes#99345). Nothing tells the manager when the cache shows it.
const withoutLabel = 20 * time.Millisecond

// applyRole takes the role label off every pod but the coordinator's, then puts it on the
// coordinator's. So there may be a moment without the label, never one with two. A pod that is
// gone, or has been replaced, is left out: the watch brings the news.
func (r *Reconciler) applyRole(ctx context.Context, d roleDecision, now time.Time,
	next *state) error {
	left := false
	for _, pod := range d.remove {
		version, err := byuid.RemoveLabel(ctx, r.Client, pod, v1.RoleLabel, roleOwner)
		if err != nil {
			return fmt.Errorf("take the role label off pod %s: %w", pod.Name, err)
		}
		delete(next.labels.pods, pod.UID)
		if version != "" {
			left = true
			next.labels.writes[pod.UID] = roleWrite{coordinator: false, version: version}
		}
	}
	if d.set == nil {
		return nil
	}
	if left {
		select {
		case <-time.After(withoutLabel):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	next.writes.spend(now)
	version, err := byuid.SetLabel(ctx, r.Client, *d.set, v1.RoleLabel, v1.RoleCoordinator,
		roleOwner)
	switch {
	case byuid.Replaced(err):
		return nil
	case err != nil:
		return fmt.Errorf("put the role label on pod %s: %w", d.set.Name, err)
	}
	next.labels.pods[d.set.UID] = d.set.Name
	if version != "" {
		next.labels.writes[d.set.UID] = roleWrite{coordinator: true, version: version}
	}
	return nil
}
