package podesta

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/podesta-dev/podesta/client/agent"
	"github.com/podesta-dev/podesta/client/fence"
	kubernetes "github.com/podesta-dev/podesta/client/kubernetes"
	"github.com/podesta-dev/podesta/client/kubernetes/internal/timing"
)

func TestAnOperatorLeadsUnderTheEpochWithoutARequestToTheAPIServer(t *testing.T) {
	o := run(t, nil)
	o.agent.Grant(7, long)
	ctx := o.leads()
	if epoch, ok := fence.EpochOf(ctx); !ok || epoch != 7 || ctx.Err() != nil {
		t.Errorf("it leads under %d, %v", epoch, ctx.Err())
	}
	below, cancel := context.WithTimeout(ctx, time.Hour) // as a Reconcile has it
	defer cancel()
	if epoch, ok := fence.EpochOf(below); !ok || epoch != 7 {
		t.Errorf("a Reconcile sees epoch %d", epoch)
	}
	o.stop()
	o.ends(ctx)
	select {
	case err := <-o.result:
		t.Errorf("Start returned %v before the runnable", err)
	default:
	}
	if _, _, err := o.lock.Get(t.Context()); err != nil {
		t.Errorf("while the runnable stops: %v", err)
	}
	close(o.finish)
	if err := o.returned(); err != nil {
		t.Errorf("Start returned %v", err)
	}
	lost(t, o.lock)
	if n := o.asked.Load(); n != 0 {
		t.Errorf("the API server was asked %d times", n)
	}
}

// However the permission ends, what leads ends at once, Start returns, and a new permission changes
// nothing any more.
func TestALossIsFinal(t *testing.T) {
	for name, c := range map[string]struct {
		length time.Duration
		lose   func(*operator)
		why    string
	}{
		"revoked":             {long, func(o *operator) { o.agent.Revoke() }, "revoked"},
		"in another group":    {long, func(o *operator) { o.agent.Grant(6, long) }, "revoked"},
		"the agent dies":      {long, func(o *operator) { o.agent.Cut() }, "session ended"},
		"the agent is paused": {time.Second, func(o *operator) { o.agent.Freeze() }, "did not renew"},
		"revoked for a blip":  {long, func(o *operator) { o.agent.Revoke(); o.agent.Grant(7, long) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := run(t, nil)
			close(o.finish)
			o.agent.Grant(7, c.length)
			ctx := o.leads()
			c.lose(o)
			if name == "revoked for a blip" {
				o.agent.Cut() // whatever the app saw of it
			}
			if why := o.ends(ctx); !errors.Is(why, kubernetes.ErrLost) || !errors.Is(why, agent.ErrPermissionOver) ||
				!strings.Contains(why.Error(), c.why) {
				t.Errorf("it ended because %v", why)
			}
			o.agent.Thaw()
			o.agent.Grant(9, long)
			if err := o.returned(); err == nil || !strings.Contains(err.Error(), "leader election lost") {
				t.Errorf("Start returned %v", err)
			}
			receive(t, o.finished, "the runnable goes on")
			lost(t, o.lock)
		})
	}
}

func TestAnOperatorThatIsToldToStopBeforeItLeads(t *testing.T) {
	o := run(t, nil)
	close(o.finish)
	o.stop()
	if err := o.returned(); err != nil {
		t.Errorf("Start returned %v", err)
	}
	select {
	case <-o.begun: // before v0.17.3 controller-runtime did that, with a Lease, too
		t.Error("what may only run while it leads was started, to be stopped")
	default:
	}
}

// A standby that is told to stop is no candidate any more, though its process goes on: nobody would
// lead by what its agent gets.
func TestAStandbyThatStopsIsNoCandidate(t *testing.T) {
	o := run(t, nil)
	close(o.finish)
	open := func(want int) {
		t.Helper()
		late, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if err := o.agent.Await(late.Done(), func(open, _ int) bool { return open == want }); err != nil {
			t.Fatalf("it does not have %d sessions: %v", want, err)
		}
	}
	open(1)
	o.stop()
	if err := o.returned(); err != nil {
		t.Errorf("Start returned %v", err)
	}
	open(0)
	lost(t, o.lock)
	select {
	case <-o.lock.Lost():
		t.Error("it has lost what it never had")
	default:
	}
}

// Lost says that the program is to end, while what leads has yet to stop.
func TestLostIsToldAtOnce(t *testing.T) {
	o := run(t, nil)
	defer close(o.finish)
	o.agent.Grant(7, long)
	ctx := o.leads()
	select {
	case <-o.lock.Lost():
		t.Fatal("it leads, and has lost")
	default:
	}
	o.agent.Revoke()
	receive(t, o.lock.Lost(), "nothing says that it has lost")
	o.ends(ctx)
}

// The pod of the leading replica is deleted. Its manager waits for what does not look at its
// context, and the agent revokes the permission meanwhile, because another replica is to lead.
func TestLostIsToldToOneThatStops(t *testing.T) {
	o := run(t, nil)
	defer close(o.finish)
	o.agent.Grant(7, long)
	ctx := o.leads()
	o.stop()
	o.ends(ctx)
	select {
	case <-o.lock.Lost():
		t.Fatal("it has the permission, and has lost")
	default:
	}
	o.agent.Revoke()
	receive(t, o.lock.Lost(), "nothing says that it has lost")
}

// A manager that stops in time gives the lock up when all that leads has stopped.
func TestLostIsToldWhenAllHasStopped(t *testing.T) {
	o := run(t, nil)
	o.agent.Grant(7, long)
	o.leads()
	o.stop()
	select {
	case <-o.lock.Lost():
		t.Error("it has lost while its work goes on")
	default:
	}
	close(o.finish)
	receive(t, o.lock.Lost(), "nothing says that it has lost")
	if err := o.returned(); err != nil {
		t.Errorf("Start returned %v", err)
	}
}

// A second manager of the same options would never lead, and never say so.
func TestAManagerOfOptionsThatWereUsed(t *testing.T) {
	reports := make(chan error, 10)
	var options manager.Options
	l := NewLock(&agent.Client{Report: func(err error) { reports <- err }})
	if err := l.LeaderElection(&options); err != nil {
		t.Fatal(err)
	}
	options.BaseContext()
	if len(reports) > 0 {
		t.Errorf("the first one: %v", <-reports)
	}
	if err := l.Update(t.Context(), resourcelock.LeaderElectionRecord{}); err != nil { // it has stopped
		t.Fatal(err)
	}
	options.BaseContext()
	if err := receive(t, reports, "it says nothing"); !strings.Contains(err.Error(), "for each manager") {
		t.Error(err)
	}
}

// A Classic group has no permission that would end in time. When it is Guarded, the operator leads.
func TestAnOperatorOfAClassicGroupDoesNotLead(t *testing.T) {
	reports := make(chan error, 100)
	o := run(t, func(o *operator, _ *manager.Options) {
		o.client.Report = func(err error) { reports <- err }
	})
	close(o.finish)
	o.agent.Elect()
	for err := error(nil); !errors.Is(err, agent.ErrClassic); {
		err = receive(t, reports, "it says nothing")
	}
	late, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := o.agent.Await(late.Done(), func(open, _ int) bool { return open == 0 }); err != nil {
		t.Fatal(err)
	}
	o.agent.Grant(7, long)
	o.leads()
	o.stop()
	o.returned()
}

// The base context that an operator has is kept.
func TestABaseContextIsKept(t *testing.T) {
	type key struct{}
	o := run(t, func(_ *operator, options *manager.Options) {
		options.BaseContext = func() context.Context { return context.WithValue(context.Background(), key{}, "mine") }
	})
	close(o.finish)
	o.agent.Grant(7, long)
	if got := o.leads().Value(key{}); got != "mine" {
		t.Errorf("it has %v", got)
	}
	o.stop()
	o.returned()
}

func TestOptionsThatBreakThePromiseAreRefused(t *testing.T) {
	second := time.Second
	for name, options := range map[string]manager.Options{
		"LeaseDuration": {LeaseDuration: &second},
		"RenewDeadline": {RenewDeadline: &second},
		"RetryPeriod":   {RetryPeriod: &second},
		"a lock":        {LeaderElectionResourceLockInterface: kubernetes.NewLock(nil)},
	} {
		if err := LeaderElection(&options); err == nil || !strings.Contains(err.Error(), "remove") {
			t.Errorf("%s: %v", name, err)
		}
	}
	l := NewLock(nil)
	var first, again manager.Options
	if err := errors.Join(l.LeaderElection(&first)); err != nil {
		t.Error(err)
	}
	if err := l.LeaderElection(&again); err == nil {
		t.Error("a lock leads for two managers")
	}
}

// Times that were set behind our back would have client-go lead on.
func TestTimesThatWereChangedLoseTheLock(t *testing.T) {
	o := run(t, nil)
	close(o.finish)
	o.agent.Grant(7, long)
	ctx := o.leads()
	err := o.lock.Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "a", LeaseDurationSeconds: 15})
	if !errors.Is(err, timing.Err) {
		t.Error(err)
	}
	o.ends(ctx)
	o.returned()
}

func TestASwitchNeedsTheLeasesName(t *testing.T) {
	for want, options := range map[string]manager.Options{
		"LeaderElectionID":        {},
		"LeaderElectionNamespace": {LeaderElectionID: "operator"},
	} {
		if err := LeaderElectionWithLease(&rest.Config{}, &options); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want an error about %s", err, want)
		}
	}
	options := manager.Options{LeaderElectionID: "operator", LeaderElectionNamespace: "default"}
	for _, bad := range []*rest.Config{nil, {Host: "http://a b"}} {
		if err := LeaderElectionWithLease(bad, &options); err == nil {
			t.Errorf("%+v is no configuration", bad)
		}
	}
	fast := options
	// a clientset would need Burst, too
	if err := LeaderElectionWithLease(&rest.Config{QPS: 50}, &fast); err != nil {
		t.Error(err)
	}
	if err := LeaderElectionWithLease(&rest.Config{}, &options); err != nil || !options.LeaderElection ||
		options.LeaseDuration != nil || options.LeaderElectionReleaseOnCancel {
		t.Errorf("%v; the Lease's times are its own", err)
	}
}
