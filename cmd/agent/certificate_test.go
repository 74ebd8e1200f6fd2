package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/agent"
	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/statedir"
)

// MC5: a certificate ends a lifetime after it was asked for, by a clock that nobody can set, and
// with the machine's run.
func TestCertificateEnds(t *testing.T) {
	const asked = 3 * time.Hour
	for name, c := range map[string]struct {
		bootID, here string
		passed       time.Duration
		holds        bool
	}{
		"at once":             {"a", "a", 0, true},
		"just before its end": {"a", "a", identity.Lifetime - 1, true},
		"at its end":          {"a", "a", identity.Lifetime, false},
		"after a reboot":      {"a", "b", 0, false},
	} {
		v := &validity{
			bootID: c.here,
			boot:   func() time.Duration { return asked + c.passed },
		}
		if v.holds() {
			t.Errorf("%s: a certificate that was never asked for counts", name)
		}
		v.begins(statedir.Asked{BootID: c.bootID, Boot: asked})
		if v.holds() != c.holds {
			t.Errorf("%s: it counts: %t", name, v.holds())
		}
	}
	first := agent.BootID()
	if again := agent.BootID(); first == "" || again != first {
		t.Errorf("this machine's run is %q, then %q", first, again)
	}
}

// Where a machine does not say which of its runs this is, a certificate counts for the agent that
// asked for it, and for no later one: the machine may have been started again in between.
func TestCertificateWithoutABootID(t *testing.T) {
	path := t.TempDir()
	dir, err := statedir.Open(path, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	s := &sidecar{dir: dir, validity: newValidity("")}
	if err := s.keep([]byte("certificate"), []byte("key"), nil, s.validity.boot()); err != nil {
		t.Fatal(err)
	}
	if !s.validity.holds() {
		t.Error("the certificate of this incarnation does not count")
	}
	later := newValidity("")
	asked, err := dir.Asked()
	if err != nil {
		t.Fatal(err)
	}
	later.begins(asked)
	if later.holds() {
		t.Error("the certificate of an earlier incarnation counts")
	}
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
}

// What is on the disk after a renewal says when that was asked for; a new CA bundle changes nothing
// of it.
func TestCertificateIsKept(t *testing.T) {
	path := t.TempDir()
	dir, err := statedir.Open(path, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	s := &sidecar{dir: dir, validity: newValidity(agent.BootID())}
	begun := s.validity.boot()
	if err := s.keep([]byte("certificate"), []byte("key"), []byte("trust"), begun); err != nil {
		t.Fatal(err)
	}
	if err := s.keep(nil, nil, []byte("newer trust"), 0); err != nil {
		t.Fatal(err)
	}
	want := statedir.Asked{BootID: agent.BootID(), Boot: begun}
	if got, err := dir.Asked(); got != want || err != nil || !s.validity.holds() {
		t.Errorf("asked for at %+v, %v, want %+v; it counts: %t", got, err, want, s.validity.holds())
	}
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
}

// After a reboot the kept certificate is not used any more, and still says until when the manager
// has to prove itself by the bundle that came with it.
func TestTheKeptBundleIsPinnedAfterAReboot(t *testing.T) {
	dir, err := statedir.Open(t.TempDir(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	authority, err := identity.NewAuthority(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	trust, _, err := authority.PEM()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	until := time.Now().Add(time.Hour).Truncate(time.Second)
	name := identity.Name{Namespace: "shop", Group: "scheduler", Pod: "p1", UID: "u1"}
	if err := issue(authority, folder, until, name); err != nil {
		t.Fatal(err)
	}
	certificate, key, _, err := readAll(filepath.Join(folder, "p1.crt"),
		filepath.Join(folder, "p1.key"), os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	if err := dir.SaveCredentials(certificate, key, trust); err != nil {
		t.Fatal(err)
	}
	s := &sidecar{
		dir:      dir,
		keyring:  identity.NewKeyring(time.Now),
		validity: newValidity(agent.BootID()), // of a machine that has no record of the certificate
		logger:   slog.New(slog.DiscardHandler),
	}
	if err := s.loadCredentials(true); err != nil {
		t.Fatal(err)
	}
	if _, ok := s.keyring.Name(); ok || !s.keyring.HasTrust() || !s.pinned.Equal(until) {
		t.Errorf("certificate in use: %t, trust: %t, pinned until %v, want %v", ok,
			s.keyring.HasTrust(), s.pinned, until)
	}
}
