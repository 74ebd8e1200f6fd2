package identity

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"slices"
	"time"
)

// The times by which the authorities of a cluster succeed one another. The next authority is made
// (Prepared), trusted for longer than any certificate lives, and only then signs (TookOver); the
// one before it stays trusted until all that it has signed has expired (Retired). So whoever has a
// valid certificate when the next authority begins to sign got it together with a bundle that
// contains the next authority: no link breaks, and nobody has to coordinate that. The exception: an
// authority that is too old to sign is replaced at once, distributed or not, because nobody could
// join.
const (
	// AuthorityLifetime is how long an authority of a Succession is valid.
	AuthorityLifetime = 365 * 24 * time.Hour
	// AuthorityOverlap is how long before the end of the signing authority the next one is made.
	AuthorityOverlap = 60 * 24 * time.Hour
	// SpreadFor is how long the next authority is trusted before it signs anything.
	SpreadFor = Lifetime + margin
	// RetireAfter is how long an authority is trusted after it has stopped signing.
	RetireAfter = Lifetime + margin

	// margin covers the time between making an authority and distributing it, and the differences
	// of clocks.
	margin = time.Hour
	// maxPrevious is the largest number of authorities that are trusted after they have stopped
	// signing. Without manual changes there is one.
	maxPrevious = 4
)

// Succession is the set of authorities of a cluster at one time: the one that signs, the next one,
// and the previous ones. Its methods do not modify it.
type Succession struct {
	current  *Authority
	next     *Authority          // already trusted; nil most of the time
	previous []*x509.Certificate // still trusted, until retire
	retire   time.Time
}

// Step is a step of a succession.
type Step string

// The steps, in the order of an authority's life.
const (
	Prepared Step = "Prepared" // the next authority was made and is trusted from now on
	TookOver Step = "TookOver" // the next authority signs
	Retired  Step = "Retired"  // the previous authorities are no longer trusted
)

// NewSuccession returns a succession with a new authority that signs at once.
func NewSuccession(now time.Time) (Succession, error) {
	first, err := makeAuthority(now, AuthorityLifetime)
	return Succession{current: first}, err
}

// Current returns the authority that signs.
func (s Succession) Current() *Authority { return s.current }

// Advance makes the step that is due, and returns it; the empty Step if none is due. Several steps
// may be due, so call it until none is. distributed is true if this manager has itself served this
// succession's bundle for as long as a bundle takes to reach all mounts. If the authority that
// signs is too old to sign, the next one takes over regardless.
func (s Succession) Advance(now time.Time, distributed bool) (Succession, Step, error) {
	switch {
	case len(s.previous) > 0 && now.After(s.retire):
		s.previous, s.retire = nil, time.Time{}
		return s, Retired, nil
	case s.next == nil && now.After(s.current.successorDue()):
		prepared, err := s.Prepare(now)
		return prepared, Prepared, err
	case s.next != nil && (distributed && now.After(s.next.spreadAt()) || !s.current.canSign(now)):
		old := s.current.certificate
		s.current, s.next = s.next, nil
		return s.Keep(old, now), TookOver, nil
	}
	return s, "", nil
}

// Prepare makes the next authority now, unless there is one.
func (s Succession) Prepare(now time.Time) (Succession, error) {
	if s.next != nil {
		return s, nil
	}
	next, err := makeAuthority(now, AuthorityLifetime)
	if err != nil {
		return s, err
	}
	s.next = next
	return s, nil
}

// Keep keeps trusting an authority that no longer signs, for as long as a certificate that it has
// signed may be valid.
func (s Succession) Keep(old *x509.Certificate, now time.Time) Succession {
	s.previous = append(slices.Clone(s.previous), old)
	s.previous = s.previous[max(0, len(s.previous)-maxPrevious):]
	s.retire = now.Add(RetireAfter)
	return s
}

// KeepCurrentOf calls Keep for the signing authority of another succession, unless it is already
// trusted.
func (s Succession) KeepCurrentOf(other Succession, now time.Time) Succession {
	if slices.ContainsFunc(s.trusted(), other.current.certificate.Equal) {
		return s
	}
	return s.Keep(other.current.certificate, now)
}

// Bundle returns the certificates of all trusted authorities as PEM. It does not change when the
// next authority takes over.
func (s Succession) Bundle() []byte {
	var bundle []byte
	for _, c := range s.trusted() {
		bundle = append(bundle, encodeCertificate(c.Raw)...)
	}
	return bundle
}

// trusted returns the trusted certificates in the order in which they were made.
func (s Succession) trusted() []*x509.Certificate {
	all := append(slices.Clone(s.previous), s.current.certificate)
	if s.next != nil {
		all = append(all, s.next.certificate)
	}
	slices.SortFunc(all, func(a, b *x509.Certificate) int {
		if order := a.NotBefore.Compare(b.NotBefore); order != 0 {
			return order
		}
		return bytes.Compare(a.Raw, b.Raw)
	})
	return slices.CompactFunc(all, (*x509.Certificate).Equal)
}

// successorDue returns when the next authority is to be made. An authority that a user supplied is
// replaced on the same schedule, even if it is valid for longer.
func (a *Authority) successorDue() time.Time {
	end := a.certificate.NotBefore.Add(AuthorityLifetime)
	if a.certificate.NotAfter.Before(end) {
		end = a.certificate.NotAfter
	}
	return end.Add(-AuthorityOverlap)
}

func (a *Authority) spreadAt() time.Time { return a.certificate.NotBefore.Add(skew + SpreadFor) }

// canSign reports whether a certificate that the authority signs now expires before the authority
// does.
func (a *Authority) canSign(now time.Time) bool {
	return !now.Add(Lifetime).After(a.certificate.NotAfter)
}

// The names under which a Succession is stored. The first two are those of a Secret of type
// kubernetes.io/tls.
const (
	currentCert, currentKey     = "tls.crt", "tls.key"
	nextCert, nextKey           = "next.crt", "next.key"
	previousCert, previousUntil = "previous.crt", "previous.until"
)

// Data encodes the succession, including the keys of the current and the next authority. The keys
// of previous ones are not kept.
func (s Succession) Data() (map[string][]byte, error) {
	data := map[string][]byte{}
	var err error
	if data[currentCert], data[currentKey], err = s.current.PEM(); err != nil {
		return nil, err
	}
	if s.next != nil {
		if data[nextCert], data[nextKey], err = s.next.PEM(); err != nil {
			return nil, err
		}
	}
	if len(s.previous) > 0 {
		for _, c := range s.previous {
			data[previousCert] = append(data[previousCert], encodeCertificate(c.Raw)...)
		}
		data[previousUntil] = []byte(s.retire.UTC().Format(time.RFC3339))
	}
	return data, nil
}

// ParseSuccession parses the output of Data. It returns an error that names the part which cannot
// be parsed.
func ParseSuccession(data map[string][]byte) (s Succession, err error) {
	if s.current, err = ParseAuthority(data[currentCert], data[currentKey]); err != nil {
		return s, fmt.Errorf("%s and %s: %w", currentCert, currentKey, err)
	}
	if len(data[nextCert])+len(data[nextKey]) > 0 {
		if s.next, err = ParseAuthority(data[nextCert], data[nextKey]); err != nil {
			return s, fmt.Errorf("%s and %s: %w", nextCert, nextKey, err)
		}
	}
	if len(data[previousCert]) == 0 {
		return s, nil
	}
	if s.previous, err = parseCertificates(data[previousCert]); err != nil {
		return s, fmt.Errorf("%s: %w", previousCert, err)
	}
	if slices.ContainsFunc(s.previous, func(c *x509.Certificate) bool { return !c.IsCA }) {
		return s, fmt.Errorf("%s: contains a certificate that is not an authority's", previousCert)
	}
	if s.retire, err = time.Parse(time.RFC3339, string(data[previousUntil])); err != nil {
		return s, fmt.Errorf("%s: %w", previousUntil, err)
	}
	return s, nil
}
