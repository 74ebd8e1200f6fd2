package podesta

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/podesta-dev/podesta/client/agent"
	"github.com/podesta-dev/podesta/client/internal/boottime"
	"github.com/podesta-dev/podesta/client/internal/fakeagent"
)

// lease is a Lease in an API server: one record, which only whoever has read it may replace.
type lease struct {
	mu      sync.Mutex
	record  *resourcelock.LeaderElectionRecord
	version int
	broken  bool          // writes fail
	emptied chan struct{} // is told when it is given back, if it is not nil
}

// holder is one replica's client of it.
type holder struct {
	lease *lease
	name  string
	seen  int
}

func (h *holder) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	h.lease.mu.Lock()
	defer h.lease.mu.Unlock()
	if h.lease.record == nil {
		return nil, nil, apierrors.NewNotFound(schema.GroupResource{Resource: "leases"}, "operator")
	}
	record := *h.lease.record
	h.seen = h.lease.version
	raw, err := json.Marshal(record)
	return &record, bytes.Clone(raw), err
}

func (h *holder) Create(_ context.Context, record resourcelock.LeaderElectionRecord) error {
	h.lease.mu.Lock()
	defer h.lease.mu.Unlock()
	if h.lease.record != nil {
		return errors.New("it exists")
	}
	return h.put(record)
}

func (h *holder) Update(_ context.Context, record resourcelock.LeaderElectionRecord) error {
	h.lease.mu.Lock()
	defer h.lease.mu.Unlock()
	if h.seen != h.lease.version {
		return errors.New("conflict")
	}
	if h.lease.broken {
		return errors.New("no API server")
	}
	return h.put(record)
}

func (h *holder) put(record resourcelock.LeaderElectionRecord) error {
	h.lease.version++
	h.lease.record, h.seen = &record, h.lease.version
	if record.HolderIdentity == "" && h.lease.emptied != nil {
		h.lease.emptied <- struct{}{}
	}
	return nil
}

func (h *holder) RecordEvent(string) {}
func (h *holder) Identity() string   { return h.name }
func (h *holder) Describe() string   { return h.name }

// rollout is a Deployment that is switched over: at no time may two of its replicas lead.
type rollout struct {
	t       *testing.T
	lease   lease
	leading atomic.Int64
	made    int
	elected *replica // by the group; nil: nobody
}

// replica is a pod of it.
type replica struct {
	*rollout
	agent *fakeagent.Agent
	begun chan struct{}
	over  chan struct{} // closed when it leads no more
	stop  context.CancelFunc
	ended chan error
}

// starts starts a replica that leads by a Lease, by Podesta, or by both.
func (d *rollout) starts(byLease, byPodesta bool) *replica {
	d.t.Helper()
	d.made++
	h := &holder{lease: &d.lease, name: fmt.Sprint("pod-", d.made)}
	r := &replica{rollout: d, agent: fakeagent.Start(), begun: make(chan struct{}, 1),
		over: make(chan struct{}), ended: make(chan error, 1)}
	d.t.Cleanup(r.agent.Close)
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	d.t.Cleanup(stop)
	config := leaderelection.LeaderElectionConfig{Callbacks: leaderelection.LeaderCallbacks{
		OnStartedLeading: func(ctx context.Context) {
			if n := d.leading.Add(1); n != 1 {
				d.t.Errorf("%d replicas lead when %s begins", n, h.name)
			}
			r.begun <- struct{}{}
			<-ctx.Done()
			d.leading.Add(-1)
			close(r.over)
		},
		OnStoppedLeading: func() {},
	}}
	if byLease {
		config.LeaseDuration, config.RenewDeadline, config.RetryPeriod = leaseTime, leaseTime/2, 50*time.Millisecond
	}
	go func() {
		if byPodesta {
			l := NewLock(&agent.Client{URL: r.agent.URL})
			if byLease {
				l.WithLease(h)
			}
			r.ended <- l.Lead(ctx, config)
			return
		}
		config.Lock = h
		leaderelection.RunOrDie(ctx, config)
		r.ended <- nil
	}()
	return r
}

// leads waits until the replica leads.
func (r *replica) leads() *replica {
	r.t.Helper()
	receive(r.t, r.begun, "it does not lead")
	return r
}

// leaseTime is how long a replica waits for a Lease that is not renewed.
const leaseTime = 2 * time.Second

// waits checks that it does not lead, for a while: longer than it takes to notice that it may.
func (r *replica) waits(notice time.Duration) *replica {
	r.t.Helper()
	select {
	case <-r.begun:
		r.t.Error("it leads")
	case <-time.After(notice):
	}
	return r
}

// elect is an election of the group: the next one may act when the last one has given its
// permission back, by closing its session.
func (d *rollout) elect(next *replica) {
	d.t.Helper()
	if last := d.elected; last != nil {
		last.agent.Revoke()
		late, cancel := context.WithTimeout(d.t.Context(), patience)
		defer cancel()
		if err := last.agent.Await(late.Done(), func(open, _ int) bool { return open == 0 }); err != nil {
			d.t.Fatal("it keeps its permission: ", err)
		}
	}
	d.elected = next
	next.agent.Grant(int64(next.made), long)
}

// passes takes the election of a replica back that has led by nothing yet.
func (d *rollout) passes() {
	d.t.Helper()
	ever := 0
	_ = d.elected.agent.Await(d.t.Context().Done(), func(_, n int) bool { ever = n; return true })
	d.elected.agent.Revoke()
	late, cancel := context.WithTimeout(d.t.Context(), patience)
	defer cancel()
	if err := d.elected.agent.Await(late.Done(), func(_, n int) bool { return n > ever }); err != nil {
		d.t.Fatal("it is no candidate any more: ", err)
	}
	d.elected = nil
}

func (r *replica) ends() {
	r.t.Helper()
	r.stop()
	receive(r.t, r.ended, "it does not end")
	receive(r.t, r.over, "it leads on") // client-go waits for nobody
}

// From a Lease to Podesta and back, a pod at a time, as a rolling update replaces them.
func TestSwitchingOverAndBackWhileRolling(t *testing.T) {
	d := &rollout{t: t}
	byLease := d.starts(true, false).leads()
	both := d.starts(true, true)
	d.elect(both)
	both.waits(leaseTime * 3 / 2) // it may act, and the Lease is held by a pod that knows nothing of Podesta
	d.passes()
	d.elect(both)
	byLease.ends()
	both.leads()

	podesta := d.starts(false, true)
	podesta.waits(leaseTime / 4) // it needs no Lease, and it may not act
	d.elect(podesta)
	receive(t, both.ended, "it goes on without the permission")
	podesta.leads()

	both = d.starts(true, true).waits(leaseTime * 3 / 2) // the Lease is nobody's, and that is not enough
	d.elect(both)
	receive(t, podesta.ended, "it goes on without the permission")
	both.leads()

	byLease = d.starts(true, false).waits(leaseTime * 3 / 2) // the Lease is renewed
	both.ends()
	byLease.leads().ends()
	if n := d.leading.Load(); n != 0 {
		t.Errorf("%d replicas lead at the end", n)
	}
}

// A replica that holds both and loses the Lease stops, too.
func TestHoldingBothEndsWithTheLease(t *testing.T) {
	d := &rollout{t: t}
	both := d.starts(true, true)
	d.elect(both)
	both.leads()
	d.lease.mu.Lock() // somebody else's now
	d.lease.version++
	d.lease.record = &resourcelock.LeaderElectionRecord{HolderIdentity: "other", LeaseDurationSeconds: 3600}
	d.lease.mu.Unlock()
	if err := receive(t, both.ended, "it leads without the Lease"); !errors.Is(err, ErrLost) {
		t.Errorf("Lead returned %v", err)
	}
	receive(t, both.over, "it leads on")
	if n := d.leading.Load(); n != 0 {
		t.Errorf("%d replicas lead", n)
	}
}

// crossed is a holder whose last renewal is still on its way when it gives the Lease back.
type crossed struct {
	*holder
	lands sync.Once
}

func (c *crossed) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) (err error) {
	if record.HolderIdentity == "" {
		c.lands.Do(func() {
			err = apierrors.NewConflict(schema.GroupResource{Resource: "leases"}, "operator", nil)
		})
	}
	if err != nil {
		return err
	}
	return c.holder.Update(ctx, record)
}

// leader is a replica that holds both.
type leader struct {
	agent  *fakeagent.Agent
	lock   *Lock
	ctx    context.Context // of what leads
	finish chan struct{}   // closed: what leads returns
	stop   context.CancelFunc
	ended  chan error
}

// leadsByBoth starts a replica that leads, holds both, and gives the Lease back.
func leadsByBoth(t *testing.T, of resourcelock.Interface) *leader {
	t.Helper()
	l := &leader{agent: fakeagent.Start(), finish: make(chan struct{}), ended: make(chan error, 1)}
	t.Cleanup(l.agent.Close)
	l.lock = NewLock(&agent.Client{URL: l.agent.URL}).WithLease(of)
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	t.Cleanup(stop)
	begun := make(chan context.Context, 1)
	go func() {
		l.ended <- l.lock.Lead(ctx, leaderelection.LeaderElectionConfig{
			LeaseDuration: leaseTime, RenewDeadline: leaseTime / 2, RetryPeriod: 50 * time.Millisecond,
			ReleaseOnCancel: true,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(ctx context.Context) { begun <- ctx; <-l.finish },
				OnStoppedLeading: func() {},
			},
		})
	}()
	l.agent.Grant(7, long)
	l.ctx = receive(t, begun, "it does not lead")
	return l
}

// With ReleaseOnCancel the Lease is given back, for the next replica that needs it; but not before
// what leads has ended, however the permission was lost. Lead does not wait for that.
func TestTheLeaseIsGivenBackWhenNothingLeadsAnyMore(t *testing.T) {
	shared := &lease{emptied: make(chan struct{}, 1)}
	l := leadsByBoth(t, &crossed{holder: &holder{lease: shared, name: "pod-1"}})
	l.agent.Revoke()
	receive(t, l.ctx.Done(), "its context goes on")
	if err := receive(t, l.ended, "Lead does not return"); !errors.Is(err, ErrLost) {
		t.Error(err)
	}
	if by := shared.heldBy(); by != "pod-1" {
		t.Errorf("the Lease is %q's, and what leads by it has not ended", by)
	}
	close(l.finish)
	receive(t, shared.emptied, "the Lease is not given back")
}

// A program that is told to stop may end when Lead returns, so Lead waits until the Lease is given
// back.
func TestLeadReturnsWhenTheLeaseIsGivenBack(t *testing.T) {
	shared := &lease{}
	l := leadsByBoth(t, &holder{lease: shared, name: "pod-1"})
	context.AfterFunc(l.ctx, func() { close(l.finish) })
	l.stop()
	if err := receive(t, l.ended, "Lead does not return"); err != nil {
		t.Error(err)
	}
	if by := shared.heldBy(); by != "" {
		t.Errorf("the Lease is not given back: it is %q's", by)
	}
}

// What has been taken over belongs to whoever has it now.
func TestAnothersLeaseIsNotGivenBack(t *testing.T) {
	shared := &lease{}
	l := leadsByBoth(t, &holder{lease: shared, name: "pod-1"})
	shared.mu.Lock()
	shared.version++
	shared.record = &resourcelock.LeaderElectionRecord{HolderIdentity: "pod-2", LeaseDurationSeconds: 3600}
	shared.mu.Unlock()
	close(l.finish)
	l.stop()
	receive(t, l.ended, "Lead does not return")
	if by := shared.heldBy(); by != "pod-2" {
		t.Errorf("the Lease is %q's; pod-2 has taken it over", by)
	}
}

// A manager cannot tell whether all that led has stopped, so it gives no Lease back.
func TestAManagersElectorGivesNoLeaseBack(t *testing.T) {
	shared := &lease{}
	l := leadsByBoth(t, &holder{lease: shared, name: "pod-1"})
	if err := l.lock.Update(t.Context(), resourcelock.LeaderElectionRecord{}); err != nil {
		t.Error(err)
	}
	lost(t, l.lock)
	if by := shared.heldBy(); by != "pod-1" {
		t.Errorf("the Lease is %q's, and what leads by it has not ended", by)
	}
	close(l.finish)
	receive(t, l.ended, "Lead does not return")
}

// The permission goes on, and the Lease cannot be renewed. What goes on by it ends before another
// replica may have the Lease; also if it was told to stop, and takes its time.
func TestWorkThatGoesOnEndsBeforeTheLease(t *testing.T) {
	for _, name := range []string{"no API server", "told to stop"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shared := &lease{}
			l := leadsByBoth(t, &holder{lease: shared, name: "pod-1"})
			exits := make(chan time.Duration, 10)
			l.lock.exit = func(error) { now, _ := boottime.Now(); exits <- now }
			before, _ := boottime.Now()
			if name == "told to stop" {
				l.stop()
			} else {
				shared.mu.Lock()
				shared.broken = true
				shared.mu.Unlock()
			}
			receive(t, l.ended, "Lead does not return")
			at := receive(t, exits, "the process is not ended")
			l.lock.mu.Lock()
			until := l.lock.leaseUntil
			l.lock.mu.Unlock()
			if at >= until || at < before {
				t.Errorf("it is ended %v after the Lease", at-until)
			}
			close(l.finish)
		})
	}
}

func (l *lease) heldBy() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.record == nil {
		return "nobody"
	}
	return l.record.HolderIdentity
}
