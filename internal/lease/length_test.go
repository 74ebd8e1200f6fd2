package lease

import (
	"testing"
	"time"
)

const ms = time.Millisecond

// adaptive is a length under a roster with leases from 100 ms to 1 s and a heartbeat of 100 ms.
func adaptive() (*length, *Roster) {
	r := &Roster{Heartbeat: 100 * ms, Lease: time.Second, LeaseMinimum: 100 * ms}
	l := &length{}
	l.adapt(r, 0)
	return l, r
}

// LH10: a gap of over half the window makes the lease longer at once, by as much as it takes.
func TestAGapMakesTheLeaseLonger(t *testing.T) {
	for _, c := range []struct{ gap, want time.Duration }{
		{26 * ms, 100 * ms},        // a heartbeat of 25 ms, and a quick network
		{40 * ms, 100 * ms},        // half of its window is 41 ms
		{42 * ms, 200 * ms},        // a delay of 17 ms, and a heartbeat of 50 ms
		{80 * ms, 400 * ms},        // 55 ms; half of the window of 200 ms is 82 ms
		{90 * ms, time.Second},     // 65 ms and a heartbeat of 100 ms; half of that of 400 ms is 164 ms
		{time.Second, time.Second}, // the roster's is the longest
		{10 * time.Second, time.Second},
	} {
		l, r := adaptive()
		l.renewed(r, c.gap, time.Hour)
		if l.lease != c.want {
			t.Errorf("after a gap of %v the lease is %v, want %v", c.gap, l.lease, c.want)
		}
	}
}

// LH10: a lapse makes it longer, unless the longest lease would have lapsed, too.
func TestALapseThatSaysNothing(t *testing.T) {
	for gap, want := range map[time.Duration]time.Duration{
		90 * ms:                 time.Second,
		Window(time.Second):     time.Second,
		Window(time.Second) + 1: 100 * ms,
	} {
		l, r := adaptive()
		l.lapsed(time.Hour)
		if l.reached(r, time.Hour+gap); l.lease != want {
			t.Errorf("after a lapse with a gap of %v the lease is %v, want %v", gap, l.lease, want)
		}
		if l.reached(r, time.Hour+gap+500*ms); l.lease != want {
			t.Errorf("half a second after a gap of %v the lease is %v, want %v", gap, l.lease, want)
		}
	}
}

// LH10: what a process learnt while it led is forgotten while another one leads, at the pace at
// which the lease would have become shorter; what that other one asks for is not.
func TestWhatIsLearntIsForgotten(t *testing.T) {
	for _, c := range []struct{ since, others, want time.Duration }{
		{3900 * ms, 100 * ms, time.Second},
		{4100 * ms, 100 * ms, 500 * ms},
		{9 * time.Second, 100 * ms, 250 * ms},
		{time.Hour, 100 * ms, 100 * ms},
		{time.Hour, 400 * ms, 400 * ms},
	} {
		l, r := adaptive()
		l.renewed(r, 90*ms, time.Hour)
		if l.lease != time.Second || l.patience != 2*leastPatience {
			t.Fatalf("after a gap of 90 ms the lease is %v", l.lease)
		}
		l.heard(c.others)
		if l.begin(r, time.Hour+c.since); l.lease != c.want {
			t.Errorf("%v later, after a lease of %v, it begins with %v, want %v", c.since, c.others,
				l.lease, c.want)
		}
	}
}

// LH10: who takes over a longer lease than its own keeps it for 2 s times how often the shortest goes
// into it, unless the machine is quick enough for the shortest. (Where another process leads every
// few seconds, the lease would never become short again.)
func TestAnInheritedLease(t *testing.T) {
	for _, c := range []struct{ delay, want time.Duration }{
		{7 * ms, leastPatience},
		{9 * ms, 8 * leastPatience}, // two fifths of the window of 100 ms are 33 ms
		{30 * ms, 8 * leastPatience},
		{40 * ms, 0}, // of that of 400 ms, 131 ms
	} {
		l, r := adaptive()
		begun := time.Hour
		l.heard(800 * ms)
		l.begin(r, begun)
		took := time.Duration(0)
		for at := begun; at < begun+time.Minute && took == 0; at += r.heartbeat(l.lease) {
			if l.renewed(r, r.heartbeat(l.lease)+c.delay, at); l.lease < 800*ms {
				took = at - begun
			}
		}
		if took != c.want {
			t.Errorf("with delays of %v it becomes shorter after %v, want %v", c.delay, took, c.want)
		}
	}
}

// LH10: what a process asks for under an epoch that this voter has not promised says nothing: that
// one need not hold the lease.
func TestALeaseIsInheritedFromWhoHoldsIt(t *testing.T) {
	r := &Roster{Group: "g", Generation: 1, Lease: time.Second, LeaseMinimum: 100 * ms}
	for _, name := range []string{"P1", "P2", "P3"} {
		r.Members = append(r.Members, Member{Name: name, Priority: 1, Voter: true})
	}
	for voted, want := range map[bool]time.Duration{true: 800 * ms, false: 0} {
		m := New(Config{Self: Incarnation{Name: "P1"}, Saved: State{Group: "g", Voted: voted}})
		m.Step(Event{Type: RosterChanged, Roster: r})
		m.Step(Event{
			Type:    Requested,
			From:    Incarnation{Name: "P2"},
			Request: Request{Kind: Renew, Group: "g", Epoch: NewEpoch(1, 1), Lease: 800 * ms},
		})
		if got := m.leaseholder.length.others; got != want {
			t.Errorf("it has voted before: %t; it inherits %v, want %v", voted, got, want)
		}
	}
}

// LH10: it becomes shorter step by step, and the more often it had to become longer, the later.
func TestTheLeaseBecomesShorterSlowly(t *testing.T) {
	l, r := adaptive()
	now := time.Hour
	calm := func() (took time.Duration) { // until it is the shortest
		for begun := now; ; now += r.heartbeat(l.lease) {
			if l.renewed(r, r.heartbeat(l.lease)+ms, now); l.lease == r.LeaseMinimum || now-begun > time.Hour {
				return now - begun
			}
		}
	}
	last := time.Duration(0)
	for range 4 {
		now += time.Second
		l.renewed(r, 90*ms, now)
		if l.lease != time.Second {
			t.Fatalf("after a gap of 90 ms the lease is %v", l.lease)
		}
		took := calm()
		if took < 3*leastPatience || took <= last {
			t.Errorf("from 1 s to 100 ms it takes %v; before, it took %v", took, last)
		}
		last = took
	}
	for range 100 {
		now += 2 * time.Second
		l.renewed(r, time.Second, now)
	}
	if l.patience != mostPatience {
		t.Errorf("after a hundred gaps it waits for %v", l.patience)
	}
	for end := now + 30*time.Hour; now < end; now += r.heartbeat(l.lease) {
		l.renewed(r, r.heartbeat(l.lease), now)
	}
	if l.lease != r.LeaseMinimum || l.patience != leastPatience {
		t.Errorf("30 h later the lease is %v, and it waits for %v", l.lease, l.patience)
	}
}

// A roster whose shortest lease is its longest, or that names none, has one lease.
func TestNoShortestLease(t *testing.T) {
	for _, shortest := range []time.Duration{0, time.Second, time.Hour} {
		r := &Roster{Heartbeat: 100 * ms, Lease: time.Second, LeaseMinimum: shortest}
		l := &length{}
		l.adapt(r, 0)
		for i := range time.Duration(100) {
			l.renewed(r, 101*ms, time.Hour+i*time.Second)
		}
		if l.lease != time.Second {
			t.Errorf("with a shortest lease of %v the lease is %v", shortest, l.lease)
		}
		if beat := r.heartbeat(l.lease); beat != r.Heartbeat {
			t.Errorf("it is renewed every %v", beat)
		}
	}
}

// LH10: an app that asks now and then has a lease that its questions fit into, for as long as it
// asks.
func TestQuestionsOfTheApp(t *testing.T) {
	l, r := adaptive()
	now := time.Hour
	l.asked(r, 150*ms, now)
	if l.lease != 400*ms { // 100 ms more, of which nine tenths of the window of 400 ms are 294
		t.Errorf("of an app that asks every 150 ms the lease is %v", l.lease)
	}
	for end := now + 10*time.Minute; now < end; now += 100 * ms {
		if l.renewed(r, 101*ms, now); l.lease != 400*ms {
			t.Fatalf("while it asks on, the lease becomes %v", l.lease)
		}
		l.asked(r, 150*ms, now)
	}
	l, _ = adaptive()
	l.asked(r, time.Minute, now)
	if l.lease != 100*ms {
		t.Errorf("an app that asks every minute has a lease of %v", l.lease)
	}
}

// LH10: a large group has no lease that takes more than a request a millisecond, as far as its
// roster allows a longer one.
func TestALargeGroupRenewsLessOften(t *testing.T) {
	for _, c := range []struct {
		members   int
		heartbeat time.Duration
		shortest  time.Duration
		want      time.Duration
	}{
		{5, 100 * ms, 40 * ms, 40 * ms},
		{10, 100 * ms, 40 * ms, 40 * ms}, // a heartbeat of 10 ms
		{11, 100 * ms, 40 * ms, 80 * ms},
		{25, 100 * ms, 100 * ms, 100 * ms},
		{26, 100 * ms, 100 * ms, 200 * ms},
		{100, 100 * ms, 100 * ms, 400 * ms},
		{250, 100 * ms, 100 * ms, 400 * ms}, // no heartbeat is longer than the roster's
		{250, time.Second, 100 * ms, time.Second},
	} {
		r := &Roster{
			Heartbeat:    c.heartbeat,
			Lease:        time.Second,
			LeaseMinimum: c.shortest,
			Members:      make([]Member, c.members),
		}
		l := &length{}
		l.adapt(r, 0)
		if l.lease != c.want || l.shortest != c.want {
			t.Errorf("%d processes, leases from %v, heartbeats of %v at most: the lease is %v, want %v",
				c.members, c.shortest, c.heartbeat, l.lease, c.want)
		}
	}
}

// LH10: a process whose CPU quota may delay it asks for no lease that this delay would end, however
// quiet it is.
func TestALeaseOutlastsThrottling(t *testing.T) {
	for _, c := range []struct{ delay, want time.Duration }{
		{0, 100 * ms},
		{50 * ms, 100 * ms},        // a CPU limit of 500m: a heartbeat of 25 ms more, in 81 ms
		{57 * ms, 200 * ms},        // 50 ms more, in 163 ms
		{160 * ms, 400 * ms},       // of 200m: 100 ms more, in 327 ms
		{4 * 90 * ms, 800 * ms},    // of 100m: 100 ms more, in 654 ms
		{554 * ms, 800 * ms},       // at most
		{555 * ms, time.Second},    // the roster's is the longest
		{8 * 95 * ms, time.Second}, // of 50m
		{365 * time.Hour, time.Second},
	} {
		r := &Roster{
			Heartbeat:    100 * ms,
			Lease:        time.Second,
			LeaseMinimum: 100 * ms,
		}
		m := New(Config{Throttled: c.delay})
		m.Step(Event{Type: RosterChanged, Roster: r})
		l := &m.leaseholder.length
		if l.lease != c.want {
			t.Errorf("delayed by %v, it asks for %v, want %v", c.delay, l.lease, c.want)
		}
		now := time.Hour
		for _, shortest := range []time.Duration{100 * ms, 200 * ms} { // another roster
			r.LeaseMinimum = shortest
			l.adapt(r, now)
			l.lease, l.since = time.Second, now
			for end := now + 10*time.Hour; now < end; now += r.heartbeat(l.lease) {
				l.renewed(r, r.heartbeat(l.lease), now)
			}
			if l.lease != max(shortest, c.want) {
				t.Errorf("delayed by %v, after ten quiet hours with a shortest lease of %v it asks for %v",
					c.delay, shortest, l.lease)
			}
		}
	}
}

// LH10: when the lease has become shorter, the gap that is under way is still one of the longer
// lease.
func TestAGapOfALongerLease(t *testing.T) {
	l, r := adaptive()
	l.lease, l.since = 400*ms, time.Hour
	l.renewed(r, 101*ms, time.Hour+leastPatience)
	if l.lease != 200*ms {
		t.Fatalf("after a calm while the lease is %v", l.lease)
	}
	if l.renewed(r, 101*ms, time.Hour+leastPatience+100*ms); l.lease != 200*ms {
		t.Errorf("a gap that began under a lease of 400 ms makes that of 200 ms %v", l.lease)
	}
}

// LH10: a roster with another shortest lease keeps the lease within its bounds; one that has the
// same changes nothing.
func TestAnotherShortestLease(t *testing.T) {
	l, r := adaptive()
	l.renewed(r, time.Second, time.Hour)
	same := *r
	if l.adapt(&same, time.Hour); l.lease != time.Second {
		t.Fatalf("an equal roster makes the lease %v", l.lease)
	}
	same.Lease = 600 * ms
	if l.adapt(&same, time.Hour); l.lease != 600*ms {
		t.Errorf("a longest lease of 600 ms leaves %v", l.lease)
	}
	other := Roster{Heartbeat: 100 * ms, Lease: time.Second, LeaseMinimum: 40 * ms}
	if l.adapt(&other, time.Hour); l.lease != 600*ms || l.patience != leastPatience {
		t.Errorf("after an edit of the shortest lease to 40 ms the lease is %v, and it waits for %v",
			l.lease, l.patience)
	}
	l.renewed(&other, 400*ms, time.Hour+100*ms) // it began before the edit
	l.renewed(&other, 26*ms, time.Hour+time.Second)
	if l.lease != 600*ms || l.patience != leastPatience {
		t.Errorf("a second later the lease is %v, and it waits for %v", l.lease, l.patience)
	}
	for now := time.Hour; now < time.Hour+20*time.Second; now += other.heartbeat(l.lease) {
		l.renewed(&other, other.heartbeat(l.lease)+ms, now)
	}
	if l.lease != 40*ms {
		t.Errorf("20 s later the lease is %v", l.lease)
	}
	higher := Roster{
		Heartbeat:    100 * ms,
		Lease:        time.Second,
		LeaseMinimum: 300 * ms,
	}
	if l.adapt(&higher, time.Hour+time.Minute); l.lease != 300*ms {
		t.Errorf("after an edit of the shortest lease to 300 ms the lease is %v", l.lease)
	}
	none := Roster{Heartbeat: 100 * ms, Lease: time.Second}
	if l.adapt(&none, 2*time.Hour); l.lease != time.Second {
		t.Errorf("with one length only the lease is %v", l.lease)
	}
}
