package controllers

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/roster"
)

// Board is where rosters are published to agents; roster.Server is one.
type Board interface {
	Publish(roster.Roster)
	Withdraw(namespace, group string)
}

// ElectionGroups reconciles groups: the roster out, the reports in, status, role label and events from them.
type ElectionGroups struct {
	Client    client.Client
	Live      client.Reader // asks the API server, for what the cache does not hold: Services that are nobody's or another's
	Recorder  events.EventRecorder
	Board     Board
	Sightings *roster.Sightings
	Metrics   *Metrics
	Now       func() time.Time
	// Gather is how long news of a group is gathered before a pass. When a process is killed its session closes at once, and
	// what its peers have to say comes within a few milliseconds: so the first write is already the right one.
	Gather time.Duration
	// Version is the manager's own, with which those of agents are compared; empty: with nothing.
	Version string

	memories memories
	endings  endings
	leading  time.Time // since when this manager leads
}

// viewWithin is how long the view of a group is not decided about while its roster keeps changing.
const viewWithin = time.Second

// Reconcile makes one step with the roster or one with the view: a new roster is handed out first, and the view is decided when
// the agents have had the time to answer to it; but once a second at least, however often the roster changes.
func (r *ElectionGroups) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	if wait := r.Sightings.Ripe(request.Namespace, request.Name, r.Gather); wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil // woken by something else while reports come in
	}
	o, m, err := r.observe(ctx, request.NamespacedName)
	if apierrors.IsNotFound(err) {
		return reconcile.Result{}, r.groupGone(ctx, request.NamespacedName)
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	step := decideRoster(o)
	if step.record != nil {
		done, err := r.changeRoster(ctx, o, m, step)
		if err != nil {
			return reconcile.Result{}, err
		}
		if !done || o.now.Sub(m.viewed) < viewWithin {
			return reconcile.Result{RequeueAfter: r.Gather}, nil
		}
		o.published.Roster, step.again = step.record, r.Gather
	}
	if step.roster != nil {
		r.Board.Publish(*step.roster)
	}
	if hold := holdView(o); hold > 0 {
		return reconcile.Result{RequeueAfter: sooner(hold, step.again)}, nil
	}
	v := decideView(o, step)
	v.recheck = sooner(v.recheck, step.again)
	return r.changeView(ctx, o, m, v)
}

// changeRoster persists a new roster before it hands it out. It is not done if there is a conflict: something has changed since
// it was observed, and it is to be observed again.
func (r *ElectionGroups) changeRoster(ctx context.Context, o observation, m *memory, step rosterDecision) (done bool, err error) {
	err = r.persistRoster(ctx, o, m, step.record)
	if apierrors.IsConflict(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	r.Board.Publish(*step.roster)
	r.record(o.group, rosterEvent(o.published.Roster, step.record))
	if guarded(o.group) {
		r.record(o.group, voterEvents(o.published.Roster, step.record))
	}
	return true, nil
}

// changeView writes what has changed: the status, the role label, and then what is told about it.
func (r *ElectionGroups) changeView(ctx context.Context, o observation, m *memory, v view) (reconcile.Result, error) {
	if !equality.Semantic.DeepEqual(v.status, o.published) {
		if err := r.publishView(ctx, o, m, v); apierrors.IsConflict(err) {
			return reconcile.Result{RequeueAfter: r.Gather}, nil // the group has changed since it was observed
		} else if err != nil {
			return reconcile.Result{}, err
		}
		r.record(o.group, viewEvents(o.published, v.status))
		r.record(o.group, agentEvents(o.published, v.status, v.advice))
	}
	m.settled, m.election, m.viewed = true, v.election, o.now
	m.epoch = max(m.epoch, epochOf(v.status))
	r.Metrics.published(o.group, o.published, v.status)
	if err := r.moveRole(ctx, o, m, coordinatorName(v.status)); err != nil {
		return reconcile.Result{}, err
	}
	step, err := decideService(o)
	if err != nil {
		return reconcile.Result{}, err
	}
	if again, err := r.keepService(ctx, o, m, step); err != nil {
		return reconcile.Result{}, err
	} else if again {
		v.recheck = sooner(v.recheck, r.Gather)
	}
	return reconcile.Result{RequeueAfter: v.recheck}, nil
}

// groupGone tells the agents of a group that does not exist, and cleans up after one that did.
func (r *ElectionGroups) groupGone(ctx context.Context, key types.NamespacedName) error {
	r.Board.Withdraw(key.Namespace, key.Name)
	r.Sightings.Forget(key.Namespace, key.Name, func(string) bool { return false })
	r.endings.of(key, func(types.UID) bool { return false })
	r.memories.forget(key)
	r.Metrics.gone(key)
	pods, err := r.podsOf(ctx, key)
	if err != nil {
		return err
	}
	m := &memory{roles: map[types.UID]role{}, marked: map[types.UID]string{}}
	return r.moveRole(ctx, observation{pods: pods, holders: m.holders(pods)}, m, "")
}

func (r *ElectionGroups) record(group *v1.ElectionGroup, all []notification) {
	for _, n := range all {
		r.Recorder.Eventf(group, nil, n.kind, n.reason, n.action, "%s", shorten(n.note))
	}
}
