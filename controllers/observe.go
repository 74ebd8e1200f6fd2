package controllers

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/roster"
)

// observation is all that is known of a group when it is decided about. Deciding changes nothing in it.
type observation struct {
	now       time.Time
	begun     time.Time // when this manager first saw the group
	settled   bool      // this manager has decided about a view of the group before
	group     *v1.ElectionGroup
	published v1.ElectionGroupStatus        // the newest status that was written
	pods      []*corev1.Pod                 // that carry the group's label, in ring order
	holders   []*corev1.Pod                 // those of them that carry the role label
	sightings map[types.UID]roster.Sighting // of those pods
	election  string                        // the decision that published.LastElection tells of, if this manager knows
	inherited bool                          // the group is older than this manager's lead
	wiped     bool                          // the persisted roster was lost, and published.Roster is this manager's memory of it
	endings   map[types.UID]time.Time       // pods of the group that have ended, since when
	ledger    ledger                        // of a Guarded group: what its voters' next step waits for
	epoch     int64                         // the highest that this manager has published
	service   seenService                   // the Service that the group asks for
	version   string                        // of this manager; empty: not known
}

// observe reads everything from the cache. The cache may lag behind what this manager wrote itself; there, memory is right.
func (r *ElectionGroups) observe(ctx context.Context, key types.NamespacedName) (observation, *memory, error) {
	group := &v1.ElectionGroup{}
	if err := r.Client.Get(ctx, key, group); err != nil {
		return observation{}, nil, err
	}
	pods, err := r.podsOf(ctx, key)
	if err != nil {
		return observation{}, nil, err
	}
	m, instead := r.memories.of(key, group, r.Now())
	if instead { // nobody saw that the old group was gone
		r.Metrics.gone(key)
	}
	o := observation{now: r.Now(), begun: m.begun, settled: m.settled, group: group, published: m.newest(group), pods: pods,
		holders: m.holders(pods), sightings: map[types.UID]roster.Sighting{}, election: m.election, epoch: m.epoch,
		inherited: !group.CreationTimestamp.After(r.leading), version: r.Version}
	if o.service, err = r.observeService(ctx, group, m); err != nil {
		return observation{}, nil, err
	}
	o.published.Roster, o.wiped = m.keepRoster(o.published.Roster)
	r.forgetOthers(key, &o)
	for _, s := range r.Sightings.Group(key.Namespace, key.Name) {
		o.sightings[types.UID(s.UID)] = s
	}
	if guarded(group) {
		m.ledger = m.ledger.advance(o)
	}
	o.ledger = m.ledger
	return o, m, nil
}

// forgetOthers drops what is remembered of pods that are neither there nor on the roster. What was seen of a voter is kept until
// it is off the roster, though its pod be gone: it tells whether it has ended.
func (r *ElectionGroups) forgetOthers(key types.NamespacedName, o *observation) {
	known := map[types.UID]bool{}
	for _, pod := range o.pods {
		known[pod.UID] = true
	}
	if o.published.Roster != nil {
		for _, m := range o.published.Roster.Members {
			known[m.UID] = true
		}
	}
	r.Sightings.Forget(key.Namespace, key.Name, func(uid string) bool { return known[types.UID(uid)] })
	o.endings = r.endings.of(key, func(uid types.UID) bool { return known[uid] })
}

func (r *ElectionGroups) podsOf(ctx context.Context, key types.NamespacedName) ([]*corev1.Pod, error) {
	list := &corev1.PodList{}
	err := r.Client.List(ctx, list, client.InNamespace(key.Namespace), client.MatchingLabels{v1.GroupLabel: key.Name})
	if err != nil {
		return nil, err
	}
	pods := make([]*corev1.Pod, len(list.Items))
	for i := range list.Items {
		pods[i] = &list.Items[i]
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return compareNatural(a.Name, b.Name) })
	return pods, nil
}

// older says whether one resource version is older than another; nothing is older than an empty one.
func older(version, than string) bool {
	if than == "" {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err == nil && order < 0
}
