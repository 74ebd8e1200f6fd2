package identity

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"slices"
	"time"
)

// How the authorities of a cluster follow one another. No link breaks by it and nobody needs to be asked: whoever shows a
// valid certificate when the next authority begins to sign got that certificate when the next one was trusted already, and
// the bundle of trusted authorities with it.
const (
	// AuthorityLifetime is how long an authority is valid that a Succession makes.
	AuthorityLifetime = 365 * 24 * time.Hour
	// AuthorityOverlap is how long before the end of the one that signs the next one is made.
	AuthorityOverlap = 60 * 24 * time.Hour
	// SpreadFor is how long the next one is trusted before it signs anything.
	SpreadFor = Lifetime + margin
	// RetireAfter is how long one that has signed is trusted after that.
	RetireAfter = Lifetime + margin

	// margin is for what happens between an authority being made and being handed out, and for clocks that differ.
	margin = time.Hour
	// maxPrevious bounds those that are trusted after they have signed. There is one, unless people interfere.
	maxPrevious = 4
)

// Succession is the authorities of a cluster at a time: the one that signs, the one that will, and those that did. Its
// methods change nothing in it.
type Succession struct {
	current  *Authority
	next     *Authority          // trusted already; nil most of the time
	previous []*x509.Certificate // trusted still, until retire
	retire   time.Time
}

// Step is what a succession has come to.
type Step string

// The steps, in their order.
const (
	Retired  Step = "Retired"  // those that did sign are trusted no more
	Prepared Step = "Prepared" // there is a next one, which is trusted from now on
	TookOver Step = "TookOver" // the next one signs
)

// NewSuccession begins with a new authority, which signs at once.
func NewSuccession(now time.Time) (Succession, error) {
	first, err := makeAuthority(now, AuthorityLifetime)
	return Succession{current: first}, err
}

// Current is the authority that signs.
func (s Succession) Current() *Authority { return s.current }

// Advance makes the step that is due; none if there is none. Several may be due: Advance until there is none. Settled says that
// whoever is going to sign has itself handed out this succession's bundle for as long as it takes to reach what is mounted.
func (s Succession) Advance(now time.Time, settled bool) (Succession, Step, error) {
	switch {
	case len(s.previous) > 0 && now.After(s.retire):
		s.previous, s.retire = nil, time.Time{}
		return s, Retired, nil
	case s.next == nil && now.After(s.current.successorDue()):
		prepared, err := s.Prepare(now)
		return prepared, Prepared, err
	case s.next != nil && (settled && now.After(s.next.spreadAt()) || !s.current.canSign(now)):
		old := s.current.certificate
		s.current, s.next = s.next, nil
		return s.Keep(old, now), TookOver, nil
	}
	return s, "", nil
}

// Prepare makes the next authority now, if there is none yet.
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

// Keep goes on trusting an authority, which signs no more, for as long as something that it has signed may be valid.
func (s Succession) Keep(old *x509.Certificate, now time.Time) Succession {
	s.previous = append(slices.Clone(s.previous), old)
	s.previous = s.previous[max(0, len(s.previous)-maxPrevious):]
	s.retire = now.Add(RetireAfter)
	return s
}

// KeepCurrentOf is Keep for the authority that signs in another succession, unless it is trusted here.
func (s Succession) KeepCurrentOf(other Succession, now time.Time) Succession {
	if slices.ContainsFunc(s.trusted(), other.current.certificate.Equal) {
		return s
	}
	return s.Keep(other.current.certificate, now)
}

// Bundle is the certificates of all that are trusted, as PEM. It changes only when they do, not when another one of them signs.
func (s Succession) Bundle() []byte {
	var bundle []byte
	for _, c := range s.trusted() {
		bundle = append(bundle, encodeCertificate(c.Raw)...)
	}
	return bundle
}

// trusted is in the order in which they were made.
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

// successorDue is when the next one is made. One that was made to last longer is not used for longer.
func (a *Authority) successorDue() time.Time {
	end := a.certificate.NotBefore.Add(AuthorityLifetime)
	if a.certificate.NotAfter.Before(end) {
		end = a.certificate.NotAfter
	}
	return end.Add(-AuthorityOverlap)
}

func (a *Authority) spreadAt() time.Time { return a.certificate.NotBefore.Add(skew + SpreadFor) }

// canSign: whatever it certifies must end before it does.
func (a *Authority) canSign(now time.Time) bool {
	return !now.Add(Lifetime).After(a.certificate.NotAfter)
}

// What a Succession is kept as, by name. The first two are those of a Secret of type kubernetes.io/tls.
const (
	currentCert, currentKey     = "tls.crt", "tls.key"
	nextCert, nextKey           = "next.crt", "next.key"
	previousCert, previousUntil = "previous.crt", "previous.until"
)

// Data is the succession in writing, keys included. The key of one that has signed is not kept.
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

// ParseSuccession reads what Data wrote. All of it must be in order: what cannot be read is an error that names its part.
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
		return s, fmt.Errorf("%s: there is a certificate in it that is not an authority's", previousCert)
	}
	if s.retire, err = time.Parse(time.RFC3339, string(data[previousUntil])); err != nil {
		return s, fmt.Errorf("%s: %w", previousUntil, err)
	}
	return s, nil
}
