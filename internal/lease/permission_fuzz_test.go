package lease_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/podesta-dev/podesta/internal/lease"
)

// ledgerModel is a ledger that remembers every answer to the app.
type ledgerModel struct {
	grant   lease.Permission
	answers []answer
	open    []*lease.Session
	had     bool
	late    bool // an app asked for the grant when its deadline had passed
}

// answer is a deadline that the app was told; over no session if session is nil.
type answer struct {
	session  *lease.Session
	deadline lease.Instant
}

func (m *ledgerModel) use(s *lease.Session, now lease.Instant) (p lease.Permission, ok bool) {
	if m.grant.Epoch == 0 || now >= m.grant.Deadline {
		m.late = m.late || m.grant.Epoch != 0
		return lease.Permission{}, false
	}
	m.answers = append(m.answers, answer{s, m.grant.Deadline})
	return m.grant, true
}

// end ends a session; what was told there either stays told or not.
func (m *ledgerModel) end(s *lease.Session, stays bool) {
	m.open = slices.DeleteFunc(m.open, func(o *lease.Session) bool { return o == s })
	var kept []answer
	for _, a := range m.answers {
		switch {
		case a.session != s:
			kept = append(kept, a)
		case stays:
			kept = append(kept, answer{nil, a.deadline})
		}
	}
	m.answers = kept
}

func (m *ledgerModel) told() (until lease.Instant) {
	for _, a := range m.answers {
		until = max(until, a.deadline)
	}
	return until
}

// FuzzLedger compares a Ledger with the model, whatever happens to it, and sees that what was told
// grows only by Use and UseIn and shrinks only by Close.
func FuzzLedger(f *testing.F) {
	for seed := range uint64(64) {
		rng := rand.New(rand.NewPCG(seed, 4))
		schedule := make([]byte, 200)
		for i := range schedule {
			schedule[i] = byte(rng.UintN(256))
		}
		f.Add(schedule)
	}
	f.Fuzz(func(t *testing.T, schedule []byte) {
		s, l, m, now := script{bytes: schedule}, &lease.Ledger{}, &ledgerModel{}, lease.Instant(0)
		for len(s.bytes) > 0 {
			now += lease.Instant(s.below(3))
			before := l.Told()
			grows, shrinks := ledgerStep(t, &s, l, m, now)
			after := l.Told()
			if after > before && !grows || after < before && !shrinks {
				t.Fatalf("what was told goes from %v to %v", before, after)
			}
			deserted := m.had && len(m.open) == 0
			if after != m.told() || l.Deserted() != deserted || l.Expected() != m.had {
				t.Fatalf("told until %v, not %v; deserted is %v", after, m.told(), l.Deserted())
			}
			if valid := m.grant.Epoch != 0 && now < m.grant.Deadline; l.Valid(now) != valid {
				t.Fatalf("at %v %+v is valid: %v", now, m.grant, !valid)
			}
		}
	})
}

// ledgerStep does one thing to both. It reports whether what was told may grow or shrink by it.
func ledgerStep(
	t *testing.T, s *script, l *lease.Ledger, m *ledgerModel, now lease.Instant,
) (grows, shrinks bool) {
	t.Helper()
	what := s.below(8)
	if what >= 4 && what < 7 && len(m.open) == 0 {
		what = 0
	}
	switch what {
	case 0:
		m.open, m.had = append(m.open, l.Open()), true
	case 1:
		p := lease.Permission{
			Epoch:    lease.Epoch(s.below(3)),
			Deadline: now + lease.Instant(s.below(7)-2),
		}
		if news := l.Grant(p); news != (p.Epoch != m.grant.Epoch || m.late) {
			t.Fatalf("from %+v to %+v, late %t: news is %v", m.grant, p, m.late, news)
		}
		m.grant, m.late = p, false
	case 7:
		l.Expect()
		m.had = true
	case 2, 3:
		compareUse(t, l.Use, func(now lease.Instant) (lease.Permission, bool) {
			return m.use(nil, now)
		}, now)
		return true, false
	default:
		session := m.open[s.below(len(m.open))]
		switch what {
		case 4:
			compareUse(t, func(now lease.Instant) (lease.Permission, bool) {
				return l.UseIn(session, now)
			}, func(now lease.Instant) (lease.Permission, bool) {
				return m.use(session, now)
			}, now)
			return true, false
		case 5:
			l.Cut(session)
			m.end(session, true)
		case 6:
			l.Close(session)
			m.end(session, false)
			return false, true
		}
	}
	return false, false
}

func compareUse(
	t *testing.T, ledger, model func(lease.Instant) (lease.Permission, bool), now lease.Instant,
) {
	t.Helper()
	p, ok := ledger(now)
	if want, wanted := model(now); p != want || ok != wanted {
		t.Fatalf("at %v the app is told %+v %v, not %+v %v", now, p, ok, want, wanted)
	}
}
