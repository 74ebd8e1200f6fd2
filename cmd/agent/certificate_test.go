package main

import (
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

// Where a machine does not say which of its runs this is, a certificate counts for the agent that asked
// for it, and for no later one: the machine may have been started again in between.
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
		t.Error("the certificate of this life does not count")
	}
	later := newValidity("")
	later.begins(dir.Asked())
	if later.holds() {
		t.Error("the certificate of an earlier life counts")
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
	if got := dir.Asked(); got != want || !s.validity.holds() {
		t.Errorf("asked for at %+v, want %+v; it counts: %t", got, want, s.validity.holds())
	}
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
}
