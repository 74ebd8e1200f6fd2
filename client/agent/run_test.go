package agent

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/client/internal/boottime"
	"github.com/podesta-dev/podesta/client/internal/bound"
	"github.com/podesta-dev/podesta/client/internal/fakeagent"
)

// long is a permission that does not end during a test, unless nobody renews it.
const long = time.Minute

// program is a program that runs its work by Run, beside an agent.
type program struct {
	t       *testing.T
	agent   *fakeagent.Agent
	begun   chan call
	reports chan error
	stop    context.CancelCauseFunc
	result  chan error
}

// call is one call of the work. It lasts until the test says how it returns.
type call struct {
	ctx     context.Context
	epoch   Epoch
	returns chan error
}

// starts starts the program and its agent, which permits nothing yet.
func starts(t *testing.T) *program {
	t.Helper()
	p := &program{
		t:       t,
		agent:   fakeagent.Start(),
		begun:   make(chan call),
		reports: make(chan error, 100),
		result:  make(chan error, 1),
	}
	t.Cleanup(p.agent.Close)
	ctx, stop := context.WithCancelCause(t.Context())
	p.stop = stop
	t.Cleanup(func() { stop(nil) })
	c := Client{URL: p.agent.URL, Report: func(err error) { p.reports <- err }}
	go func() {
		p.result <- c.Run(ctx, func(ctx context.Context, epoch Epoch) error {
			called := call{ctx: ctx, epoch: epoch, returns: make(chan error)}
			select {
			case p.begun <- called:
			case <-t.Context().Done():
				return nil
			}
			return <-called.returns
		})
	}()
	return p
}

// testPatience is how long a test waits for what must happen, on a machine that does much else.
const testPatience = 2 * time.Minute

// begins waits until the work is called.
func (p *program) begins() call {
	p.t.Helper()
	select {
	case c := <-p.begun:
		return c
	case err := <-p.result:
		p.t.Fatalf("Run returned %v before the work began", err)
	case <-time.After(testPatience):
		p.t.Fatal("the work does not begin")
	}
	return call{}
}

// ends waits until the context of the work has ended, and returns why.
func (p *program) ends(c call) error {
	p.t.Helper()
	select {
	case <-c.ctx.Done():
	case <-time.After(testPatience):
		p.t.Fatal("the context of the work does not end")
	}
	return context.Cause(c.ctx)
}

// sessions waits until so many sessions are open, and have ever been opened.
func (p *program) sessions(open, ever int) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), testPatience)
	defer cancel()
	if err := p.agent.Await(ctx.Done(), func(o, e int) bool { return o == open && e == ever }); err != nil {
		p.t.Fatalf("%v; want %d and %d", err, open, ever)
	}
}

// returned waits until Run has returned.
func (p *program) returned() error {
	p.t.Helper()
	select {
	case err := <-p.result:
		return err
	case <-time.After(testPatience):
		p.t.Fatal("Run does not return")
		return nil
	}
}

// pass waits until an instant has passed.
func pass(t *testing.T, at time.Duration) {
	t.Helper()
	alarm, err := boottime.NewAlarm()
	if err != nil {
		t.Fatal(err)
	}
	defer alarm.Close()
	if err := errors.Join(alarm.Set(at+1), alarm.Wait()); err != nil {
		t.Fatal(err)
	}
}

func TestRunActsUnderTheEpochUntilThePermissionIsRevoked(t *testing.T) {
	p := starts(t)
	p.agent.Grant(7, long)
	seven := p.begins()
	if epoch, ok := bound.Epoch(seven.ctx); seven.epoch != 7 || !ok || epoch != 7 || seven.ctx.Err() != nil {
		t.Errorf("it acts under %d, and its context has %d, %v", seven.epoch, epoch, seven.ctx.Err())
	}
	p.agent.Revoke()
	if why := p.ends(seven); !errors.Is(why, ErrPermissionOver) || !strings.Contains(why.Error(), "revoked") {
		t.Errorf("it ended because %v", why)
	}
	seven.returns <- seven.ctx.Err()
	p.sessions(1, 2) // what was left is given back, and this process is a candidate again
	if err := <-p.reports; !errors.Is(err, ErrPermissionOver) || errors.Is(err, context.Canceled) {
		t.Errorf("reported: %v", err)
	}
	p.agent.Grant(9, long)
	nine := p.begins()
	if nine.epoch != 9 {
		t.Errorf("it acts under %d", nine.epoch)
	}
	p.stop(nil)
	if why := p.ends(nine); !errors.Is(why, context.Canceled) {
		t.Errorf("it ended because %v", why)
	}
	nine.returns <- nil
	if err := p.returned(); err != context.Canceled { //nolint:errorlint // nothing is joined to it
		t.Errorf("Run returned %v", err)
	}
	p.sessions(0, 2)
}

// The agent renews the permission again and again: the work goes on beyond the first deadline.
func TestRunGoesOnWhileThePermissionIsRenewed(t *testing.T) {
	p := starts(t)
	p.agent.Grant(7, 2*time.Second) // so long that a busy machine keeps up
	c := p.begins()
	pass(t, p.agent.Told())
	if c.ctx.Err() != nil {
		t.Fatal(context.Cause(c.ctx))
	}
	p.stop(nil)
	close(c.returns)
}

// The agent stands still, so nobody revokes anything. A machine that is busy may stop this whole
// process for longer than any rest: then the test tries again.
func TestTheContextEndsBeforeThePermissionDoes(t *testing.T) {
	p := starts(t)
	const attempts = 20
	for attempt := 1; ; attempt++ {
		p.agent.Grant(7, 200*time.Millisecond)
		c := p.begins()
		p.agent.Freeze()
		why := p.ends(c)
		over := reading(t) - p.agent.Told()
		if !errors.Is(why, ErrPermissionOver) || !strings.Contains(why.Error(), "did not renew") {
			t.Errorf("it ended because %v", why)
		}
		p.agent.Thaw() // the same epoch is granted again, and this work does not go on
		if c.ctx.Err() == nil {
			t.Error("a context that has ended goes on")
		}
		close(c.returns)
		if over < 0 {
			break
		}
		if attempt == attempts {
			t.Fatalf("it never ended before the permission; at last it was %v late", over)
		}
	}
	p.stop(nil)
	for { // a call may have begun meanwhile
		select {
		case c := <-p.begun:
			close(c.returns)
			continue
		case <-p.result:
		}
		return
	}
}

// late has a program work that was not told in time that it may go on, and returns it when the work
// has returned. A machine that is busy may stop the program for as long as the rest of its
// permission: then the session is closed, and the test tries again.
func late(t *testing.T) *program {
	t.Helper()
	for range 20 {
		p := starts(t)
		p.agent.Grant(7, time.Second)
		c := p.begins()
		p.agent.Freeze()
		p.ends(c)
		c.returns <- c.ctx.Err()
		if reading(t) < p.agent.Told() {
			return p
		}
		p.stop(nil)
		p.returned()
	}
	t.Fatal("the machine is too busy")
	return nil
}

// A program that was late has not lost the lease, so it does not give it back.
func TestALateProgramGoesOnUnderItsLease(t *testing.T) {
	p := late(t)
	p.agent.Thaw()
	again := p.begins()
	if again.epoch != 7 {
		t.Errorf("it acts under %d", again.epoch)
	}
	p.sessions(1, 1)
	if err := <-p.reports; !errors.Is(err, errNotRenewed) {
		t.Errorf("reported: %v", err)
	}
	p.agent.Revoke()
	p.ends(again)
	again.returns <- nil
	p.sessions(1, 2)
	p.stop(nil)
	p.returned()
}

// What a late program was permitted, and has no work for, is given back when it is revoked, and
// when the program ends.
func TestALateProgramGivesBack(t *testing.T) {
	p := late(t)
	p.agent.Revoke()
	p.agent.Thaw()
	p.sessions(1, 2)
	if n := len(p.reports); n != 1 {
		t.Errorf("it is reported %d times that the work has ended", n)
	}
	p.stop(nil)
	p.returned()

	p = late(t)
	p.stop(nil)
	if err := p.returned(); !errors.Is(err, context.Canceled) {
		t.Errorf("Run returned %v", err)
	}
	p.sessions(0, 1)
}

// The end of its work was reported. What ends the session later is something else.
func TestTheEndOfASessionWithoutWorkIsReported(t *testing.T) {
	p := late(t)
	p.agent.Cut()
	for _, want := range []string{"did not renew", "session ended"} {
		select {
		case err := <-p.reports:
			if !strings.Contains(err.Error(), want) {
				t.Errorf("reported: %v, want that it %s", err, want)
			}
		case <-time.After(testPatience):
			t.Fatalf("it is not reported that it %s", want)
		}
	}
	p.agent.Thaw()
	p.stop(nil)
	p.returned()
}

func TestADeadAgentEndsTheWorkAtOnce(t *testing.T) {
	p := starts(t)
	p.agent.Grant(7, long)
	c := p.begins()
	p.agent.Cut()
	if why := p.ends(c); !errors.Is(why, ErrPermissionOver) || !strings.Contains(why.Error(), "session ended") {
		t.Errorf("it ended because %v", why)
	}
	close(c.returns)
	p.sessions(1, 2) // an agent that has come back
	p.agent.Grant(8, long)
	again := p.begins()
	p.stop(nil)
	close(again.returns)
}

// The epoch of a lease that goes on grows with an edit of the group. Nobody else has acted in
// between.
func TestTheWorkGoesOnUnderAHigherEpoch(t *testing.T) {
	p := starts(t)
	p.agent.Grant(7, 2*time.Second) // so long that a busy machine keeps up
	c := p.begins()
	seven := p.agent.Told()
	p.agent.Grant(8, 2*time.Second)
	pass(t, seven)
	if epoch, _ := bound.Epoch(c.ctx); c.ctx.Err() != nil || epoch != 7 {
		t.Errorf("the work that began under 7 goes on under %d, and %v", epoch, context.Cause(c.ctx))
	}
	p.stop(nil)
	close(c.returns)
}

// Somebody else may have acted between two epochs, or the group is another object.
func TestAnotherEpochIsAnotherCall(t *testing.T) {
	for name, c := range map[string]struct {
		length time.Duration
		change func(*program, call)
		next   Epoch
	}{
		"a higher one, too late": {time.Second / 5, func(p *program, c call) {
			p.agent.Freeze()
			p.ends(c)
			p.agent.Grant(8, long)
			p.agent.Thaw()
		}, 8},
		"a lower one": {long, func(p *program, _ call) { p.agent.Grant(6, long) }, 6},
	} {
		t.Run(name, func(t *testing.T) {
			p := starts(t)
			p.agent.Grant(7, c.length)
			seven := p.begins()
			c.change(p, seven)
			p.ends(seven)
			close(seven.returns)
			if c.next < 7 {
				p.sessions(1, 2)
				p.agent.Grant(int64(c.next), long)
			}
			next := p.begins()
			if next.epoch != c.next {
				t.Errorf("it acts under %d", next.epoch)
			}
			p.stop(nil)
			close(next.returns)
		})
	}
}

// What was permitted is given back only when the work has returned: from then on others may act.
func TestTheSessionStaysOpenUntilTheWorkHasReturned(t *testing.T) {
	for name, end := range map[string]func(*program){
		"the program ends": func(p *program) { p.stop(errors.New("SIGTERM")) },
		"revoked":          func(p *program) { p.agent.Revoke() },
		"nonsense is sent": func(p *program) { p.agent.Garble() },
	} {
		t.Run(name, func(t *testing.T) {
			p := starts(t)
			p.agent.Grant(7, long)
			c := p.begins()
			end(p)
			p.ends(c)
			short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if p.agent.Await(short.Done(), func(open, _ int) bool { return open == 0 }) == nil {
				t.Error("the session was closed while the work went on")
			}
			c.returns <- nil
			ctx, cancel := context.WithTimeout(t.Context(), testPatience)
			defer cancel()
			if err := p.agent.Await(ctx.Done(), func(open, ever int) bool { return open == 0 || ever == 2 }); err != nil {
				t.Error(err)
			}
			p.stop(nil)
			p.returned()
		})
	}
}

// A program that hangs must not keep the others from acting.
func TestWorkThatHangsIsNoCandidate(t *testing.T) {
	p := starts(t)
	p.agent.Grant(7, 200*time.Millisecond)
	c := p.begins()
	p.agent.Freeze()
	p.ends(c)
	p.sessions(0, 1)
	p.agent.Thaw()
	close(c.returns)
	p.sessions(1, 2)
	p.agent.Grant(8, long)
	again := p.begins()
	p.stop(nil)
	close(again.returns)
}

func TestRunReturnsWhatTheWorkReturnsOfItsOwnAccord(t *testing.T) {
	for _, want := range []error{nil, errors.New("the disk is full"), context.Canceled} {
		p := starts(t)
		p.agent.Grant(7, long)
		c := p.begins()
		c.returns <- want
		if err := p.returned(); err != want { //nolint:errorlint // as it is
			t.Errorf("Run returned %v, want %v", err, want)
		}
		p.sessions(0, 1)
		if c.ctx.Err() == nil {
			t.Error("the context of work that has returned goes on")
		}
	}
}

func TestWhatTheWorkReturnsWhenTheProgramEnds(t *testing.T) {
	full := errors.New("the disk is full")
	p := starts(t)
	p.agent.Grant(7, long)
	c := p.begins()
	p.stop(nil)
	p.ends(c)
	c.returns <- full
	if err := p.returned(); !errors.Is(err, full) || !errors.Is(err, context.Canceled) {
		t.Errorf("Run returned %v", err)
	}
}

func TestWhatTheWorkReturnsAfterThePermissionIsReported(t *testing.T) {
	full := errors.New("the disk is full")
	p := starts(t)
	p.agent.Grant(7, long)
	c := p.begins()
	p.agent.Revoke()
	p.ends(c)
	c.returns <- full
	if err := <-p.reports; !errors.Is(err, full) || !errors.Is(err, ErrPermissionOver) {
		t.Errorf("reported: %v", err)
	}
}

func TestRunRefusesAClassicGroup(t *testing.T) {
	p := starts(t)
	p.agent.Elect()
	if err := p.returned(); !errors.Is(err, ErrClassic) {
		t.Errorf("Run returned %v", err)
	}
	p.sessions(0, 1)
}

func TestRunEndsWithItsContextWhileNothingIsPermitted(t *testing.T) {
	p := starts(t)
	p.sessions(1, 1)
	p.stop(nil)
	if err := p.returned(); !errors.Is(err, context.Canceled) {
		t.Errorf("Run returned %v", err)
	}
	p.sessions(0, 1)
}

// An agent that is not there yet is waited for.
func TestRunWaitsForAnAgent(t *testing.T) {
	gone := fakeagent.Start()
	gone.Close()
	ctx, cancel := context.WithCancel(t.Context())
	reported := make(chan error, 100)
	c := Client{URL: gone.URL, Report: func(err error) { reported <- err; cancel() }}
	err := c.Run(ctx, func(context.Context, Epoch) error { t.Error("it acts"); return nil })
	if !errors.Is(err, context.Canceled) || !strings.Contains((<-reported).Error(), "is its sidecar in this pod?") {
		t.Errorf("Run returned %v", err)
	}
}

// A URL that is none will never be one: nothing waits for it.
func TestAURLThatIsNone(t *testing.T) {
	for _, bad := range []string{"127.0.0.1:4040", "localhost", "unix:///run/agent", "http://", "http://a b"} {
		c := &Client{URL: bad}
		ctx, cancel := context.WithTimeout(t.Context(), testPatience)
		for name, err := range map[string]error{
			"Run":         c.Run(ctx, func(context.Context, Epoch) error { return nil }),
			"KeepSession": c.KeepSession(ctx, func(Permission) {}),
			"Watch":       c.Watch(ctx, func(View) {}),
		} {
			if err == nil || ctx.Err() != nil || !strings.Contains(err.Error(), DefaultURL) {
				t.Errorf("%s with %q: %v", name, bad, err)
			}
		}
		cancel()
	}
}

// The Timeout of a program's HTTP client would close the session, and so give the permission back
// while the work goes on.
func TestATimeoutOfTheHTTPClientEndsNoSession(t *testing.T) {
	const timeout = 50 * time.Millisecond
	a := fakeagent.Start()
	defer a.Close()
	a.Grant(7, long)
	stop := errors.New("the test is over")
	c := Client{URL: a.URL, HTTP: &http.Client{Timeout: timeout}}
	running, end := context.WithCancel(t.Context())
	defer end()
	err := c.Run(running, func(ctx context.Context, _ Epoch) error {
		select {
		case <-ctx.Done():
			t.Errorf("the work ends: %v", context.Cause(ctx))
			end() // or it begins again and again
		case <-time.After(5 * timeout):
		}
		return stop
	})
	if !errors.Is(err, stop) {
		t.Error(err)
	}
}

// Nothing is called once more when the context ends at the end of a wait.
func TestNothingIsCalledAfterTheEnd(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	err := again(ctx, func() bool { t.Error("it is called"); return true })
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
