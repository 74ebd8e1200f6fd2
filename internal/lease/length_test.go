package lease

import (
	"testing"
	"time"
)

const ms = time.Millisecond

// paced is a pace under a roster with leases from 100 ms to 1 s and a heartbeat of 100 ms.
func paced() (*pace, *Roster) {
	r := &Roster{Heartbeat: 100 * ms, Lease: time.Second, LeaseMinimum: 100 * ms}
	p := &pace{}
	p.adapt(r, 0)
	return p, r
}

// LH10: a gap of over half the window makes the lease longer at once, by as much as it takes.
func TestAGapMakesTheLeaseLonger(t *testing.T) {
	for _, c := range []struct{ gap, want time.Duration }{
		{26 * ms, 100 * ms},        // a heartbeat of 25 ms, and a quick network
		{40 * ms, 100 * ms},        // half of its window is 41 ms
		{42 * ms, 200 * ms},        // a stall of 17 ms, and a heartbeat of 50 ms
		{80 * ms, 400 * ms},        // 55 ms; half of the window of 200 ms is 82 ms
		{90 * ms, 800 * ms},        // 65 ms and a heartbeat of 100 ms; half of that of 400 ms is 164 ms
		{time.Second, time.Second}, // the roster's is the longest
		{10 * time.Second, time.Second},
	} {
		p, r := paced()
		p.renewed(r, c.gap, time.Hour)
		if p.lease != c.want {
			t.Errorf("after a gap of %v the lease is %v, want %v", c.gap, p.lease, c.want)
		}
	}
}

// LH10: a lapse makes it longer, unless the longest lease would have lapsed, too.
func TestALapseThatSaysNothing(t *testing.T) {
	for gap, want := range map[time.Duration]time.Duration{
		90 * ms:                 800 * ms,
		Window(time.Second):     time.Second,
		Window(time.Second) + 1: 100 * ms,
	} {
		p, r := paced()
		if p.lapsed(r, gap, time.Hour); p.lease != want {
			t.Errorf("after a lapse with a gap of %v the lease is %v, want %v", gap, p.lease, want)
		}
	}
}

// LH10: it becomes shorter step by step, and the more often it had to become longer, the later.
func TestTheLeaseBecomesShorterSlowly(t *testing.T) {
	p, r := paced()
	now := time.Hour
	calm := func() (took time.Duration) { // until it is the shortest
		for begun := now; ; now += r.heartbeat(p.lease) {
			if p.renewed(r, r.heartbeat(p.lease)+ms, now); p.lease == r.LeaseMinimum || now-begun > time.Hour {
				return now - begun
			}
		}
	}
	last := time.Duration(0)
	for range 4 {
		now += time.Second
		p.renewed(r, 90*ms, now)
		if p.lease != 800*ms {
			t.Fatalf("after a gap of 90 ms the lease is %v", p.lease)
		}
		took := calm()
		if took < 3*leastPatience || took <= last {
			t.Errorf("from 800 to 100 ms it takes %v; before, it took %v", took, last)
		}
		last = took
	}
	for range 100 {
		now += 2 * time.Second
		p.renewed(r, time.Second, now)
	}
	if p.patience != mostPatience {
		t.Errorf("after a hundred gaps it waits for %v", p.patience)
	}
	for end := now + 30*time.Hour; now < end; now += r.heartbeat(p.lease) {
		p.renewed(r, r.heartbeat(p.lease), now)
	}
	if p.lease != r.LeaseMinimum || p.patience != leastPatience {
		t.Errorf("30 h later the lease is %v, and it waits for %v", p.lease, p.patience)
	}
}

// LH10: it does not become shorter while stalls come that the shorter lease would not stand well.
func TestStallsKeepTheLeaseLong(t *testing.T) {
	p, r := paced()
	now := time.Hour
	p.renewed(r, 45*ms, now)
	if p.lease != 200*ms {
		t.Fatalf("after a stall of 20 ms the lease is %v", p.lease)
	}
	for end := now + time.Hour; now < end; now += 50 * ms {
		p.renewed(r, 60*ms, now) // a stall of 10 ms; two fifths of the shorter window are 33 ms
	}
	if p.lease != 200*ms {
		t.Errorf("with stalls of 10 ms the lease has become %v", p.lease)
	}
	for end := now + time.Hour; now < end; now += 50 * ms {
		p.renewed(r, r.heartbeat(p.lease)+7*ms, now)
	}
	if p.lease != 100*ms {
		t.Errorf("with stalls of 7 ms the lease is still %v", p.lease)
	}
}

// A roster whose shortest lease is its longest, or that names none, has one lease.
func TestNoShortestLease(t *testing.T) {
	for _, shortest := range []time.Duration{0, time.Second, time.Hour} {
		r := &Roster{Heartbeat: 100 * ms, Lease: time.Second, LeaseMinimum: shortest}
		p := &pace{}
		p.adapt(r, 0)
		for i := range time.Duration(100) {
			p.renewed(r, 101*ms, time.Hour+i*time.Second)
		}
		if p.lease != time.Second {
			t.Errorf("with a shortest lease of %v the lease is %v", shortest, p.lease)
		}
		if beat := r.heartbeat(p.lease); beat != r.Heartbeat {
			t.Errorf("it is renewed every %v", beat)
		}
	}
}

// LH10: an app that asks now and then has a lease that its questions fit into, for as long as it asks.
func TestQuestionsOfTheApp(t *testing.T) {
	p, r := paced()
	now := time.Hour
	p.asked(r, 150*ms, now)
	if p.lease != 400*ms { // 100 ms more, of which nine tenths of the window of 400 ms are 294
		t.Errorf("of an app that asks every 150 ms the lease is %v", p.lease)
	}
	for end := now + 10*time.Minute; now < end; now += 100 * ms {
		if p.renewed(r, 101*ms, now); p.lease != 400*ms {
			t.Fatalf("while it asks on, the lease becomes %v", p.lease)
		}
		p.asked(r, 150*ms, now)
	}
	p, _ = paced()
	p.asked(r, time.Minute, now)
	if p.lease != 100*ms {
		t.Errorf("an app that asks every minute has a lease of %v", p.lease)
	}
}

// LH10: when the lease has become shorter, the gap that is under way is still one of the longer lease.
func TestAGapOfALongerLease(t *testing.T) {
	p, r := paced()
	p.lease, p.since = 400*ms, time.Hour
	p.renewed(r, 101*ms, time.Hour+leastPatience)
	if p.lease != 200*ms {
		t.Fatalf("after a calm while the lease is %v", p.lease)
	}
	if p.renewed(r, 101*ms, time.Hour+leastPatience+100*ms); p.lease != 200*ms {
		t.Errorf("a gap that began under a lease of 400 ms makes that of 200 ms %v", p.lease)
	}
}

// LH10: a roster with another shortest lease counts from now on, whatever was before; one that has
// the same changes nothing.
func TestAnotherShortestLease(t *testing.T) {
	p, r := paced()
	p.renewed(r, time.Second, time.Hour)
	same := *r
	if p.adapt(&same, time.Hour); p.lease != time.Second {
		t.Fatalf("an equal roster makes the lease %v", p.lease)
	}
	same.Lease = 600 * ms
	if p.adapt(&same, time.Hour); p.lease != 600*ms {
		t.Errorf("a longest lease of 600 ms leaves %v", p.lease)
	}
	other := Roster{Heartbeat: 100 * ms, Lease: time.Second, LeaseMinimum: 40 * ms}
	if p.adapt(&other, time.Hour); p.lease != 40*ms || p.patience != leastPatience {
		t.Errorf("after an edit of the shortest lease to 40 ms the lease is %v, and it waits for %v", p.lease, p.patience)
	}
	if p.renewed(&other, 101*ms, time.Hour+100*ms); p.lease != 40*ms {
		t.Errorf("a gap that began under a lease of a second makes that of 40 ms %v", p.lease)
	}
	none := Roster{Heartbeat: 100 * ms, Lease: time.Second}
	if p.adapt(&none, 2*time.Hour); p.lease != time.Second {
		t.Errorf("with one length only the lease is %v", p.lease)
	}
}
