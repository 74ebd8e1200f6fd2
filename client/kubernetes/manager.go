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
)

// The times of client-go's elector. None of them says how long this process leads, or how long a
// failover takes: that is the group's lease, and the contexts of what leads end by themselves. A
// manager whose lock is lost returns from Start after renewDeadline and retryPeriod at most.
const (
	leaseDuration = time.Second // whole seconds are what client-go writes
	renewDeadline = 500 * time.Millisecond
	retryPeriod   = 100 * time.Millisecond
)

var errTimings = errors.New("LeaseDuration, RenewDeadline and RetryPeriod are set by podesta: " +
	"remove them. How fast a failover is, is the group's spec.timing")

// LeaderElection has a manager lead while the agent in its pod permits it, in place of a Lease.
// Call it on the options that the manager is made of. No request to the API server is made for it,
// and no rights to Leases or Events are needed; LeaderElectionID and LeaderElectionNamespace are
// not used.
//
// When the permission ends, the contexts of all runnables end, those of webhooks, caches and health
// probes, too, and Start returns an error after 600 ms at most: the program is to end then, and to
// be started again. But if a runnable returns an error when its context ends, Start waits for the
// others, and for Reconciles that are under way, for the manager's GracefulShutdownTimeout (30 s):
// see Lock.Lost. When the manager is told to stop, its runnables stop first; the permission is
// given back when the process ends, or when it has run out. If the manager stops because its pod is
// deleted, the agent revokes the permission at once, while runnables may still be stopping.
//
// The options are for one manager. It is an error if the options name a lock of their own, or times
// for one.
func LeaderElection(options *manager.Options) error { return NewLock(nil).LeaderElection(options) }

// LeaderElection is the function of that name with an agent that is somewhere else than usual. A
// lock serves one manager.
func (l *Lock) LeaderElection(options *manager.Options) error {
	if options.LeaseDuration != nil || options.RenewDeadline != nil || options.RetryPeriod != nil {
		return errTimings
	}
	if err := l.install(options); err != nil {
		return err
	}
	lease, renew, retry := leaseDuration, renewDeadline, retryPeriod
	options.LeaseDuration, options.RenewDeadline, options.RetryPeriod = &lease, &renew, &retry
	options.LeaderElectionReleaseOnCancel = true // it only says that the manager has been told to stop
	return nil
}

// LeaderElectionWithLease is for switching over, and back: the manager leads while the agent
// permits it and it holds its Lease, too. So it never leads beside a replica that uses either
// alone. The options' LeaderElectionID, LeaderElectionNamespace and times are those of the Lease.
// It fails over as slowly as the Lease does, and a replica that loses its permission returns from
// Start after RenewDeadline and RetryPeriod only (12 s with controller-runtime's).
func LeaderElectionWithLease(config *rest.Config, options *manager.Options) error {
	return NewLock(nil).LeaderElectionWithLease(config, options)
}

// LeaderElectionWithLease is the function of that name with an agent that is somewhere else than
// usual.
func (l *Lock) LeaderElectionWithLease(config *rest.Config, options *manager.Options) error {
	lease, err := leaseOf(config, options)
	if err != nil {
		return err
	}
	l.lease = lease
	return l.install(options)
}

// install makes the lock the manager's, and ends its runnables with it.
func (l *Lock) install(options *manager.Options) error {
	if options.LeaderElectionResourceLockInterface != nil {
		return errors.New("the options have a LeaderElectionResourceLockInterface already: remove it")
	}
	if err := l.use(); err != nil {
		return err
	}
	options.LeaderElection = true
	options.LeaderElectionResourceLockInterface = l
	base := options.BaseContext
	if base == nil {
		base = context.Background
	}
	options.BaseContext = func() context.Context {
		if l.running.Err() != nil {
			l.agent.Report(errAnotherManager)
		}
		return l.bind(base())
	}
	return nil
}

var errAnotherManager = errors.New("a manager that is made of options whose lock was lost never " +
	"leads: call LeaderElection on options of its own for each manager")

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
