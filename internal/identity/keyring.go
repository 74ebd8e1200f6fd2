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

// Keyring holds the credentials in use: this process's certificate and the trusted authorities.
// Both can be replaced at any time. New connections use the newest credentials, open ones continue.
// A Keyring is safe for concurrent use.
type Keyring struct {
	now     func() time.Time
	replace sync.Mutex // held while a new snapshot is made from the old one
	current atomic.Pointer[credentials]
}

// credentials is immutable and only replaced as a whole. Both parts are nil until they are set.
type credentials struct {
	certificate *tls.Certificate // its Leaf is set
	roots       *x509.CertPool
}

// NewKeyring returns an empty keyring. now is the clock by which certificates are checked.
func NewKeyring(now func() time.Time) *Keyring {
	k := &Keyring{now: now}
	k.current.Store(&credentials{})
	return k
}

// SetCertificate replaces this process's certificate and its key, both PEM. It rejects a
// certificate that names neither a process nor the manager. It accepts an expired one (see
// NotAfter), which peers reject and which is not shown to the manager.
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

// SetTrust replaces the trusted authorities. It rejects a bundle that is empty or partly
// unreadable, which would cut this process off, or trust only a part of what was intended.
func (k *Keyring) SetTrust(bundlePEM []byte) error {
	authorities, err := parseCertificates(bundlePEM)
	if err != nil {
		return fmt.Errorf("reading the bundle of trusted authorities: %w", err)
	}
	roots := x509.NewCertPool()
	for _, authority := range authorities {
		if !authority.IsCA {
			return fmt.Errorf("the certificate of %q in the bundle of trusted authorities is not "+
				"an authority's",
				authority.Subject)
		}
		roots.AddCert(authority)
	}
	k.update(func(c *credentials) { c.roots = roots })
	return nil
}

// HasTrust reports whether any authority is trusted.
func (k *Keyring) HasTrust() bool { return k.current.Load().roots != nil }

// WithoutCertificate returns another keyring that trusts the same authorities now, and has no
// certificate.
func (k *Keyring) WithoutCertificate() *Keyring {
	blank := NewKeyring(k.now)
	blank.current.Store(&credentials{roots: k.current.Load().roots})
	return blank
}

func (k *Keyring) update(change func(*credentials)) {
	k.replace.Lock()
	defer k.replace.Unlock()
	next := *k.current.Load()
	change(&next)
	k.current.Store(&next)
}

// Name returns the process that this process's certificate names. It returns false if there is no
// certificate, or if it is the manager's.
func (k *Keyring) Name() (Name, bool) {
	leaf := k.leaf()
	if leaf == nil {
		return Name{}, false
	}
	n, err := NameOf(leaf)
	return n, err == nil
}

// NotAfter returns when this process's certificate expires; the zero time if there is none.
func (k *Keyring) NotAfter() time.Time {
	if leaf := k.leaf(); leaf != nil {
		return leaf.NotAfter
	}
	return time.Time{}
}

// RenewAt returns the middle of the lifetime of this process's certificate; the zero time if there
// is none.
func (k *Keyring) RenewAt() time.Time {
	if leaf := k.leaf(); leaf != nil {
		return RenewAt(leaf)
	}
	return time.Time{}
}

// EndOf returns when a certificate, PEM, expires; the zero time if it cannot be read.
func EndOf(certPEM []byte) time.Time {
	all, err := parseCertificates(certPEM)
	if err != nil {
		return time.Time{}
	}
	return all[0].NotAfter
}

// leaf returns this process's certificate; nil if there is none.
func (k *Keyring) leaf() *x509.Certificate {
	if c := k.current.Load().certificate; c != nil {
		return c.Leaf
	}
	return nil
}

var (
	errNoCertificate = errors.New("this process has no certificate yet: join first")
	errNoTrust       = errors.New("no trusted authorities yet: the CA bundle has not been read")
)

// verify checks that the other end's certificate is signed by a trusted authority and valid now,
// and returns it. Authorities sign each certificate themselves. A longer chain comes from a
// stranger, and to check it would cost this process far more than the stranger.
func (k *Keyring) verify(state tls.ConnectionState, usage x509.ExtKeyUsage) (*x509.Certificate,
	error) {
	roots := k.current.Load().roots
	if roots == nil {
		return nil, errNoTrust
	}
	switch n := len(state.PeerCertificates); n {
	case 0:
		return nil, errors.New("the other end presented no certificate")
	case 1:
	default:
		return nil, fmt.Errorf("the other end presented %d certificates, and one is all that an "+
			"authority signs", n)
	}
	leaf := state.PeerCertificates[0]
	_, err := leaf.Verify(x509.VerifyOptions{
		Roots:       roots,
		CurrentTime: k.now(),
		KeyUsages:   []x509.ExtKeyUsage{usage},
	})
	if err != nil {
		return nil, fmt.Errorf("the certificate of the other end: %w", err)
	}
	return leaf, nil
}
