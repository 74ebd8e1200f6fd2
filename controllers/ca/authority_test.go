package ca

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"maps"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/podesta-dev/podesta/internal/identity"
)

const day = 24 * time.Hour

// cluster has the Secret of the CA, and the clock of the managers.
type cluster struct {
	t       *testing.T
	now     time.Time
	data    map[string][]byte // of the Secret; nil: there is none
	version int
	refuse  error  // of writes
	before  func() // is called once, before the next write
}

var errRefused = errors.New("refused")

func (c *cluster) client() client.WithWatch {
	secrets := schema.GroupResource{Resource: "secrets"}
	write := func(object client.Object, create bool) error {
		if before := c.before; before != nil {
			c.before = nil
			before()
		}
		secret := object.(*corev1.Secret)
		switch {
		case c.refuse != nil:
			return c.refuse
		case create && c.data != nil:
			return apierrors.NewAlreadyExists(secrets, secret.Name)
		case !create && secret.ResourceVersion != strconv.Itoa(c.version):
			return apierrors.NewConflict(secrets, secret.Name, errors.New("it was changed"))
		}
		c.put(secret.Data)
		return nil
	}
	return interceptor.NewClient(nil, interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, key client.ObjectKey, object client.Object,
			_ ...client.GetOption) error {
			if c.data == nil {
				return apierrors.NewNotFound(secrets, key.Name)
			}
			secret := object.(*corev1.Secret)
			secret.Namespace, secret.Name = key.Namespace, key.Name
			secret.ResourceVersion, secret.Data = strconv.Itoa(c.version), maps.Clone(c.data)
			return nil
		},
		Create: func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.CreateOption) error {
			return write(object, true)
		},
		Update: func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.UpdateOption) error {
			return write(object, false)
		},
	})
}

func (c *cluster) put(data map[string][]byte) {
	c.data = maps.Clone(data)
	c.version++
}

// signing is the certificate of the authority that signs, by the Secret.
func (c *cluster) signing() []byte { return bytes.Clone(c.data["tls.crt"]) }

// manager is one manager's copy of the CA, and what it has handed out.
type manager struct {
	*Authorities

	bundles [][]byte
	fails   error // of handing out
}

func (c *cluster) start() *manager {
	m := &manager{}
	m.Authorities = &Authorities{
		Client:     c.client(),
		Live:       c.client(),
		Namespace:  system,
		Now:        func() time.Time { return c.now },
		CheckEvery: DefaultCheckEvery,
		Distribute: func(bundle []byte) error {
			m.bundles = append(m.bundles, bundle)
			return m.fails
		},
		Logger: slog.New(slog.DiscardHandler),
	}
	return m
}

func (m *manager) check(t *testing.T) {
	t.Helper()
	if err := m.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// trusts reports whether a certificate is in the bundle that was handed out last.
func (m *manager) trusts(certificate []byte) bool {
	return len(m.bundles) > 0 &&
		bytes.Contains(m.bundles[len(m.bundles)-1], bytes.TrimSpace(certificate))
}

func newCluster(t *testing.T) (*cluster, *manager) {
	c := &cluster{t: t, now: time.Date(2026, time.March, 1, 0, 0, 0, 0, time.UTC)}
	m := c.start()
	m.check(t)
	if c.data == nil || m.Current() == nil || !m.trusts(c.signing()) {
		t.Fatal("a new CA is not written, in use and handed out")
	}
	return c, m
}

// A Secret that cannot be read is left as it is, and so is the CA in use.
func TestADamagedSecretIsLeftAlone(t *testing.T) {
	c, m := newCluster(t)
	damaged := maps.Clone(c.data)
	damaged["tls.key"] = []byte("not a key")
	c.put(damaged)
	was, version := m.Current(), c.version
	for _, m := range []*manager{m, c.start()} {
		if err := m.Check(t.Context()); err == nil {
			t.Error("it is taken")
		}
	}
	if c.version != version || m.Current() != was {
		t.Error("it was overwritten, or another CA is in use")
	}
}

// A Secret that was deleted is written anew with the CA in use, and the next one is prepared.
func TestADeletedSecretIsWrittenAnew(t *testing.T) {
	c, m := newCluster(t)
	was := c.signing()
	c.data = nil
	if m.check(t); !bytes.Equal(c.signing(), was) || !m.trusts(was) {
		t.Error("another CA signs")
	}
	if next := c.data["next.crt"]; len(next) == 0 || !m.trusts(next) {
		t.Error("no other CA is prepared")
	}
}

// Another CA in the Secret signs from now on, and the one in use is trusted for a while.
func TestAnotherCAIsTakenOver(t *testing.T) {
	c, m := newCluster(t)
	was := c.signing()
	other, err := identity.NewSuccession(c.now)
	if err != nil {
		t.Fatal(err)
	}
	data, err := other.Data()
	if err != nil {
		t.Fatal(err)
	}
	c.put(data)
	m.check(t)
	if !bytes.Equal(c.signing(), data["tls.crt"]) || !m.trusts(was) || !m.trusts(data["tls.crt"]) {
		t.Error("the one in the Secret does not sign, or one of the two is not trusted")
	}
}

// The next CA signs only when this very manager has handed out its certificate for as long as it
// takes to reach everybody, whatever the calendar says.
func TestTheNextCAIsTrustedBeforeItSigns(t *testing.T) {
	c, m := newCluster(t)
	was := c.signing()
	c.now = c.now.Add(identity.AuthorityLifetime - identity.AuthorityOverlap + day)
	m.check(t)
	next := bytes.Clone(c.data["next.crt"])
	if !bytes.Equal(c.signing(), was) || !m.trusts(next) {
		t.Fatal("the next one signs at once, or is not trusted")
	}
	c.now = c.now.Add(identity.SpreadFor + day)
	m = c.start() // another manager leads from now on
	for range handedOutChecks {
		if m.check(t); !bytes.Equal(c.signing(), was) {
			t.Fatal("it signs before this manager has handed it out for five minutes")
		}
		c.now = c.now.Add(DefaultCheckEvery)
	}
	if m.check(t); !bytes.Equal(c.signing(), next) || !m.trusts(was) {
		t.Error("after five minutes it does not sign, or the one before is not trusted")
	}
}

// A CA is in use only when it is written, and when its certificate is handed out.
func TestACAThatIsNotWrittenOrHandedOutIsNotUsed(t *testing.T) {
	c := &cluster{t: t, now: time.Now(), refuse: errRefused}
	m := c.start()
	err := m.Check(t.Context())
	if !errors.Is(err, errRefused) || m.Current() != nil || len(m.bundles) > 0 {
		t.Errorf("it could not be written (%v): in use %t, handed out %d times",
			err, m.Current() != nil, len(m.bundles))
	}
	c.refuse, m.fails = nil, errRefused
	if err := m.Check(t.Context()); !errors.Is(err, errRefused) || m.Current() != nil {
		t.Errorf("it could not be handed out (%v): in use %t", err, m.Current() != nil)
	}
	if _, err := m.Sign(nil, identity.Name{}, c.now); err == nil {
		t.Error("it signs")
	}
	m.fails = nil
	if m.check(t); m.Current() == nil {
		t.Error("it is not in use")
	}
}

// A manager that was overtaken uses what the other one wrote.
func TestAnOvertakenManagerReadsAgain(t *testing.T) {
	c := &cluster{t: t, now: time.Now()}
	first, second := c.start(), c.start()
	c.before = func() { first.check(t) }
	second.check(t)
	if written := c.signing(); c.version != 1 || !second.trusts(written) || !first.trusts(written) {
		t.Errorf("the Secret was written %d times, and the two use different CAs", c.version)
	}
}
