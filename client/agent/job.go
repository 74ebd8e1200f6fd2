package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/podesta-dev/podesta/client/internal/boottime"
	"github.com/podesta-dev/podesta/client/internal/bound"
)

// job is one call of Run's work: under one epoch, and until shortly before the permission ends.
type job struct {
	epoch Epoch
	need  time.Duration // Client.StopWithin
	ctx   workContext
	shut  context.CancelFunc // closes the session
	alarm *boottime.Alarm

	left    func()          // called if the session stays open when the work has returned
	overdue func(why error) // Client.Overdue

	mu      sync.Mutex
	cancel  context.CancelCauseFunc
	until   time.Duration // the deadline of the permission, as a reading of the clock
	renewed time.Duration // when the lease was last renewed, by the agent's clock
	end     time.Duration // when the context ends unless the agent renews the lease
	length  time.Duration // how much of the permission was left when the lease was last renewed
	over    error         // why the context has ended; nil while it has not
	warned  bool          // overdue was called
	hangsAt time.Duration // from then on the work hangs; 0: its permission is not over yet
	closing bool          // the session is closed when the work has returned
	gone    bool          // the work has returned
	err     error         // the work's
	final   bool          // it returned before its context ended, or ended its goroutine

	returned chan struct{} // closed when the work has returned, and what follows is done
	watched  chan struct{} // closed when the alarm is no longer watched
}

const (
	// restShare and leastRest say how much of a permission is left when the work's context ends: a
	// quarter of what was left when the agent last said that the lease was renewed, and 10 ms at
	// least. The agent says it when a third of the last permission has passed, or before: it may be
	// late by another five twelfths (34 ms of 82) before the context ends, and then the work has a
	// quarter (20 ms of 82) to notice. Timers of a machine that is busy are milliseconds late.
	// Client.StopWithin may ask for more, up to half, if half a second has passed by then: a renewal
	// that waits for a disk, as with a new roster, is no reason to stop.
	restShare = 4
	mostRest  = 2
	leastRest = 10 * time.Millisecond
	leastWait = 500 * time.Millisecond
	// overdueShare says how much of a permission is left for ending work that goes on.
	overdueShare = 8
	// hangsAfter is for how long work may still run after its permission was found to be over, before
	// it counts as hanging: a program that has just stood still has had no time to return.
	hangsAfter = 50 * time.Millisecond
)

// endOf returns when the context of work that needs that long to stop ends, under a permission that
// is received now.
func endOf(until, now, need time.Duration) time.Duration {
	length := until - now
	return until - max(length/restShare, min(need, length/mostRest, length-leastWait), leastRest)
}

// newJob returns nil if the permission is about to end. Need is Client.StopWithin.
func newJob(
	ctx context.Context, p Permission, need time.Duration, shut context.CancelFunc,
) (*job, error) {
	now, err := boottime.Now()
	if err != nil {
		return nil, noClock(err)
	}
	end := endOf(p.until, now, need)
	if !p.Valid() || now >= end {
		return nil, nil
	}
	alarm, err := boottime.NewAlarm()
	if err != nil {
		return nil, noAlarm(err)
	}
	j := &job{
		epoch:    p.Epoch,
		need:     need,
		shut:     shut,
		alarm:    alarm,
		until:    p.until,
		renewed:  p.renewed,
		end:      end,
		length:   p.until - now,
		returned: make(chan struct{}),
		watched:  make(chan struct{}),
	}
	inner, cancel := context.WithCancelCause(bound.With(ctx, int64(p.Epoch)))
	j.ctx, j.cancel = workContext{Context: inner, job: j}, cancel
	if err := alarm.Set(end); err != nil {
		cancel(err)
		return nil, errors.Join(noAlarm(err), alarm.Close())
	}
	return j, nil
}

// start begins the work.
func (j *job) start(work func(context.Context, Epoch) error) {
	go j.watch()
	go func() {
		defer close(j.returned)
		err := errExited // unless the work returns; a panic ends the program
		defer func() { j.ended(err) }()
		err = work(j.ctx, j.epoch)
	}()
}

// ended is called when the work has ended.
func (j *job) ended(err error) {
	j.mu.Lock()
	j.gone, j.err = true, err
	j.final = errors.Is(err, errExited) || j.ctx.Context.Err() == nil
	if j.final {
		j.finish(ErrPermissionOver) // for what the work has left behind
		j.closing = true
	}
	closing := j.closing
	j.mu.Unlock()
	_ = j.alarm.Close() // ends watch
	if closing {
		j.shut()
	} else if j.left != nil {
		j.left()
	}
}

// outcome waits until the work has returned.
func (j *job) outcome() outcome {
	<-j.returned
	<-j.watched
	return j.result()
}

// late reports whether the work has returned because the permission was not renewed in time, and
// the session stays open.
func (j *job) late() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.gone && !j.closing
}

// result is how the work has ended that has returned. If it ended of its own accord, that is final.
func (j *job) result() outcome {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.final {
		return outcome{err: j.err, final: true}
	}
	o := outcome{why: j.over}
	if !errors.Is(j.err, context.Canceled) && !errors.Is(j.err, j.over) {
		o.err = j.err
	}
	return o
}

// extend takes a fresh permission. One that comes after the context has ended changes nothing, nor
// does one of a lease that was not renewed since the last: the agent reaches no majority. One whose
// deadline is not later counts if the lease was renewed: after an election the first permission is
// as long as the longest lease, and its deadline stays promised while the leaseholder renews
// shorter ones, or an edit of the group has made the longest one shorter. Then less and less of the
// permission is left for noticing that it is renewed no more.
func (j *job) extend(p Permission) {
	now := j.check()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.over != nil {
		return
	}
	j.until = max(j.until, p.until)
	if j.renewedBy(p) {
		j.renewed = p.renewed
		j.end = max(j.end, endOf(j.until, now, j.need))
		j.length = j.until - now
	}
	if err := j.alarm.Set(j.end); err != nil {
		j.finish(noAlarm(err))
	}
}

// renewedBy reports whether the agent says that the lease was renewed since the last permission
// that this job took. One that does not say when is believed. j.mu is held.
func (j *job) renewedBy(p Permission) bool { return p.renewed == 0 || p.renewed > j.renewed }

// mayFollow reports whether another job may begin under a permission when this one was late: the
// lease was renewed since.
func (j *job) mayFollow(p Permission) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return p.Granted && j.renewedBy(p)
}

// watch ends the context in time, and says when the work is overdue. If the work hangs, it closes
// the session: nothing is left to give back, and this process is no candidate while the work goes
// on.
func (j *job) watch() {
	defer close(j.watched)
	err := j.alarm.Wait()
	for ; err == nil; err = j.alarm.Wait() {
		j.warn()
		if j.hangs() {
			j.shut()
			return
		}
	}
	j.unwatched(err)
}

// overdueAt returns when work that goes on after its context has ended is overdue. If the
// permission was not renewed, the work has had half of the rest by then, or more. The process can
// be ended in the time that is left. j.mu is held.
func (j *job) overdueAt() time.Duration {
	return j.until - min((j.until-j.end)/2, j.length/overdueShare)
}

// warn calls overdue, once, if the work has not returned and the permission is about to end.
// Without a clock nobody knows when that is.
func (j *job) warn() {
	now := j.check()
	j.mu.Lock()
	due := !j.gone && !j.warned && j.over != nil && (now == 0 || now >= j.overdueAt())
	why := j.over
	if due {
		j.warned = true
		_ = j.alarm.Set(j.until)
	}
	j.mu.Unlock()
	if due && j.overdue != nil {
		j.overdue(why)
	}
}

// hangs reports whether the work goes on though its permission is over, and it has had the time to
// notice that. Then the session is to be closed, and no other job follows in it. While it has not,
// the alarm is set for when it will have.
func (j *job) hangs() bool {
	now := j.check()
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.gone || j.over == nil || now < j.until:
		return false
	case j.hangsAt == 0:
		j.hangsAt = now + hangsAfter
	}
	if now < j.hangsAt && j.alarm.Set(j.hangsAt) == nil {
		return false
	}
	j.closing = true
	return true
}

// unwatched is called when nobody waits for the alarm any more: because the work has returned; or
// because that is impossible here. Then the context ends, and the session stays open until the work
// has returned.
func (j *job) unwatched(err error) {
	j.mu.Lock()
	gone := j.gone
	if !gone {
		j.finish(noAlarm(err))
	}
	j.mu.Unlock()
	if !gone {
		if j.overdue != nil { // nobody will know when it is
			j.overdue(noAlarm(err))
		}
		<-j.returned
	}
}

// check reads the clock, and ends the context if its time has come. Without a clock it has; 0 is
// before every deadline, so that nothing is given back while the work may go on.
func (j *job) check() (now time.Duration) {
	now, err := boottime.Now()
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case err != nil:
		j.finish(noClock(err))
		return 0
	case now >= j.end:
		j.finish(errNotRenewed)
	}
	return now
}

// stop ends the context, and has the session closed when the work has returned. It reports whether
// the work has: then the caller closes the session.
func (j *job) stop(why error) (gone bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.finish(why)
	return j.gone
}

// revoked ends the context, because the agent permits nothing any more, and has the session closed
// when the work has returned. It reports whether the work has: then the caller closes the session.
// Once the last deadline of the session has passed, the permission was not renewed in time, and
// there is nothing to give back: the session stays open, and the agent may have the lease again.
func (j *job) revoked(last time.Duration) (gone bool) {
	now := j.check()
	j.mu.Lock()
	defer j.mu.Unlock()
	if now < last {
		j.finish(errRevoked)
	}
	return j.gone && j.closing
}

// finish ends the context, once: whatever the agent sends later, this job does not go on. j.mu is
// held.
func (j *job) finish(why error) {
	if !errors.Is(why, errNotRenewed) {
		j.closing = true
	}
	if j.over != nil {
		return
	}
	j.over = why
	j.cancel(why)
	_ = j.alarm.Set(j.overdueAt()) // if the work has returned, there is nothing left to watch
}

// workContext is the context of the work. Its Err reads the clock at each call, because after a
// pause the work may run before whoever would close Done.
type workContext struct {
	context.Context
	job *job
}

// Err returns nil only before the instant at which the context is to end.
func (c workContext) Err() error {
	c.job.check()
	return c.Context.Err()
}

func noAlarm(err error) error {
	return fmt.Errorf("cannot set a timer on CLOCK_BOOTTIME, so nothing is permitted: check the "+
		"container's seccomp profile: %w", err)
}
