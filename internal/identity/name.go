// Package identity provides the names of processes, the [Authority] that certifies them, and the
// [Keyring] with the credentials that agents and the manager use towards each other.
//
// A process is named by a URI in its certificate, podesta://<namespace>/<group>/<pod>/<podUID>, and
// by nothing else: no DNS name, no address. All connections use TLS 1.3, and every connection is
// fully verified against the roots that are trusted at that moment; sessions are never resumed.
//
// # What is not guaranteed
//
//   - Revocation. The roster excludes processes that were removed from it; elsewhere a certificate
//     becomes useless when it expires.
//   - That connections end with their certificates. An open connection outlives them unless its
//     users close it; internal/transport and internal/roster do.
package identity

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// scheme is the scheme of the URIs that name processes and the manager.
const scheme = "podesta"

// ManagerURI is the SAN URI of the manager's serving certificate.
const ManagerURI = scheme + "://manager"

// Name identifies a process.
type Name struct {
	Namespace, Group, Pod, UID string
}

// URI returns the name as it appears in a certificate. It is meaningful for valid names only.
func (n Name) URI() *url.URL {
	return &url.URL{
		Scheme: scheme,
		Host:   n.Namespace,
		Path:   "/" + n.Group + "/" + n.Pod + "/" + n.UID,
	}
}

func (n Name) String() string { return n.URI().String() }

// Validate returns an error if the name is not valid.
func (n Name) Validate() error {
	return errors.Join(
		validate("namespace", n.Namespace, lower),
		validate("group", n.Group, lower),
		validate("pod", n.Pod, lower),
		validate("pod UID", n.UID, lower+upper),
	)
}

const (
	lower = "abcdefghijklmnopqrstuvwxyz0123456789-."
	upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_"
)

// validate checks one part of a name. It accepts what Kubernetes accepts, or more, but no character
// that a URI would escape. A part of dots or dashes alone would be read as a path, so each part
// must start with a letter or a digit.
func validate(what, value, allowed string) error {
	switch {
	case value == "":
		return fmt.Errorf("the %s is empty", what)
	case len(value) > 253:
		return fmt.Errorf("the %s has %d characters, 253 are allowed", what, len(value))
	case strings.ContainsFunc(value, func(r rune) bool {
		return !strings.ContainsRune(allowed, r)
	}):
		return fmt.Errorf("the %s %q has a character that is not in %q", what, value, allowed)
	case strings.ContainsRune("-._", rune(value[0])):
		return fmt.Errorf("the %s %q does not begin with a letter or a digit", what, value)
	}
	return nil
}

// ParseName parses the URI of a name. It accepts only the exact form that URI returns.
func ParseName(u *url.URL) (Name, error) {
	parts := strings.Split(strings.TrimPrefix(u.Path, "/"), "/")
	if u.Scheme != scheme || len(parts) != 3 {
		return Name{}, fmt.Errorf("%q does not name a process: want "+
			"%s://<namespace>/<group>/<pod>/<podUID>", u, scheme)
	}
	n := Name{
		Namespace: u.Host,
		Group:     parts[0],
		Pod:       parts[1],
		UID:       parts[2],
	}
	if err := n.Validate(); err != nil {
		return Name{}, fmt.Errorf("%q does not name a process: %w", u, err)
	}
	if n.String() != u.String() {
		return Name{}, fmt.Errorf("%q does not name a process: it is not written as %q", u, n)
	}
	return n, nil
}

// NameOf returns the process that a certificate names. The certificate must name exactly one
// process and nothing else. NameOf does not check whether it can be trusted.
func NameOf(c *x509.Certificate) (Name, error) {
	uri, err := soleURI(c)
	if err != nil {
		return Name{}, err
	}
	return ParseName(uri)
}

func soleURI(c *x509.Certificate) (*url.URL, error) {
	if len(c.URIs) != 1 || len(c.DNSNames)+len(c.IPAddresses)+len(c.EmailAddresses) > 0 {
		return nil, errors.New("the certificate must carry one URI as its only name")
	}
	return c.URIs[0], nil
}
