package group

import (
	"cmp"
	"context"
	"errors"
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
	writes  map[types.UID]roleWrite // that the cache does not show yet
	pods    map[types.UID]string    // by name; of the group, or gone from it with the label
	refused map[types.UID]refusal   // writes that were refused, or failed, and that are wanted
}

// roleDecision is which pods lose the role label, and which one gets it.
type roleDecision struct {
	labels  roleLabels // before that
	remove  []unlabelling
	set     *byuid.Pod
	refused string // which write the API server does not make, and why; empty: none
}

// unlabelling is a pod that loses the role label.
type unlabelling struct {
	byuid.Pod

	inGroup bool // no other pod gets the label before
}

// observedLabels returns which pods carry the role label now, as far as this manager knows.
func observedLabels(o observation) roleLabels {
	l := roleLabels{
		writes:  map[types.UID]roleWrite{},
		pods:    map[types.UID]string{},
		refused: maps.Clone(o.labels.refused),
	}
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

// decideRole moves the role label to the coordinator's pod; an empty coordinator is nobody. What
// the API server refused lately is not tried again yet.
func decideRole(o observation, coordinator string) roleDecision {
	d := roleDecision{labels: observedLabels(o)}
	d.labels.refused = map[types.UID]refusal{}
	stays := false // on a pod of the group
	for _, uid := range slices.Sorted(maps.Keys(d.labels.pods)) {
		name := d.labels.pods[uid]
		inGroup := slices.ContainsFunc(o.pods, func(pod *corev1.Pod) bool { return pod.UID == uid })
		// a pod that left the group with the label is not watched any more
		if name == coordinator && inGroup {
			continue
		}
		if d.refusedLately(o, uid, "take label "+v1.RoleLabel+" off pod "+name) {
			stays = stays || inGroup
			continue
		}
		pod := byuid.Pod{Namespace: o.group.Namespace, Name: name, UID: uid}
		d.remove = append(d.remove, unlabelling{pod, inGroup})
	}
	for _, pod := range o.pods {
		if _, has := d.labels.pods[pod.UID]; !has && pod.Name == coordinator && !stays &&
			!d.refusedLately(o, pod.UID, "put label "+v1.RoleLabel+" on pod "+pod.Name) {
			d.set = new(byuid.PodOf(pod))
		}
	}
	return d
}

// decideHeldRole is for a pass that leaves the status as it is. The label stays where it is, but
// not on a pod that is being deleted or has ended.
func decideHeldRole(o observation) roleDecision {
	d := decideRole(o, "")
	d.remove = slices.DeleteFunc(d.remove, func(u unlabelling) bool {
		return !slices.ContainsFunc(o.pods, func(pod *corev1.Pod) bool {
			return pod.UID == u.UID && (departing(pod) || finished(pod))
		})
	})
	return d
}

// refusedLately reports whether the write to a pod was refused so lately that it is not tried again
// yet; and it notes for people what was refused.
func (d *roleDecision) refusedLately(o observation, pod types.UID, what string) bool {
	refused, found := o.labels.refused[pod]
	if !found {
		return false
	}
	d.labels.refused[pod] = refused
	d.refused = cmp.Or(refused.words(what, o.now), d.refused)
	return refused.lately(o.now)
}

// withoutLabel is how long no pod has the label when it moves. Kubernetes' controller for endpoints
// writes a Service's EndpointSlice when the label leaves a pod. If the label comes to another one
// before the controller's own cache shows that write, the controller tries again only after a
// second (kubernetes/kubernetes#99345). Nothing tells the manager when the cache shows it.
const withoutLabel = 20 * time.Millisecond

// deletionCost has a ReplicaSet remove the coordinator's pod last, of those that run: the others
// cost 0. A pod that has a cost of its own keeps that.
const deletionCost = "1000"

// applyRole takes the role label off every pod but the coordinator's, then puts it on the
// coordinator's. So there may be a moment without the label, never one with two. A pod that is
// gone, or has been replaced, is left out: the watch brings the news. A write that fails keeps the
// label from the others of the group, and no label on them. It reports whether what the API server
// refuses is news, which the status is to tell.
func (r *Reconciler) applyRole(ctx context.Context, d roleDecision, now time.Time,
	next *state) (news bool, err error) {
	left, stays := false, false
	var failed []error
	for _, pod := range d.remove {
		version, err := byuid.RemoveLabel(ctx, r.Client, pod.Pod, v1.RoleLabel, roleOwner)
		if err != nil {
			stays = stays || pod.inGroup
			if message := refusedFor(err); message != "" {
				news = next.labels.refuse(pod.UID, message, now) || news
			} else {
				next.labels.fail(pod.UID, err, now)
				err = fmt.Errorf("take the role label off pod %s: %w", pod.Name, err)
				failed = append(failed, err)
			}
			continue
		}
		news = next.labels.accept(pod.UID) || news
		delete(next.labels.pods, pod.UID)
		if version != "" {
			left = true
			next.labels.writes[pod.UID] = roleWrite{coordinator: false, version: version}
		}
	}
	if d.set == nil || stays {
		return news, errors.Join(failed...)
	}
	if left {
		select {
		case <-time.After(withoutLabel):
		case <-ctx.Done():
			return news, errors.Join(append(failed, ctx.Err())...)
		}
	}
	added, err := r.putRole(ctx, *d.set, now, next)
	return added || news, errors.Join(append(failed, err)...)
}

// putRole puts the role label on a pod.
func (r *Reconciler) putRole(ctx context.Context, pod byuid.Pod, now time.Time,
	next *state) (news bool, err error) {
	next.writes.spend(now)
	version, err := byuid.SetLabel(ctx, r.Client, pod, v1.RoleLabel, v1.RoleCoordinator,
		map[string]string{corev1.PodDeletionCost: deletionCost}, roleOwner)
	switch message := refusedFor(err); {
	case byuid.Replaced(err):
		return false, nil
	case message != "":
		return next.labels.refuse(pod.UID, message, now), nil
	case err != nil:
		next.labels.fail(pod.UID, err, now)
		return false, fmt.Errorf("put the role label on pod %s: %w", pod.Name, err)
	}
	news = next.labels.accept(pod.UID)
	next.labels.pods[pod.UID] = pod.Name
	if version != "" {
		next.labels.writes[pod.UID] = roleWrite{coordinator: true, version: version}
	}
	return news, nil
}

// refuse notes that the API server refuses a write to a pod, and reports whether that is news.
func (l *roleLabels) refuse(pod types.UID, message string, now time.Time) (news bool) {
	news = l.refused[pod].message != message
	l.note(pod, refusal{message: message, at: now})
	return news
}

// fail notes that a write to a pod has failed, which the API server may make the next time.
func (l *roleLabels) fail(pod types.UID, err error, now time.Time) {
	since := l.refused[pod].failing
	if since.IsZero() {
		since = now
	}
	l.note(pod, refusal{message: shorten(err.Error()), at: now, failing: since})
}

func (l *roleLabels) note(pod types.UID, r refusal) {
	if l.refused == nil {
		l.refused = map[types.UID]refusal{}
	}
	l.refused[pod] = r
}

// accept notes that the API server took a write to a pod, and reports whether that is news.
func (l *roleLabels) accept(pod types.UID) (news bool) {
	_, news = l.refused[pod]
	delete(l.refused, pod)
	return news
}
