package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// The reasons why the context of Run's work ends (context.Cause). Each matches ErrPermissionOver.
var (
	// ErrPermissionOver means that the work may not go on: this process no longer coordinates, or
	// cannot know that it does.
	ErrPermissionOver = errors.New("the permission to act is over")

	errRevoked    = fmt.Errorf("%w: the agent revoked it", ErrPermissionOver)
	errNotRenewed = fmt.Errorf("%w: the agent did not renew it in time", ErrPermissionOver)

	errExited = errors.New("the work ended its goroutine (runtime.Goexit), so it is called no more")
)

// ErrClassic means that the group is Classic: its permissions have no epoch and no deadline, so
// nothing could end the work in time. Use Watch, or make a group with spec.safety: Guarded.
var ErrClassic = errors.New("the group is Classic, and Run needs a Guarded one (spec.safety)")

// Run calls work each time that this process may act, under the epoch of its lease, with a context
// that ends before the permission does. It opens a session, which makes this process a candidate,
// and opens the next one after each, until ctx ends or work returns of its own accord.
//
// The context of work ends, and with it whatever derives from it, when the agent revokes the
// permission or is gone, when the lease is not renewed, and when ctx ends. A lease is not renewed
// if the agent stands still or reaches no majority; then the context ends when three quarters have
// passed of the time that was left when the agent last reported a renewal, and 10 ms before the
// deadline at the latest (Client.StopWithin makes that earlier). Work has the rest to stop: it must
// return soon, and must not begin anything once its context has ended.
// After a pause of the process or of the machine, the context's Err returns an error at once, even
// before Done is closed: it compares the clock at each call. Check it right before each effect. The
// process may still be paused between that check and the effect. Where that matters, the resource
// must check the epoch: it is in the context, where package fence finds it.
//
// When its context has ended and work has returned, Run closes the session: what the permission had
// left is given back, so that the successor need not wait for it. Then Run opens the next session.
// If the permission was only not renewed in time, the session stays open: this process was late, or
// its agent was, and the lease may go on. Then work is called again, under the same epoch, as soon
// as the agent reports a renewal. If the lease has run out meanwhile, nothing is left to give back:
// this process stays a candidate, and if its agent has the lease again, work is called under the
// new epoch. Work that does not return before the permission is over loses it all the same:
// Client.Overdue says so shortly before, and can end the process. If it still runs 50 ms later,
// this process is no candidate until it has returned.
//
// The epoch of the lease may grow while the permission goes on: after an edit of the group, a
// change of its voters, or a close election. Nobody else has acted in between, so the work goes on,
// and its epoch stays the one under which it began. Do not send the same resource the epochs of
// MayAct, of Session or of another Run of this pod as well: they may be higher, and then it refuses
// the work's.
//
// If work returns before its context ends, Run closes the session, which hands over to another
// process, and returns the error of work, or nil. If work ends its goroutine instead
// (runtime.Goexit, which t.FailNow calls), Run does the same, and its error says so. If work
// panics, the program ends, as it does when any other goroutine panics. If ctx ends, Run returns
// its error, once work has returned, joined with that of work if that is another one than its
// context's, and was not reported before (Client.Report). It returns ErrClassic in a Classic group,
// and an error if the kernel refuses its clock or its timers, or if URL is no URL. An agent that is
// not there is waited for: see Client.Report.
func (c *Client) Run(ctx context.Context, work func(ctx context.Context, epoch Epoch) error) error {
	if err := c.Check(); err != nil {
		return err
	}
	var last outcome
	running, stop := context.WithCancel(ctx)
	defer stop()
	_ = again(running, func() (progress bool) { // it ends with running
		s := &sessionOfRun{
			ctx:     ctx,
			work:    work,
			report:  c.report,
			overdue: c.Overdue,
			need:    c.StopWithin,
		}
		switch last = s.run(ctx, c); {
		case last.final:
			stop()
		case !last.told:
			c.report(ctx, last.error())
		}
		return s.heard
	})
	switch {
	case last.final:
		return last.err
	case last.err != nil:
		return errors.Join(ctx.Err(), last.err)
	default:
		return ctx.Err()
	}
}

// outcome is how a session of Run went, or a job.
type outcome struct {
	why   error // why the session ended, or the work had to end
	err   error // the work's, if that is another one than its context's
	final bool  // Run is over, with err
	told  bool  // all of it was reported before
}

func (o outcome) error() error { return errors.Join(o.why, o.err) }

// sessionOfRun is one session of Run. After a job the session is closed, to give back what is left
// of the permission, unless the job has ended because it was not renewed in time. Then another one
// may follow, also if the permission has run out since.
type sessionOfRun struct {
	ctx     context.Context
	work    func(context.Context, Epoch) error
	report  func(context.Context, error)
	overdue func(why error) // Client.Overdue
	need    time.Duration   // Client.StopWithin

	shut context.CancelFunc // closes the session

	mu     sync.Mutex
	heard  bool          // the agent has sent something
	job    *job          // the newest; nil until the agent permits one
	told   *job          // whose end was reported last, while the session stayed open
	epoch  Epoch         // of the last permission
	newest Permission    // as the agent sent it last; zero when the session ends
	until  time.Duration // the latest deadline of this session
	fatal  error         // why there can be none
}

// run opens a session, and returns when it is closed and its job has ended.
func (s *sessionOfRun) run(ctx context.Context, c *Client) outcome {
	// The session outlives ctx: the work ends first. Closing the session gives back what it was told.
	session, shut := context.WithCancel(context.WithoutCancel(ctx))
	defer shut()
	s.shut = shut
	defer context.AfterFunc(ctx, s.interrupt)()
	why := c.session(session, s.hear, s.endWork)
	s.mu.Lock()
	j, fatal := s.job, s.fatal
	s.mu.Unlock()
	switch {
	case fatal != nil:
		return outcome{err: fatal, final: true}
	case j == nil:
		return outcome{why: why}
	}
	o := j.outcome()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.told != j:
		return o
	case session.Err() != nil: // we closed it
		return outcome{told: true}
	default:
		return outcome{why: why}
	}
}

// endWork ends the work when the session has ended, or is about to be closed because of what the
// agent sent. Closing gives the permission back, so it waits until the work has returned, or hangs.
func (s *sessionOfRun) endWork(why error) {
	s.mu.Lock()
	j := s.job
	s.newest = Permission{} // no other job
	s.mu.Unlock()
	if j != nil {
		j.stop(fmt.Errorf("%w: %w", ErrPermissionOver, why))
		<-j.watched
	}
}

// interrupt ends the work, or the session if there is none.
func (s *sessionOfRun) interrupt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.job == nil {
		s.shut()
		return
	}
	s.stop(context.Cause(s.ctx))
}

// stop ends the job, and has the session closed after it. s.mu is held.
func (s *sessionOfRun) stop(why error) {
	if s.job.stop(why) {
		s.shut()
	}
}

// hear takes what the agent sends over the session.
func (s *sessionOfRun) hear(p Permission) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard = true
	s.until = max(s.until, p.until)
	switch {
	case s.job != nil && p.Granted && p.Epoch >= s.epoch:
		s.epoch, s.newest = p.Epoch, p
		s.job.extend(p) // in time, or it changes nothing
		s.goOn()
	case s.job != nil && p.session == nil: // the session has ended: see endWork
	case s.job != nil && p.Granted: // of another group object: its epoch is lower, or it has none
		s.newest = Permission{}
		s.stop(errRevoked)
	case s.job != nil:
		s.newest = Permission{}
		if s.job.revoked(s.until) {
			s.shut()
		}
	case !p.Granted || s.ctx.Err() != nil:
	case p.Epoch == 0:
		s.fatal = ErrClassic
		s.shut()
	default:
		s.begin(p)
	}
}

// begin starts the work, unless the permission is about to end.
func (s *sessionOfRun) begin(p Permission) {
	j, err := newJob(s.ctx, p, s.need, s.shut)
	switch {
	case err != nil:
		s.fatal = err
		s.shut()
	case j != nil:
		j.left = func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.ctx.Err() == nil { // else Run returns it
				s.report(context.WithoutCancel(s.ctx), j.result().error())
				s.told = j
			}
			s.goOn()
		}
		j.overdue = s.overdue
		s.job, s.epoch = j, p.Epoch
		j.start(s.work)
	}
}

// goOn begins the next job if the last one was late, and the agent has renewed what it permitted
// since. s.mu is held.
func (s *sessionOfRun) goOn() {
	late := s.job
	if !late.late() || !late.mayFollow(s.newest) || s.ctx.Err() != nil {
		return
	}
	s.begin(s.newest)
}
