package podesta

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/util/retry"

	"github.com/podesta-dev/podesta/client/internal/boottime"
)

// WithLease returns a lock that is held only while the Lease is held, too, for switching over and
// back. Call it before the lock is used.
func (l *Lock) WithLease(lease resourcelock.Interface) *Lock {
	l.lease = lease
	return l
}

// errLease means that whoever waits for the Lease may soon have it.
var errLease = errors.New("the Lease was not renewed in time")

// A Lease ends what leads as a permission does: when a quarter is left, and the process is overdue
// when half of that has passed.
const (
	restShare = 4
	lastShare = 8
)

// writeLease writes the Lease, and has what leads end before it has run out.
func (l *Lock) writeLease(lasts time.Duration, write func() error) error {
	l.leased.Store(true)
	asked, err := boottime.Now()
	if err != nil {
		return err
	}
	if err := write(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.leaseAlarm == nil {
		if l.leaseAlarm, err = boottime.NewAlarm(); err != nil {
			return err
		}
		go l.watchLease(l.leaseAlarm)
	}
	l.leaseUntil = asked + lasts
	l.leaseLasts = lasts
	return l.leaseAlarm.Set(l.leaseUntil - lasts/restShare)
}

// watchLease loses the lock before the Lease has run out, and ends the process if the work goes on.
// It does so by the clock that counts a pause of the machine, too: client-go's does not.
func (l *Lock) watchLease(alarm *boottime.Alarm) {
	for alarm.Wait() == nil {
		l.mu.Lock()
		begun, last := l.begun, l.leaseUntil-l.leaseLasts/lastShare
		l.mu.Unlock()
		if !begun {
			continue
		}
		l.lose(errLease)
		if now, err := boottime.Now(); err != nil || now >= last || alarm.Set(last) != nil {
			l.overdue(errLease)
			return
		}
	}
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
