package identity

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"strings"
	"testing"
	"time"
)

// noon is the time at which the tests play; they do not read the machine's clock.
var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func TestAnAuthorityIsReadBack(t *testing.T) {
	a := newAuthority(t)
	certPEM, keyPEM, err := a.PEM()
	if err != nil {
		t.Fatal(err)
	}
	b, err := ParseAuthority(certPEM, keyPEM)
	if err != nil {
		t.Fatal(err)
	}
	if !b.certificate.Equal(a.certificate) || !b.key.Equal(a.key) {
		t.Error("the authority read back is another one")
	}
	if c := b.certificate; c.MaxPathLen != 0 || !c.MaxPathLenZero {
		t.Error("it may certify other authorities")
	}

	other, err := NewAuthority(noon)
	if err != nil {
		t.Fatal(err)
	}
	_, otherKey, err := other.PEM()
	if err != nil {
		t.Fatal(err)
	}
	leaf, _, err := a.IssueManager(noon)
	if err != nil {
		t.Fatal(err)
	}
	without := func(change func(*x509.Certificate)) []byte {
		template := *a.certificate
		template.AuthorityKeyId = nil
		change(&template)
		der, err := x509.CreateCertificate(rand.Reader, &template, &template, a.key.Public(), a.key)
		if err != nil {
			t.Fatal(err)
		}
		return encodeCertificate(der)
	}
	for what, tc := range map[string]struct{ cert, key []byte }{
		"one that may not sign": {without(func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageDigitalSignature }), keyPEM},
		"one of no authority, that may sign": {without(func(c *x509.Certificate) {
			c.IsCA, c.MaxPathLenZero, c.MaxPathLen = false, false, -1
		}), keyPEM},
		"nothing":                       {nil, nil},
		"no key":                        {certPEM, nil},
		"another's key":                 {certPEM, otherKey},
		"a key where the cert belongs":  {keyPEM, keyPEM},
		"a certificate of no authority": {leaf, keyPEM},
	} {
		if _, err := ParseAuthority(tc.cert, tc.key); err == nil {
			t.Errorf("%s: ParseAuthority accepts it", what)
		}
	}
}

func TestTwoAuthoritiesDifferInTheirSubject(t *testing.T) {
	a, b := newAuthority(t), newAuthority(t)
	if a.certificate.Subject.String() == b.certificate.Subject.String() {
		t.Errorf("both are %s", a.certificate.Subject)
	}
}

func TestSignTakesNothingButTheKeyFromTheRequest(t *testing.T) {
	a := newAuthority(t)
	key := newKey(t)
	csr, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject:  pkix.Name{CommonName: "podesta://manager"},
		DNSNames: []string{"podesta-roster"},
	}, key)
	if err != nil {
		t.Fatal(err)
	}
	chain, err := a.Sign(csr, scheduler2, noon)
	if err != nil {
		t.Fatal(err)
	}
	certificates, err := parseCertificates(chain)
	if err != nil {
		t.Fatal(err)
	}
	leaf := certificates[0]
	if n, err := NameOf(leaf); err != nil || n != scheduler2 {
		t.Errorf("the certificate names %v, %v", n, err)
	}
	if leaf.Subject.String() != "" || leaf.IsCA {
		t.Errorf("the certificate says more than its URI: subject %q, authority %t", leaf.Subject,
			leaf.IsCA)
	}
	if !key.PublicKey.Equal(leaf.PublicKey) {
		t.Error("the certificate is for another key")
	}
	if want := noon.Add(-time.Minute); !leaf.NotBefore.Equal(want) {
		t.Errorf("valid from %s, want %s", leaf.NotBefore, want)
	}
	if want := noon.Add(Lifetime); !leaf.NotAfter.Equal(want) {
		t.Errorf("valid until %s, want %s", leaf.NotAfter, want)
	}
}

func TestSignRefuses(t *testing.T) {
	a := newAuthority(t)
	good := newRequest(t)
	tampered := append([]byte(nil), good...)
	tampered[len(tampered)-1] ^= 1
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	big, err := Request(p384)
	if err != nil {
		t.Fatal(err)
	}
	for what, tc := range map[string]struct {
		csr  []byte
		name Name
		now  time.Time
		want string
	}{
		"a request that its key has not signed": {tampered, scheduler2, noon, "not signed by its " +
			"own key"},
		"what is no request": {[]byte("x"), scheduler2, noon, "reading the certificate " +
			"signing request"},
		"another kind of key":     {big, scheduler2, noon, "P-256"},
		"no name":                 {good, Name{}, noon, "the namespace is empty"},
		"when the authority ends": {good, scheduler2, a.NotAfter().Add(-time.Hour), "too soon"},
	} {
		t.Run(what, func(t *testing.T) {
			if _, err := a.Sign(tc.csr, tc.name, tc.now); err == nil ||
				!strings.Contains(err.Error(), tc.want) {
				t.Errorf("Sign: %v, want %q", err, tc.want)
			}
		})
	}
}

func newAuthority(t testing.TB) *Authority {
	t.Helper()
	a, err := NewAuthority(noon)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func newRequest(t testing.TB) []byte {
	t.Helper()
	csr, err := Request(newKey(t))
	if err != nil {
		t.Fatal(err)
	}
	return csr
}
