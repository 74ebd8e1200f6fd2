// Package kind is the backend of chaos runs on a kind cluster of several nodes, which are
// containers of Docker. The nodes must share this machine's kernel, and so its clock: Docker on
// Linux. It needs Kubernetes 1.36, where a policy injects the agents.
package kind

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podesta-dev/podesta/test/chaos/backend"
	"github.com/podesta-dev/podesta/test/chaos/signals"
	"github.com/podesta-dev/podesta/test/register"
	"github.com/podesta-dev/podesta/test/register/history"
)

// Options say which cluster, and what is put on it.
type Options struct {
	Name, Kubeconfig string
	Manifests        []string // what is installed, in this order
	Image            string   // of the register and its writers
	PreviousImage    string   // of agents of an earlier version
	Program          string   // that is put into the nodes: test/chaos/node
	Dir              string   // for files from the nodes
	Say              func(format string, args ...any)
}

// Backend is the backend; New makes it.
type Backend struct {
	Options

	cluster backend.Cluster
	nodes   nodes
	cuts    atomic.Int64 // so far; their tables are named by it
}

var _ backend.Full = (*Backend)(nil)

// New returns a backend for a cluster that runs already.
func New(o Options) *Backend { return &Backend{Options: o} }

// Down leaves the cluster to the one who made it.
func (b *Backend) Down() error { return nil }

// Follow reads the register's log in the node of the control plane.
func (b *Backend) Follow(ctx context.Context, take func(register.Entry)) error {
	return follow(ctx, b.nodes.control, nodeDir+"/register/register.jsonl", take)
}

// Strike has the pod's node kill or pause containers.
func (b *Backend) Strike(
	ctx context.Context, pod *corev1.Pod, length time.Duration, containers ...string,
) (history.Signal, error) {
	args, ids := []string{"strike"}, backend.Containers(pod)
	for _, c := range containers {
		args = append(args, ids[c])
	}
	done, err := inNode(ctx, pod.Spec.NodeName, length, args...)
	done.UID = string(pod.UID)
	return done.Signal, err
}

// Cut drops packets in the nodes.
func (b *Backend) Cut(
	ctx context.Context, drops []backend.Drop, length time.Duration,
) (at register.Instant, dropped int, err error) {
	return cut(ctx, fmt.Sprintf("podesta_chaos_%d", b.cuts.Add(1)), drops, length)
}

// Starve keeps all cores busy from a node.
func (b *Backend) Starve(
	ctx context.Context, node string, length time.Duration,
) (register.Instant, error) {
	s, err := inNode(ctx, node, length, "hog")
	return s.At, err
}

// StrikeNode kills or pauses the container that a node is, and starts or continues it. It notes the
// instant before Docker kills, and after it paused.
func (b *Backend) StrikeNode(
	ctx context.Context, node string, kill bool, length time.Duration,
) (s history.Signal, err error) {
	stop, start := "pause", "unpause"
	if kill {
		stop, start = "kill", "start"
	}
	s.Kill, s.At = kill, register.Now()
	if _, err = docker(ctx, stop, node); err != nil {
		return s, err
	}
	if !kill {
		s.At = register.Now()
	}
	signals.Wait(ctx, length)
	s.Til = register.Now()
	_, err = docker(context.WithoutCancel(ctx), start, node)
	return s, err
}

// StrikeProgram kills or pauses a program of the control plane, the managers in all nodes, or the
// one that leads.
func (b *Backend) StrikeProgram(
	ctx context.Context, p backend.Program, length time.Duration,
) (register.Instant, error) {
	if p != backend.Managers && p != backend.Leader {
		return b.strikeControl(ctx, p, length)
	}
	managers, err := backend.ManagerPods(ctx, b.cluster)
	if err == nil && p == backend.Leader {
		managers, err = backend.LeaderPod(managers)
	}
	if err != nil {
		return register.Now(), err
	}
	at, err := b.strikeManagers(ctx, managers, length)
	if err == nil && length == 0 {
		err = b.awaitManagers(ctx, managers)
	}
	return at, err
}

// strikeManagers returns when the first of them was hit.
func (b *Backend) strikeManagers(
	ctx context.Context, managers []corev1.Pod, length time.Duration,
) (first register.Instant, err error) {
	at := make(chan register.Instant, len(managers))
	err = backend.Each(managers, func(p corev1.Pod) error {
		s, err := b.Strike(ctx, &p, length, backend.ManagerContainer)
		at <- s.At
		if length == 0 && errors.Is(err, backend.ErrMissed) {
			return nil // one that has just ended by itself does not run either
		}
		return err
	})
	for first = <-at; len(at) > 0; {
		first = min(first, <-at)
	}
	return first, err
}

// strikeControl kills or pauses a container of the control plane.
func (b *Backend) strikeControl(
	ctx context.Context, p backend.Program, length time.Duration,
) (register.Instant, error) {
	said, err := docker(ctx, "exec", b.nodes.control, "crictl", "ps", "--quiet", "--state=Running",
		"--name=^"+string(p)+"$")
	if err != nil {
		return register.Now(), err
	}
	containers := strings.Fields(said)
	if len(containers) == 0 {
		return register.Now(), fmt.Errorf("%s does not run: %w", p, backend.ErrMissed)
	}
	s, err := inNode(ctx, b.nodes.control, length, append([]string{"strike"}, containers...)...)
	return s.At, err
}

// Keep makes the agents' logs outlive their pods.
func (b *Backend) Keep(ctx context.Context) error { return b.nodes.keep(ctx) }
