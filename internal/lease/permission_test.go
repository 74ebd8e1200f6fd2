package lease_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
)

// granted is a ledger with a permission until an instant.
func granted(e lease.Epoch, deadline lease.Instant) *lease.Ledger {
	l := &lease.Ledger{}
	l.Grant(lease.Permission{Epoch: e, Deadline: deadline})
	return l
}

func wantTold(t *testing.T, l *lease.Ledger, want lease.Instant) {
	t.Helper()
	if got := l.Told(); got != want {
		t.Fatalf("the app was told until %v, not %v", got, want)
	}
}

// LH2: a permission ends at its deadline, to the nanosecond, by the clock of the use.
func TestAPermissionEndsAtItsDeadline(t *testing.T) {
	for _, c := range []struct {
		now time.Duration
		ok  bool
	}{{0, true}, {time.Second - 1, true}, {time.Second, false}, {time.Second + 1, false}} {
		l := granted(epoch(1, 1), time.Second)
		s := l.Open()
		if got := l.Valid(c.now); got != c.ok {
			t.Errorf("at %v: valid is %v", c.now, got)
		}
		p, ok := l.Use(c.now)
		in, okIn := l.UseIn(s, c.now)
		if ok != c.ok || okIn != c.ok {
			t.Errorf("at %v: used %v, in a session %v", c.now, ok, okIn)
		}
		want, told := lease.Permission{}, time.Duration(0)
		if c.ok {
			want, told = lease.Permission{Epoch: epoch(1, 1), Deadline: time.Second}, time.Second
		}
		if p != want || in != want {
			t.Errorf("at %v: the app is told %v, in a session %v", c.now, p, in)
		}
		wantTold(t, l, told)
	}
	if l := (&lease.Ledger{}); l.Valid(-1) {
		t.Error("a ledger without a grant permits something")
	}
}

// A grant tells the app nothing, nor does looking at it.
func TestAGrantTellsNothing(t *testing.T) {
	l := granted(epoch(1, 1), time.Second)
	l.Open()
	l.Valid(0)
	wantTold(t, l, 0)
}

// Grant reports that the epoch changes, and not that the deadline moves on.
func TestAGrantReportsANewEpoch(t *testing.T) {
	l := &lease.Ledger{}
	for i, c := range []struct {
		p       lease.Permission
		changed bool
	}{
		{lease.Permission{}, false},
		{lease.Permission{Epoch: epoch(1, 1), Deadline: time.Second}, true},
		{lease.Permission{Epoch: epoch(1, 1), Deadline: 2 * time.Second}, false},
		{lease.Permission{Epoch: epoch(1, 2), Deadline: 2 * time.Second}, true},
		{lease.Permission{}, true},
	} {
		if got := l.Grant(c.p); got != c.changed {
			t.Errorf("grant %d: changed is %v", i, got)
		}
	}
}

// LH6: what the app was told outlives a withdrawal, and a later epoch with an earlier deadline.
func TestWhatWasToldOutlivesTheGrant(t *testing.T) {
	for name, next := range map[string]lease.Permission{
		"withdrawn":           {},
		"a later epoch":       {Epoch: epoch(1, 2), Deadline: time.Second / 2},
		"an earlier deadline": {Epoch: epoch(1, 1), Deadline: time.Second / 2},
	} {
		for _, inSession := range []bool{false, true} {
			l := granted(epoch(1, 1), time.Second)
			s := l.Open()
			if inSession {
				l.UseIn(s, 0)
			} else {
				l.Use(0)
			}
			l.Grant(next)
			if wantTold(t, l, time.Second); l.Valid(time.Second / 2) {
				t.Errorf("%s: the app may still act", name)
			}
			l.Use(0)
			l.UseIn(s, 0)
			wantTold(t, l, time.Second)
		}
	}
}

// LH6: an app that closes its session gives back what it was told there, and nothing else.
func TestWhoGivesBackWhatWasTold(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(l *lease.Ledger, a, b *lease.Session)
		told lease.Instant
	}{
		{"the app closes both", func(l *lease.Ledger, a, b *lease.Session) {
			l.Close(a)
			l.Close(b)
		}, 1 * time.Second},
		{"the app closes the later one", func(l *lease.Ledger, _, b *lease.Session) {
			l.Close(b)
		}, 2 * time.Second},
		{"the app closes the earlier one", func(l *lease.Ledger, a, _ *lease.Session) {
			l.Close(a)
		}, 3 * time.Second},
		{"the agent cuts the later one", func(l *lease.Ledger, a, b *lease.Session) {
			l.Cut(b)
			l.Close(a)
		}, 3 * time.Second},
		{"the agent cuts the earlier one", func(l *lease.Ledger, a, b *lease.Session) {
			l.Cut(a)
			l.Close(b)
		}, 2 * time.Second},
		{"the app closes what the agent has cut", func(l *lease.Ledger, a, b *lease.Session) {
			l.Cut(b)
			l.Close(b)
			l.Close(a)
		}, 3 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := granted(epoch(1, 1), time.Second)
			a, b := l.Open(), l.Open()
			l.Use(0)
			l.Grant(lease.Permission{Epoch: epoch(1, 1), Deadline: 2 * time.Second})
			l.UseIn(a, 0)
			l.Grant(lease.Permission{Epoch: epoch(1, 2), Deadline: 3 * time.Second})
			l.UseIn(b, 0)
			c.do(l, a, b)
			wantTold(t, l, c.told)
		})
	}
}

// An app has deserted once it had a session and has none any more, however it ended.
func TestDeserted(t *testing.T) {
	l := &lease.Ledger{}
	if l.Deserted() {
		t.Error("an app that never had a session has deserted")
	}
	a, b := l.Open(), l.Open()
	l.Cut(a)
	if l.Deserted() {
		t.Error("one of two sessions is left")
	}
	if l.Close(b); !l.Deserted() {
		t.Error("no session is left")
	}
	if l.Open(); l.Deserted() {
		t.Error("there is a session again")
	}
}

// ledgerModel is a ledger that remembers every answer to the app.
type ledgerModel struct {
	grant   lease.Permission
	answers []answer
	open    []*lease.Session
	had     bool
}

// answer is a deadline that the app was told; over no session if session is nil.
type answer struct {
	session  *lease.Session
	deadline lease.Instant
}

func (m *ledgerModel) use(s *lease.Session, now lease.Instant) (p lease.Permission, ok bool) {
	if m.grant.Epoch == 0 || now >= m.grant.Deadline {
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
			if after != m.told() || l.Deserted() != deserted {
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
	what := s.below(7)
	if what >= 4 && len(m.open) == 0 {
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
		if changed := l.Grant(p); changed != (p.Epoch != m.grant.Epoch) {
			t.Fatalf("from %+v to %+v: changed is %v", m.grant, p, changed)
		}
		m.grant = p
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
