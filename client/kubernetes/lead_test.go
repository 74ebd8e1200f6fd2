package podesta

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/podesta-dev/podesta/client/agent"
	"github.com/podesta-dev/podesta/client/fence"
	"github.com/podesta-dev/podesta/client/internal/fakeagent"
	"github.com/podesta-dev/podesta/client/kubernetes/internal/timing"
)

// campaigner is a program built on client-go alone.
type campaigner struct {
	agent  *fakeagent.Agent
	lock   *Lock
	begun  chan context.Context
	finish chan struct{} // closed: OnStartedLeading returns when its context has ended
	stop   context.CancelFunc
	result chan error
}

func campaign(t *testing.T) *campaigner {
	t.Helper()
	c := &campaigner{
		agent:  fakeagent.Start(),
		begun:  make(chan context.Context, 1),
		finish: make(chan struct{}),
		result: make(chan error, 1),
	}
	t.Cleanup(c.agent.Close)
	c.lock = NewLock(&agent.Client{URL: c.agent.URL})
	ctx, stop := context.WithCancel(context.Background())
	c.stop = stop
	t.Cleanup(stop)
	go func() { c.result <- c.lock.Lead(ctx, c.config()) }()
	return c
}

func (c *campaigner) config() leaderelection.LeaderElectionConfig {
	return leaderelection.LeaderElectionConfig{Callbacks: leaderelection.LeaderCallbacks{
		OnStartedLeading: func(ctx context.Context) { c.begun <- ctx; <-ctx.Done(); <-c.finish },
		OnStoppedLeading: func() {},
	}}
}

func TestAProgramOfClientGoLeadsUntilItsPermissionEnds(t *testing.T) {
	c := campaign(t)
	c.agent.Grant(7, long)
	ctx := receive(t, c.begun, "it does not lead")
	if epoch, ok := fence.EpochOf(ctx); !ok || epoch != 7 || ctx.Err() != nil {
		t.Errorf("it leads under %d, %v", epoch, ctx.Err())
	}
	c.agent.Revoke()
	receive(t, ctx.Done(), "its context goes on")
	if err := receive(t, c.result, "Lead does not return"); !errors.Is(err, ErrLost) ||
		!errors.Is(err, agent.ErrPermissionOver) {
		t.Errorf("Lead returned %v", err)
	}
	lost(t, c.lock)
	close(c.finish)
}

// A program that was told to stop keeps its permission while it works, and gives it back then. Lead
// does not wait for that.
func TestThePermissionIsGivenBackWhenNothingLeadsAnyMore(t *testing.T) {
	c := campaign(t)
	c.agent.Grant(7, permission)
	ctx := receive(t, c.begun, "it does not lead")
	c.stop()
	receive(t, ctx.Done(), "its context goes on")
	if err := receive(t, c.result, "Lead does not return"); err != nil {
		t.Errorf("Lead returned %v", err)
	}
	told := c.agent.Told()
	pass(t, told-permission/2)
	if c.agent.Told() == told || c.lock.holds() != nil {
		t.Errorf("its permission is not renewed while it works: %v", c.lock.holds())
	}
	if open := func(open, _ int) bool { return open == 1 }; c.agent.Await(ctx.Done(), open) != nil {
		t.Error("the session was closed while it leads")
	}
	close(c.finish)
	late, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := c.agent.Await(late.Done(), func(open, _ int) bool { return open == 0 }); err != nil {
		t.Error(err)
	}
}

// client-go itself would lead on for RenewDeadline and RetryPeriod.
func TestABareLockIsRefused(t *testing.T) {
	if _, _, err := NewLock(nil).Get(t.Context()); !errors.Is(err, ErrBare) {
		t.Error(err)
	}
	c := &campaigner{}
	config := c.config()
	config.RetryPeriod = 1
	if err := NewLock(nil).Lead(t.Context(), config); !errors.Is(err, timing.Err) {
		t.Error(err)
	}
}

// A context reads the clock: after a pause it has ended before any goroutine could have ended it.
func TestAContextOfWhatLeadsReadsTheClock(t *testing.T) {
	l := NewLock(nil)
	base := l.bind(t.Context())
	if base.Err() != nil {
		t.Error("it has ended before it began: caches could not start")
	}
	due := &stopped{Context: t.Context()}
	l.grant(due, 7)
	if err := l.begin(resourcelock.LeaderElectionRecord{}); err != nil || base.Err() != nil {
		t.Error(err, base.Err())
	}
	due.over = true // the clock has passed the end, and nobody has noticed
	if base.Err() == nil || !errors.Is(context.Cause(base), ErrLost) {
		t.Errorf("%v, because %v", base.Err(), context.Cause(base))
	}
	if err := l.bind(t.Context()).Err(); err == nil {
		t.Error("a context of a lock that is lost goes on")
	}
}

// stopped is a context whose Err knows what Done does not yet.
type stopped struct {
	context.Context
	over bool
}

func (s *stopped) Err() error {
	if s.over {
		return context.Canceled
	}
	return nil
}

// What the elector would find wrong only when it is elected is refused at once.
func TestLeadWithoutAnythingToLead(t *testing.T) {
	config := (&campaigner{}).config()
	config.Callbacks.OnStartedLeading = nil
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := NewLock(nil).Lead(over, config); err == nil {
		t.Error("it would wait for a permission to call nothing")
	}
}

// A health check that watches the elector is told which one, as by client-go. This one has no patience
// with a leader, so that nobody needs to wait for it.
func TestAWatchDogWatchesTheElector(t *testing.T) {
	a := fakeagent.Start()
	t.Cleanup(a.Close)
	dog := leaderelection.NewLeaderHealthzAdaptor(-time.Hour)
	begun, result := make(chan struct{}), make(chan error, 1)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go func() {
		result <- NewLock(&agent.Client{URL: a.URL}).Lead(ctx, leaderelection.LeaderElectionConfig{
			WatchDog: dog,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(ctx context.Context) { close(begun); <-ctx.Done() },
				OnStoppedLeading: func() {},
			},
		})
	}()
	if err := dog.Check(nil); err != nil {
		t.Errorf("before it leads: %v", err)
	}
	a.Grant(7, long)
	receive(t, begun, "it does not lead")
	if err := dog.Check(nil); err == nil {
		t.Error("it does not know the elector")
	}
	stop()
	if err := receive(t, result, "Lead does not return"); err != nil {
		t.Error(err)
	}
}

// So is an agent that can never be asked.
func TestALockOfAnAgentThatCannotBe(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := NewLock(&agent.Client{URL: "127.0.0.1:4040"}).Lead(over, (&campaigner{}).config()); err == nil {
		t.Error("it would wait for an agent whose URL is none")
	}
}
