package podesta

import (
	"context"
	"errors"
	"time"

	"k8s.io/client-go/tools/leaderelection"

	"github.com/podesta-dev/podesta/client/kubernetes/internal/timing"
)

var errElector = errors.New("client-go's elector has given up, " +
	"for example because the Lease is another's")

// Lead is leaderelection.RunOrDie with this lock: it waits until this process leads, and calls
// OnStartedLeading. When the permission or ctx ends, the context of OnStartedLeading ends, and Lead
// calls OnStoppedLeading and returns. It does not wait for OnStartedLeading. It returns nil if ctx
// has ended, and otherwise ErrLost: the program is to end then.
//
// The context of OnStartedLeading ends before the permission does, and it carries the epoch. If
// OnStartedLeading has not returned when the permission is about to end, the process ends with
// agent.ExitCode, and says so on stderr: another process may act from then on. So it is if
// OnStartedLeading returned before its context ended, because what it has started may go on.
// WithoutExit is for programs that stop in time by themselves.
//
// If ctx ends, the permission is renewed until OnStartedLeading has returned, and is then given
// back. When the pod is deleted, the agent renews it no more.
//
// OnNewLeader is called for this process alone, with the lock's Identity, and GetLeader names
// nobody else: while it does not lead, it does not know who does. Who wants to know asks
// agent.Client.Watch.
//
// config has the callbacks, and no Lock. It has no times either, unless the lock is to be held with
// a Lease: then they are those of the Lease, and with ReleaseOnCancel the Lease is given back when
// OnStartedLeading has returned. If ctx has ended, Lead waits for that, for RenewDeadline at most.
func (l *Lock) Lead(ctx context.Context, config leaderelection.LeaderElectionConfig) error {
	if config.Callbacks.OnStartedLeading == nil {
		return errors.New("OnStartedLeading must not be nil")
	}
	if l.lease == nil {
		if config.LeaseDuration != 0 || config.RenewDeadline != 0 || config.RetryPeriod != 0 {
			return timing.Err
		}
		config.LeaseDuration, config.RenewDeadline = timing.LeaseDuration, timing.RenewDeadline
		config.RetryPeriod = timing.RetryPeriod
	}
	releases := config.ReleaseOnCancel && l.lease != nil
	config.ReleaseOnCancel = false // client-go would do it while OnStartedLeading goes on
	if err := l.use(); err != nil {
		return err
	}
	config.Lock = l
	call := &call{lock: l, begin: config.Callbacks.OnStartedLeading}
	config.Callbacks.OnStartedLeading = call.start
	elector, err := leaderelection.NewLeaderElector(config)
	if err != nil {
		return err
	}
	if config.WatchDog != nil {
		config.WatchDog.SetLeaderElection(elector)
	}
	elector.Run(l.bind(ctx)) // ends at once when the lock is lost
	why := errElector
	if ctx.Err() != nil {
		why = context.Cause(ctx)
	}
	switch started, early := call.close(); {
	case !started:
		l.stop(why)
	case early || ctx.Err() == nil:
		l.lose(why) // unless the permission was lost before
	}
	if releases {
		l.releaseWhenStopped(ctx, config.RenewDeadline)
	}
	if ctx.Err() != nil {
		return nil
	}
	return l.holds()
}

// releaseWhenStopped gives the Lease back when nothing leads any more. It waits for that if ctx has
// ended.
func (l *Lock) releaseWhenStopped(ctx context.Context, within time.Duration) {
	released := make(chan struct{})
	go func() {
		defer close(released)
		<-l.done
		l.releaseLease(context.WithoutCancel(ctx), within)
	}()
	if ctx.Err() == nil {
		return
	}
	late := time.NewTimer(within)
	defer late.Stop()
	select {
	case <-released:
	case <-late.C:
	}
}
