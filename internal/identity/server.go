package identity

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"time"
)

// IssueServer returns a key and a certificate for a server that is known by a DNS name, for a
// Lifetime from now on. It names neither a process nor the manager, and serves for nothing but
// servers: no agent takes it for the manager's or another agent's, and the manager for no client's.
// The key is in memory only.
func (a *Authority) IssueServer(dnsName string, now time.Time) (*tls.Certificate, error) {
	notAfter := now.Add(Lifetime)
	if err := a.mustOutlive(notAfter); err != nil {
		return nil, err
	}
	key, err := NewKey()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: newSerial(),
		DNSNames:     []string{dnsName},
		NotBefore:    now.Add(-skew),
		NotAfter:     notAfter,
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	if err != nil {
		return nil, fmt.Errorf("signing the certificate of %s: %w", dnsName, err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{
		Certificate: [][]byte{der},
		PrivateKey:  key,
		Leaf:        leaf,
	}, nil
}

// Issued reports whether the authority has signed this certificate. It does not check whether the
// certificate is valid now.
func (a *Authority) Issued(leaf *x509.Certificate) bool {
	return leaf.CheckSignatureFrom(a.certificate) == nil
}

// RenewAt returns the middle of a certificate's lifetime, when it is to be renewed.
func RenewAt(leaf *x509.Certificate) time.Time {
	return leaf.NotBefore.Add(leaf.NotAfter.Sub(leaf.NotBefore) / 2)
}
