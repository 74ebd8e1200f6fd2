package sim

import (
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
)

// transferPeers are hand-overs, under load and not, and leaders that come and go.
var transferPeers = []peer{
	{
		name:      "a transfer under writes, apps that ask",
		from:      "hashicorp/raft, TestRaft_LeadershipTransferWithWrites",
		guarded:   true,
		processes: 7,
		play:      func(t *testing.T, v *watcher) { transferWithWrites(t, v, false, 8*T) },
	},
	{
		name:      "a transfer under writes, apps that keep a session",
		from:      "hashicorp/raft, TestRaft_LeadershipTransferWithWrites",
		guarded:   true,
		processes: 7,
		play:      func(t *testing.T, v *watcher) { transferWithWrites(t, v, true, promptly) },
	},
	{
		name: "a transfer to one that reaches no majority",
		from: "hashicorp/raft, TestRaft_LeadershipTransferLeaderReplicationTimeout; " +
			"etcd raft, TestLeaderTransferTimeout",
		guarded:   true,
		processes: 5,
		play:      transferToUnreachable,
	},
	{
		name:       "preempt delay",
		from:       "keepalived, keepalived.conf(5): preempt_delay",
		guarded:    true,
		processes:  3,
		preemption: lease.Delayed,
		stable:     5 * time.Second,
		play:       preemptDelay,
	},
	{
		name:       "no preemption",
		from:       "keepalived, keepalived.conf(5): nopreempt",
		guarded:    true,
		processes:  3,
		preemption: lease.Never,
		play:       noPreemption,
	},
	{
		name:       "a leader that flaps",
		from:       "Consul, sessions and their lock-delay; keepalived, preempt_delay",
		guarded:    true,
		processes:  3,
		preemption: lease.Delayed,
		stable:     5 * time.Second,
		play:       flapping,
	},
	{
		name:      "a leader that restarts at once",
		from:      "Consul, sessions and their lock-delay; ZooKeeper, sessions of ephemeral nodes",
		guarded:   true,
		processes: 3,
		play:      restartsAtOnce,
	},
}

// promptly is how long nobody may act in a transfer when the app closes its session at once. What a
// leaseholder sends when it steps down arrives, even over links that its algorithm wants no more.
const promptly = 2 * T

// writes lets every app that may act write once at each glance, for so long.
func (v *watcher) writes(span Time) {
	for end := v.now + span; v.now < end && v.broken == nil; v.goes(glance) {
		for p := range v.processes {
			v.write1(int32(p))
		}
	}
}

// write1: an app asks, and writes at once, or after a pause.
func (v *watcher) write1(p int32) {
	q := &v.processes[p]
	if q.node == nil {
		return
	}
	now := q.clock.instant(v.now)
	granted, ok := lease.Permission{}, false
	if q.app.session != nil {
		granted, ok = q.ledger.UseIn(q.app.session, now)
	} else if !q.app.keeps {
		granted, ok = q.ledger.Use(now)
	}
	if ok {
		v.use(p, granted)
	}
}

// transferWithWrites: P7 comes back while the app of P6 writes all the time; a quarter of the
// writes are paused between check and act.
func transferWithWrites(t *testing.T, v *watcher, sessions bool, nobody Time) {
	for p := range v.processes {
		v.processes[p].app.keeps = sessions
	}
	v.kill(6)
	v.awaits(t, "P6 acts", func() bool { return v.mayAct(5) })
	v.writes(20 * T)
	failover := v.nobody
	v.nobody, v.changes, v.epochs = 0, 0, 0
	before := v.register.accepted
	v.start(6, false)
	v.writes(40 * T)
	if !v.mayAct(6) || v.changes != 1 || v.epochs != 1 {
		t.Errorf("want one transfer to P7; got %s", v)
	}
	accepted, refused := v.register.accepted-before, v.register.refused
	t.Logf("after the crash nobody for %s; %d writes accepted, %d late ones refused by their epoch",
		clockFormat(failover), accepted, refused)
	if accepted < 500 || refused == 0 {
		t.Errorf("%d writes were accepted, %d refused: this does not try what it says", accepted, refused)
	}
	v.atMost(t, 1, nobody)
}

// transferToUnreachable: P5 comes back and reaches P4 only, which leads. It is asked, and cannot
// take over: P4 goes on without a gap.
func transferToUnreachable(t *testing.T, v *watcher) {
	v.kill(4)
	v.awaits(t, "P4 acts", func() bool { return v.mayAct(3) })
	v.goes(20 * T)
	v.nobody, v.changes, v.epochs = 0, 0, 0
	v.split(100*T, []int32{4}, []int32{0, 1, 2})
	v.start(4, false)
	v.goes(100 * T)
	if !v.mayAct(3) {
		t.Error("P4 does not act")
	}
	v.unchanged(t)
}

// preemptDelay: P3 dies and comes back. It takes over, once, and not before it has been there for
// the stable time.
func preemptDelay(t *testing.T, v *watcher) {
	v.kill(2)
	v.awaits(t, "P2 acts", func() bool { return v.mayAct(1) })
	v.goes(20 * T)
	v.start(2, false)
	back := v.awaits(t, "P3 acts", func() bool { return v.mayAct(2) })
	t.Logf("P3 acts %s after it came back", clockFormat(back))
	if stable := Time(v.Stable); back < stable || back > stable+15*T {
		t.Errorf("P3 acts after %s, the stable time is %s", clockFormat(back), clockFormat(stable))
	}
	v.goes(40 * T)
	v.atMost(t, 2, 8*T)
}

// noPreemption: P3 comes back, and P2 goes on.
func noPreemption(t *testing.T, v *watcher) {
	v.kill(2)
	v.awaits(t, "P2 acts", func() bool { return v.mayAct(1) })
	v.start(2, false)
	v.goes(100 * T)
	if !v.mayAct(1) {
		t.Error("P2 does not act any more")
	}
	v.atMost(t, 1, 8*T)
}

// flapping: P3 comes back for 3 s, and dies, five times. It is never there for the stable time, 5
// s.
func flapping(t *testing.T, v *watcher) {
	v.kill(2)
	v.awaits(t, "P2 acts", func() bool { return v.mayAct(1) })
	for range 5 {
		v.start(2, false)
		v.goes(15 * T)
		v.kill(2)
		v.goes(5 * T)
	}
	v.atMost(t, 1, 8*T)
}

// restartsAtOnce: the leader dies and starts again at once, three times. It is another incarnation:
// nobody gets a vote before what was promised to the old one has run out.
func restartsAtOnce(t *testing.T, v *watcher) {
	for range 3 {
		epoch := v.epoch
		v.kill(2)
		v.start(2, false)
		took := v.awaits(t, "somebody acts under a new epoch", func() bool { return v.epoch != epoch })
		if rest := Time(v.Options.Lease.Lease) - 2*heartbeat; took < rest {
			t.Errorf("a new epoch after %s: promises run for %s", clockFormat(took), clockFormat(rest))
		}
		v.awaits(t, "P3 acts", func() bool { return v.mayAct(2) })
		v.goes(20 * T)
	}
	v.atMost(t, 6, 13*T)
}
