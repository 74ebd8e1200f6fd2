package roster

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

func newReconnection(agents int) reconnection {
	b := reconnection{first: minBackoff, most: maxBackoff}
	if agents > 0 {
		b.told(int32(spreadOver(agents).Milliseconds()))
	}
	return b
}

// attempts returns when an agent tries to reach a manager that is gone, since it went.
func attempts(b reconnection, until time.Duration) (at []time.Duration) {
	begun := time.Now()
	b.follows(begun)
	lost := begun.Add(time.Hour) // of a steady subscription
	wait, _ := b.next(lost)
	for now := lost.Add(wait); now.Sub(lost) < until; now = now.Add(wait) {
		at = append(at, now.Sub(lost))
		wait, _ = b.next(now) // refused at once
	}
	return at
}

// Whenever the next manager comes, each agent tries within the time that it was told, and where the
// last one was there are no more attempts in a second than three times what may come back.
func TestHowAgentsComeBack(t *testing.T) {
	for _, agents := range []int{3, 300, 5_000, 50_000} {
		spread := spreadOver(agents)
		perSecond := map[int]int{} // attempts
		longest := time.Duration(0)
		for range agents {
			last := time.Duration(0)
			for _, at := range attempts(newReconnection(agents), failoverWithin) {
				perSecond[int(at/time.Second)]++
				longest, last = max(longest, at-last), at
			}
		}
		busiest := 0
		for _, n := range perSecond {
			busiest = max(busiest, n)
		}
		// The waits are U(0, spread): e attempts in that time where it is busiest, 2 in the long run.
		limit := int(3*float64(agents)/spread.Seconds()) + 10
		if busiest > limit {
			t.Errorf("%d agents make %d attempts in a second, want %d at most", agents, busiest, limit)
		}
		if longest > spread {
			t.Errorf("of %d agents one waits %v, and they were told %v", agents, longest, spread)
		}
	}
	if few := spreadOver(300); few > time.Second {
		t.Errorf("300 agents are to come back within %v", few)
	}
	if many := spreadOver(50_000); many != maxBackoff {
		t.Errorf("50000 agents are to come back within %v", many)
	}
}

// Where no manager comes, the attempts become rare; and so they are from the beginning where no
// manager has said how many agents there are, or none has kept a subscription.
func TestWithoutAManagerAttemptsBecomeRare(t *testing.T) {
	const hour = time.Hour
	told := attempts(newReconnection(3), hour)
	late := slices.IndexFunc(told, func(at time.Duration) bool { return at > time.Minute })
	if perMinute := float64(len(told)-late) / 59; perMinute > 9 { // 8 are expected of 15 s at most
		t.Errorf("%.1f attempts in a minute", perMinute)
	}
	b := newReconnection(3)
	now := time.Now()
	failures := 0
	for i := range 100 { // somebody says nothing and hangs, or answers and closes at once
		now = now.Add(time.Hour)
		if i%2 == 1 {
			b.follows(now)
		}
		if _, often := b.next(now); often {
			t.Fatal("it counts as a failover")
		}
		failures = b.failures
	}
	if failures != 100 {
		t.Errorf("%d failures count, want 100", failures)
	}
	untold := attempts(newReconnection(0), failoverWithin)
	if len(untold) > 12 { // 1 s, 2 s, 4 s, 8 s: 4 are expected
		t.Errorf("%d attempts in %v without having been told anything", len(untold), failoverWithin)
	}
}

// A subscription counts from the manager's first answer, also after a renewal.
func TestARenewedSubscriptionCountsAsTheSame(t *testing.T) {
	b := newReconnection(3)
	now := time.Now()
	b.follows(now)
	b.follows(now.Add(steady - 1)) // with the next certificate
	if _, often := b.next(now.Add(steady)); often || b.failures != 0 {
		t.Errorf("the subscription that was renewed counts as %d failures", b.failures)
	}
}

// A certificate is renewed when half of its time is over, but by a clock that is ahead not without
// end.
func TestWhenACertificateIsRenewed(t *testing.T) {
	now := time.Now()
	for name, test := range map[string]struct {
		at, renewed time.Time
		want        time.Duration
	}{
		"at half of its time":         {now.Add(12 * time.Hour), now, 12 * time.Hour},
		"what is kept is old":         {now.Add(-time.Hour), time.Time{}, -time.Hour},
		"a clock that is ahead":       {now.Add(-time.Hour), now, renewWithin},
		"ahead, and some minutes ago": {now.Add(-time.Hour), now.Add(-time.Minute), renewWithin - time.Minute},
	} {
		if got := renewIn(now, test.at, test.renewed); got != test.want {
			t.Errorf("%s: in %v, want %v", name, got, test.want)
		}
	}
}

// What a manager tells is kept within limits, whoever it is; and 0 is what a manager of an earlier
// release tells.
func TestWhatAnAgentIsTold(t *testing.T) {
	b := newReconnection(0)
	for _, test := range []struct {
		told int32
		want time.Duration
	}{{0, 0}, {1, minReturnWithin}, {2000, 2 * time.Second}, {0, 2 * time.Second}, {1 << 30, maxBackoff}, {-1, maxBackoff}} {
		if b.told(test.told); b.within != test.want {
			t.Errorf("told %d: %v, want %v", test.told, b.within, test.want)
		}
	}
}

// An agent is told over the wire, at the start of its subscription.
func TestTheManagerTellsHowToComeBack(t *testing.T) {
	m := newManager(t)
	others := sample(1)
	others.Group, others.Processes = "others", slices.Repeat(others.Processes[:1], 3000)
	for i := range others.Processes {
		others.Processes[i].UID = fmt.Sprint("uid-", i)
	}
	m.Publish(others) // none of them has come back
	g := newAgent(t, m, "a").run(t)
	m.Publish(sample(1))
	if u := g.next(t); u.Roster == nil {
		t.Fatalf("%+v, want a roster", u)
	}
	g.stop()
	if within, want := g.reconnect.within, spreadOver(3000+len(sample(1).Processes)); within != want {
		t.Errorf("it is told %v, want %v", within, want)
	}
	if grace, spread := m.Grace(), g.reconnect.within; grace != 2*spread {
		t.Errorf("they have %v to come back, and are told to spread it over %v", grace, spread)
	}
	m.Disband(others.Namespace, others.Group)
	m.Disband(sample(1).Namespace, sample(1).Group)
	m.stop()
	if n := m.publisher.agents(); n != 0 {
		t.Errorf("%d agents are counted when all are gone", n)
	}
}
