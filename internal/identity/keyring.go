package identity

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Keyring holds the credentials in use: our certificate and the authorities that we trust. Both can be replaced at any time;
// the connections made from then on use the newest, open ones stay. It is safe for concurrent use.
type Keyring struct {
	now     func() time.Time
	replace sync.Mutex // held while a new snapshot is made from the old one
	current atomic.Pointer[credentials]
}

// credentials are never changed, only replaced. Both parts are nil until they are set.
type credentials struct {
	certificate *tls.Certificate // its Leaf is set
	roots       *x509.CertPool
}

// NewKeyring makes an empty keyring. now is the clock by which certificates are judged.
func NewKeyring(now func() time.Time) *Keyring {
	k := &Keyring{now: now}
	k.current.Store(&credentials{})
	return k
}

// SetCertificate replaces our certificate and its key, both PEM. A certificate that names neither a process nor the manager
// is refused. An expired one is taken (NotAfter says so); it is of no use to peers and not shown to the manager.
func (k *Keyring) SetCertificate(certPEM, keyPEM []byte) error {
	certificate, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return fmt.Errorf("reading our certificate and key: %w", err)
	}
	uri, err := soleURI(certificate.Leaf)
	if err != nil {
		return fmt.Errorf("our certificate: %w", err)
	}
	if uri.String() != ManagerURI {
		if _, err := ParseName(uri); err != nil {
			return fmt.Errorf("our certificate: %w", err)
		}
	}
	k.update(func(c *credentials) { c.certificate = &certificate })
	return nil
}

// SetTrust replaces the authorities that are trusted. A bundle that is empty, or that cannot be read whole, is refused: it
// would cut us off, or keep a half of what was meant.
func (k *Keyring) SetTrust(bundlePEM []byte) error {
	authorities, err := parseCertificates(bundlePEM)
	if err != nil {
		return fmt.Errorf("reading the bundle of trusted authorities: %w", err)
	}
	roots := x509.NewCertPool()
	for _, authority := range authorities {
		if !authority.IsCA {
			return fmt.Errorf("the certificate of %q in the bundle of trusted authorities is not an authority's",
				authority.Subject)
		}
		roots.AddCert(authority)
	}
	k.update(func(c *credentials) { c.roots = roots })
	return nil
}

func (k *Keyring) update(change func(*credentials)) {
	k.replace.Lock()
	defer k.replace.Unlock()
	next := *k.current.Load()
	change(&next)
	k.current.Store(&next)
}

// Name is the process that our certificate names; false if there is no certificate, or if it is the manager's.
func (k *Keyring) Name() (Name, bool) {
	leaf := k.leaf()
	if leaf == nil {
		return Name{}, false
	}
	n, err := NameOf(leaf)
	return n, err == nil
}

// NotAfter is when our certificate ends; the zero time if there is none.
func (k *Keyring) NotAfter() time.Time {
	if leaf := k.leaf(); leaf != nil {
		return leaf.NotAfter
	}
	return time.Time{}
}

// RenewAt is half-way through the life of our certificate; the zero time if there is none.
func (k *Keyring) RenewAt() time.Time {
	if leaf := k.leaf(); leaf != nil {
		return leaf.NotBefore.Add(leaf.NotAfter.Sub(leaf.NotBefore) / 2)
	}
	return time.Time{}
}

func (k *Keyring) leaf() *x509.Certificate {
	if c := k.current.Load().certificate; c != nil {
		return c.Leaf
	}
	return nil
}

var (
	errNoCertificate = errors.New("no certificate of our own yet: join first")
	errNoTrust       = errors.New("no authority is trusted yet: the bundle of authorities has not been read")
)

// verify says who is at the other end of a connection, as a certificate that chains to a trusted authority and is valid now.
func (k *Keyring) verify(state tls.ConnectionState, usage x509.ExtKeyUsage) (*x509.Certificate, error) {
	roots := k.current.Load().roots
	if roots == nil {
		return nil, errNoTrust
	}
	if len(state.PeerCertificates) == 0 {
		return nil, errors.New("the other end shows no certificate")
	}
	intermediates := x509.NewCertPool()
	for _, c := range state.PeerCertificates[1:] {
		intermediates.AddCert(c)
	}
	leaf := state.PeerCertificates[0]
	_, err := leaf.Verify(x509.VerifyOptions{
		Roots:         roots,
		Intermediates: intermediates,
		CurrentTime:   k.now(),
		KeyUsages:     []x509.ExtKeyUsage{usage},
	})
	if err != nil {
		return nil, fmt.Errorf("the certificate of the other end: %w", err)
	}
	return leaf, nil
}
