package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/podesta-dev/podesta/test/chaos/backend"
	"github.com/podesta-dev/podesta/test/chaos/signals"
	"github.com/podesta-dev/podesta/test/register"
)

// effect is within what time a cut has taken effect in the nodes: Cut returns only when it is over.
const effect = 500 * time.Millisecond

// editForSome edits a group's priorities while the managers' packets reach only a minority of its
// pods: these have the new roster, and the others get it from them, or when the cut is over.
func (r *runner) editForSome(
	ctx context.Context, f fault, g *group,
) (at register.Instant, err error) {
	at = register.Now()
	managers, err := backend.ManagerPods(ctx, r)
	if err != nil {
		return at, err
	}
	drops := dropsToMost(managers, r.scene.podsOf(g.name), f.which)
	over := make(chan error, 1)
	go func() {
		_, err := r.cut(ctx, drops, f.length)
		over <- err
	}()
	signals.Wait(ctx, effect)
	edited, missed := r.editPriority(ctx, f, g), <-over
	if edited != nil {
		return at, edited
	}
	return at, missed
}

// dropsToMost returns the directions from the managers to all pods but a minority.
func dropsToMost(managers []corev1.Pod, pods []*corev1.Pod, which int) (drops []backend.Drop) {
	for _, p := range rotate(pods, which)[(len(pods)-1)/2:] {
		for i := range managers {
			drops = append(drops, backend.Drop{
				From: &managers[i],
				To:   p,
				At:   managers[i].Spec.NodeName,
			})
		}
	}
	return drops
}

// editPriority gives one process of a group the highest priority.
func (r *runner) editPriority(ctx context.Context, f fault, g *group) error {
	g.first = f.which % g.size
	return r.merge(ctx, g.election(),
		fmt.Sprintf(`{"spec":{"processes":[{"name":%q,"priority":%d}]}}`, g.pod(g.first), 100))
}

// cutLeader takes away what the API server sends to the leading manager. Agents still reach it, and
// it knows nothing new; when it has lost its Lease another one leads, beside it for a while.
func (r *runner) cutLeader(ctx context.Context, f fault) (register.Instant, error) {
	managers, err := backend.ManagerPods(ctx, r)
	if err != nil {
		return register.Now(), err
	}
	leader, err := backend.LeaderPod(managers)
	if err != nil {
		return register.Now(), err
	}
	var nodes corev1.NodeList
	if err := r.List(ctx, &nodes,
		client.HasLabels{"node-role.kubernetes.io/control-plane"}); err != nil {
		return register.Now(), err
	}
	var drops []backend.Drop
	for _, n := range nodes.Items {
		for _, a := range n.Status.Addresses {
			if a.Type == corev1.NodeInternalIP {
				server := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: n.Name},
					Status: corev1.PodStatus{PodIP: a.Address}}
				drops = append(drops, backend.Drop{
					From: server,
					To:   &leader[0],
					At:   leader[0].Spec.NodeName,
				})
			}
		}
	}
	return r.cut(ctx, drops, f.length)
}
