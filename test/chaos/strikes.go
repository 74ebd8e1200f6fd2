package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/test/register"
	"github.com/podesta-dev/podesta/test/register/history"
)

// Where the manager lives.
const (
	systemNamespace  = "podesta-system"
	managerContainer = "manager"
)

// strikePod does what a fault does to a pod. It calls struck when it has struck, once, and returns when it is over.
func (r *runner) strikePod(ctx context.Context, f fault, victim *corev1.Pod, others []*corev1.Pod, struck func(register.Instant)) error {
	ids := containers(victim)
	switch f.name {
	case killAgent:
		return r.signalPod(ctx, victim, false, struck, "kill", ids[v1.AgentContainer])
	case killApp:
		return r.signalPod(ctx, victim, true, struck, "kill", ids[appContainer])
	case killPod:
		return r.signalPod(ctx, victim, true, struck, "kill", ids[v1.AgentContainer], ids[appContainer])
	case pauseAgent:
		return r.signalPod(ctx, victim, false, struck, "pause", "--for="+f.length.String(), ids[v1.AgentContainer])
	case pauseApp:
		return r.signalPod(ctx, victim, true, struck, "pause", "--for="+f.length.String(), ids[appContainer])
	case pausePod:
		return r.signalPod(ctx, victim, true, struck, "pause", "--for="+f.length.String(), ids[v1.AgentContainer], ids[appContainer])
	case forceDelete:
		struck(register.Now())
		return r.Delete(ctx, victim, client.GracePeriodSeconds(0))
	case deletePod:
		struck(register.Now())
		return r.Delete(ctx, victim)
	default:
		table := fmt.Sprintf("podesta_chaos_%d", r.cuts.Add(1))
		return cut(ctx, table, dropsOf(f.name, victim, others, f.which), f.length, struck)
	}
}

// signalPod has the pod's node signal containers. When that happened is what the node says, which is heard when it is over.
func (r *runner) signalPod(ctx context.Context, victim *corev1.Pod, app bool, struck func(register.Instant), args ...string) error {
	s, err := inNode(ctx, victim.Spec.NodeName, args...)
	if err != nil {
		struck(register.Now())
		return err
	}
	struck(s.At)
	if s.UID = string(victim.UID); app {
		r.note(s)
	}
	return nil
}

// strikeNode does what a fault does to a node.
func (r *runner) strikeNode(ctx context.Context, f fault, node string, struck func(register.Instant)) error {
	switch f.name {
	case starveNode:
		s, err := inNode(ctx, node, "hog", "--for="+f.length.String())
		struck(s.At)
		return err
	case drainNode:
		struck(register.Now())
		return r.drain(ctx, node)
	}
	freeze, thaw := "pause", "unpause"
	if f.name == killNode {
		freeze, thaw = "kill", "start"
	}
	pods := r.scene.podsOn(node)
	before := register.Now()
	_, err := docker(ctx, freeze, node)
	at := register.Now()
	struck(before)
	if err != nil {
		return err
	}
	wait(ctx, f.length)
	til := register.Now()
	if _, err := docker(context.WithoutCancel(ctx), thaw, node); err != nil {
		return err
	}
	for _, p := range pods {
		s := history.Signal{UID: string(p.UID), At: at, Til: til}
		if f.name == killNode {
			s = history.Signal{UID: string(p.UID), At: before, Kill: true}
		}
		r.note(s)
	}
	return nil
}

// drain evicts the groups' pods from a node, as kubectl drain does, and lets the node take pods again when they have gone.
func (r *runner) drain(ctx context.Context, node string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, settling, fmt.Errorf("not drained within %v", settling))
	defer cancel()
	if err := r.cordon(ctx, node, true); err != nil {
		return err
	}
	var errs []error
	pods := r.scene.podsOn(node)
	for _, p := range pods {
		errs = append(errs, client.IgnoreNotFound(r.SubResource("eviction").Create(ctx, p, newEviction(p))))
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
	return r.Patch(ctx, n, client.RawPatch(mergePatch, fmt.Appendf(nil, `{"spec":{"unschedulable":%t}}`, unschedulable)))
}

// strikeGroup edits a group, or restarts its pods.
func (r *runner) strikeGroup(ctx context.Context, f fault, g *group, struck func(register.Instant)) error {
	struck(register.Now())
	switch f.name {
	case editPriority:
		g.first = g.pod(f.which % g.size)
		edit := fmt.Appendf(nil, `{"spec":{"processes":[{"name":%q,"priority":%d}]}}`, g.first, 100)
		return r.Patch(ctx, g.election(), client.RawPatch(mergePatch, edit))
	case scaleDown:
		g.now = g.size - 2
		if err := errors.Join(r.scale(ctx, g), r.settled(ctx, g, nil)); err != nil {
			return err
		}
		g.now = g.size
		return r.scale(ctx, g)
	default:
		g.restarts++
		g.previous = false
		return r.applySet(ctx, g)
	}
}

func (r *runner) scale(ctx context.Context, g *group) error {
	return r.Patch(ctx, g.set(r.options, r.registerURL), client.RawPatch(mergePatch, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, g.now)))
}

// strikeWorld does what a fault does to what is around the groups.
func (r *runner) strikeWorld(ctx context.Context, f fault, struck func(register.Instant)) error {
	switch f.name {
	case pauseServer:
		return r.signalControl(ctx, "kube-apiserver", struck, "pause", "--for="+f.length.String())
	case killEtcd:
		return r.signalControl(ctx, "etcd", struck, "kill")
	case renewAuthority:
		struck(register.Now())
		return r.Delete(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: "podesta-ca"}})
	}
	return r.strikeManagers(ctx, f, struck)
}

// strikeManagers strikes the managers, or the leading one, and returns when all of them run: what comes next is not to suffer from it.
func (r *runner) strikeManagers(ctx context.Context, f fault, struck func(register.Instant)) error {
	managers, err := r.managers(ctx)
	if err != nil {
		return err
	}
	args := []string{"kill"}
	if f.name == pauseManager {
		managers = slices.DeleteFunc(managers, func(p corev1.Pod) bool { return p.Labels[v1.LeaderLabel] == "" })
		args = []string{"pause", "--for=" + f.length.String()}
	}
	if len(managers) == 0 {
		return errors.New("there is none")
	}
	err = each(managers, func(p corev1.Pod) error {
		s, err := inNode(ctx, p.Spec.NodeName, append(args, containers(&p)[managerContainer])...)
		struck(s.At)
		return err
	})
	if err != nil || f.name == pauseManager {
		return err
	}
	return r.awaitManagers(ctx, managers)
}

// signalControl signals a container of the control plane, whose pod has the node's name at its end.
func (r *runner) signalControl(ctx context.Context, name string, struck func(register.Instant), args ...string) error {
	said, err := docker(ctx, "exec", r.nodes.control, "crictl", "ps", "--quiet", "--state=Running", "--name=^"+name+"$")
	if err != nil {
		struck(register.Now())
		return err
	}
	s, err := inNode(ctx, r.nodes.control, append(args, strings.Fields(said)...)...)
	struck(s.At)
	return err
}

// note keeps a signal for the checker.
func (r *runner) note(s history.Signal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.signals = append(r.signals, s)
}

// settled awaits that a group is well, after what was ended.
func (r *runner) settled(ctx context.Context, g *group, ended map[string]bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, settling, fmt.Errorf("not well within %v", settling))
	defer cancel()
	return r.scene.await(ctx, func() string { return g.missing(r.scene, ended) })
}

// settling is how long a group may take until all is well again: pods are made anew, one after another, on two cores.
const settling = 4 * time.Minute
