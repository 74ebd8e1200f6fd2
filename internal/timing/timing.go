// Package timing has the profiles of spec.timing, and says what a profile and the fields that
// override it come to. The manager, roster files and the display use the same table.
package timing

import (
	"cmp"
	"fmt"
	"time"
)

// Timing is how often the processes of a group ask, how long they wait, and how long a lease is. In
// a Timing that overrides a profile, a field that is zero is the profile's.
type Timing struct {
	Heartbeat time.Duration
	Timeout   time.Duration
	// Lease is the longest lease and LeaseMinimum the shortest; zero in Classic groups.
	Lease, LeaseMinimum time.Duration
}

// The names of the profiles.
const (
	Fast     = "Fast"
	Balanced = "Balanced"
	Patient  = "Patient"
	Default  = Balanced
)

// Profile is a choice of all fields for one purpose.
type Profile struct {
	Name string
	Timing
	// Stops is for how long all clocks of the leaseholder's machine may stop together while its links
	// are quick: afterwards it renews before another process may be elected, and nothing is lost. It
	// is less than the shortest lease minus the heartbeat, by a tenth at least.
	Stops time.Duration
	// Stands is for how long the leaseholder and its app may stand still while the clocks go on: no
	// permission ends. It is less than 9/11 of the shortest lease minus the heartbeat.
	Stands time.Duration
}

// Profiles returns the table of profiles, the quickest first.
//
// KVM stops a machine for up to 300 ms by default when it migrates it, which Balanced outlasts.
// Patient outlasts a second of standing still with room to spare: an app with a session learns of
// its deadline up to a fifth of the window late.
func Profiles() []Profile {
	const ms = time.Millisecond
	return []Profile{
		{
			Name: Fast,
			Timing: Timing{
				Heartbeat:    100 * ms,
				Timeout:      500 * ms,
				Lease:        1000 * ms,
				LeaseMinimum: 100 * ms,
			},
			Stops:  50 * ms,
			Stands: 40 * ms,
		},
		{
			Name: Balanced,
			Timing: Timing{
				Heartbeat:    100 * ms,
				Timeout:      500 * ms,
				Lease:        1000 * ms,
				LeaseMinimum: 450 * ms,
			},
			Stops:  300 * ms,
			Stands: 150 * ms,
		},
		{
			Name: Patient,
			Timing: Timing{
				Heartbeat:    500 * ms,
				Timeout:      2500 * ms,
				Lease:        5000 * ms,
				LeaseMinimum: 3000 * ms,
			},
			Stops:  2000 * ms,
			Stands: 1000 * ms,
		},
	}
}

// Of returns the profile of that name; an empty name is Default. Ok is false if there is none.
func Of(name string) (p Profile, ok bool) {
	for _, p := range Profiles() {
		if p.Name == cmp.Or(name, Default) {
			return p, true
		}
	}
	return Profile{}, false
}

// Adjusted is a value of a profile that did not fit the fields that are set, and gave way.
type Adjusted struct {
	Field        string // as in the API
	Profile      string
	Wanted, Used time.Duration
	Because      string // what it must be
}

// String says what is wrong, and what to do.
func (a Adjusted) String() string {
	return fmt.Sprintf("timing.%s of profile %s is %d, and must be %s: set timing.%s, or choose "+
		"another profile", a.Field, a.Profile, a.Wanted.Milliseconds(), a.Because, a.Field)
}

// With returns the timing of the profile, where set overrides single fields. A value of the profile
// gives way if it does not fit a field that is set: the heartbeat and the shortest lease get
// shorter, the timeout and the longest lease longer. With does not check whether the fields that
// are set fit each other.
func (p Profile) With(set Timing, guarded bool) (t Timing, adjusted []Adjusted) {
	t = Timing{
		Heartbeat:    cmp.Or(set.Heartbeat, p.Heartbeat),
		Timeout:      cmp.Or(set.Timeout, p.Timeout),
		Lease:        cmp.Or(set.Lease, p.Lease),
		LeaseMinimum: cmp.Or(set.LeaseMinimum, p.LeaseMinimum),
	}
	fit := func(field string, set time.Duration, value *time.Duration, to time.Duration, must string) {
		if set == 0 && *value != to {
			adjusted = append(adjusted, Adjusted{field, p.Name, *value, to, must})
			*value = to
		}
	}
	often := t.Heartbeat
	if set.Timeout > 0 {
		often = min(often, t.Timeout/2)
	}
	if guarded && set.Lease > 0 {
		often = min(often, t.Lease/4)
	}
	fit("heartbeatMilliseconds", set.Heartbeat, &t.Heartbeat, often,
		"at most half of timing.timeoutMilliseconds, and a quarter of timing.leaseMaximumMilliseconds")
	fit("timeoutMilliseconds", set.Timeout, &t.Timeout, max(t.Timeout, 2*t.Heartbeat),
		"at least twice timing.heartbeatMilliseconds")
	if !guarded {
		t.Lease, t.LeaseMinimum = 0, 0
		return t, adjusted
	}
	fit("leaseMaximumMilliseconds", set.Lease, &t.Lease, max(t.Lease, 4*t.Heartbeat, set.LeaseMinimum),
		"at least 4 times timing.heartbeatMilliseconds, and at least timing.leaseMinimumMilliseconds")
	fit("leaseMinimumMilliseconds", set.LeaseMinimum, &t.LeaseMinimum, min(t.LeaseMinimum, t.Lease),
		"at most timing.leaseMaximumMilliseconds")
	return t, adjusted
}
