package lease_test

import (
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
)

// holdingBelow is a group of three in which P2 holds and P3 has been down.
func holdingBelow(policy lease.Policy, stable time.Duration) *play {
	r := rosterOf(3)
	r.Preemption, r.Stable = policy, stable
	g := newPlay(r, false)
	for _, a := range g.actors {
		a.session = true
	}
	g.kill("P3")
	g.nominate("P2")
	g.run(500 * ms)
	return g
}

// PR1: a link that flaps does not either, without a restart.
func TestFlappingLink(t *testing.T) {
	g := holdingBelow(lease.Delayed, 2*time.Second)
	g.restart("P3", false)
	_, e := g.holder()
	for range 6 {
		g.run(1500 * ms)
		g.part("P2", "P3", true)
		g.run(600 * ms)
		g.part("P2", "P3", false)
	}
	if name, now := g.holder(); name != "P2" || now != e {
		t.Errorf("%q holds %s, it was P2 with %s", name, now, e)
	}
}

// offering brings a holder P2 so far that it has offered; P3 has answered a renewal.
func offering(t *testing.T) (*solo, lease.Request) {
	t.Helper()
	r := rosterOf(3)
	r.Preemption = lease.Always
	s := newSolo(t, r, "P2")
	s.holding()
	renewal, ok := sent(s.after(401*ms), lease.Renew, "P3")
	if !ok {
		t.Fatal("no renewal")
	}
	s.response("P3", s.answer(renewal, true))
	return s, s.sent(lease.Transfer, "P3")
}

// PR2: a leaseholder that a new epoch made offers its lease to nobody until the highest has had the
// time to answer: else the lease would climb, and nobody could act at each step.
func TestTheLeaseDoesNotClimbAtOnce(t *testing.T) {
	r := rosterOf(5)
	r.Preemption = lease.Always
	s := newSolo(t, r, "P3")
	s.elected()
	answers := func(name string) {
		t.Helper()
		renewal, ok := sent(s.after(101*ms), lease.Renew, name)
		if !ok {
			t.Fatalf("%s gets no renewal", name)
		}
		out := s.response(name, s.answer(renewal, true))
		if n := count(out.Requests, lease.Transfer); n > 0 {
			t.Errorf("%v after its epoch began it offers its lease", s.now-start)
		}
	}
	answers("P4")
	answers("P4")
	answers("P5")
	all := s.after(100 * ms)
	_, low := sent(all, lease.Transfer, "P4")
	if _, ok := sent(all, lease.Transfer, "P5"); !ok || low {
		t.Errorf("P4 and P5 answer: P5 is offered the lease %t, P4 %t", ok, low)
	}
}

// PR2: who is offered nothing.
func TestWhoIsOfferedNothing(t *testing.T) {
	for name, c := range map[string]struct {
		change    func(*lease.Roster)
		candidate bool
		from      string
	}{
		"a lower one":  {func(*lease.Roster) {}, true, "P1"},
		"no candidate": {func(*lease.Roster) {}, false, "P3"},
		"priority 0": {func(r *lease.Roster) { r.Members[2].Priority = 0 }, true,
			"P3"},
		"another state directory": {func(r *lease.Roster) { r.Members[2].StateID = "lost" }, true,
			"P3"},
		"preempted never": {func(r *lease.Roster) { r.Preemption = lease.Never }, true,
			"P3"},
		"not yet stable": {func(r *lease.Roster) {
			r.Preemption, r.Stable = lease.Delayed,
				time.Minute
		}, true, "P3"},
	} {
		r := rosterOf(3)
		r.Preemption = lease.Always
		c.change(r)
		s := newSolo(t, r, "P2")
		s.holding()
		renewal, _ := sent(s.after(401*ms), lease.Renew, c.from)
		v := s.answer(renewal, true)
		v.Candidate = c.candidate
		from := incarnationOf(rosterOf(3), c.from)
		out := s.responseOf(from, v)
		if n := count(append(out.Requests, s.after(ms)...), lease.Transfer); n > 0 {
			t.Errorf("%s is offered the lease", name)
		}
	}
}

// PR4: on TAKE OVER the holder steps down with that process as its heir; an uninvited TAKE OVER, or
// one of another epoch, moves nothing.
func TestTakeOver(t *testing.T) {
	for _, c := range []struct {
		name  string
		from  string
		delta lease.Epoch
		down  bool
	}{
		{"the heir", "P3", 0, true}, {"another epoch", "P3", 1, false}, {"uninvited", "P1", 0,
			false},
	} {
		s, offer := offering(t)
		out := s.do(lease.Event{Type: lease.Requested, From: incarnationOf(s.roster, c.from),
			Request: lease.Request{
				Kind:  lease.TakeOver,
				Group: s.roster.Group,
				Epoch: offer.Epoch + c.delta,
			}})
		if s.may() == c.down {
			t.Errorf("%s: it may act: %v", c.name, s.may())
		}
		if p, ok := sent(out.Requests, lease.StepDown, "P1"); ok != c.down || ok && p.Heir != "P3" {
			t.Errorf("%s: STEP DOWN %v, heir %q", c.name, ok, p.Heir)
		}
		if c.down && (out.Appoint != "P3" || count(out.Requests, lease.Release) > 0) {
			t.Errorf(
				"%s: its election machine is told %q; %d releases while the app may act",
				c.name,
				out.Appoint,
				count(out.Requests, lease.Release),
			)
		}
	}
}

// PR4: nor does one that has declined move anything, should it change its mind.
func TestTakeOverAfterDeclining(t *testing.T) {
	s, offer := offering(t)
	s.response("P3", s.answer(offer, false))
	s.askBy("P3", lease.Request{Kind: lease.TakeOver, Epoch: offer.Epoch})
	if !s.may() {
		t.Error("the holder steps down")
	}
}

// PR5: one that declines, or does not take over within 2 T, is not offered the lease again for 10
// T.
func TestDeclined(t *testing.T) {
	for _, declines := range []bool{true, false} {
		s, offer := offering(t)
		if declines {
			s.response("P3", s.answer(offer, false))
		}
		begun, again := s.now, time.Duration(0)
		for again == 0 && s.now-begun < 30*s.T {
			for _, a := range s.after(50 * ms) {
				switch {
				case a.Request.Kind == lease.Transfer:
					again = s.now - begun
				case a.Request.Kind == lease.Renew && a.To != "P2":
					s.response(a.To, s.answer(a.Request, true))
					if count(s.out.Requests, lease.Transfer) > 0 {
						again = s.now - begun
					}
				}
			}
		}
		least := 10 * s.T
		if !declines {
			least = 12 * s.T
		}
		if again < least-50*ms || again > least+300*ms {
			t.Errorf(
				"declines %v: it is offered the lease again after %v, want %v",
				declines,
				again,
				least,
			)
		}
	}
}

// A process of a group without voters has nobody to ask: it declines a lease that is offered to it,
// whoever claims to hold one.
func TestTransferWithoutVoters(t *testing.T) {
	r := rosterOf(3)
	for i := range r.Members {
		r.Members[i].Voter = false
	}
	s := newSolo(t, r, "P3")
	s.askBy("P2", lease.Request{Kind: lease.Renew, Epoch: epoch(1, 1), Lease: lease1})
	v := s.askBy("P2", lease.Request{Kind: lease.Transfer, Epoch: epoch(1, 1)})
	if v == nil || v.Granted {
		t.Errorf("it answers %v", v)
	}
}

// PR2: only a higher priority takes over. Equals do not depose each other, whatever their names,
// under any policy; they do not take what is offered either.
func TestEqualsDoNotDeposeEachOther(t *testing.T) {
	for _, policy := range []lease.Policy{lease.Always, lease.Delayed} {
		for _, c := range []struct {
			priority int32
			offered  bool
		}{{1, false}, {2, false}, {3, true}} {
			r := rosterOf(3)
			r.Preemption, r.Stable = policy, 100*ms
			r.Members[2].Priority = c.priority // of P3; that of P2 is 2
			s := newSolo(t, r, "P2")
			s.holding()
			offers := 0
			for range 20 {
				out := s.after(100 * ms)
				offers += count(out, lease.Transfer)
				if renewal, ok := sent(out, lease.Renew, "P3"); ok {
					offers += count(s.response("P3", s.answer(renewal, true)).Requests, lease.Transfer)
				}
			}
			if offers > 0 != c.offered {
				t.Errorf("%s: P3 with priority %d is offered the lease of P2 %d times", policy, c.priority,
					offers)
			}
		}
	}
	r := rosterOf(3)
	r.Members[2].Priority = r.Members[1].Priority
	s := newSolo(t, r, "P3")
	s.askBy("P2", held(epoch(1, 1)))
	if v := s.askBy("P2", lease.Request{Kind: lease.Transfer, Epoch: epoch(1, 1)}); v.Granted {
		t.Error("P3 takes the lease of its equal")
	}
}
