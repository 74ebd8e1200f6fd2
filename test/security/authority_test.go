package security

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podesta-dev/podesta/controllers/ca"
	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/test/envtest"
)

// TestTheNextAuthorityIsTrustedBeforeItSigns starts a manager with a CA that is near its end.
func TestTheNextAuthorityIsTrustedBeforeItSigns(t *testing.T) {
	system, namespace := newSystem(t), newNamespace(t)
	old, err := identity.NewSuccession(time.Now().Add(identity.AuthorityOverlap - identity.AuthorityLifetime - time.Hour))
	must(t, err)
	putAuthority(t, system, old)
	m := startManager(t, system, "")
	a := join(t, m, newPod(t, namespace, 0))
	a.Follows(t)
	bundle := bundleIn(t, system)
	if n := bytes.Count(bundle, []byte("BEGIN")); n != 2 {
		t.Fatalf("%d authorities are trusted, want the old one and the next", n)
	}
	a.Awaits(t, "the bundle with the next authority", func() bool { return a.Trust() == string(bundle) })
	eventually(t, "the bundle in the namespace", func() bool {
		mounted, err := server.MountedTrust(namespace)
		return err == nil && bytes.Equal(mounted, bundle)
	})
	if !isSignedBy(t, a, old.Bundle()) {
		t.Error("the next authority signs already")
	}
}

// TestRotation has the next authority take over, which has been trusted for days, while an agent is
// there that the old one certified.
func TestRotation(t *testing.T) {
	system, namespace := newSystem(t), newNamespace(t)
	old, err := identity.NewSuccession(time.Now().Add(identity.AuthorityOverlap - identity.AuthorityLifetime - time.Hour))
	must(t, err)
	prepared, err := old.Prepare(time.Now().Add(-2 * identity.SpreadFor))
	must(t, err)
	putAuthority(t, system, prepared)
	before, err := prepared.Data()
	must(t, err)
	m := startManager(t, system, "")
	pod := newPod(t, namespace, 0)
	a := join(t, m, pod, func(a *envtest.Agent) {
		name := identity.Name{Namespace: namespace, Group: "scheduler", Pod: pod.Name, UID: string(pod.UID)}
		cert, key := certify(t, old.Current(), name, time.Now().Add(identity.Lifetime))
		must(t, a.Keyring.SetTrust(prepared.Bundle()))
		must(t, a.Keyring.SetCertificate(cert, key))
	})
	a.Follows(t)
	eventually(t, "the next authority to take over", func() bool {
		return bytes.Equal(secretIn(t, system).Data["tls.crt"], before["next.crt"])
	})
	if after := secretIn(t, system).Data; len(after["next.key"]) > 0 || !bytes.Equal(after["previous.crt"], before["tls.crt"]) {
		t.Error("want the old one trusted still, and no next one")
	}
	b := join(t, m, newPod(t, namespace, 1))
	b.Follows(t)
	if !isSignedBy(t, b, before["next.crt"]) {
		t.Error("the old authority still signs")
	}
	trustEachOther(t, a, b)
	a.Look(func() {
		if a.Joins != 0 || a.Trust() != string(prepared.Bundle()) {
			t.Errorf("%s joined anew %d times; want its certificate to serve, and both authorities trusted", a.Pod.Name, a.Joins)
		}
	})
}

// TestTheSecretIsDeletedWhileAManagerLeads: no agent loses anything by it.
func TestTheSecretIsDeletedWhileAManagerLeads(t *testing.T) {
	system, namespace := newSystem(t), newNamespace(t)
	m := startManager(t, system, "")
	a := join(t, m, newPod(t, namespace, 0))
	a.Follows(t)
	before := secretIn(t, system)
	must(t, kube.Delete(bg, before))
	a.Awaits(t, "another authority beside the old one", func() bool { return strings.Count(a.Trust(), "BEGIN") == 2 })
	after := secretIn(t, system)
	if !bytes.Equal(after.Data["tls.key"], before.Data["tls.key"]) || len(after.Data["next.key"]) == 0 {
		t.Error("want the CA in use in the new Secret, and one to replace it")
	}
	b := join(t, m, newPod(t, namespace, 1))
	b.Follows(t)
	trustEachOther(t, a, b)
	a.Look(func() {
		if a.Joins != 1 {
			t.Errorf("the agent joined %d times, want once", a.Joins)
		}
	})
}

// TestTheSecretIsDeletedWhileNoManagerRuns: there is a new CA. Nobody can tell its manager from an
// impostor who has forged what is mounted: agents follow it when their certificates have ended, or
// their pods are made anew. Until then they trust each other.
func TestTheSecretIsDeletedWhileNoManagerRuns(t *testing.T) {
	system, namespace := newSystem(t), newNamespace(t)
	m := startManager(t, system, "")
	a, b := join(t, m, newPod(t, namespace, 0)), join(t, m, newPod(t, namespace, 1))
	a.Follows(t)
	b.Follows(t)
	m.Stop()
	old := secretIn(t, system)
	lost, err := identity.ParseSuccession(old.Data)
	must(t, err)
	must(t, kube.Delete(bg, old))
	m = startManager(t, system, m.Address)
	a.Awaits(t, "two more attempts to join", func() bool { return a.Joins >= 3 })
	if !isSignedBy(t, a, old.Data["tls.crt"]) {
		t.Error("an agent with a certificate that counts has one of another CA")
	}
	a.Look(func() {
		if a.Trust() != string(lost.Bundle()) {
			t.Error("an agent with a certificate that counts trusts another CA")
		}
	})
	trustEachOther(t, a, b)

	pod := newPod(t, namespace, 2)
	ended := join(t, m, pod, func(g *envtest.Agent) {
		name := identity.Name{Namespace: namespace, Group: "scheduler", Pod: pod.Name, UID: string(pod.UID)}
		cert, key := certify(t, lost.Current(), name, time.Now().Add(-time.Second))
		must(t, g.Keyring.SetTrust(lost.Bundle()))
		must(t, g.Keyring.SetCertificate(cert, key))
	})
	anew := join(t, m, newPod(t, namespace, 3))
	for _, agent := range []*envtest.Agent{ended, anew} {
		agent.Follows(t)
		if !isSignedBy(t, agent, bundleIn(t, system)) {
			t.Errorf("%s has no certificate of the new CA", agent.Pod.Name)
		}
	}
	if bytes.Contains(bundleIn(t, system), old.Data["tls.crt"]) {
		t.Error("the CA that was deleted is still trusted")
	}
	trustEachOther(t, ended, anew)
}

// TestTheSecretIsReplacedWhileAManagerLeads: somebody restores an older CA, or brings one. It is
// taken over, and nobody is cut off.
func TestTheSecretIsReplacedWhileAManagerLeads(t *testing.T) {
	system, namespace := newSystem(t), newNamespace(t)
	m := startManager(t, system, "")
	a := join(t, m, newPod(t, namespace, 0))
	a.Follows(t)
	other, err := identity.NewSuccession(time.Now())
	must(t, err)
	putAuthority(t, system, other)
	a.Awaits(t, "the other authority beside the old one", func() bool { return strings.Count(a.Trust(), "BEGIN") == 2 })
	b := join(t, m, newPod(t, namespace, 1))
	b.Follows(t)
	if !isSignedBy(t, b, other.Bundle()) {
		t.Error("the CA that was brought does not sign")
	}
	trustEachOther(t, a, b)
}

// TestABrokenSecretIsNeverReplaced: neither by a manager that starts nor by one that leads.
func TestABrokenSecretIsNeverReplaced(t *testing.T) {
	system := newSystem(t)
	leading := authorities(system, time.Now)
	must(t, leading.Check(bg))
	good := secretIn(t, system)
	broken := good.DeepCopy()
	broken.Data["tls.key"] = []byte("-----BEGIN PRIVATE KEY-----\nnonsense\n-----END PRIVATE KEY-----\n")
	must(t, kube.Update(bg, broken))
	complains := func(who string, err error) {
		t.Helper()
		for _, says := range []string{system + "/podesta-ca", "tls.key", "left as it is", "restore it from a backup"} {
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: %v, want an error that says %q", who, err, says)
			}
		}
		if now := secretIn(t, system); now.ResourceVersion != broken.ResourceVersion {
			t.Errorf("%s: the Secret was written", who)
		}
	}
	complains("the manager that leads", leading.Check(bg))
	if key, _, err := leading.Current().IssueManager(time.Now()); err != nil || key == nil {
		t.Errorf("the manager that leads cannot go on with the CA in use: %v", err)
	}
	starting := startManager(t, system, "")
	<-starting.Ended
	complains("the manager that starts", starting.Err)
	starting.Err = nil // it was to end

	broken.Data = good.Data
	must(t, kube.Update(bg, broken))
	must(t, leading.Check(bg))
}

// TestManagersAtOnce: eight of them find that there is no CA, and then that it is near its end.
// They must not disagree.
func TestManagersAtOnce(t *testing.T) {
	system := newSystem(t)
	var passed time.Duration
	clock := func() time.Time { return time.Now().Add(passed) }
	all := make([]*ca.Authorities, 8)
	for i := range all {
		all[i] = authorities(system, clock)
	}
	for _, passed = range []time.Duration{0, identity.AuthorityLifetime - identity.AuthorityOverlap + time.Hour} {
		var checks sync.WaitGroup
		for _, a := range all {
			checks.Go(func() {
				if err := a.Check(bg); err != nil {
					t.Error(err)
				}
			})
		}
		checks.Wait()
		cert, _, err := all[0].Current().PEM()
		must(t, err)
		for i, a := range all {
			if other, _, err := a.Current().PEM(); err != nil || !bytes.Equal(cert, other) {
				t.Errorf("manager %d signs with another CA (%v)", i, err)
			}
		}
		if n := bytes.Count(bundleIn(t, system), []byte("BEGIN")); passed > 0 && n != 2 {
			t.Errorf("%d authorities are trusted near the end, want 2", n)
		}
	}
	version := secretIn(t, system).ResourceVersion
	must(t, all[3].Check(bg))
	if secretIn(t, system).ResourceVersion != version {
		t.Error("a check that finds nothing to do writes")
	}
}

// authorities is a manager's part that keeps the CA, by itself.
func authorities(system string, now func() time.Time) *ca.Authorities {
	return &ca.Authorities{
		Client:     kube,
		Live:       kube,
		Namespace:  system,
		Now:        now,
		CheckEvery: checkEvery,
		Distribute: func([]byte) error { return nil },
		Logger:     slog.New(slog.DiscardHandler),
	}
}

func secretIn(t *testing.T, system string) *corev1.Secret {
	t.Helper()
	secret := &corev1.Secret{}
	must(t, kube.Get(bg, types.NamespacedName{Namespace: system, Name: "podesta-ca"}, secret))
	return secret
}

// putAuthority makes the Secret say this, whatever it said.
func putAuthority(t *testing.T, system string, s identity.Succession) {
	t.Helper()
	data, err := s.Data()
	must(t, err)
	found := &corev1.Secret{}
	if kube.Get(bg, types.NamespacedName{Namespace: system, Name: "podesta-ca"}, found) == nil {
		found.Data = data
		must(t, kube.Update(bg, found))
		return
	}
	must(t, kube.Create(bg, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "podesta-ca"},
		Type: corev1.SecretTypeTLS, Data: data}))
}

// bundleIn is what is to be trusted by the Secret.
func bundleIn(t *testing.T, system string) []byte {
	t.Helper()
	s, err := identity.ParseSuccession(secretIn(t, system).Data)
	must(t, err)
	return s.Bundle()
}

// isSignedBy reports whether the agent's certificate is of one of these authorities.
func isSignedBy(t *testing.T, a *envtest.Agent, bundlePEM []byte) bool {
	t.Helper()
	var newest string
	a.Look(func() {
		for _, kept := range a.Kept {
			if kept[0] != "" {
				newest = kept[0]
			}
		}
	})
	block, _ := pem.Decode([]byte(newest))
	leaf, err := x509.ParseCertificate(block.Bytes)
	must(t, err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundlePEM)
	_, err = leaf.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
	return err == nil
}

// trustEachOther has two agents connect as they do for their links, both ways.
func trustEachOther(t *testing.T, a, b *envtest.Agent) {
	t.Helper()
	for _, pair := range [][2]*envtest.Agent{{a, b}, {b, a}} {
		if err := handshake(t, pair[0].Keyring, pair[1].Keyring); err != nil {
			t.Errorf("%s to %s: %v", pair[0].Pod.Name, pair[1].Pod.Name, err)
		}
	}
}

// handshake connects one to another as agents do; whom each lets in is for the roster to say.
func handshake(t *testing.T, from, to *identity.Keyring) error {
	t.Helper()
	name, ok := to.Name()
	if !ok {
		t.Fatal("the one to connect to has no certificate")
	}
	near, far := net.Pipe()
	server := tls.Server(far, to.PeerServer(func(identity.Name) error { return nil }))
	client := tls.Client(near, from.PeerClient(name))
	served := make(chan error, 1)
	go func() {
		served <- server.HandshakeContext(t.Context())
		far.Close()
	}()
	err := client.HandshakeContext(t.Context())
	if err == nil {
		_, err = client.Read(make([]byte, 1)) // the server's response comes after the client's
	}
	near.Close()
	if serverErr := <-served; serverErr != nil {
		return serverErr
	} else if err != nil && strings.Contains(err.Error(), "EOF") {
		return nil
	}
	return err
}
