package lease_test

import (
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
)

// beating is P3 of five, whose lease is the shortest, at the instant at which it sends a round of
// renewals.
func beating(t *testing.T) (s *solo, round []lease.Addressed) {
	t.Helper()
	r := rosterOf(5)
	r.LeaseMinimum = 100 * ms
	s = newSolo(t, r, "P3")
	s.elected()
	for end := s.now + 5*time.Second; s.now < end; {
		s.grant(s.nextRound())
	}
	if s.Asks() != 100*ms {
		t.Fatalf("it asks for %v", s.Asks())
	}
	return s, s.nextRound()
}

// nextRound lets time pass until it renews its lease.
func (s *solo) nextRound() []lease.Addressed {
	s.t.Helper()
	for range 100 {
		s.now = max(s.Next(), s.now)
		if out := s.do(lease.Event{Type: lease.Tick}); count(out.Requests, lease.Renew) > 0 {
			return out.Requests
		}
	}
	s.t.Fatal("it sends no renewal")
	return nil
}

// grant has everybody grant the renewals that were sent, until one of them makes a difference.
func (s *solo) grant(sent []lease.Addressed) {
	for _, a := range sent {
		if s.response(a.To, s.answer(a.Request, true)); s.out.Delay != nil {
			return
		}
	}
}

// LH10: when the lease runs out or becomes longer, the machine names who was late: this process, its
// voters, or its app.
func TestWhoWasLate(t *testing.T) {
	for name, c := range map[string]struct {
		then func(*solo, []lease.Addressed) // after a round of renewals was sent
		want lease.Delay
	}{
		"nobody answers any more": {
			func(s *solo, _ []lease.Addressed) {
				_, deadline, _ := s.Permission()
				s.after(deadline - s.now)
			},
			lease.Delay{
				Late: lease.LateVoters, Lapsed: true, Gap: lease.Window(100 * ms), Rounds: 3, Granted: 1,
			},
		},
		"it stands still for too long": {
			func(s *solo, round []lease.Addressed) {
				s.grant(round)
				s.asleep(200 * ms)
				s.do(lease.Event{Type: lease.Tick})
			},
			lease.Delay{
				Late: lease.LateAgent, Lapsed: true, Gap: 200 * ms, Own: lease.Window(100*ms) - 25*ms,
			},
		},
		"it stands still when its lease is as good as lost": {
			func(s *solo, _ []lease.Addressed) {
				_, deadline, _ := s.Permission()
				s.after(deadline - s.now - ms)
				s.asleep(time.Second)
				s.do(lease.Event{Type: lease.Tick})
			},
			lease.Delay{
				Late: lease.LateVoters, Lapsed: true, Gap: lease.Window(100*ms) - ms + time.Second,
				Rounds: 3, Granted: 1,
			},
		},
		// A heartbeat of the longer lease is longer than the window of the shorter.
		"nobody answers any more when the lease has just become longer": {
			func(s *solo, round []lease.Addressed) {
				s.after(40 * ms)
				for _, a := range round {
					s.response(a.To, s.answer(a.Request, true))
				}
				_, deadline, _ := s.Permission()
				s.after(deadline - s.now)
			},
			lease.Delay{
				Late: lease.LateVoters, Lapsed: true, Gap: lease.Window(100 * ms), Rounds: 2, Granted: 1,
			},
		},
		"answers take 20 ms": {
			func(s *solo, round []lease.Addressed) {
				s.after(20 * ms)
				s.grant(round)
			},
			lease.Delay{Late: lease.LateVoters, Gap: 45 * ms, Rounds: 1, Granted: 3},
		},
		"it stands still before the next round": {
			func(s *solo, round []lease.Addressed) {
				s.grant(round)
				s.asleep(45 * ms)
				s.grant(s.nextRound())
			},
			lease.Delay{Late: lease.LateAgent, Gap: 45 * ms, Own: 20 * ms, Rounds: 1, Granted: 3},
		},
		"its app asks too seldom": {
			func(s *solo, _ []lease.Addressed) {
				s.do(lease.Event{Type: lease.AppAsked, Length: 60 * ms})
			},
			lease.Delay{Late: lease.LateApp, Gap: 60 * ms},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, round := beating(t)
			c.then(s, round)
			d := s.out.Delay
			if d == nil {
				t.Fatal("it tells of no delay")
			}
			if *d != c.want {
				t.Errorf("it tells of %+v\nwant %+v", *d, c.want)
			}
			if !d.Lapsed && s.Asks() <= 100*ms {
				t.Errorf("it asks for %v", s.Asks())
			}
		})
	}
}

// A lease that is as long as it may be becomes no longer, and a gap of which the shortest lease
// takes no notice is no delay.
func TestADelayThatChangesNothing(t *testing.T) {
	s, round := beating(t)
	s.after(10 * ms)
	if s.grant(round); s.out.Delay != nil {
		t.Errorf("after 10 ms: %+v", *s.out.Delay)
	}
	s.do(lease.Event{Type: lease.AppAsked, Length: 600 * ms})
	if s.Asks() != s.roster.Lease {
		t.Fatalf("it asks for %v", s.Asks())
	}
	if s.do(lease.Event{Type: lease.AppAsked, Length: 600 * ms}); s.out.Delay != nil {
		t.Errorf("with the longest lease: %+v", *s.out.Delay)
	}
}
