package lease_test

import (
	"testing"

	"github.com/podesta-dev/podesta/internal/lease"
)

// PR3: who is offered the lease asks for support, as the voters would promise if the holder
// released. Those that use another generation, or are bound to somebody else, are no support.
func TestSupport(t *testing.T) {
	for _, c := range []struct {
		name   string
		v      func(*lease.Response)
		yields bool
	}{
		{"bound to the holder",
			func(v *lease.Response) {
				v.Heard, v.Holder, v.HolderEpoch = true, "P2",
					epoch(1, 1)
			}, true},
		{"bound to nobody", func(v *lease.Response) { v.Granted = true }, true},
		{"bound to another one",
			func(v *lease.Response) { v.Holder, v.HolderEpoch = "P1", epoch(1, 9) }, false},
		{"of another epoch of it",
			func(v *lease.Response) { v.Holder, v.HolderEpoch = "P2", epoch(1, 9) }, false},
		{"of another generation", func(v *lease.Response) {
			v.Heard, v.Holder, v.HolderEpoch, v.Generation = true, "P2", epoch(1, 1), 2
		}, false},
		{"silent: it is new", func(*lease.Response) {}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := rosterOf(4)
			r.Members[3].Voter = false
			s := newSolo(t, r, "P4") // no voter: the others decide
			s.askBy("P2", lease.Request{Kind: lease.Renew, Epoch: epoch(1, 1), Lease: lease1})
			if v := s.askBy("P2",
				lease.Request{Kind: lease.Transfer, Epoch: epoch(1, 1)}); !v.Granted {
				t.Fatal("it does not consider the offer")
			}
			p := s.sent(lease.PreVote, "P1")
			for _, q := range []string{"P1", "P3"} {
				v := s.answer(p, false)
				c.v(&v)
				s.response(q, v)
			}
			if _, yields := sent(s.out.Requests, lease.TakeOver, "P2"); yields != c.yields {
				t.Errorf("it says TAKE OVER: %v", yields)
			}
		})
	}
}

// C8, PR3: the leaseholder that offered its lease is gone. A process that asks for support asks about
// that one now.
func TestATransferDoesNotHideALostLeaseholder(t *testing.T) {
	s := newSolo(t, rosterOf(3), "P3")
	s.askBy("P2", lease.Request{Kind: lease.Renew, Epoch: epoch(1, 1), Lease: lease1})
	s.askBy("P2", lease.Request{Kind: lease.Transfer, Epoch: epoch(1, 1)})
	offer := s.sent(lease.PreVote, "P1")
	s.do(lease.Event{Type: lease.LinkDown, Process: "P2"})
	p, ok := sent(s.after(5*ms), lease.PreVote, "P1")
	if !ok || p.Round == offer.Round {
		t.Error("it does not ask about the leaseholder")
	}
}

// PR3, PR5: who considers an offer: a candidate above the holder that follows it with this epoch.
func TestConsidered(t *testing.T) {
	for _, c := range []struct {
		name      string
		from      string
		e         lease.Epoch
		before    lease.EventType
		considers bool
	}{
		{"the holder", "P2", epoch(1, 1), lease.Tick, true},
		{"one that does not hold", "P1", epoch(1, 1), lease.Tick, false},
		{"another epoch", "P2", epoch(1, 2), lease.Tick, false},
		{"withdrawn", "P2", epoch(1, 1), lease.Withdrawn, false},
	} {
		s := newSolo(t, rosterOf(3), "P3")
		s.askBy("P2", lease.Request{Kind: lease.Renew, Epoch: epoch(1, 1), Lease: lease1})
		s.do(lease.Event{Type: c.before})
		if v := s.askBy(c.from,
			lease.Request{Kind: lease.Transfer, Epoch: c.e}); v.Granted != c.considers {
			t.Errorf("%s: it considers the offer: %v", c.name, v.Granted)
		}
	}
}

// A hand-over is no overlap: whatever the heir does, the old holder's app acts no more when the
// heir's does (G1), also without a session.
func TestHandOverWithoutOverlap(t *testing.T) {
	for n := 2; n <= 5; n++ {
		r := rosterOf(n)
		r.Preemption = lease.Always
		g := newPlay(r, false)
		lower, higher := r.Members[n-2].Name, r.Members[n-1].Name
		g.nominate(lower)
		for range 3000 {
			g.run(ms)
			if names := g.acting(); len(names) > 1 {
				t.Fatalf("%d voters: %v may act:\n%s", n, names, g.out.String())
			}
		}
		if name, _ := g.holder(); name != higher {
			t.Errorf("%d voters: %q holds in the end:\n%s", n, name, g.out.String())
		}
	}
}
