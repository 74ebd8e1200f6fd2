package identity

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"time"
)

// Lifetime is how long a certificate is valid. It is renewed after half of it.
const Lifetime = 24 * time.Hour

const (
	staticLifetime = 10 * 365 * 24 * time.Hour // of an authority that nobody rotates
	// the tolerated difference of clocks: certificates are valid that much earlier
	skew = time.Minute
)

// Authority certifies processes, the manager, and servers that are known by a DNS name.
type Authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// NewAuthority returns a new authority that is valid for ten years, for use where no manager
// rotates it. Its subject is unique, so that two authorities of one cluster can be distinguished
// while an old one and a new one overlap.
func NewAuthority(now time.Time) (*Authority, error) { return makeAuthority(now, staticLifetime) }

func makeAuthority(now time.Time, lifetime time.Duration) (*Authority, error) {
	key, err := NewKey()
	if err != nil {
		return nil, err
	}
	serial := newSerial()
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: fmt.Sprintf("podesta %x", serial)},
		NotBefore:             now.Add(-skew),
		NotAfter:              now.Add(lifetime),
		IsCA:                  true,
		BasicConstraintsValid: true,
		MaxPathLenZero:        true,
		KeyUsage:              x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("making the authority's certificate: %w", err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &Authority{certificate: certificate, key: key}, nil
}

// ParseAuthority reads the output of PEM.
func ParseAuthority(certPEM, keyPEM []byte) (*Authority, error) {
	certificates, err := parseCertificates(certPEM)
	if err != nil {
		return nil, fmt.Errorf("the authority's certificate: %w", err)
	}
	certificate := certificates[0]
	if !certificate.IsCA || certificate.KeyUsage&x509.KeyUsageCertSign == 0 {
		return nil, fmt.Errorf("the certificate of %s is not an authority's: it may not sign others",
			certificate.Subject)
	}
	key, err := parseKey(keyPEM)
	if err != nil {
		return nil, fmt.Errorf("the authority's key: %w", err)
	}
	if !key.PublicKey.Equal(certificate.PublicKey) {
		return nil, errors.New("the authority's key does not belong to its certificate: restore " +
			"both from the same copy")
	}
	return &Authority{certificate: certificate, key: key}, nil
}

// PEM encodes the authority. Others trust the certificate; the key is secret.
func (a *Authority) PEM() (cert, key []byte, err error) {
	key, err = EncodeKey(a.key)
	return encodeCertificate(a.certificate.Raw), key, err
}

// NotAfter returns when the authority expires.
func (a *Authority) NotAfter() time.Time { return a.certificate.NotAfter }

// Sign certifies that the owner of the request's key is n, for a Lifetime from now on. It uses only
// the public key of the request; the caller must have verified that n is right. It returns PEM,
// leaf first, without the root.
func (a *Authority) Sign(csrDER []byte, n Name, now time.Time) (chainPEM []byte, err error) {
	return a.SignUntil(csrDER, n, now, now.Add(Lifetime))
}

// SignUntil is Sign with another expiry: where no manager renews certificates, they must last
// longer.
func (a *Authority) SignUntil(csrDER []byte, n Name, now, notAfter time.Time) (chainPEM []byte,
	err error) {
	if err := n.Validate(); err != nil {
		return nil, fmt.Errorf("not a name to certify: %w", err)
	}
	request, err := x509.ParseCertificateRequest(csrDER)
	if err != nil {
		return nil, fmt.Errorf("reading the certificate signing request: %w", err)
	}
	if err := request.CheckSignature(); err != nil {
		return nil, fmt.Errorf("the certificate signing request is not signed by its own key: %w",
			err)
	}
	key, ok := request.PublicKey.(*ecdsa.PublicKey)
	if !ok || key.Curve != elliptic.P256() {
		return nil, errors.New("the certificate signing request must have an ECDSA P-256 key")
	}
	return a.issue(key, n.URI(), now, notAfter)
}

// IssueManager returns a key and a certificate for the manager, for a Lifetime from now on.
func (a *Authority) IssueManager(now time.Time) (certPEM, keyPEM []byte, err error) {
	key, err := NewKey()
	if err != nil {
		return nil, nil, err
	}
	uri, err := url.Parse(ManagerURI)
	if err != nil {
		return nil, nil, err
	}
	if certPEM, err = a.issue(&key.PublicKey, uri, now, now.Add(Lifetime)); err != nil {
		return nil, nil, err
	}
	keyPEM, err = EncodeKey(key)
	return certPEM, keyPEM, err
}

func (a *Authority) issue(key *ecdsa.PublicKey, uri *url.URL, now,
	notAfter time.Time) (certPEM []byte, err error) {
	if err := a.mustOutlive(notAfter); err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: newSerial(),
		URIs:         []*url.URL{uri},
		NotBefore:    now.Add(-skew),
		NotAfter:     notAfter,
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key, a.key)
	if err != nil {
		return nil, fmt.Errorf("signing the certificate of %s: %w", uri, err)
	}
	return encodeCertificate(der), nil
}

// mustOutlive returns an error if the authority expires before a certificate that it is to sign.
func (a *Authority) mustOutlive(notAfter time.Time) error {
	if !notAfter.After(a.certificate.NotAfter) {
		return nil
	}
	return fmt.Errorf("the authority expires at %s, too soon to certify anything: replace it",
		a.certificate.NotAfter.UTC().Format(time.RFC3339))
}

// newSerial returns 127 random bits: positive, and within the 20 octets of RFC 5280.
func newSerial() *big.Int {
	var octets [16]byte
	rand.Read(octets[:]) // never fails (crypto/rand since Go 1.24)
	octets[0] &= 0x7f
	octets[0] |= 0x40
	return new(big.Int).SetBytes(octets[:])
}
