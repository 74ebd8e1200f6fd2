package ca

import (
	"context"
	"crypto/ecdsa"
	"crypto/x509"
	"errors"
	"log/slog"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/test/bubble"
)

const metricsName = "podesta-metrics.podesta-system.svc"

// serving is the certificate of one manager's metrics.
func (c *cluster) serving(now func() time.Time) *ServingCertificate {
	return &ServingCertificate{
		Live:       c.client(),
		Namespace:  system,
		DNSName:    metricsName,
		Now:        now,
		CheckEvery: DefaultCheckEvery,
		Logger:     slog.New(slog.DiscardHandler),
	}
}

// clock is the cluster's.
func (c *cluster) clock() time.Time { return c.now }

// scrape verifies the manager as a scraper does that knows a bundle and a name, and returns the
// certificate that it was shown.
func scrape(s *ServingCertificate, bundle []byte, name string, now time.Time) (*x509.Certificate, error) {
	shown, err := s.GetCertificate(nil)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	_, err = shown.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: name, CurrentTime: now})
	return shown.Leaf, err
}

// scraped is scrape by the right name, on the cluster's clock. It must succeed.
func (c *cluster) scraped(t *testing.T, s *ServingCertificate, bundle []byte) *x509.Certificate {
	t.Helper()
	leaf, err := scrape(s, bundle, metricsName, c.now)
	if err != nil {
		t.Fatal(err)
	}
	return leaf
}

func sameKey(a, b *x509.Certificate) bool {
	key, ok := a.PublicKey.(*ecdsa.PublicKey)
	return ok && key.Equal(b.PublicKey)
}

// later is a Secret that is not there before an instant.
type later struct {
	client.Reader

	at time.Time
}

func (l later) Get(ctx context.Context, key client.ObjectKey, object client.Object, o ...client.GetOption) error {
	if time.Now().Before(l.at) {
		return apierrors.NewNotFound(configMaps, key.Name)
	}
	return l.Reader.Get(ctx, key, object, o...)
}

// Without a CA handshakes fail; then they succeed without help, and the certificate is renewed at
// half of its life.
func TestAServingCertificateIsKept(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := &cluster{t: t, now: time.Now()}
		leader := c.start()
		leader.check(t)
		bundle, version := leader.bundles[0], c.version
		s := c.serving(time.Now)
		s.Live = later{Reader: s.Live, at: time.Now().Add(time.Minute)}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Start(ctx) }()

		synctest.Wait()
		if _, err := scrape(s, bundle, metricsName, time.Now()); !errors.Is(err, errNoServingCertificate) {
			t.Errorf("without a CA: %v", err)
		}
		time.Sleep(time.Minute + awaitAuthority)
		synctest.Wait()
		last, err := scrape(s, bundle, metricsName, time.Now())
		if err != nil {
			t.Fatalf("a second after there is a CA: %v", err)
		}
		for range 2 {
			half := identity.Lifetime / 2
			time.Sleep(half - 10*time.Minute)
			synctest.Wait()
			if leaf, err := scrape(s, bundle, metricsName, time.Now()); err != nil || !leaf.Equal(last) {
				t.Fatalf("before half of its life: %v, or it was renewed", err)
			}
			time.Sleep(10*time.Minute + DefaultCheckEvery)
			synctest.Wait()
			leaf, err := scrape(s, bundle, metricsName, time.Now())
			if err != nil || leaf.Equal(last) || sameKey(leaf, last) {
				t.Fatalf("after half of its life: %v, or it was not renewed", err)
			}
			last = leaf
		}
		cancel()
		if err := <-ended; err != nil || c.version != version {
			t.Errorf("it ended with %v; the Secret was written %d times", err, c.version-version)
		}
	})
}

// A scraper that copies the bundle once a day knows each manager at every time of two rotations,
// whoever of them looks at the Secret first after a step.
func TestAServingCertificateIsTrustedThroughRotations(t *testing.T) {
	c, leader := newCluster(t)
	before, after := c.serving(c.clock), c.serving(c.clock)
	type copied struct {
		at     time.Time
		bundle []byte
	}
	copies := []copied{{c.now, leader.bundles[0]}}
	signers := map[string]bool{}
	step := func() time.Duration {
		if len(c.data["next.crt"])+len(c.data["previous.crt"]) > 0 {
			return 5 * time.Hour // of a rotation
		}
		return 3 * day
	}
	for end := c.now.Add(2 * identity.AuthorityLifetime); c.now.Before(end); c.now = c.now.Add(step()) {
		before.look(t.Context())
		leader.check(t)
		after.look(t.Context())
		copies = append(copies, copied{c.now, leader.bundles[len(leader.bundles)-1]})
		for len(copies) > 1 && !copies[1].at.After(c.now.Add(-day)) {
			copies = copies[1:] // the oldest that may be in use
		}
		for _, known := range [][]byte{copies[0].bundle, copies[len(copies)-1].bundle} {
			c.scraped(t, before, known)
			signers[string(c.scraped(t, after, known).AuthorityKeyId)] = true
		}
	}
	if len(signers) < 3 {
		t.Errorf("%d CAs have signed: the CA was not rotated", len(signers))
	}
}

// It is renewed as soon as another CA signs, also where nobody has rotated anything.
func TestAServingCertificateFollowsTheSecret(t *testing.T) {
	c, leader := newCluster(t)
	s := c.serving(c.clock)
	s.look(t.Context())
	first := c.scraped(t, s, leader.bundles[0])
	s.look(t.Context())
	if !c.scraped(t, s, leader.bundles[0]).Equal(first) {
		t.Error("it was renewed although nothing has changed")
	}
	other, err := identity.NewSuccession(c.now)
	if err != nil {
		t.Fatal(err)
	}
	data, err := other.Data()
	if err != nil {
		t.Fatal(err)
	}
	c.put(data)
	s.look(t.Context())
	if c.scraped(t, s, other.Bundle()).Equal(first) {
		t.Error("the other CA has not signed")
	}
	if _, err := scrape(s, leader.bundles[0], metricsName, c.now); err == nil ||
		!strings.Contains(err.Error(), "unknown authority") {
		t.Errorf("whoever knows the first CA only: %v", err)
	}
	if _, err := scrape(s, other.Bundle(), "podesta-roster.podesta-system.svc", c.now); err == nil ||
		!strings.Contains(err.Error(), "not podesta-roster") {
		t.Errorf("by another name: %v", err)
	}
}

// Whoever keeps a serving certificate writes nothing, whatever there is or is not, and keeps what
// it has if there is nothing better.
func TestAServingCertificateOnlyReads(t *testing.T) {
	empty := &cluster{t: t, now: time.Now()}
	s := empty.serving(empty.clock)
	if next := s.look(t.Context()); next != awaitAuthority || empty.data != nil || s.held.Load() != nil {
		t.Errorf("without a CA: look again after %v, Secret %v, certificate %t", next, empty.data, s.held.Load() != nil)
	}

	c, leader := newCluster(t)
	good := maps.Clone(c.data)
	damaged := maps.Clone(c.data)
	damaged["tls.key"] = []byte("not a key")
	s = c.serving(c.clock)
	s.look(t.Context())
	first := c.scraped(t, s, leader.bundles[0])
	for what, data := range map[string]map[string][]byte{"deleted": nil, "damaged": damaged} {
		c.data = data
		version := c.version
		if next := s.look(t.Context()); next != DefaultCheckEvery || !c.scraped(t, s, leader.bundles[0]).Equal(first) {
			t.Errorf("%s: look again after %v, or another certificate", what, next)
		}
		if anew := c.serving(c.clock); anew.look(t.Context()) > DefaultCheckEvery || anew.held.Load() != nil {
			t.Errorf("%s: one that begins has a certificate", what)
		}
		if c.version != version || (c.data == nil) != (data == nil) {
			t.Errorf("%s: the Secret was written", what)
		}
	}
	c.put(good)
	version := c.version
	c.now = c.now.Add(identity.AuthorityLifetime - day/2) // too late for this CA, and nobody leads
	s.look(t.Context())
	if c.version != version {
		t.Error("it has rotated the CA")
	}
}

// slow is a manager that is stopped while it reads the Secret.
type slow struct {
	client.Reader

	c *cluster
}

func (s slow) Get(ctx context.Context, key client.ObjectKey, object client.Object, o ...client.GetOption) error {
	defer func() { s.c.now = s.c.now.Add(10 * time.Hour) }()
	return s.Reader.Get(ctx, key, object, o...)
}

// A manager that is stopped after it has read the Secret issues nothing that lasts longer than a CA
// is trusted which was replaced meanwhile.
func TestAServingCertificateEndsADayAfterTheSecretWasRead(t *testing.T) {
	c, _ := newCluster(t)
	s := c.serving(c.clock)
	s.Live = slow{s.Live, c}
	began := c.now
	s.look(t.Context())
	if held := s.held.Load(); held == nil || held.Leaf.NotAfter.After(began.Add(identity.Lifetime)) {
		t.Errorf("the certificate is %v", held)
	}
}

// All managers serve, not only the one that leads.
func TestServingCertificatesOfManagersThatDoNotLead(t *testing.T) {
	if new(ServingCertificate).NeedLeaderElection() {
		t.Error("only the leading manager has one")
	}
}
