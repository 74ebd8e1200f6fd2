package roster

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/roster/rosterpb"
)

// MaxSigned is the size of the largest signed roster that Open reads, in bytes. One of 100
// processes with the longest names is smaller.
const MaxSigned = 240 << 10

// purpose is what the manager signs a roster as.
const purpose = "roster"

// Sign returns the roster as the manager signs it. Agents pass it on as it is, so that one which
// the manager does not reach gets it from another.
func Sign(manager *identity.Keyring, r Roster) ([]byte, error) {
	data, err := proto.Marshal(rosterToWire(r))
	if err != nil {
		return nil, fmt.Errorf("the roster of %s/%s: %w", r.Namespace, r.Group, err)
	}
	s, err := manager.Sign(purpose, data)
	if err != nil {
		return nil, fmt.Errorf("the roster of %s/%s: %w", r.Namespace, r.Group, err)
	}
	return proto.Marshal(&rosterpb.SignedRoster{
		Roster:      data,
		Certificate: s.Certificate,
		Signature:   s.Value,
	})
}

// Open returns the roster in what the manager sent, or another process passed on. It returns an
// error unless the manager signed it, and its certificate is still valid. Whether the roster is
// newer than another, or of this process's group at all, is for the caller to judge.
func Open(k *identity.Keyring, signed []byte) (Roster, error) {
	if len(signed) > MaxSigned {
		return Roster{}, fmt.Errorf("a signed roster of %d bytes: at most %d are allowed",
			len(signed), MaxSigned)
	}
	var s rosterpb.SignedRoster
	if err := proto.Unmarshal(signed, &s); err != nil {
		return Roster{}, fmt.Errorf("a signed roster: %w", err)
	}
	signature := identity.Signature{Certificate: s.GetCertificate(), Value: s.GetSignature()}
	if err := k.Verify(purpose, s.GetRoster(), signature); err != nil {
		return Roster{}, fmt.Errorf("a roster: %w", err)
	}
	var w rosterpb.Roster
	if err := proto.Unmarshal(s.GetRoster(), &w); err != nil {
		return Roster{}, fmt.Errorf("a signed roster: %w", err)
	}
	r, err := rosterFromWire(&w)
	if err != nil {
		return Roster{}, fmt.Errorf("a signed roster: %w", err)
	}
	r.Signed = signed
	return r, nil
}
