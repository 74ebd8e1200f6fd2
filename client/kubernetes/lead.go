package podesta

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/util/retry"
)

// WithLease returns a lock that is held only while the Lease is held, too, for switching over and
// back (see LeaderElectionWithLease). Call it before the lock is used.
func (l *Lock) WithLease(lease resourcelock.Interface) *Lock {
	l.lease = lease
	return l
}

var errElector = errors.New("client-go's elector has given up, " +
	"for example because the Lease is another's")

// Lead is leaderelection.RunOrDie with this lock: it waits until this process leads, calls
// OnStartedLeading, and returns when that has returned after the permission or ctx has ended. It
// returns nil if ctx has ended, and otherwise ErrLost: the program is to end then.
//
// The context of OnStartedLeading ends before the permission does, and it carries the epoch.
// OnStartedLeading must return soon then: what is left of the permission is given back when it has,
// or when the permission is over.
//
// OnNewLeader is called for this process alone, and GetLeader names nobody else: while it does not
// lead, it does not know who does. Who wants to know asks agent.Client.Watch.
//
// config has the callbacks, and no Lock. It has no times either, unless the lock is to be held with
// a Lease: then they are those of the Lease, and with ReleaseOnCancel it is given back when
// OnStartedLeading has returned, however the lead has ended.
func (l *Lock) Lead(ctx context.Context, config leaderelection.LeaderElectionConfig) error {
	if config.Callbacks.OnStartedLeading == nil {
		return errors.New("OnStartedLeading must not be nil")
	}
	if l.lease == nil {
		if config.LeaseDuration != 0 || config.RenewDeadline != 0 || config.RetryPeriod != 0 {
			return errTimings
		}
		config.LeaseDuration, config.RenewDeadline = leaseDuration, renewDeadline
		config.RetryPeriod = retryPeriod
	}
	// what is given back is given back below, when OnStartedLeading has returned
	releases := config.ReleaseOnCancel && l.lease != nil
	config.ReleaseOnCancel = false
	if err := l.use(); err != nil {
		return err
	}
	config.Lock = l
	call := &call{
		begin: config.Callbacks.OnStartedLeading,
		bind:  l.bind,
		done:  make(chan struct{}),
	}
	config.Callbacks.OnStartedLeading = call.start
	elector, err := leaderelection.NewLeaderElector(config)
	if err != nil {
		return err
	}
	if config.WatchDog != nil {
		config.WatchDog.SetLeaderElection(elector)
	}
	elector.Run(l.bind(ctx)) // ends at once when the lock is lost
	call.wait()
	stopped := ctx.Err() != nil
	if stopped {
		l.lose(context.Cause(ctx))
	} else {
		l.lose(errElector) // unless the permission was lost before
	}
	close(l.done) // all that led has ended: the session may be closed
	if releases {
		l.releaseLease(context.WithoutCancel(ctx), config.RenewDeadline)
	}
	if stopped {
		return nil
	}
	return l.holds()
}

// releaseLease gives the Lease back, if this process has tried to get it, and has it.
func (l *Lock) releaseLease(ctx context.Context, within time.Duration) {
	if !l.leased.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	// with a renewal that was still on its way
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error { return l.emptyLease(ctx) })
	if err != nil {
		l.agent.Report(fmt.Errorf("the Lease is not given back, and runs out by itself: %w", err))
	}
}

// emptyLease writes what client-go does to give a Lease back.
func (l *Lock) emptyLease(ctx context.Context) error {
	record, _, err := l.lease.Get(ctx)
	if err != nil || record.HolderIdentity != l.lease.Identity() {
		return err
	}
	now := metav1.Now()
	return l.lease.Update(ctx, resourcelock.LeaderElectionRecord{
		LeaderTransitions:    record.LeaderTransitions,
		LeaseDurationSeconds: 1,
		RenewTime:            now,
		AcquireTime:          now,
	})
}

// call is the one call of OnStartedLeading, which client-go starts in a goroutine of its own and
// never waits for.
type call struct {
	begin func(context.Context)
	bind  func(context.Context) context.Context
	done  chan struct{}

	mu      sync.Mutex
	started bool
	over    bool // the elector has returned: it is too late to start
}

func (c *call) start(ctx context.Context) {
	c.mu.Lock()
	if c.over {
		c.mu.Unlock()
		return
	}
	c.started = true
	c.mu.Unlock()
	defer close(c.done)
	c.begin(c.bind(ctx))
}

// wait returns when the call has returned, or will not be made.
func (c *call) wait() {
	c.mu.Lock()
	c.over = true
	started := c.started
	c.mu.Unlock()
	if started {
		<-c.done
	}
}
