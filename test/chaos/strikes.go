package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/podesta-dev/podesta/test/chaos/backend"
	"github.com/podesta-dev/podesta/test/chaos/report"
	"github.com/podesta-dev/podesta/test/register"
	"github.com/podesta-dev/podesta/test/register/history"
)

// strikePod does what a fault does to a pod. It returns when it is over, with the instant at which
// it struck, as all of these do.
func (r *runner) strikePod(
	ctx context.Context, f fault, victim *corev1.Pod, others []*corev1.Pod,
) (at register.Instant, err error) {
	switch {
	case f.name == forceDelete:
		return register.Now(), missedIfGone(r.Delete(ctx, victim, client.GracePeriodSeconds(0)))
	case f.name == deletePod:
		return register.Now(), missedIfGone(r.Delete(ctx, victim))
	case f.class == report.Cut:
		return r.cut(ctx, dropsOf(f.name, victim, others, f.which), f.length)
	}
	s, err := r.backend.Strike(ctx, victim, f.length, f.containers...)
	for _, c := range f.containers {
		if c == backend.AppContainer && err == nil {
			r.note(s)
		}
	}
	return s.At, err
}

// missedIfGone: a pod that another fault has deleted is not struck.
func missedIfGone(err error) error {
	if apierrors.IsNotFound(err) {
		return backend.ErrMissed
	}
	return err
}

// strikeNode does what a fault does to a node.
func (r *runner) strikeNode(
	ctx context.Context, f fault, node string,
) (at register.Instant, err error) {
	switch f.name {
	case starveNode:
		return r.backend.Starve(ctx, node, f.length)
	case drainNode:
		return register.Now(), r.drain(ctx, node)
	}
	pods := r.scene.podsOn(node)
	at = register.Now()
	s, err := r.full.StrikeNode(ctx, node, f.name == killNode, f.length)
	for _, p := range pods {
		if s.UID = string(p.UID); err == nil {
			r.note(s)
		}
	}
	return at, err
}

// drain evicts the groups' pods from a node, as kubectl drain does, and lets the node take pods
// again when they have gone.
func (r *runner) drain(ctx context.Context, node string) error {
	ctx, cancel := backend.Within(ctx, backend.Settling, "not drained")
	defer cancel()
	if err := r.cordon(ctx, node, true); err != nil {
		return err
	}
	var errs []error
	pods := r.scene.podsOn(node)
	for _, p := range pods {
		eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace,
			Name: p.Name}}
		errs = append(errs, client.IgnoreNotFound(r.SubResource("eviction").Create(ctx, p, eviction)))
	}
	gone := func() string {
		for _, p := range pods {
			if now := r.scene.pods[p.Name]; now != nil && now.UID == p.UID {
				return p.Name + " is still on " + node
			}
		}
		return ""
	}
	errs = append(errs, r.scene.await(ctx, gone), r.cordon(context.WithoutCancel(ctx), node, false))
	return errors.Join(errs...)
}

func (r *runner) cordon(ctx context.Context, node string, unschedulable bool) error {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}
	return r.merge(ctx, n, fmt.Sprintf(`{"spec":{"unschedulable":%t}}`, unschedulable))
}

func (r *runner) merge(ctx context.Context, object client.Object, patch string) error {
	return r.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(patch)))
}

// strikeGroup edits a group, or restarts its pods.
func (r *runner) strikeGroup(
	ctx context.Context, f fault, g *group,
) (at register.Instant, err error) {
	at = register.Now()
	switch f.name {
	case editPriority:
		return at, r.editPriority(ctx, f, g)
	case editForSome:
		return r.editForSome(ctx, f, g)
	case scaleDown:
		g.now = max(3, g.size-2)
		if err := errors.Join(r.unname(ctx, g), r.backend.Apply(ctx, g.set(r.Cluster)),
			r.settled(ctx, g, nil)); err != nil {
			return at, err
		}
		g.now = g.size
	default: // a rolling restart, also from agents of an earlier version
		g.restarts++
		g.previous = false
	}
	return at, r.backend.Apply(ctx, g.set(r.Cluster))
}

// unname takes a pod that goes out of the group's spec, where an edit may have put it: a process
// that is named and has no pod counts as crashed.
func (r *runner) unname(ctx context.Context, g *group) error {
	if 0 <= g.first && g.first < g.now {
		return nil
	}
	g.first = -1
	return r.merge(ctx, g.election(), `{"spec":{"processes":null}}`)
}

// strikeWorld does what a fault does to what is around the groups.
func (r *runner) strikeWorld(
	ctx context.Context, f fault, groups []*group,
) (at register.Instant, err error) {
	switch f.name {
	case setStatusBack:
		return r.setBack(ctx, groups)
	case pauseServer:
		return r.backend.StrikeProgram(ctx, backend.Server, f.length)
	case cutLeader:
		return r.cutLeader(ctx, f)
	case pauseManager:
		return r.backend.StrikeProgram(ctx, backend.Leader, f.length)
	case killEtcd:
		return r.backend.StrikeProgram(ctx, backend.Etcd, 0)
	case killManagers:
		return r.backend.StrikeProgram(ctx, backend.Managers, 0)
	default:
		return r.renewAuthority(ctx)
	}
}

// renewAuthority deletes the CA's Secret, and returns when there is another one: the manager looks
// every 30 s.
func (r *runner) renewAuthority(ctx context.Context) (at register.Instant, err error) {
	authority := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: backend.SystemNamespace,
		Name: "podesta-ca"}}
	if err := r.Get(ctx, client.ObjectKeyFromObject(authority), authority); err != nil {
		return register.Now(), err
	}
	at = register.Now()
	if err := r.Delete(ctx, authority, client.Preconditions{UID: &authority.UID}); err != nil {
		return at, err
	}
	ctx, cancel := backend.Within(ctx, backend.Settling, "the CA's Secret is not written anew")
	defer cancel()
	return at, r.Until(ctx, "another Secret of the CA", &corev1.SecretList{},
		func(object runtime.Object) bool {
			s, ok := object.(*corev1.Secret)
			return ok && s.UID != authority.UID && len(s.Data) > 0
		}, client.InNamespace(backend.SystemNamespace),
		client.MatchingFields{"metadata.name": authority.Name})
}

// note keeps a signal for the checker.
func (r *runner) note(s history.Signal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.signals = append(r.signals, s)
}

// settled awaits that a group is well, after what was ended.
func (r *runner) settled(ctx context.Context, g *group, ended map[string]bool) error {
	return r.recovered(ctx, g, ended, "well", g.missing)
}

// running awaits that a group's pods run, after what was ended.
func (r *runner) running(ctx context.Context, g *group, ended map[string]bool) error {
	return r.recovered(ctx, g, ended, "running", g.absent)
}

// recovered awaits that a group lacks nothing. It gives up when no further pod of the group has
// come to run for backend.Settling: a set makes its pods anew one after another, and on a busy
// machine each may take half a minute.
func (r *runner) recovered(
	ctx context.Context, g *group, ended map[string]bool, what string,
	lacks func(*scene, map[string]bool) string,
) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	patience := time.AfterFunc(backend.Settling, func() {
		stop(fmt.Errorf("not %s, nor a further pod there, within %v", what, backend.Settling))
	})
	defer patience.Stop()
	most := 0
	return r.scene.await(ctx, func() string {
		if n := g.present(r.scene, ended); n > most {
			most = n
			patience.Reset(backend.Settling)
		}
		return lacks(r.scene, ended)
	})
}
