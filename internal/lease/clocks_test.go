package lease_test

import (
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
)

// G1 at the edge of what is promised: the holder's clock is slow by ρ, the voters' are fast, and
// the holder is cut off at any phase of its heartbeat. Its app and that of the next one never may
// act at once.
func TestDriftingClocks(t *testing.T) {
	for phase := range 20 {
		g := newPlay(rosterOf(3), false)
		g.nominate("P3")
		g.run(300 * ms)
		g.setRate(g.actor("P3"), 0.9)
		g.setRate(g.actor("P1"), 1.1)
		g.setRate(g.actor("P2"), 1.1)
		g.run(time.Duration(300+7*phase) * ms)
		g.part("P3", "P1", true)
		g.part("P3", "P2", true)
		for range 2500 {
			g.run(ms)
			if names := g.acting(); len(names) > 1 {
				t.Fatalf("cut off in phase %d: %v may act:\n%s", phase, names, g.out.String())
			}
		}
		if name, _ := g.holder(); name != "P2" {
			t.Errorf("cut off in phase %d: in the end %q holds", phase, name)
		}
	}
}

// LH7: clocks that disagree by more than ρ of the way and 50 ms depose the holder; those that agree
// within it do not.
func TestClockDisagreement(t *testing.T) {
	for _, c := range []struct {
		name  string
		drift lease.Reading
		holds bool
	}{
		{"none", lease.Reading{}, true},
		{"the wall clock within ε", lease.Reading{Wall: 50 * ms}, true},
		{"the wall clock steps ahead", lease.Reading{Wall: 70 * ms}, false},
		{"the wall clock is set back", lease.Reading{Wall: -70 * ms}, false},
		{"suspended: only the boot clock went on", lease.Reading{Raw: -70 * ms}, false},
		{"the raw clock ran away", lease.Reading{Raw: 70 * ms}, false},
		{"the boot clock stood still", lease.Reading{Raw: 500 * ms, Wall: 500 * ms}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSolo(t, rosterOf(3), "P3")
			s.holding()
			s.asleep(99 * ms)
			s.drift = c.drift
			out := s.do(lease.Event{Type: lease.Tick})
			if s.may() != c.holds || out.Revoke == c.holds {
				t.Errorf("may act is %v, stopped is %v", s.may(), out.Revoke)
			}
			if _, steppedDown := sent(out.Requests, lease.StepDown, "P1"); steppedDown == c.holds {
				t.Errorf("steppedDown is %v", steppedDown)
			}
		})
	}
}

// LH7: nor does a process whose clocks disagree become the leaseholder.
func TestCandidateWithAWrongRate(t *testing.T) {
	s := newSolo(t, rosterOf(3), "P3")
	for range 120 {
		s.asleep(100 * ms)
		s.drift.Wall += 20 * ms
		s.do(lease.Event{Type: lease.Tick})
	}
	s.do(lease.Event{Type: lease.Nominated, Process: "P3"})
	if _, asked := sent(s.out.Requests, lease.PreVote, "P1"); asked || !s.Rests() {
		t.Errorf("it asks for votes: %t, rests: %t", asked, s.Rests())
	}
}

// LH7: a rate that is off is noticed as soon as the anchor is five seconds old, and not before.
func TestHowSoonARateIsNoticed(t *testing.T) {
	s := newSolo(t, rosterOf(3), "P3")
	for passed := 50 * ms; passed <= 5*time.Second; passed += 50 * ms {
		s.asleep(50 * ms)
		s.drift.Wall = passed / 5
		s.do(lease.Event{Type: lease.Tick})
		if noticed := s.Rests(); noticed != (passed == 5*time.Second) {
			t.Fatalf("after %v it is noticed: %t", passed, noticed)
		}
	}
}

// LH7: a boot clock that goes back is no clock.
func TestBootClockGoesBack(t *testing.T) {
	s := newSolo(t, rosterOf(3), "P3")
	s.holding()
	s.asleep(50 * ms)
	s.do(lease.Event{Type: lease.Tick})
	s.drift = lease.Reading{Boot: -60 * ms, Raw: -60 * ms, Wall: -60 * ms}
	if s.do(lease.Event{Type: lease.Tick}); s.may() {
		t.Error("it goes on")
	}
}

// LH7: a rate that is off is noticed within ten seconds, whatever the lease and however often the
// clocks are read: in each heartbeat alone it is within ε. A rate within ρ is not.
func TestClockRates(t *testing.T) {
	for _, length := range []time.Duration{100 * ms, lease1, 10 * lease1} {
		for _, c := range []struct {
			name  string
			drift func(passed time.Duration) lease.Reading
			holds bool
		}{
			{"none", func(time.Duration) lease.Reading { return lease.Reading{} }, true},
			{"the wall clock is slewed by 10 %",
				func(d time.Duration) lease.Reading { return lease.Reading{Wall: d / 10} }, true},
			{"the wall clock is slewed by 20 % for a second, which is too short for a rate",
				func(d time.Duration) lease.Reading {
					return lease.Reading{Wall: min(d, time.Second) / 5}
				}, true},
			{"the boot clock runs at 0.9, the others are right",
				func(d time.Duration) lease.Reading { return lease.Reading{Raw: d / 9, Wall: d / 9} },
				true},
			{"the boot clock runs at 0.8",
				func(d time.Duration) lease.Reading { return lease.Reading{Raw: d / 4, Wall: d / 4} },
				false},
			{"the boot clock runs at 1.25",
				func(d time.Duration) lease.Reading { return lease.Reading{Raw: -d / 5, Wall: -d / 5} },
				false},
			{"the wall clock runs at 1.2 after a minute", func(d time.Duration) lease.Reading {
				return lease.Reading{Wall: max(d-time.Minute, 0) / 5}
			}, false},
			{"the wall clock runs at 1.12",
				func(d time.Duration) lease.Reading { return lease.Reading{Wall: d * 12 / 100} }, false},
		} {
			t.Run(length.String()+" "+c.name, func(t *testing.T) {
				r := rosterOf(3)
				r.Lease, r.Heartbeat = length, length/10
				s := newSolo(t, r, "P3")
				s.holding()
				for end := s.now + 75*time.Second; s.now < end && s.may(); {
					s.asleep(r.Heartbeat / 2)
					s.drift = c.drift(s.now - start)
					out := s.do(lease.Event{Type: lease.Tick})
					if p, ok := sent(out.Requests, lease.Renew, "P1"); ok {
						s.response("P1", s.answer(p, true))
					}
				}
				if s.may() != c.holds {
					t.Errorf("after %v it holds: %v", s.now-start, s.may())
				}
			})
		}
	}
}
