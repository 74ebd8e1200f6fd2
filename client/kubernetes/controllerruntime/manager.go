// Package podesta has a Podesta group decide who leads among the replicas of an operator that is
// built on controller-runtime, in place of a Lease:
//
//	options := ctrl.Options{…}
//	if err := podesta.LeaderElection(&options); err != nil { … }
//	manager, err := ctrl.NewManager(config, options)
//
// Each replica asks the agent in its pod; the API server is not asked. The group must be Guarded.
// Package client/kubernetes, whose lock this package gives to the manager, says what holds while a
// replica leads, and what it does not promise. When the lock is lost, the contexts of all runnables
// end, and if the program has not ended when the permission is about to end, the process does.
//
// All replicas of a Deployment use a Lease, or all use Podesta: each would let one of its own lead.
// The way from one to the other is LeaderElectionWithLease, which leads only while it holds both.
package podesta

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/podesta-dev/podesta/client/agent"
	kubernetes "github.com/podesta-dev/podesta/client/kubernetes"
	"github.com/podesta-dev/podesta/client/kubernetes/internal/timing"
)

// Lock is a lock of package client/kubernetes for one manager.
type Lock struct{ *kubernetes.Lock }

// NewLock returns a lock that asks this agent; nil means the one of this pod (see
// agent.Client.URL).
func NewLock(client *agent.Client) Lock { return Lock{kubernetes.NewLock(client)} }

// WithoutExit returns the lock, which does not end the process any more. It is for programs that
// stop in time by themselves: all runnables must have stopped before the permission ends, of which
// a quarter is left when their contexts end.
func (l Lock) WithoutExit() Lock { return Lock{l.Lock.WithoutExit()} }

// LeaderElection has a manager lead while the agent in its pod permits it, in place of a Lease.
// Call it on the options that the manager is made of. No request to the API server is made for it,
// and no rights to Leases or Events are needed; LeaderElectionID and LeaderElectionNamespace are
// not used.
//
// When the permission ends, the contexts of all runnables end, those of webhooks, caches and health
// probes, too. If the process still runs when the permission is about to end, it ends with
// agent.ExitCode, and says so on stderr: often before Start has returned, which takes client-go
// 600 ms. When the manager is told to stop, its runnables stop first, and the permission is renewed
// meanwhile; then the program has the rest of it to end. When its pod is deleted, the agent revokes
// the permission at once, while runnables may still be stopping.
//
// The options are for one manager. It is an error if the options name a lock of their own, or times
// for one.
func LeaderElection(options *manager.Options) error { return NewLock(nil).LeaderElection(options) }

// LeaderElection is the function of that name with this lock.
func (l Lock) LeaderElection(options *manager.Options) error {
	if options.LeaseDuration != nil || options.RenewDeadline != nil || options.RetryPeriod != nil {
		return timing.Err
	}
	if err := l.install(options); err != nil {
		return err
	}
	lease, renew, retry := timing.LeaseDuration, timing.RenewDeadline, timing.RetryPeriod
	options.LeaseDuration, options.RenewDeadline, options.RetryPeriod = &lease, &renew, &retry
	options.LeaderElectionReleaseOnCancel = true // it only says that the manager has been told to stop
	return nil
}

// LeaderElectionWithLease is for switching over, and back: the manager leads while the agent
// permits it and it holds its Lease, too. So it never leads beside a replica that uses either
// alone. The options' LeaderElectionID, LeaderElectionNamespace and times are those of the Lease.
// It fails over as slowly as the Lease does. The Lease is never given back, whatever
// LeaderElectionReleaseOnCancel says, because a manager that stops may leave runnables behind.
func LeaderElectionWithLease(config *rest.Config, options *manager.Options) error {
	return NewLock(nil).LeaderElectionWithLease(config, options)
}

// LeaderElectionWithLease is the function of that name with this lock.
func (l Lock) LeaderElectionWithLease(config *rest.Config, options *manager.Options) error {
	lease, err := leaseOf(config, options)
	if err != nil {
		return err
	}
	l.WithLease(lease)
	return l.install(options)
}

// install makes the lock the manager's, and ends its runnables with it.
func (l Lock) install(options *manager.Options) error {
	if options.LeaderElectionResourceLockInterface != nil {
		return errors.New("the options have a LeaderElectionResourceLockInterface already: remove it")
	}
	bind, err := l.Take()
	if err != nil {
		return err
	}
	options.LeaderElection = true
	options.LeaderElectionResourceLockInterface = l.Lock
	base := options.BaseContext
	if base == nil {
		base = context.Background
	}
	options.BaseContext = func() context.Context { return bind(base()) }
	return nil
}

// podNamespace is where a pod reads its namespace, as controller-runtime does.
const podNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// leaseOf returns the Lease that a manager with these options would use.
func leaseOf(config *rest.Config, options *manager.Options) (resourcelock.Interface, error) {
	if options.LeaderElectionConfig != nil {
		config = options.LeaderElectionConfig
	}
	if config == nil {
		return nil, errors.New("the configuration of the API server must not be nil")
	}
	if options.LeaderElectionID == "" {
		return nil, errors.New("LeaderElectionID must be the name of the Lease")
	}
	namespace := options.LeaderElectionNamespace
	if namespace == "" {
		data, err := os.ReadFile(podNamespace)
		if err != nil {
			return nil, fmt.Errorf("LeaderElectionNamespace must be set outside of a pod: %w", err)
		}
		namespace = strings.TrimSpace(string(data))
	}
	const defaultRenewDeadline = 10 * time.Second // controller-runtime's
	deadline := defaultRenewDeadline
	if options.RenewDeadline != nil {
		deadline = *options.RenewDeadline
	}
	name, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	// the process's number and start: a container that was started again is another holder
	identity := fmt.Sprintf("%s_%d_%x", name, os.Getpid(), time.Now().UnixNano())
	// As resourcelock.NewFromKubeconfig makes it, which panics where a configuration is refused.
	own := rest.AddUserAgent(rest.CopyConfig(config), "leader-election")
	own.Timeout = max(deadline/2, time.Second)
	events, err := corev1.NewForConfig(own)
	if err != nil {
		return nil, err
	}
	leases, err := coordinationv1.NewForConfig(own)
	if err != nil {
		return nil, err
	}
	return resourcelock.New(resourcelock.LeasesResourceLock, namespace, options.LeaderElectionID,
		events, leases, resourcelock.ResourceLockConfig{Identity: identity})
}
