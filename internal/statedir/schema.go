package statedir

import (
	"time"

	"github.com/podesta-dev/podesta/internal/roster"
)

// rosterV1 is the schema of a roster.Roster. It is not the roster file's (roster.Parse): that one
// is written by people, has defaults, and knows no group object.
type rosterV1 struct {
	Namespace               string       `json:"namespace"`
	Group                   string       `json:"group"`
	GroupUID                string       `json:"groupUID"`
	Generation              int64        `json:"generation"`
	Algorithm               string       `json:"algorithm"`
	Safety                  string       `json:"safety"`
	HeartbeatNanoseconds    int64        `json:"heartbeatNanoseconds"`
	TimeoutNanoseconds      int64        `json:"timeoutNanoseconds"`
	LeaseNanoseconds        int64        `json:"leaseNanoseconds"`
	LongestNanoseconds      int64        `json:"longestLeaseNanoseconds"`
	Rules                   int32        `json:"rules"`                   // 0 counts as 1
	LeaseMinimumNanoseconds int64        `json:"leaseMinimumNanoseconds"` // 0: the lease
	Preemption              string       `json:"preemption"`
	StableNanoseconds       int64        `json:"stableNanoseconds"`
	AppHealth               *appHealthV1 `json:"appHealth"` // null: the app is not asked
	Processes               []processV1  `json:"processes"`
	Signed                  []byte       `json:"signed"` // null: no manager signed it
}

type appHealthV1 struct {
	Handler            string `json:"handler"`
	Port               int32  `json:"port"`
	Path               string `json:"path"`
	Service            string `json:"service"`
	PeriodNanoseconds  int64  `json:"periodNanoseconds"`
	TimeoutNanoseconds int64  `json:"timeoutNanoseconds"`
	FailureThreshold   int32  `json:"failureThreshold"`
	SuccessThreshold   int32  `json:"successThreshold"`
}

type processV1 struct {
	Name     string        `json:"name"`
	UID      string        `json:"uid"`
	Address  string        `json:"address"`
	Priority int32         `json:"priority"`
	Voter    bool          `json:"voter"`
	StateID  string        `json:"stateID"`
	Created  int64         `json:"created,omitempty"`
	Grace    time.Duration `json:"graceNanoseconds,omitempty"`
}

func rosterV1Of(r roster.Roster) rosterV1 {
	v := rosterV1{
		Namespace:               r.Namespace,
		Group:                   r.Group,
		GroupUID:                r.GroupUID,
		Generation:              r.Generation,
		Algorithm:               r.Algorithm,
		Safety:                  r.Safety,
		HeartbeatNanoseconds:    int64(r.Heartbeat),
		TimeoutNanoseconds:      int64(r.Timeout),
		LeaseNanoseconds:        int64(r.Lease),
		LongestNanoseconds:      int64(r.LongestLease),
		Rules:                   r.Rules,
		LeaseMinimumNanoseconds: int64(r.LeaseMinimum),
		Preemption:              r.Preemption,
		StableNanoseconds:       int64(r.Stable),
		Processes:               make([]processV1, 0, len(r.Processes)),
		Signed:                  r.Signed,
	}
	if h := r.AppHealth; h != (roster.AppHealth{}) {
		v.AppHealth = &appHealthV1{
			Handler:            h.Handler,
			Port:               h.Port,
			Path:               h.Path,
			Service:            h.Service,
			PeriodNanoseconds:  int64(h.Period),
			TimeoutNanoseconds: int64(h.Timeout),
			FailureThreshold:   h.FailureThreshold,
			SuccessThreshold:   h.SuccessThreshold,
		}
	}
	for _, p := range r.Processes {
		v.Processes = append(v.Processes, processV1(p))
	}
	return v
}

func (v rosterV1) roster() roster.Roster {
	r := roster.Roster{
		Namespace:    v.Namespace,
		Group:        v.Group,
		GroupUID:     v.GroupUID,
		Generation:   v.Generation,
		Algorithm:    v.Algorithm,
		Safety:       v.Safety,
		Heartbeat:    time.Duration(v.HeartbeatNanoseconds),
		Timeout:      time.Duration(v.TimeoutNanoseconds),
		Lease:        time.Duration(v.LeaseNanoseconds),
		LongestLease: time.Duration(v.LongestNanoseconds),
		Rules:        v.Rules,
		LeaseMinimum: time.Duration(v.LeaseMinimumNanoseconds),
		Preemption:   v.Preemption,
		Stable:       time.Duration(v.StableNanoseconds),
		Signed:       v.Signed,
	}
	if h := v.AppHealth; h != nil {
		r.AppHealth = roster.AppHealth{
			Handler:          h.Handler,
			Port:             h.Port,
			Path:             h.Path,
			Service:          h.Service,
			Period:           time.Duration(h.PeriodNanoseconds),
			Timeout:          time.Duration(h.TimeoutNanoseconds),
			FailureThreshold: h.FailureThreshold,
			SuccessThreshold: h.SuccessThreshold,
		}
	}
	for _, p := range v.Processes {
		r.Processes = append(r.Processes, roster.Process(p))
	}
	return r
}
