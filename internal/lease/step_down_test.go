package lease_test

import (
	"testing"

	"github.com/podesta-dev/podesta/internal/lease"
)

// LH6: nothing is released one nanosecond too early, and nothing is handed out meanwhile.
func TestReleaseWaitsForTheApp(t *testing.T) {
	s := newSolo(t, rosterOf(3), "P3")
	s.holding()
	told := s.told
	s.do(lease.Event{Type: lease.Withdrawn})
	s.do(lease.Event{Type: lease.Told, Until: told + lease1}) // a bound that is further away says nothing new
	if n := count(s.after(told-s.now-1), lease.Release); n > 0 || s.may() {
		t.Errorf("%d releases before the app's time is over", n)
	}
	if n := count(s.after(1), lease.Release); n != 2 {
		t.Errorf("%d releases at its end", n)
	}
}

// LH6: an app that was told nothing, or whose session closed, is not waited for.
func TestReleaseAtOnce(t *testing.T) {
	s := newSolo(t, rosterOf(3), "P3")
	s.holding()
	s.told = 0
	if out := s.do(lease.Event{Type: lease.Withdrawn}); count(out.Requests, lease.Release) != 2 {
		t.Errorf("it waits for nothing: %v", out.Requests)
	}
}

// LH6: what the app was told under an earlier epoch counts, too. A roster with a shorter lease
// gives the new epoch an earlier deadline than the app was told; nobody else may get a promise
// before.
func TestReleaseWaitsForWhatWasToldUnderAnEarlierEpoch(t *testing.T) {
	s := newSolo(t, rosterOf(3), "P3")
	s.holding()
	told := s.told
	s.roster = next(s.roster, func(r *lease.Roster) { r.Lease = lease1 / 4 })
	s.do(lease.Event{Type: lease.RosterChanged, Roster: s.roster})
	var claim lease.Request
	for _, a := range s.out.Requests {
		if a.To == "P1" && a.Request.Kind == lease.Vote {
			claim = a.Request
		}
	}
	s.response("P1", s.answer(claim, true))
	if _, deadline, ok := s.Permission(); !ok || deadline >= told {
		t.Fatalf("the new deadline is %v, the old one was %v", deadline-start, told-start)
	}
	for _, way := range []string{"it steps down", "it lapses"} {
		c := &solo{
			t:       t,
			Machine: s.Clone(),
			roster:  s.roster,
			now:     s.now,
			T:       s.T,
			told:    s.told,
			config:  s.config,
		}
		all := []lease.Addressed{}
		if way == "it steps down" {
			all = c.do(lease.Event{Type: lease.Withdrawn}).Requests
		}
		if all = append(all, c.after(told-c.now-1)...); count(all, lease.Release) > 0 {
			t.Errorf("%s, and releases before the app's time is over", way)
		}
	}
}

// LH6, V11: nor is anything released that was claimed after a lease that ended without a word.
func TestReleaseAfterALeaseThatWasDropped(t *testing.T) {
	s := newSolo(t, rosterOf(3), "P3")
	s.holding()
	told := s.told
	s.do(lease.Event{Type: lease.WriteFailed})
	all := s.after(ms)
	for s.now < told-10*ms {
		for _, a := range all {
			switch a.Request.Kind {
			case lease.PreVote:
				s.response(a.To, s.answer(a.Request, true))
			case lease.Vote:
				v := s.answer(a.Request, false)
				v.Highest = a.Request.Epoch
				s.response(a.To, v)
			case lease.Release:
				t.Fatalf(
					"it releases %s after %v; the app may act until %v",
					a.Request.Epoch,
					s.now-start,
					told-start,
				)
			default:
			}
			all = append(all, s.out.Requests...)
		}
		all = s.after(5 * ms)
	}
}
