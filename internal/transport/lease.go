package transport

import (
	"fmt"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/transport/linkpb"
)

// The limits of a request or a response.
const (
	maxStateIDBytes = 64
	maxEpoch        = lease.Epoch(1)<<53 - 1
	maxPromise      = time.Hour // a lease, or what remains of one
)

// encodeRequest returns an error for a request that no process would accept.
func encodeRequest(p lease.Request) (*linkpb.Frame, error) {
	if !knownKind(p.Kind) {
		return nil, fmt.Errorf("a request of the unknown kind %q", p.Kind)
	}
	if err := validateRequest(p); err != nil {
		return nil, err
	}
	return &linkpb.Frame{Frame: &linkpb.Frame_LeaseRequest{LeaseRequest: &linkpb.LeaseRequest{
		Kind:                  string(p.Kind),
		Group:                 p.Group,
		Epoch:                 int64(p.Epoch),
		Round:                 p.Round,
		LeaseMicroseconds:     microseconds(p.Lease),
		HeartbeatMicroseconds: microseconds(p.Heartbeat),
		Heir:                  p.Heir,
	}}}, nil
}

// decodeRequest decodes a request. A kind that is not known comes from a newer agent.
func decodeRequest(p *linkpb.LeaseRequest) (request lease.Request, known bool, err error) {
	request = lease.Request{
		Kind:      lease.Kind(p.GetKind()),
		Group:     p.GetGroup(),
		Epoch:     lease.Epoch(p.GetEpoch()),
		Round:     p.GetRound(),
		Lease:     duration(p.GetLeaseMicroseconds()),
		Heartbeat: duration(p.GetHeartbeatMicroseconds()),
		Heir:      p.GetHeir(),
	}
	if !knownKind(request.Kind) {
		return lease.Request{}, false, nil
	}
	return request, true, validateRequest(request)
}

func validateRequest(p lease.Request) error {
	return firstOf(validateEpoch(p.Epoch), validatePromise(p.Lease), validateName(p.Heir),
		validateStateID(p.Group))
}

// encodeResponse adds this process's state ID and incarnation to a response. It returns an error
// for a response that no process would accept.
func encodeResponse(v lease.Response, stateID string, incarnation uint64) (*linkpb.Reply, error) {
	if !knownKind(v.Kind) {
		return nil, fmt.Errorf("a response of the unknown kind %q", v.Kind)
	}
	if err := validateResponse(v); err != nil {
		return nil, err
	}
	return &linkpb.Reply{Reply: &linkpb.Reply_LeaseResponse{LeaseResponse: &linkpb.LeaseResponse{
		Kind:                  string(v.Kind),
		Epoch:                 int64(v.Epoch),
		Round:                 v.Round,
		Granted:               v.Granted,
		Candidate:             v.Candidate,
		Generation:            v.Generation,
		Highest:               int64(v.Highest),
		Holder:                v.Holder,
		HolderEpoch:           int64(v.HolderEpoch),
		RemainingMicroseconds: microseconds(v.Remaining),
		Heard:                 v.Heard,
		StateId:               stateID,
		Incarnation:           incarnation,
	}}}, nil
}

// decodeResponse decodes a response and its sender's state ID and incarnation. The caller sets
// From.
func decodeResponse(v *linkpb.LeaseResponse) (decided LeaseResponded, known bool, err error) {
	response := lease.Response{
		Kind:        lease.Kind(v.GetKind()),
		Epoch:       lease.Epoch(v.GetEpoch()),
		Round:       v.GetRound(),
		Granted:     v.GetGranted(),
		Candidate:   v.GetCandidate(),
		Generation:  v.GetGeneration(),
		Highest:     lease.Epoch(v.GetHighest()),
		Holder:      v.GetHolder(),
		HolderEpoch: lease.Epoch(v.GetHolderEpoch()),
		Remaining:   duration(v.GetRemainingMicroseconds()),
		Heard:       v.GetHeard(),
	}
	if !knownKind(response.Kind) {
		return LeaseResponded{}, false, nil
	}
	decided = LeaseResponded{
		Incarnation: v.GetIncarnation(),
		StateID:     v.GetStateId(),
		Response:    response,
	}
	return decided, true, firstOf(validateResponse(response), validateStateID(decided.StateID))
}

func validateResponse(v lease.Response) error {
	return firstOf(validateEpoch(v.Epoch), validateEpoch(v.Highest), validateEpoch(v.HolderEpoch),
		validateGeneration(v.Generation), validatePromise(v.Remaining), validateName(v.Holder))
}

func knownKind(k lease.Kind) bool {
	switch k {
	case lease.PreVote, lease.Vote, lease.Renew, lease.StepDown, lease.Release, lease.Transfer,
		lease.TakeOver:
		return true
	default:
		return false
	}
}

func validateEpoch(e lease.Epoch) error {
	if e < 0 || e > maxEpoch {
		return fmt.Errorf("epoch %d, want 0 to %d", int64(e), int64(maxEpoch))
	}
	return nil
}

func validateGeneration(g int64) error {
	if most := maxEpoch.Generation(); g < 0 || g > most {
		return fmt.Errorf("generation %d, want 0 to %d", g, most)
	}
	return nil
}

func validatePromise(d time.Duration) error {
	if d < 0 || d > maxPromise {
		return fmt.Errorf("a promise of %v, want 0 to %v", d, maxPromise)
	}
	return nil
}

// validateStateID checks the ID of a state directory. It ends up in the roster, the status and log
// lines.
func validateStateID(s string) error {
	if len(s) > maxStateIDBytes {
		return fmt.Errorf("a state ID of %d bytes, %d are allowed", len(s), maxStateIDBytes)
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return fmt.Errorf("the state ID %q is not printable ASCII", s)
		}
	}
	return nil
}

// microseconds rounds up, so that a promise never gets shorter on its way.
func microseconds(d time.Duration) int64 {
	if d <= 0 {
		return d.Microseconds()
	}
	return (d - 1).Microseconds() + 1
}

// duration converts values that would overflow into values that are out of bounds.
func duration(microseconds int64) time.Duration {
	return time.Duration(min(max(microseconds, -1), maxPromise.Microseconds()+1)) * time.Microsecond
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
