// Package backend is what a chaos run needs of a cluster: bring it up, run pods on it, hurt it, and
// collect what it left. Package kind has it for kind clusters, package local for the local cluster.
//
// A backend decides nothing. What to hurt, and what a group has to do afterwards, the run decides
// for all backends alike. What only a full cluster can do the run leaves out on others.
package backend

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/test/register"
	"github.com/podesta-dev/podesta/test/register/history"
	"github.com/podesta-dev/podesta/test/stage"
)

// Names that every backend uses.
const (
	SystemNamespace  = "podesta-system"
	ManagerContainer = "manager"
	AppContainer     = "app"
	// Revision is the annotation of a set's template: a pod that has another value is replaced.
	Revision = "podesta.dev/chaos-restarts"
)

// Settling is how long a group may take until it is healthy again, or until a further one of its
// pods runs. Starting is how long the installation and the managers may take.
const (
	Settling = 4 * time.Minute
	Starting = 3 * time.Minute
)

// Program is what runs around the pods.
type Program string

// The programs. Leader is the manager that leads.
const (
	Server   Program = "kube-apiserver"
	Etcd     Program = "etcd"
	Managers Program = "manager"
	Leader   Program = "leading manager"
)

// Cluster is a cluster that is up, with Podesta and the register on it.
type Cluster struct {
	*stage.Stage

	Kubernetes string // version of the API server
	Nodes      int
	Workers    []string // nodes that run pods

	Image    string // of the writers
	Register string // URL at which writers reach the register
	Traces   string // directory in which writers leave their traces
	// Volume is where Traces is, if it must be mounted.
	Volume *corev1.Volume
}

// Set is a set of pods, NAME-0 to NAME-(Size-1), made from one template. The backend keeps as many,
// and replaces those of another template one after another, as a StatefulSet's controller does.
type Set struct {
	Namespace, Name string
	Size            int
	InOrder         bool // a pod is made when those before it are ready
	Template        corev1.PodTemplateSpec
	Previous        bool // the agents are of an earlier version
}

// Drop is a direction that is cut: the node At drops what From sends to To.
type Drop struct {
	From, To *corev1.Pod
	At       string
}

// Leavings are the files that a run left, each with whose it is.
type Leavings struct {
	Register  string              // the register's log
	Traces    []string            // of writers
	AgentLogs map[string][]string // by pod, each pod's in the order in which they were written
}

// Backend is a cluster that can be hurt. Its methods may be called at the same time. Whatever takes
// a length returns when that is over, or soon after ctx ends; the harm is undone in either case.
// The instants returned are those at which the harm took effect.
type Backend interface {
	// Up brings the cluster up, or prepares one that is there. Down ends what Up began.
	Up(ctx context.Context) (Cluster, error)
	Down() error
	// Follow calls take with each entry of the register's log until ctx ends.
	Follow(ctx context.Context, take func(register.Entry)) error

	// Apply brings a set about; it does not wait for that. Clear removes a namespace's groups and
	// pods.
	Apply(ctx context.Context, s Set) error
	Clear(ctx context.Context, namespace string) error

	// Strike is for containers of a pod: it kills them if the length is 0, else it pauses them. The
	// signal names the app's writer. The error may be ErrMissed.
	Strike(ctx context.Context, pod *corev1.Pod, length time.Duration,
		containers ...string) (history.Signal, error)
	// StrikeProgram does so to a program. It returns when one that was killed runs again.
	StrikeProgram(ctx context.Context, p Program, length time.Duration) (register.Instant, error)
	// Starve keeps the CPUs of a node busy.
	Starve(ctx context.Context, node string, length time.Duration) (register.Instant, error)

	// Keep makes what agents have logged until now outlive their pods.
	Keep(ctx context.Context) error
	// Gather returns what the pods of a namespace have left.
	Gather(ctx context.Context, namespace string) (Leavings, error)
}

// Full is a Backend of a full cluster: links between pods that can be cut, several nodes, Services
// that lead somewhere, and controllers of all kinds of workloads.
type Full interface {
	Backend
	// Cut tells how many packets were dropped.
	Cut(ctx context.Context, drops []Drop, length time.Duration) (at register.Instant, dropped int,
		err error)
	// StrikeNode kills a node and starts it again after the length, or pauses it for so long.
	StrikeNode(ctx context.Context, node string, kill bool, length time.Duration) (history.Signal,
		error)
}

// ErrMissed is that a strike hit nothing: what it was for had just ended by itself, or by another
// fault.
var ErrMissed = errors.New("there is nothing to strike any more")

// Containers returns the IDs of a pod's running containers, by name.
func Containers(p *corev1.Pod) map[string]string {
	ids := map[string]string{}
	for _, list := range [][]corev1.ContainerStatus{p.Status.InitContainerStatuses,
		p.Status.ContainerStatuses} {
		for _, c := range list {
			if _, id, ok := strings.Cut(c.ContainerID, "://"); ok && c.State.Running != nil {
				ids[c.Name] = id
			}
		}
	}
	return ids
}

// OfManager finds the managers' pods.
var OfManager = client.MatchingLabels{"app.kubernetes.io/component": "manager"}

// ManagerPods are the managers' pods; ErrMissed if there is none.
func ManagerPods(ctx context.Context, c client.Reader) ([]corev1.Pod, error) {
	var pods corev1.PodList
	err := c.List(ctx, &pods, client.InNamespace(SystemNamespace), OfManager)
	if err == nil && len(pods.Items) == 0 {
		err = fmt.Errorf("there is no manager: %w", ErrMissed)
	}
	return pods.Items, err
}

// LeaderPod returns the one of the managers' pods that leads, alone.
func LeaderPod(managers []corev1.Pod) ([]corev1.Pod, error) {
	for i := range managers {
		if managers[i].Labels[v1.LeaderLabel] != "" {
			return managers[i : i+1], nil
		}
	}
	return nil, fmt.Errorf("no manager has the label of the leader: %w", ErrMissed)
}

// Within bounds a context. Its cause says what did not happen in time.
func Within(
	ctx context.Context, limit time.Duration, what string,
) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("%s within %v", what, limit))
}

// Each does something for all at once.
func Each[T any](all []T, do func(T) error) error {
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, one := range all {
		wg.Go(func() { errs[i] = do(one) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Ours marks the namespaces of a run.
var Ours = map[string]string{"podesta.dev/chaos": "true"}

// Namespace is a namespace of a run.
func Namespace(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: Ours}}
}

// Confined is what every container of a run may do.
func Confined() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		RunAsNonRoot:             new(true),
		RunAsUser:                new(int64(65532)),
		AllowPrivilegeEscalation: new(false),
		ReadOnlyRootFilesystem:   new(true),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}
