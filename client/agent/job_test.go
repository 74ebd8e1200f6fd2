package agent

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// permitted is a permission under an epoch for the window from now on.
func permitted(t *testing.T, epoch Epoch, window time.Duration) Permission {
	t.Helper()
	return Permission{View: View{Epoch: epoch}, Granted: true, until: reading(t) + window}
}

// quiet returns a job whose alarm nobody watches: as after a pause, before anything else runs.
func quiet(t *testing.T, window time.Duration) *job {
	t.Helper()
	j, err := newJob(t.Context(), permitted(t, 7, window), 0, func() {})
	if err != nil || j == nil {
		t.Fatal("no job: ", err)
	}
	t.Cleanup(func() { j.stop(errRevoked); j.alarm.Close() })
	return j
}

func TestAQuarterOfAPermissionIsLeftForNoticing(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct{ until, now, need, want time.Duration }{
		{1818 * ms, 1000 * ms, 0, 1818*ms - 818*ms/4}, // a lease of a second
		{1082 * ms, 1000 * ms, 0, 1061500 * time.Microsecond},
		{1022 * ms, 1000 * ms, 0, 1012 * ms}, // renewed late
		{1010 * ms, 1000 * ms, 0, 1000 * ms}, // not worth to begin
		{1001 * ms, 1000 * ms, 0, 991 * ms},
		{3400 * ms, 1000 * ms, 700 * ms, 2700 * ms}, // StopWithin
		{3400 * ms, 1000 * ms, 100 * ms, 2800 * ms}, // it has a quarter in any case
		{3400 * ms, 1000 * ms, time.Hour, 2200 * ms},
		{1800 * ms, 1000 * ms, time.Hour, 1500 * ms},
		{1400 * ms, 1000 * ms, time.Hour, 1300 * ms},
	} {
		if got := endOf(c.until, c.now, c.need); got != c.want {
			t.Errorf("%v before its end: the context ends at %v, want %v", c.until-c.now, got, c.want)
		}
	}
}

func TestOverdue(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct{ length, need, left time.Duration }{
		{818 * ms, 0, 818 * ms / 8},
		{82 * ms, 0, 82 * ms / 8},
		{82 * ms, time.Hour, 82 * ms / 8},
		{2400 * ms, time.Hour, 300 * ms},
	} {
		j := &job{until: time.Minute, length: c.length}
		j.end = endOf(j.until, j.until-c.length, c.need)
		if left := j.until - j.overdueAt(); left != c.left {
			t.Errorf("%v, %v to stop: it is overdue when %v are left, want %v", c.length, c.need, left, c.left)
		}
	}
}

// After an election the first permission is for the longest lease, and the renewals are for shorter
// ones: until these reach further its deadline stands still, and the agent says the same again and
// again.
func TestTheWorkGoesOnWhileLeasesShrink(t *testing.T) {
	for name, earlier := range map[string]time.Duration{
		"the deadline stands still":            0,
		"the longest lease was edited shorter": 500 * time.Millisecond,
	} {
		t.Run(name, func(t *testing.T) {
			j := quiet(t, 2*time.Second)
			again := Permission{View: View{Epoch: 7}, Granted: true, until: j.until - earlier}
			first := j.end
			for range 3 { // as the agent does, after a third of what is left
				now := reading(t)
				pass(t, now+(j.until-now)/3)
				again.renewed = now
				j.extend(again)
			}
			if j.over != nil {
				t.Fatalf("the machine stood still: %v", j.over)
			}
			if j.end <= first || j.end > j.until-leastRest {
				t.Errorf("the context ends %v before the deadline, at first %v", j.until-j.end, j.until-first)
			}
			pass(t, first)
			if err := j.ctx.Err(); err != nil {
				t.Errorf("it has ended: %v", context.Cause(j.ctx))
			}
		})
	}
}

// A leaseholder that reaches no majority repeats what it may do until the deadline, and tells of
// what it sees meanwhile. The work keeps its quarter.
func TestTheWorkKeepsItsQuarterWithoutAMajority(t *testing.T) {
	j := quiet(t, 2*time.Second)
	j.renewed = 1
	end := j.end
	again := Permission{View: View{Epoch: 7}, Granted: true, until: j.until, renewed: j.renewed}
	for range 3 {
		now := reading(t)
		pass(t, now+(j.until-now)/3)
		j.extend(again)
	}
	if j.end != end {
		t.Errorf("the context ends %v before the deadline, and was to end %v before", j.until-j.end, j.until-end)
	}
}

// The work was stopped because no majority was reached, and returns at once. It is not called again
// under what the agent repeats until the deadline, but when the lease is renewed.
func TestStoppedWorkIsNotCalledAgainWithoutAMajority(t *testing.T) {
	calls := make(chan Epoch, 10)
	s := &sessionOfRun{
		ctx: t.Context(),
		work: func(ctx context.Context, epoch Epoch) error {
			calls <- epoch
			<-ctx.Done()
			return ctx.Err()
		},
		report: func(context.Context, error) {},
		shut:   func() {},
	}
	p := permitted(t, 7, time.Second)
	p.renewed, p.session = 1, t.Context()
	s.hear(p)
	first := s.job
	s.hear(p) // repeated
	<-first.returned
	s.hear(p)
	if s.job != first || len(calls) != 1 {
		t.Fatalf("the work is called %d times", len(calls))
	}
	p = permitted(t, 7, time.Minute)
	p.renewed, p.session = 2, t.Context()
	s.hear(p)
	if <-calls; s.job == first {
		t.Error("the lease is renewed, and the work is not called")
	} else {
		<-calls
	}
	s.stop(errRevoked)
	<-s.job.returned
}

// idle returns a session whose work was late, under epoch 7, has returned since, and whose
// permission is over; and what closes the session, and is reported. A machine that is busy may stop
// the work for as long as the rest of its permission: then the test tries again.
func idle(t *testing.T) (s *sessionOfRun, closed chan struct{}, reports chan error) {
	t.Helper()
	for range 20 {
		reports, closed = make(chan error, 10), make(chan struct{}, 10)
		s = &sessionOfRun{
			ctx: t.Context(),
			work: func(ctx context.Context, _ Epoch) error {
				<-ctx.Done()
				return ctx.Err()
			},
			report: func(_ context.Context, err error) { reports <- err },
			shut:   func() { closed <- struct{}{} },
		}
		seven := permitted(t, 7, time.Second)
		seven.renewed, seven.session = 1, t.Context()
		s.hear(seven)
		<-s.job.returned
		pass(t, s.job.until)
		if s.job.late() {
			return s, closed, reports
		}
	}
	t.Fatal("the machine is too busy")
	return nil, nil, nil
}

// Nothing is left of a permission that has run out, so nothing is given back when the agent revokes
// it: this process stays a candidate, and may have the lease again, under another epoch.
func TestALeaseThatRanOutMayBeHadAgain(t *testing.T) {
	s, closed, reports := idle(t)
	revoked := Permission{session: t.Context()}
	s.hear(revoked)
	s.hear(revoked)
	eight := permitted(t, 8, time.Minute)
	eight.renewed, eight.session = 2, t.Context()
	s.hear(eight)
	if len(closed) > 0 || s.job.epoch != 8 {
		t.Errorf("the session was closed %d times, and the work was called under %d last", len(closed),
			s.job.epoch)
	}
	s.hear(revoked) // a minute is left to give back
	<-s.job.returned
	if len(closed) != 1 {
		t.Errorf("the session was closed %d times", len(closed))
	}
	if len(reports) != 1 {
		t.Errorf("%d reports that the work has ended, want one", len(reports))
	} else if err := <-reports; !errors.Is(err, errNotRenewed) {
		t.Errorf("reported: %v", err)
	}
}

// What the agent permitted after the work had to end is given back, too, if it is revoked.
func TestALaterDeadlineIsGivenBack(t *testing.T) {
	s, closed, _ := idle(t)
	seven := permitted(t, 7, time.Minute) // of the same renewal: no work begins
	seven.renewed, seven.session = 1, t.Context()
	s.hear(seven)
	s.hear(Permission{session: t.Context()})
	if len(closed) != 1 {
		t.Errorf("the session was closed %d times", len(closed))
	}
}

// A lower epoch is of another group object, and a permission without one of a Classic group. The
// session that was open for the last object is closed, also if its lease had run out.
func TestAnotherGroupObjectAfterALeaseThatRanOut(t *testing.T) {
	six := permitted(t, 6, time.Minute)
	six.renewed, six.session = 2, t.Context()
	for _, other := range []Permission{six, {Granted: true, session: t.Context()}} {
		s, closed, _ := idle(t)
		s.hear(other)
		if len(closed) != 1 || s.job.epoch != 7 {
			t.Errorf("epoch %d: the session was closed %d times, and the work was called under %d last",
				other.Epoch, len(closed), s.job.epoch)
		}
	}
}

// Whoever watches over work that has returned may come late, when the next has begun in the session.
func TestNobodyClosesTheSessionOfTheNextWork(t *testing.T) {
	s, _, _ := idle(t)
	if s.job.hangs() || !s.job.late() {
		t.Error("work that has returned counts as hanging")
	}
}

// A permission under a lower epoch than the last one is of another group object: others may have
// acted.
func TestEpochsOfAGroupOnlyGrow(t *testing.T) {
	j := quiet(t, time.Minute)
	s := &sessionOfRun{ctx: t.Context(), job: j, epoch: j.epoch}
	for _, epoch := range []Epoch{9, 8} {
		if j.over != nil {
			t.Fatalf("before epoch %d: %v", epoch, j.over)
		}
		p := permitted(t, epoch, time.Minute)
		p.session = t.Context()
		s.hear(p)
	}
	if !errors.Is(j.over, errRevoked) {
		t.Errorf("it goes on, or has ended because %v", j.over)
	}
}

func TestNothingBeginsShortlyBeforeTheEnd(t *testing.T) {
	for _, window := range []time.Duration{leastRest, time.Millisecond, 0, -time.Hour} {
		if j, err := newJob(t.Context(), permitted(t, 7, window), 0, nil); j != nil || err != nil {
			t.Errorf("%v before the end a job begins, %v", window, err)
		}
	}
}

// The process was paused, and goes on: the work may run before the goroutine that would end its
// context. Err knows all the same.
func TestErrReadsTheClock(t *testing.T) {
	j := quiet(t, time.Second)
	if err := j.ctx.Err(); err != nil {
		t.Fatal(err)
	}
	below, cancel := context.WithCancel(j.ctx)
	defer cancel()
	pass(t, j.end)
	if err := j.ctx.Err(); !errors.Is(err, context.Canceled) {
		t.Errorf("Err is %v after the end", err)
	}
	select {
	case <-below.Done(): // and now everybody knows
	case <-time.After(testPatience):
		t.Fatal("Done is not closed")
	}
	if why := context.Cause(below); !errors.Is(why, errNotRenewed) {
		t.Errorf("it ended because %v", why)
	}
}

// A permission that comes back, or a message that lay in a buffer during a pause, does not revive
// work whose context was to end.
func TestALossIsFinal(t *testing.T) {
	j := quiet(t, time.Second)
	pass(t, j.end)
	j.extend(permitted(t, 7, time.Hour))
	if j.ctx.Err() == nil {
		t.Error("a fresh permission revived it")
	}
}

func TestAContextNeverEndsEarlierThanPromised(t *testing.T) {
	j := quiet(t, time.Hour)
	end, until := j.end, j.until
	j.extend(permitted(t, 7, 30*time.Minute)) // what was told before still holds
	if j.end < end || j.until != until {
		t.Error("an earlier deadline took back what a later one had said")
	}
	j.extend(permitted(t, 7, 61*time.Minute))
	if j.end <= end || j.until <= until {
		t.Error("a later deadline was not taken")
	}
}

// A program that has stood still for longer than its permission has had no time to return: it does
// not hang yet.
func TestWorkThatStoodStillDoesNotHang(t *testing.T) {
	j := quiet(t, time.Second)
	pass(t, j.until)
	if j.hangs() {
		t.Error("it hangs at the instant at which its permission is found to be over")
	}
	if hangs, at := j.hangs(), reading(t); hangs && at < j.until+hangsAfter {
		t.Errorf("it hangs %v after its permission", at-j.until)
	}
	pass(t, j.hangsAt)
	if !j.hangs() {
		t.Error("it never hangs")
	}
}

// Work that goes on after its context has ended keeps the session open until the permission is
// over, and not much longer.
func TestHangingWorkClosesItsSessionWhenThePermissionIsOver(t *testing.T) {
	closed := make(chan time.Duration, 2) // when the session was closed; the work's return closes it, too
	j, err := newJob(t.Context(), permitted(t, 7, time.Second), 0, func() { closed <- reading(t) })
	if err != nil || j == nil {
		t.Fatal("no job: ", err)
	}
	hangs := make(chan error)
	j.start(func(context.Context, Epoch) error { return <-hangs })
	select {
	case at := <-closed:
		if at < j.until {
			t.Errorf("it was closed %v before the permission was over", j.until-at)
		}
	case <-time.After(testPatience):
		t.Error("it is never closed")
		j.stop(errRevoked)
	}
	close(hangs)
	if o := j.outcome(); o.final || !errors.Is(o.why, errNotRenewed) || o.err != nil {
		t.Errorf("%+v", o)
	}
}

// A timer that cannot be waited for, as where epoll takes no more files, ends the work's context at
// once. The session stays open until the work has returned.
func TestATimerThatCannotBeWaitedFor(t *testing.T) {
	closed := make(chan struct{}, 10)
	j, err := newJob(t.Context(), permitted(t, 7, time.Hour), 0, func() { closed <- struct{}{} })
	if err != nil || j == nil {
		t.Fatal("no job: ", err)
	}
	ended, returns := make(chan error), make(chan error)
	j.start(func(ctx context.Context, _ Epoch) error {
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return <-returns
	})
	if err := j.alarm.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case why := <-ended:
		if !strings.Contains(why.Error(), "cannot set a timer") {
			t.Errorf("it ends because %v", why)
		}
	case <-time.After(testPatience):
		t.Fatal("the work goes on, and nothing will end it")
	}
	select {
	case <-closed:
		t.Error("the session is closed while the work goes on")
	case <-j.watched:
		t.Error("nobody waits for the work")
	default:
	}
	returns <- nil
	<-closed
	j.outcome()
}
