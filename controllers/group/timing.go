package group

import (
	"fmt"
	"strings"
	"time"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/timing"
)

// reasonTimingAdjusted is a reason of condition Degraded.
const reasonTimingAdjusted = "TimingAdjusted"

// timingOf returns what spec.timing comes to, and which values of its profile gave way. An object
// that the API server has never seen has no profile, which is the default.
func timingOf(group *v1.ElectionGroup) (timing.Timing, []timing.Adjusted) {
	spec := &group.Spec.Timing
	profile, _ := timing.Of(string(spec.Profile)) // the API server refuses others
	return profile.With(timing.Timing{
		Heartbeat:    milliseconds(spec.HeartbeatMilliseconds),
		Timeout:      milliseconds(spec.TimeoutMilliseconds),
		Lease:        milliseconds(spec.LeaseMaximumMilliseconds),
		LeaseMinimum: milliseconds(spec.LeaseMinimumMilliseconds),
	}, guarded(group))
}

func timingStatus(group *v1.ElectionGroup) *v1.TimingStatus {
	t, _ := timingOf(group)
	return &v1.TimingStatus{
		HeartbeatMilliseconds:    inMilliseconds(t.Heartbeat),
		TimeoutMilliseconds:      inMilliseconds(t.Timeout),
		LeaseMaximumMilliseconds: inMilliseconds(t.Lease),
		LeaseMinimumMilliseconds: inMilliseconds(t.LeaseMinimum),
	}
}

// adjustedTiming says which values of the profile do not fit the fields that are set; empty: none.
func adjustedTiming(group *v1.ElectionGroup) string {
	_, adjusted := timingOf(group)
	var all []string
	for _, a := range adjusted {
		all = append(all, fmt.Sprintf("spec.%v. Until then %d is used", a, a.Used.Milliseconds()))
	}
	return strings.Join(all, "; ")
}

//nolint:gosec // of an int32, or of a profile
func inMilliseconds(d time.Duration) int32 { return int32(d.Milliseconds()) }
