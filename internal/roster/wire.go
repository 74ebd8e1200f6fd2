package roster

import (
	"errors"
	"math"
	"slices"
	"time"

	"github.com/podesta-dev/podesta/internal/roster/rosterpb"
)

// The conversions between the Go types and the wire. Decoding validates, so nothing out of bounds
// leaves this file.

//nolint:gosec // a valid roster's milliseconds fit: an hour at most
func rosterToWire(r Roster) *rosterpb.Roster {
	w := &rosterpb.Roster{
		Namespace:                r.Namespace,
		Group:                    r.Group,
		GroupUid:                 r.GroupUID,
		Generation:               r.Generation,
		Algorithm:                r.Algorithm,
		Safety:                   r.Safety,
		HeartbeatMilliseconds:    int32(r.Heartbeat.Milliseconds()),
		TimeoutMilliseconds:      int32(r.Timeout.Milliseconds()),
		LeaseMaximumMilliseconds: int32(r.Lease.Milliseconds()),
		Preemption:               r.Preemption,
		StableMilliseconds:       int32(r.Stable.Milliseconds()),
		AppHealth:                healthToWire(r.AppHealth),

		LongestLeaseMilliseconds: int32(r.LongestLease.Milliseconds()),
		Rules:                    r.Rules,
		LeaseMinimumMilliseconds: int32(r.LeaseMinimum.Milliseconds()),
	}
	for _, p := range r.Processes {
		w.Processes = append(w.Processes, &rosterpb.Process{
			Name:     p.Name,
			Uid:      p.UID,
			Address:  p.Address,
			Priority: p.Priority,
			Voter:    p.Voter,
			StateId:  p.StateID,
			Created:  p.Created,

			GraceMilliseconds: int32(p.Grace.Milliseconds()),
		})
	}
	return w
}

func rosterFromWire(w *rosterpb.Roster) (Roster, error) {
	r := Roster{
		Namespace:  w.GetNamespace(),
		Group:      w.GetGroup(),
		GroupUID:   w.GetGroupUid(),
		Generation: w.GetGeneration(),
		Algorithm:  w.GetAlgorithm(),
		Safety:     w.GetSafety(),
		Heartbeat:  time.Duration(w.GetHeartbeatMilliseconds()) * time.Millisecond,
		Timeout:    time.Duration(w.GetTimeoutMilliseconds()) * time.Millisecond,
		Lease:      time.Duration(w.GetLeaseMaximumMilliseconds()) * time.Millisecond,
		Preemption: w.GetPreemption(),
		Stable:     time.Duration(w.GetStableMilliseconds()) * time.Millisecond,
		AppHealth:  healthFromWire(w.GetAppHealth()),

		LongestLease: time.Duration(w.GetLongestLeaseMilliseconds()) * time.Millisecond,
		Rules:        w.GetRules(),
		LeaseMinimum: time.Duration(w.GetLeaseMinimumMilliseconds()) * time.Millisecond,
	}
	if len(w.GetProcesses()) > MaxProcesses {
		return Roster{}, errors.New("the roster has too many processes")
	}
	for _, p := range w.GetProcesses() {
		r.Processes = append(r.Processes, Process{
			Name:     p.GetName(),
			UID:      p.GetUid(),
			Address:  p.GetAddress(),
			Priority: p.GetPriority(),
			Voter:    p.GetVoter(),
			StateID:  p.GetStateId(),
			Created:  p.GetCreated(),
			Grace:    time.Duration(p.GetGraceMilliseconds()) * time.Millisecond,
		})
	}
	return r, r.Validate()
}

func reportToWire(r Report) *rosterpb.Report {
	w := &rosterpb.Report{
		StateId:      r.StateID,
		GroupUid:     r.GroupUID,
		Generation:   r.Generation,
		Incarnation:  r.Incarnation,
		Coordinator:  r.Coordinator,
		Electing:     r.Electing,
		Withdrawn:    r.Withdrawn,
		NotCandidate: r.NotCandidate,
		Leaving:      r.Leaving,
		Left:         r.Left,
		Version:      r.Version,
		Epoch:        r.Epoch,
		LeaseState:   r.LeaseState,
		Rules:        r.Rules,
	}
	for _, row := range r.Table {
		w.Table = append(w.Table, &rosterpb.Row{
			Name:     row.Name,
			State:    row.State,
			Unlinked: row.Unlinked,
		})
	}
	if e := r.LastElection; e != nil {
		w.LastElection = &rosterpb.Election{
			Decision:             e.Decision,
			Initiator:            e.Initiator,
			Reason:               e.Reason,
			Sent:                 int32(min(max(e.Sent, 0), math.MaxInt32)),
			DurationMicroseconds: max(e.Duration, 0).Microseconds(),
			Epoch:                e.Epoch,
		}
	}
	return w
}

func reportFromWire(w *rosterpb.Report) (Report, error) {
	r := Report{
		StateID:      w.GetStateId(),
		GroupUID:     w.GetGroupUid(),
		Generation:   w.GetGeneration(),
		Incarnation:  w.GetIncarnation(),
		Coordinator:  w.GetCoordinator(),
		Electing:     w.GetElecting(),
		Withdrawn:    w.GetWithdrawn(),
		NotCandidate: w.GetNotCandidate(),
		Leaving:      w.GetLeaving(),
		Left:         w.GetLeft(),
		Version:      w.GetVersion(),
		Epoch:        w.GetEpoch(),
		LeaseState:   w.GetLeaseState(),
		Rules:        w.GetRules(),
	}
	for _, row := range w.GetTable() {
		r.Table = append(r.Table, Row{
			Name:     row.GetName(),
			State:    knownState(row.GetState()),
			Unlinked: row.GetUnlinked(),
		})
	}
	if e := w.GetLastElection(); e != nil {
		duration := min(e.GetDurationMicroseconds(), math.MaxInt64/int64(time.Microsecond))
		r.LastElection = &Election{
			Decision:  e.GetDecision(),
			Initiator: e.GetInitiator(),
			Reason:    e.GetReason(),
			Sent:      int(e.GetSent()),
			Duration:  time.Duration(max(duration, -1)) * time.Microsecond,
			Epoch:     e.GetEpoch(),
		}
	}
	return r, r.Validate()
}

// clone returns a report that shares no memory with r.
func (r Report) clone() Report {
	r.Table = slices.Clone(r.Table)
	if r.LastElection != nil {
		e := *r.LastElection
		r.LastElection = &e
	}
	return r
}

// knownState returns Unknown for a state that only a newer agent knows.
func knownState(state string) string {
	switch state {
	case Normal, Coordinator, Crashed, NotAnswering:
		return state
	default:
		return Unknown
	}
}
