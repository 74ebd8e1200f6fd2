package credentials

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

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
		e := newExpiry(Clock{
			Boot:   func() time.Duration { return asked + c.passed },
			BootID: c.here,
		})
		if !e.over() {
			t.Errorf("%s: a certificate that was never asked for counts", name)
		}
		e.begins(statedir.Asked{BootID: c.bootID, Boot: asked})
		if e.over() == c.holds {
			t.Errorf("%s: it has ended: %t", name, e.over())
		}
	}
}

// machine is a pod's machine and its state directory, over several starts of the agent.
type machine struct {
	t         *testing.T
	path      string
	authority *identity.Authority
	bootID    string
	now       time.Duration // on CLOCK_BOOTTIME
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	authority, err := identity.NewAuthority(time.Now())
	must(t, err)
	return &machine{t: t, path: t.TempDir(), authority: authority, bootID: "a", now: time.Hour}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// start is a start of the agent, until what it does has returned.
func (m *machine) start(do func(*Store)) {
	m.t.Helper()
	dir, err := statedir.Open(m.path, time.Now())
	must(m.t, err)
	clock := Clock{Boot: func() time.Duration { return m.now }, BootID: m.bootID}
	do(New(dir, identity.NewKeyring(time.Now), clock, slog.New(slog.DiscardHandler)))
	must(m.t, dir.Close())
}

// issue has the authority sign a certificate until a time.
func (m *machine) issue(until time.Time) (certificate, key, trust []byte) {
	m.t.Helper()
	k, err := identity.NewKey()
	must(m.t, err)
	request, err := identity.Request(k)
	must(m.t, err)
	name := identity.Name{Namespace: "shop", Group: "scheduler", Pod: "p1", UID: "u1"}
	certificate, err = m.authority.SignUntil(request, name, time.Now(), until)
	must(m.t, err)
	key, err = identity.EncodeKey(k)
	must(m.t, err)
	trust, _, err = m.authority.PEM()
	must(m.t, err)
	return certificate, key, trust
}

// joins keeps a certificate that was asked for just now, and that the wall clock would let live for
// a week.
func (m *machine) joins() (until time.Time) {
	m.t.Helper()
	until = time.Now().Add(7 * 24 * time.Hour).Truncate(time.Second)
	m.start(func(s *Store) {
		must(m.t, s.Load(false))
		if s.Certified() {
			m.t.Error("an agent that has never joined is certified")
		}
		certificate, key, trust := m.issue(until)
		must(m.t, s.Keep(certificate, key, trust, s.Boot()))
		must(m.t, s.keyring.SetCertificate(certificate, key))
		if !s.Certified() {
			m.t.Error("the certificate does not count for the agent that asked for it")
		}
	})
	return until
}

// sees checks what a start of the agent finds.
func (m *machine) sees(joined, certified bool) {
	m.t.Helper()
	m.start(func(s *Store) {
		m.t.Helper()
		must(m.t, s.Load(joined))
		_, named := s.keyring.Name()
		if named != certified || s.Certified() != certified || !s.keyring.HasTrust() {
			m.t.Errorf("it uses a certificate: %t, that counts: %t, want %t; it has a bundle: %t",
				named, s.Certified(), certified, s.keyring.HasTrust())
		}
	})
}

// An agent that starts again goes on with its certificate, until a day after that was asked for.
func TestTheKeptCertificateIsUsed(t *testing.T) {
	m := newMachine(t)
	m.joins()
	m.now += identity.Lifetime - time.Minute
	m.sees(true, true)
	m.now += time.Minute
	m.sees(true, false)
}

// An agent whose certificate ends while it runs sees that by itself.
func TestTheCertificateEndsUnderway(t *testing.T) {
	m := newMachine(t)
	m.joins()
	m.start(func(s *Store) {
		must(t, s.Load(true))
		m.now += identity.Lifetime
		if s.Certified() {
			t.Error("it counts after a day")
		}
	})
}

// Where a machine does not say which of its runs this is, a certificate counts for the agent that
// asked for it, and for no later one: the machine may have been started again in between.
func TestCertificateWithoutABootID(t *testing.T) {
	m := newMachine(t)
	m.bootID = ""
	m.joins()
	m.sees(true, false)
}

// A certificate is of the group that the agent had joined. Without a roster nobody knows which that
// was.
func TestACertificateOfAnotherGroup(t *testing.T) {
	m := newMachine(t)
	m.joins()
	m.sees(false, false)
}

// A new CA bundle changes nothing of when the certificate was asked for; a renewal does.
func TestARenewalBeginsAnew(t *testing.T) {
	m := newMachine(t)
	m.joins()
	m.start(func(s *Store) {
		must(t, s.Load(true))
		m.now += identity.Lifetime / 2
		_, _, trust := m.issue(time.Now().Add(time.Hour))
		must(t, s.Keep(nil, nil, trust, s.Boot()))
	})
	m.now += identity.Lifetime / 2
	m.sees(true, false)
	m.joins()
	m.sees(true, true)
}

// After a reboot the kept certificate is not used any more, and still says until when the manager
// has to prove itself by the bundle that came with it.
func TestTheKeptBundleIsPinnedAfterAReboot(t *testing.T) {
	m := newMachine(t)
	until := m.joins()
	m.bootID = "b"
	m.sees(true, false)
	m.start(func(s *Store) {
		must(t, s.Load(true))
		if !s.Pinned().Equal(until) {
			t.Errorf("pinned until %v, want %v", s.Pinned(), until)
		}
	})
}

// What a crash, or a disk, has left of the credentials costs a join, and nothing else.
func TestDamagedCredentials(t *testing.T) {
	for name, damage := range map[string]func(*testing.T, *machine){
		"a certificate and another one's key": func(t *testing.T, m *machine) {
			t.Helper()
			m.start(func(s *Store) {
				certificate, _, _ := m.issue(time.Now().Add(time.Hour))
				_, key, trust := m.issue(time.Now().Add(time.Hour))
				must(t, s.dir.SaveCredentials(certificate, key, trust))
			})
		},
		"no record of when it was asked for": func(t *testing.T, m *machine) {
			t.Helper()
			files, err := filepath.Glob(filepath.Join(m.path, "*asked*"))
			must(t, err)
			if len(files) != 1 {
				t.Fatalf("these files are records of that: %v", files)
			}
			must(t, os.WriteFile(files[0], []byte("damaged"), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.joins()
			damage(t, m)
			m.sees(true, false)
		})
	}
}
