package transport

import (
	"fmt"
	"time"

	"github.com/podesta-dev/podesta/internal/tenure"
	"github.com/podesta-dev/podesta/internal/transport/linkpb"
)

// What a petition or a verdict may hold.
const (
	maxMemoryBytes = 64
	maxEpoch       = tenure.Epoch(1)<<53 - 1
	maxPromise     = time.Hour // a lease, or what remains of one
)

// encodePetition refuses what could not be decoded.
func encodePetition(p tenure.Petition) (*linkpb.Frame, error) {
	petition := &linkpb.Petition{
		Kind:              string(p.Kind),
		Group:             p.Group,
		Epoch:             int64(p.Epoch),
		Round:             p.Round,
		LeaseMicroseconds: microseconds(p.Lease),
		Held:              p.Held,
		Heir:              p.Heir,
	}
	if _, known, err := decodePetition(petition); err != nil {
		return nil, err
	} else if !known {
		return nil, fmt.Errorf("a petition of the unknown kind %q", p.Kind)
	}
	return &linkpb.Frame{Frame: &linkpb.Frame_Petition{Petition: petition}}, nil
}

// decodePetition reads what a peer petitions for. A kind that is not known is a newer agent's.
func decodePetition(p *linkpb.Petition) (petition tenure.Petition, known bool, err error) {
	petition = tenure.Petition{
		Kind:  tenure.Kind(p.GetKind()),
		Group: p.GetGroup(),
		Epoch: tenure.Epoch(p.GetEpoch()),
		Round: p.GetRound(),
		Lease: duration(p.GetLeaseMicroseconds()),
		Held:  p.GetHeld(),
		Heir:  p.GetHeir(),
	}
	if !knownKind(petition.Kind) {
		return tenure.Petition{}, false, nil
	}
	return petition, true, firstOf(
		validateEpoch(petition.Epoch), validatePromise(petition.Lease), validateName(petition.Heir), validateMemory(petition.Group))
}

// encodeVerdict says also which life of ours says it. It refuses what could not be decoded.
func encodeVerdict(v tenure.Verdict, memory string, incarnation uint64) (*linkpb.Answer, error) {
	verdict := &linkpb.Verdict{
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
		Memory:                memory,
		Incarnation:           incarnation,
	}
	if _, known, err := decodeVerdict(verdict); err != nil {
		return nil, err
	} else if !known {
		return nil, fmt.Errorf("a verdict of the unknown kind %q", v.Kind)
	}
	return &linkpb.Answer{Verdict: verdict}, nil
}

// decodeVerdict reads a verdict and who says it; From is for the caller to fill in.
func decodeVerdict(v *linkpb.Verdict) (decided Decided, known bool, err error) {
	verdict := tenure.Verdict{
		Kind:        tenure.Kind(v.GetKind()),
		Epoch:       tenure.Epoch(v.GetEpoch()),
		Round:       v.GetRound(),
		Granted:     v.GetGranted(),
		Candidate:   v.GetCandidate(),
		Generation:  v.GetGeneration(),
		Highest:     tenure.Epoch(v.GetHighest()),
		Holder:      v.GetHolder(),
		HolderEpoch: tenure.Epoch(v.GetHolderEpoch()),
		Remaining:   duration(v.GetRemainingMicroseconds()),
		Heard:       v.GetHeard(),
	}
	if !knownKind(verdict.Kind) {
		return Decided{}, false, nil
	}
	decided = Decided{Incarnation: v.GetIncarnation(), Memory: v.GetMemory(), Verdict: verdict}
	return decided, true, firstOf(
		validateEpoch(verdict.Epoch), validateEpoch(verdict.Highest), validateEpoch(verdict.HolderEpoch),
		validateGeneration(verdict.Generation), validatePromise(verdict.Remaining), validateName(verdict.Holder),
		validateMemory(decided.Memory))
}

func knownKind(k tenure.Kind) bool {
	switch k {
	case tenure.Sound, tenure.Claim, tenure.Resign, tenure.Release, tenure.Offer, tenure.Yield:
		return true
	default:
		return false
	}
}

func validateEpoch(e tenure.Epoch) error {
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

// validateMemory accepts the identity of a state directory: it goes into the roster, the status and log lines.
func validateMemory(s string) error {
	if len(s) > maxMemoryBytes {
		return fmt.Errorf("a memory of %d bytes, %d are allowed", len(s), maxMemoryBytes)
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return fmt.Errorf("the memory %q is not of printable ASCII", s)
		}
	}
	return nil
}

// microseconds rounds up: a promise never gets shorter on its way.
func microseconds(d time.Duration) int64 {
	if d <= 0 {
		return d.Microseconds()
	}
	return (d - 1).Microseconds() + 1
}

// duration turns what would overflow into what is out of bounds.
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
