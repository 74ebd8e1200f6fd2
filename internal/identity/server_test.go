package identity

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"slices"
	"strings"
	"testing"
	"time"
)

const metrics = "podesta-metrics.podesta-system.svc"

func newServer(t *testing.T, a *Authority, now time.Time) *tls.Certificate {
	t.Helper()
	own, err := a.IssueServer(metrics, now)
	if err != nil {
		t.Fatal(err)
	}
	return own
}

// showing configures a server that shows one certificate.
func showing(own *tls.Certificate) *tls.Config {
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		NextProtos:   []string{LinkProtocol, RosterProtocol},
		Certificates: []tls.Certificate{*own},
	}
}

// A client that knows the bundle and the name takes the server's certificate, and nobody else's.
func TestWhoIsTakenForAServer(t *testing.T) {
	a, next, foreign := newAuthority(t), newAuthority(t), newAuthority(t)
	trust, both := bundle(t, a), bundle(t, a, next)
	own := newServer(t, a, noon)
	for what, tc := range map[string]struct {
		shown *tls.Certificate
		trust []byte
		name  string
		after time.Duration
		want  string // in the client's error; empty: none
	}{
		"as it was issued":               {own, trust, metrics, 0, ""},
		"at its end":                     {own, trust, metrics, Lifetime, ""},
		"after its end":                  {own, trust, metrics, Lifetime + time.Second, "expired"},
		"while the authority is changed": {newServer(t, next, noon), both, metrics, 0, ""},
		"before its authority is known":  {newServer(t, next, noon), trust, metrics, 0, "unknown authority"},
		"of another authority":           {newServer(t, foreign, noon), trust, metrics, 0, "unknown authority"},
		"by another name":                {own, trust, "podesta-roster.podesta-system.svc", 0, "not podesta-roster"},
		"in another namespace":           {own, trust, "podesta-metrics.shop.svc", 0, "not podesta-metrics.shop"},
		"the roster's server":            {newManagerKeyring(t, a).current.Load().certificate, trust, metrics, 0, "not valid for any names"},
		"a process": {newKeyring(t, a, scheduler1, noon).current.Load().certificate, trust, metrics, 0,
			"not valid for any names"},
	} {
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(tc.trust)
		_, err := tc.shown.Leaf.Verify(x509.VerifyOptions{
			Roots:       roots,
			DNSName:     tc.name,
			CurrentTime: noon.Add(tc.after),
		})
		says(t, what, err, tc.want)
	}
}

// Whoever has a server's certificate and its key can pose neither as the manager nor as a process.
func TestAServerIsNobodyElse(t *testing.T) {
	a := newAuthority(t)
	own := newServer(t, a, noon)
	agent, manager := newKeyring(t, a, scheduler1, noon), newManagerKeyring(t, a)
	for what, client := range map[string]*tls.Config{
		"the manager":                    agent.RosterClient(),
		"the manager, to one that joins": newTrustingKeyring(t, a).RosterClient(),
		"another agent":                  agent.PeerClient(scheduler2),
	} {
		_, err := connect(t, showing(own), client)
		says(t, what, err, "one URI as its only name")
	}
	client := showing(own)
	client.InsecureSkipVerify = true
	client.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		return own, nil
	}
	for what, server := range map[string]*tls.Config{
		"an agent":    agent.PeerServer(anyone),
		"the manager": manager.RosterServer(),
	} {
		err, _ := connect(t, server, client)
		says(t, what, err, "incompatible key usage")
	}
	if _, err := NameOf(own.Leaf); err == nil {
		t.Error("it names a process")
	}

	roster := []byte("a roster")
	sum := digest("roster", roster)
	key, ok := own.PrivateKey.(*ecdsa.PrivateKey)
	if !ok {
		t.Fatalf("the key is a %T", own.PrivateKey)
	}
	value, err := ecdsa.SignASN1(rand.Reader, key, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	err = agent.Verify("roster", roster, Signature{Certificate: own.Leaf.Raw, Value: value})
	says(t, "a roster that it signed", err, "only the manager signs")
}

func TestWhatAServersCertificateSays(t *testing.T) {
	a, other := newAuthority(t), newAuthority(t)
	own := newServer(t, a, noon)
	leaf := own.Leaf
	if !slices.Equal(leaf.DNSNames, []string{metrics}) || leaf.Subject.String() != "" || leaf.IsCA ||
		len(leaf.URIs)+len(leaf.IPAddresses)+len(leaf.EmailAddresses) > 0 {
		t.Errorf("it says more than its DNS name: %v, %v, subject %q", leaf.DNSNames, leaf.URIs, leaf.Subject)
	}
	if !slices.Equal(leaf.ExtKeyUsage, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}) {
		t.Errorf("it is for %v", leaf.ExtKeyUsage)
	}
	namesake := &Authority{key: newKey(t)}
	template := *a.certificate
	template.AuthorityKeyId, template.SubjectKeyId, template.PublicKey = nil, nil, namesake.key.Public()
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, namesake.key.Public(), namesake.key)
	if err != nil {
		t.Fatal(err)
	}
	if namesake.certificate, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	if !a.Issued(leaf) || other.Issued(leaf) || namesake.Issued(leaf) {
		t.Error("another authority has issued it")
	}
	if want := noon.Add(Lifetime / 2); RenewAt(leaf).Sub(want).Abs() > skew {
		t.Errorf("to be renewed at %s, want about %s", RenewAt(leaf), want)
	}
	if _, err := a.IssueServer(metrics, a.NotAfter().Add(-Lifetime+time.Second)); err == nil ||
		!strings.Contains(err.Error(), "too soon") {
		t.Errorf("at the end of the authority: %v", err)
	}
}
