package group

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/roster"
)

// Agents get what the profile and the fields that override it come to, and the status shows the
// same. A value of the profile that does not fit gives way. Condition Degraded says what to set.
func TestTiming(t *testing.T) {
	for name, c := range map[string]struct {
		timing  v1.Timing
		want    v1.TimingStatus
		classic bool
		says    string // of condition Degraded; empty: nothing
	}{
		"none, as of an object that was never stored": {want: v1.TimingStatus{
			HeartbeatMilliseconds:    100,
			TimeoutMilliseconds:      500,
			LeaseMaximumMilliseconds: 1000,
			LeaseMinimumMilliseconds: 450,
		}},
		"a profile, and a field beside it": {
			timing: v1.Timing{Profile: v1.Fast, LeaseMaximumMilliseconds: 2000},
			want: v1.TimingStatus{
				HeartbeatMilliseconds:    100,
				TimeoutMilliseconds:      500,
				LeaseMaximumMilliseconds: 2000,
				LeaseMinimumMilliseconds: 100,
			},
		},
		"Classic": {
			timing:  v1.Timing{Profile: v1.Patient, LeaseMaximumMilliseconds: 40},
			want:    v1.TimingStatus{HeartbeatMilliseconds: 500, TimeoutMilliseconds: 2500},
			classic: true,
		},
		"what does not fit": {
			timing: v1.Timing{Profile: v1.Balanced, HeartbeatMilliseconds: 400},
			want: v1.TimingStatus{
				HeartbeatMilliseconds:    400,
				TimeoutMilliseconds:      800,
				LeaseMaximumMilliseconds: 1600,
				LeaseMinimumMilliseconds: 450,
			},
			says: "spec.timing.timeoutMilliseconds of profile Balanced is 500, and must be at least " +
				"twice timing.heartbeatMilliseconds: set timing.timeoutMilliseconds, or choose another " +
				"profile. Until then 800 is used; spec.timing.leaseMaximumMilliseconds",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := voting(3).at(roster.LeaseFollowing, 1)
			s.group.Spec.Timing = c.timing
			if c.classic {
				s.group.Spec.Safety = v1.Classic
			}
			status := decideStatus(s.observation, decideRoster(s.observation)).status
			if *status.Timing != c.want {
				t.Errorf("the status has %+v, want %+v", *status.Timing, c.want)
			}
			told := settingsOf(s.group)
			if err := (roster.Roster{
				Namespace:    "n",
				Group:        "g",
				Generation:   1,
				Algorithm:    told.Algorithm,
				Safety:       told.Safety,
				Heartbeat:    told.Heartbeat,
				Timeout:      told.Timeout,
				Lease:        told.Lease,
				LeaseMinimum: told.LeaseMinimum,
				Preemption:   told.Preemption,
			}).Validate(); err != nil {
				t.Error(err)
			}
			if told.Heartbeat != milliseconds(c.want.HeartbeatMilliseconds) ||
				told.Timeout != milliseconds(c.want.TimeoutMilliseconds) ||
				told.Lease != milliseconds(c.want.LeaseMaximumMilliseconds) ||
				told.LeaseMinimum != milliseconds(c.want.LeaseMinimumMilliseconds) {
				t.Errorf("agents are told %+v, want %+v", told, c.want)
			}
			degraded := meta.FindStatusCondition(status.Conditions, v1.ConditionDegraded)
			if c.says == "" == strings.Contains(degraded.Message, "spec.timing.") ||
				!strings.Contains(degraded.Message, c.says) {
				t.Errorf("condition Degraded: %s: %q, want it to say %q", degraded.Reason,
					degraded.Message, c.says)
			}
		})
	}
}
