package timing

import (
	"testing"
	"time"
)

// What the table says that a profile outlasts follows from its lease, with a tenth to spare: the
// next renewal is due at most a heartbeat after the last one. An app with a session knows of a
// deadline that is a fifth of the window too early.
func TestWhatProfilesOutlast(t *testing.T) {
	for _, p := range Profiles() {
		heartbeat := min(p.Heartbeat, p.LeaseMinimum/4)
		if most := (p.LeaseMinimum - heartbeat) * 10 / 11; p.Stops > most {
			t.Errorf("%s: clocks may stop for %v, not for %v", p.Name, most, p.Stops)
		}
		if window := p.LeaseMinimum * 9 / 11; p.Stands >= window*4/5-heartbeat {
			t.Errorf("%s: an app may stand still for %v, not for %v", p.Name,
				window*4/5-heartbeat, p.Stands)
		}
		if is, adjusted := p.With(Timing{}, true); is != p.Timing || adjusted != nil {
			t.Errorf("%s comes to %+v: %v", p.Name, is, adjusted)
		}
	}
	if p, ok := Of(""); !ok || p.Name != Balanced || p.Stops < 300*time.Millisecond {
		t.Errorf("the default is %+v", p)
	}
	if p, _ := Of(Patient); p.Stands < time.Second {
		t.Errorf("Patient outlasts %v", p.Stands)
	}
	if _, ok := Of("Slow"); ok {
		t.Error("there is a profile Slow")
	}
}

// A field that is set alone counts, and the rest of the profile gives way to it. Agents accept the
// outcome.
func TestOneFieldThatIsSet(t *testing.T) {
	for _, p := range Profiles() {
		for d := 10 * time.Millisecond; d <= 10*time.Minute; d = d*5/4 + time.Millisecond {
			for field, set := range map[string]Timing{
				"heartbeat": {Heartbeat: min(d, time.Minute)},
				"timeout":   {Timeout: max(d, 20*time.Millisecond)},
				"longest":   {Lease: max(d, 40*time.Millisecond)},
				"shortest":  {LeaseMinimum: max(d, 40*time.Millisecond)},
			} {
				for _, guarded := range []bool{true, false} {
					is, _ := p.With(set, guarded)
					want := is
					overridden := func(of *time.Duration, by time.Duration) {
						if by > 0 {
							*of = by
						}
					}
					overridden(&want.Heartbeat, set.Heartbeat)
					overridden(&want.Timeout, set.Timeout)
					if guarded {
						overridden(&want.Lease, set.Lease)
						overridden(&want.LeaseMinimum, set.LeaseMinimum)
					}
					if is != want {
						t.Fatalf("%s with %s %v: %+v", p.Name, field, d, is)
					}
					if is.Heartbeat < 10*time.Millisecond || is.Timeout < 2*is.Heartbeat ||
						guarded && (is.Lease < 4*is.Heartbeat || is.LeaseMinimum > is.Lease ||
							is.LeaseMinimum < 40*time.Millisecond || is.Lease > 10*time.Minute) {
						t.Fatalf("%s with %s %v: %+v", p.Name, field, d, is)
					}
				}
			}
		}
	}
}
