package identity

import (
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestAKeyringStartsEmpty(t *testing.T) {
	k := NewKeyring(clock(noon))
	if n, ok := k.Name(); ok {
		t.Errorf("Name = %v, want none", n)
	}
	if !k.NotAfter().IsZero() || !k.RenewAt().IsZero() {
		t.Errorf("NotAfter %s, RenewAt %s; want zero times", k.NotAfter(), k.RenewAt())
	}
}

func TestAKeyringKnowsItsCertificate(t *testing.T) {
	k := newKeyring(t, newAuthority(t), scheduler2, noon)
	if n, ok := k.Name(); !ok || n != scheduler2 {
		t.Errorf("Name = %v, %t", n, ok)
	}
	if want := noon.Add(Lifetime); !k.NotAfter().Equal(want) {
		t.Errorf("NotAfter = %s, want %s", k.NotAfter(), want)
	}
	if want := noon.Add(Lifetime / 2); k.RenewAt().Sub(want).Abs() > skew {
		t.Errorf("RenewAt = %s, want about %s", k.RenewAt(), want)
	}
}

// Whoever verifies goes on with the trust that it began with, while another bundle is set.
func TestTheTrustOfAHandshakeDoesNotChange(t *testing.T) {
	k := newKeyring(t, newAuthority(t), scheduler2, noon)
	before := *k.current.Load()
	snapshot := k.current.Load()
	bundle, _, err := newAuthority(t).PEM()
	if err != nil {
		t.Fatal(err)
	}
	if err := k.SetTrust(bundle); err != nil {
		t.Fatal(err)
	}
	if *snapshot != before || k.current.Load().roots.Equal(before.roots) {
		t.Error("the trust that is in use has changed, or the new one is the same")
	}
	if blank := k.WithoutCertificate(); !blank.HasTrust() || blank.leaf() != nil {
		t.Errorf("without a certificate it has trust: %t, and the certificate %v", blank.HasTrust(), blank.leaf())
	}
}

func TestTheManagerHasACertificateButNoProcessName(t *testing.T) {
	k := newManagerKeyring(t, newAuthority(t))
	if n, ok := k.Name(); ok {
		t.Errorf("Name = %v, want none", n)
	}
	if k.NotAfter().IsZero() {
		t.Error("the manager's certificate is not known")
	}
}

func TestRefusedCredentialsLeaveTheOldOnes(t *testing.T) {
	a := newAuthority(t)
	caPEM, caKeyPEM, err := a.PEM()
	if err != nil {
		t.Fatal(err)
	}
	certPEM, keyPEM := newCertificate(t, a, scheduler2, noon)
	key := newKey(t)
	site, err := a.issue(&key.PublicKey, &url.URL{Scheme: "https", Host: "example.org"}, noon, noon.Add(Lifetime))
	if err != nil {
		t.Fatal(err)
	}
	siteKey, err := EncodeKey(key)
	if err != nil {
		t.Fatal(err)
	}
	_, otherKeyPEM := newCertificate(t, a, scheduler2, noon)
	k := newKeyring(t, a, scheduler2, noon)

	for what, tc := range map[string]struct {
		set  func() error
		want string
	}{
		"another's key": {
			func() error { return k.SetCertificate(certPEM, otherKeyPEM) },
			"reading our certificate",
		},
		"no certificate": {
			func() error { return k.SetCertificate(nil, keyPEM) },
			"reading our certificate",
		},
		"a certificate without a name": {
			func() error { return k.SetCertificate(caPEM, caKeyPEM) },
			"one URI",
		},
		"a certificate of a site": {
			func() error { return k.SetCertificate(site, siteKey) },
			"does not name a process",
		},
		"an empty bundle": {
			func() error { return k.SetTrust(nil) },
			"no certificate found",
		},
		"a bundle that is not PEM": {
			func() error { return k.SetTrust([]byte("trust me")) },
			"no certificate found",
		},
		"a bundle with a key in it": {
			func() error { return k.SetTrust(append(caPEM, caKeyPEM...)) },
			"PRIVATE KEY",
		},
		"a bundle with a leaf in it": {
			func() error { return k.SetTrust(certPEM) },
			"not an authority's",
		},
		"a bundle that is half unusable": {
			func() error { return k.SetTrust(append(caPEM, garbled...)) },
			"reading certificate 2",
		},
	} {
		t.Run(what, func(t *testing.T) {
			before := k.current.Load()
			if err := tc.set(); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
			if k.current.Load() != before {
				t.Error("the credentials changed")
			}
		})
	}
}

var garbled = []byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")

func clock(at time.Time) func() time.Time { return func() time.Time { return at } }

// newCertificate returns a key and its certificate for n, issued at that time.
func newCertificate(t testing.TB, a *Authority, n Name, issued time.Time) (certPEM, keyPEM []byte) {
	t.Helper()
	key := newKey(t)
	csr, err := Request(key)
	if err != nil {
		t.Fatal(err)
	}
	if certPEM, err = a.Sign(csr, n, issued); err != nil {
		t.Fatal(err)
	}
	if keyPEM, err = EncodeKey(key); err != nil {
		t.Fatal(err)
	}
	return certPEM, keyPEM
}

// newKeyring returns the keyring of n, certified by a at the time issued, trusting a.
func newKeyring(t testing.TB, a *Authority, n Name, issued time.Time) *Keyring {
	t.Helper()
	k := newTrustingKeyring(t, a)
	if err := k.SetCertificate(newCertificate(t, a, n, issued)); err != nil {
		t.Fatal(err)
	}
	return k
}

func newManagerKeyring(t testing.TB, a *Authority) *Keyring {
	t.Helper()
	k := newTrustingKeyring(t, a)
	certPEM, keyPEM, err := a.IssueManager(noon)
	if err != nil {
		t.Fatal(err)
	}
	if err := k.SetCertificate(certPEM, keyPEM); err != nil {
		t.Fatal(err)
	}
	return k
}

func newTrustingKeyring(t testing.TB, authorities ...*Authority) *Keyring {
	t.Helper()
	var bundle []byte
	for _, a := range authorities {
		certPEM, _, err := a.PEM()
		if err != nil {
			t.Fatal(err)
		}
		bundle = append(bundle, certPEM...)
	}
	k := NewKeyring(clock(noon))
	if err := k.SetTrust(bundle); err != nil {
		t.Fatal(err)
	}
	return k
}
