package group

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/membership"
	"github.com/podesta-dev/podesta/internal/roster"
)

// observation is all that is known of a group when it is decided about. Deciding changes nothing in
// it.
type observation struct {
	state // what this manager has carried over from the last pass

	now      time.Time
	agrees   bool      // the wall clock agrees with the API server's
	date     time.Time // what that one shows
	debounce time.Duration
	// grace is how long a process whose subscription has ended keeps its last published state while
	// nothing tells what became of it: an agent that renews its certificate, or whose connection
	// broke, is back within it, unless great numbers come back (see prolonged).
	grace time.Duration
	// since when agents have been coming back to this manager in great numbers; zero: they do not
	returning time.Time
	group     *v1.ElectionGroup
	published v1.ElectionGroupStatus        // the newest status that was written
	pods      []*corev1.Pod                 // that carry the group's label, in ring order
	sightings map[types.UID]roster.Sighting // what agents told this manager, by pod
	ended     map[types.UID]time.Time       // pods of which nothing runs any more, since when
	inherited bool                          // the group is older than this manager's lead
	replaces  bool                          // the last pass over this name was over another group
	service   seenService                   // the Service that the group asks for
	held      *roster.Roster                // the newest that an agent of this group object has shown
	trust     string                        // why new agents may not know the manager; empty: they do
	strays    string                        // pods that are probably meant for it; empty: none
	version   string                        // of this manager; empty: not known
	rules     int32                         // the newest rules level that this manager supports
}

// observe reads everything, from the cache where it can. The cache may lag behind what this manager
// wrote itself; there, what it remembers of its writes is right. Observing changes nothing.
func (r *Reconciler) observe(ctx context.Context, key types.NamespacedName) (observation, error) {
	group := &v1.ElectionGroup{}
	if err := r.Client.Get(ctx, key, group); err != nil {
		return observation{}, err
	}
	pods, err := r.podsOf(ctx, key)
	if err != nil {
		return observation{}, err
	}
	now := r.Now()
	last, found := r.states.get(key)
	replaces := found && last.uid != group.UID
	if !found || replaces {
		after := r.states.generationBefore(key)
		if replaces {
			after = max(after, last.after, last.generation())
		}
		// who carries the role label outlives the group object, as the label does
		last = state{
			uid:      group.UID,
			begun:    now,
			statusAt: now,
			after:    after,
			labels:   last.labels,
		}
	}
	o := observation{
		state:     last,
		now:       now,
		agrees:    r.Agrees != nil && r.Agrees(),
		date:      r.date(),
		debounce:  r.Debounce,
		grace:     r.Rosters.Grace(),
		returning: r.Rosters.Returning(),
		group:     group,
		published: last.newest(group),
		pods:      pods,
		sightings: map[types.UID]roster.Sighting{},
		inherited: r.inherits(group, now),
		replaces:  replaces,
		version:   r.Version,
		rules:     r.Rules,
	}
	if o.service, err = r.observeService(ctx, group, last, now); err != nil {
		return observation{}, err
	}
	if held, ok := r.Rosters.Held(key.Namespace, key.Name); ok && held.GroupUID == string(group.UID) {
		o.held = &held
	}
	o.strays = r.wrong.near(key, now)
	if r.Trust != nil {
		o.trust = r.Trust.In(key.Namespace)
	}
	known := o.knownPods(o.membership.Roster())
	o.see(r.Sightings.Group(key.Namespace, key.Name), known)
	o.ended = r.endedPods.of(key, known)
	return o, nil
}

// inherits reports whether a group is as old as this manager's lead, or may be, by the API server's
// clock: another manager may have known it.
func (r *Reconciler) inherits(group *v1.ElectionGroup, now time.Time) bool {
	date := r.date()
	if date.IsZero() {
		return true
	}
	const skew = 2 * time.Second // of a date, and of a timestamp in whole seconds
	leads := date.Add(-now.Sub(r.leadsSince)).Add(skew)
	return !group.CreationTimestamp.After(leads)
}

// see takes in what agents told this manager: those that are connected, or whose pods are known.
func (o *observation) see(all []roster.Sighting, known map[types.UID]bool) {
	for _, s := range all {
		if s.Connected || known[types.UID(s.UID)] {
			s.Report = about(o.group.UID, s.Report)
			o.sightings[types.UID(s.UID)] = s
		}
	}
}

// about returns what a report says of a group object. From within another object of the name an
// agent can say nothing about this one's coordinator, leases and processes.
func about(group types.UID, r roster.Report) roster.Report {
	if !ofOtherGroup(r, group) {
		return r
	}
	return roster.Report{
		StateID:    r.StateID,
		GroupUID:   r.GroupUID,
		Generation: r.Generation,
		Electing:   true,
		Withdrawn:  r.Withdrawn,
		Leaving:    r.Leaving,
		Left:       r.Left,
		Version:    r.Version,
		Rules:      r.Rules,
	}
}

// knownPods are the UIDs of the pods that exist or are on a roster. What an agent told of a voter
// is kept until the voter is off the roster, though its pod be gone: it tells whether it has ended.
func (o *observation) knownPods(newest *membership.Roster) map[types.UID]bool {
	known := map[types.UID]bool{}
	for _, pod := range o.pods {
		known[pod.UID] = true
	}
	if o.published.Roster != nil {
		for _, m := range o.published.Roster.Members {
			known[m.UID] = true
		}
	}
	if newest != nil {
		for _, m := range newest.Members {
			known[types.UID(m.UID)] = true
		}
	}
	return known
}

func (r *Reconciler) podsOf(ctx context.Context, key types.NamespacedName) ([]*corev1.Pod, error) {
	list := &corev1.PodList{}
	err := r.Client.List(ctx, list, client.InNamespace(key.Namespace),
		client.MatchingFields{podsByGroup: key.Name})
	if err != nil {
		return nil, err
	}
	pods := make([]*corev1.Pod, len(list.Items))
	for i := range list.Items {
		pods[i] = &list.Items[i]
	}
	slices.SortFunc(pods,
		func(a, b *corev1.Pod) int { return membership.CompareNames(a.Name, b.Name) })
	return pods, nil
}
