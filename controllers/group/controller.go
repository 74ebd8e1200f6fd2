package group

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/roster"
)

// Publisher hands rosters out to agents; roster.Server is one.
type Publisher interface {
	Publish(roster.Roster)
	Disband(namespace, group string)
	// Hold tells agents why no further process can join, or become a voter, now; zero: it can.
	Hold(namespace, group string, h roster.Hold)
	// Recall asks a group's agents for the roster that they use, until something is published; Held
	// is the newest that one of them has shown.
	Recall(namespace, group string)
	Held(namespace, group string) (roster.Roster, bool)
	// Grace is how long an agent may take to come back whose connection has broken.
	Grace() time.Duration
	// Returning returns since when agents have been coming back in great numbers, so that some of
	// them take longer; zero: they do not.
	Returning() time.Time
}

// TrustProblems knows the namespaces in which agents may not know the manager; ca.TrustProblems
// does.
type TrustProblems interface {
	// In returns what is wrong in a namespace, and what to do; empty: nothing.
	In(namespace string) string
	// OnChange has a function called when that changes.
	OnChange(call func(namespace string))
}

// Reconciler reconciles ElectionGroups: the roster out, the reports in; status, Service, role label
// and events from them.
type Reconciler struct {
	Client client.Client
	// Live asks the API server, for what the cache does not hold: Services that are not the
	// group's.
	Live      client.Reader
	Recorder  events.EventRecorder
	Rosters   Publisher
	Sightings *roster.Sightings
	Trust     TrustProblems // nil: nothing is known
	Metrics   *Metrics
	Now       func() time.Time
	// Agrees reports whether the wall clock agrees with the API server's; nil: that is not known.
	Agrees func() bool
	// Date is what the API server's clock shows, zero if that is not known; nil: it never is.
	Date func() time.Time
	// Debounce is how long news of a group is gathered before a pass.
	Debounce time.Duration
	// Version is the manager's own, with which those of agents are compared; empty: with nothing.
	Version string
	// Rules is the newest rules level that this manager supports (MC11 in internal/membership); 0
	// counts as 1.
	Rules int32

	debounce   debounce
	states     states
	endedPods  endedPods
	wrong      wrongLabels
	leadsSince time.Time
	// wake has a group reconciled; set when the controller starts; nil in tests of a pass
	wake func(types.NamespacedName)
}

// Reconcile is one pass over a group.
func (r *Reconciler) Reconcile(ctx context.Context,
	request reconcile.Request) (reconcile.Result, error) {
	key := request.NamespacedName
	if wait := r.debounce.take(key, r.Debounce, r.Now()); wait > 0 {
		return reconcile.Result{
			RequeueAfter: wait,
		}, nil // woken by something else while news comes in
	}
	o, err := r.observe(ctx, key)
	if apierrors.IsNotFound(err) {
		again, err := r.groupDeleted(ctx, key)
		if err != nil {
			return reconcile.Result{}, err
		}
		return reconcile.Result{RequeueAfter: again}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	if _, known := r.states.get(key); !known { // pods that name no group may be meant for this one
		r.forgetWrongLabel(key)
		r.wakeUp(key.Namespace, r.wrong.names(key.Namespace)...)
	}
	d := decide(o)
	next, again, err := r.apply(ctx, o, d)
	r.carryOver(key, o, next)
	if err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: again}, nil
}

// carryOver stores what the next pass is to know, and drops what is of no interest any more.
func (r *Reconciler) carryOver(key types.NamespacedName, o observation, next state) {
	r.states.put(key, next)
	known := o.knownPods(next.membership.Roster())
	r.endedPods.prune(key, known)
	r.Sightings.Forget(key.Namespace, key.Name,
		func(uid string) bool { return known[types.UID(uid)] })
}

// groupDeleted tells the agents of a group that does not exist, and cleans up after one that did.
// What is remembered of it goes last: a pod that has just left the group with the role label is
// known from there alone.
func (r *Reconciler) groupDeleted(ctx context.Context,
	key types.NamespacedName) (again time.Duration, err error) {
	pods, err := r.podsOf(ctx, key)
	if err != nil {
		return 0, err
	}
	gone := &v1.ElectionGroup{}
	gone.Namespace = key.Namespace
	last, existed := r.states.get(key)
	last.labels.refused = nil // what was refused is tried again
	o := observation{
		state: state{labels: last.labels},
		now:   r.Now(),
		group: gone,
		pods:  pods,
	}
	d := decideRole(o, "")
	o.labels = d.labels

	r.Rosters.Disband(key.Namespace, key.Name)
	r.Sightings.Forget(key.Namespace, key.Name, func(string) bool { return false })
	r.endedPods.prune(key, nil)
	r.Metrics.groupDeleted(key)
	if _, err := r.applyRole(ctx, d, o.now, &o.state); err != nil {
		return 0, err
	}
	if refused := decideRole(o, "").refused; refused != "" {
		return 0, errors.New(refused)
	}
	date := r.date()
	if date.IsZero() {
		date = r.Now()
	}
	r.states.drop(key, date)
	r.debounce.drop(key)
	if existed { // pods that name no group cannot be meant for this one any more
		r.wakeUp(key.Namespace, r.wrong.names(key.Namespace)...)
	}
	return r.tellWrongLabel(ctx, key, pods)
}

// date is what the API server's clock shows; zero: that is not known.
func (r *Reconciler) date() time.Time {
	if r.Date == nil {
		return time.Time{}
	}
	return r.Date()
}

func (r *Reconciler) record(group *v1.ElectionGroup, all []notification) {
	for _, n := range all {
		r.Recorder.Eventf(group, nil, n.kind, n.reason, n.action, "%s", shorten(n.note))
	}
}
