package identity

import (
	"bytes"
	"crypto/x509"
	"slices"
	"strings"
	"testing"
	"time"
)

// settle calls Advance as a manager does that has served the bundle for long.
func settle(t *testing.T, s Succession, now time.Time) (Succession, []Step) {
	t.Helper()
	var steps []Step
	for {
		next, step, err := s.Advance(now, true)
		if err != nil {
			t.Fatal(err)
		}
		if step == "" {
			return s, steps
		}
		s, steps = next, append(steps, step)
	}
}

func newSuccession(t *testing.T) Succession {
	t.Helper()
	s, err := NewSuccession(noon)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestTwoYearsOfASuccession advances a succession every half an hour for two lifetimes of an
// authority, and records when it made a step.
func TestTwoYearsOfASuccession(t *testing.T) {
	s := newSuccession(t)
	type stop struct {
		at   time.Duration
		step Step
	}
	var got []stop
	for at := time.Duration(0); at < 2*AuthorityLifetime; at += 30 * time.Minute {
		var steps []Step
		s, steps = settle(t, s, noon.Add(at))
		for _, step := range steps {
			got = append(got, stop{at.Truncate(2 * time.Hour), step})
		}
	}
	var want []stop
	const every = AuthorityLifetime - AuthorityOverlap
	for at := every; at < 2*AuthorityLifetime; at += every {
		want = append(want, stop{
			at.Truncate(2 * time.Hour),
			Prepared,
		}, stop{(at + SpreadFor).Truncate(2 * time.Hour), TookOver},
			stop{(at + SpreadFor + RetireAfter).Truncate(2 * time.Hour), Retired})
	}
	if !slices.Equal(got, want) {
		t.Errorf("the steps were %v, want %v", got, want)
	}
}

// TestNoValidCertificateIsEverDistrusted renews a process at half its certificate's lifetime
// through a rotation, at every phase. The other process's trust is as old as its own certificate,
// because it may not have contacted the manager since. The two must trust each other at any time.
func TestNoValidCertificateIsEverDistrusted(t *testing.T) {
	const step = time.Hour
	begin := noon.Add(AuthorityLifetime - AuthorityOverlap - 2*Lifetime)
	s := newSuccession(t)
	type agent struct {
		leaf   *x509.Certificate
		bundle []byte
	}
	agents := make([]agent, 24) // agent i renews once a day, at hour i: late, but not too late
	for hour := range int((3*Lifetime + SpreadFor + RetireAfter) / step) {
		now := begin.Add(time.Duration(hour) * step)
		s, _ = settle(t, s, now)
		renewed := agent{leaf: certified(t, s.Current(), now), bundle: s.Bundle()}
		agents[hour%len(agents)] = renewed
		for i, other := range agents[:min(hour+1, len(agents))] {
			if !trusts(t, other.bundle, renewed.leaf, now) ||
				!trusts(t, renewed.bundle, other.leaf, now) {
				t.Fatalf("hour %d: the one that renews and agent %d do not trust each other", hour,
					i)
			}
		}
	}
}

func TestWhatIsDueWhen(t *testing.T) {
	first := newSuccession(t)
	nearEnd := noon.Add(AuthorityLifetime - AuthorityOverlap + time.Minute)
	prepared, _ := settle(t, first, nearEnd)
	spread := nearEnd.Add(SpreadFor + time.Minute)
	for _, test := range []struct {
		name    string
		s       Succession
		now     time.Time
		settled bool
		step    Step
	}{
		{"a young one: nothing", first, noon.Add(time.Hour), true, ""},
		{"near its end: the next one is made", first, nearEnd, true, Prepared},
		{"also by a manager that has just begun", first, nearEnd, false, Prepared},
		{
			"the next one waits until it is spread",
			prepared,
			nearEnd.Add(SpreadFor - time.Second),
			true,
			"",
		},
		{"then it signs", prepared, spread, true, TookOver},
		{"but not by a manager that has just begun", prepared, spread, false, ""},
		{
			"unless there is nobody else to sign",
			prepared,
			noon.Add(AuthorityLifetime - Lifetime + time.Second),
			false,
			TookOver,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, step, err := test.s.Advance(test.now, test.settled)
			if err != nil || step != test.step {
				t.Errorf("the step is %q (%v), want %q", step, err, test.step)
			}
		})
	}
}

// No manager runs for longer than the authority's lifetime. Nothing that it has signed is valid.
func TestASuccessionThatWasForgotten(t *testing.T) {
	late := noon.Add(AuthorityLifetime + Lifetime)
	s, steps := settle(t, newSuccession(t), late)
	if !slices.Equal(steps, []Step{Prepared, TookOver}) {
		t.Errorf("the steps are %v, want a new authority that signs at once", steps)
	}
	if leaf := certified(t, s.Current(), late); !trusts(t, s.Bundle(), leaf, late) {
		t.Error("what the new one certifies is not trusted")
	}
}

// The authority was made by an earlier release.
func TestAnAuthorityOfTenYearsIsReplacedInTime(t *testing.T) {
	old := Succession{current: newAuthority(t)}
	if _, step, err := old.Advance(noon.Add(AuthorityLifetime-AuthorityOverlap+time.Minute),
		true); step != Prepared || err != nil {
		t.Errorf("the step is %q (%v), want %q", step, err, Prepared)
	}
}

// A company's policy may give its authorities less time than AuthorityLifetime. The next one signs
// before the end of such an authority, and whoever has a certificate of it trusts the next one by
// then. An authority that is too short for that is succeeded as soon as its successor is spread.
func TestAnAuthorityOfAUserIsSucceededBeforeItsEnd(t *testing.T) {
	const day = 24 * time.Hour
	for lifetime, takesOver := range map[time.Duration]time.Duration{
		90 * day: 90*day - AuthorityOverlap + SpreadFor,
		45 * day: SpreadFor,
		5 * day:  SpreadFor,
	} {
		user, err := makeAuthority(noon, lifetime)
		if err != nil {
			t.Fatal(err)
		}
		s := Succession{current: user}
		for at := time.Duration(0); s.Current() == user; at += time.Hour {
			now := noon.Add(at)
			before := s.Bundle()
			if s, _ = settle(t, s, now); s.Current() == user {
				continue
			}
			if late := at - takesOver; late < 0 || late > 3*time.Hour {
				t.Errorf("%v: the next one signs after %v, want %v", lifetime, at, takesOver)
			}
			if leaf := certified(t, s.Current(), now); !trusts(t, before, leaf, now) {
				t.Errorf("%v: the next one signs before it is trusted", lifetime)
			}
		}
	}
}

func TestTheBundleDoesNotChangeWhenAnotherOneSigns(t *testing.T) {
	s, err := newSuccession(t).Prepare(noon.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	after, step, err := s.Advance(noon.Add(SpreadFor+2*time.Hour), true)
	if step != TookOver || err != nil || !bytes.Equal(s.Bundle(), after.Bundle()) {
		t.Errorf("step %q (%v); the bundle is the same: %v", step, err, bytes.Equal(s.Bundle(),
			after.Bundle()))
	}
	if again, err := s.Prepare(noon.Add(2 * time.Hour)); err != nil || again.next != s.next {
		t.Error("a second next one was made")
	}
}

func TestASuccessionIsReadBack(t *testing.T) {
	prepared, err := newSuccession(t).Prepare(noon)
	if err != nil {
		t.Fatal(err)
	}
	taken, _ := settle(t, prepared, noon.Add(SpreadFor+2*time.Hour))
	for what, s := range map[string]Succession{
		"one":                 newSuccession(t),
		"with a next one":     prepared,
		"with a previous one": taken,
	} {
		data, err := s.Data()
		if err != nil {
			t.Fatal(err)
		}
		back, err := ParseSuccession(data)
		if err != nil || !bytes.Equal(back.Bundle(), s.Bundle()) ||
			!back.Current().key.Equal(s.Current().key) ||
			!back.retire.Equal(s.retire.Truncate(time.Second)) ||
			(back.next == nil) != (s.next == nil) {
			t.Errorf("%s: read back as %+v (%v)", what, back, err)
		}
	}
	data, _ := taken.Data()
	if len(data[nextKey]) > 0 || bytes.Count(data[currentKey], []byte("BEGIN")) != 1 {
		t.Error("the key of the one that signed before is still kept")
	}
}

func TestABrokenSuccessionSaysWhichPart(t *testing.T) {
	s, err := newSuccession(t).Prepare(noon)
	if err != nil {
		t.Fatal(err)
	}
	s = s.KeepCurrentOf(newSuccession(t), noon)
	_, otherKey, err := newAuthority(t).PEM()
	if err != nil {
		t.Fatal(err)
	}
	leaf := encodeCertificate(certified(t, s.Current(), noon).Raw)
	for part, values := range map[string][][]byte{
		currentCert:   {nil, []byte("x"), leaf},
		currentKey:    {nil, []byte("x"), otherKey},
		nextCert:      {nil, []byte("x"), leaf},
		nextKey:       {nil, otherKey},
		previousCert:  {[]byte("x"), leaf},
		previousUntil: {nil, []byte("soon")},
	} {
		for _, value := range values {
			data, err := s.Data()
			if err != nil {
				t.Fatal(err)
			}
			data[part] = value
			if _, err := ParseSuccession(data); err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("with %s = %.20q: %v, want an error that names it", part, value, err)
			}
		}
	}
}

func TestThoseThatSignedAreBounded(t *testing.T) {
	s := newSuccession(t)
	var last, earlier Succession
	for range 3 * maxPrevious {
		last, earlier = newSuccession(t), s
		s = s.KeepCurrentOf(last, noon)
	}
	if len(s.previous) != maxPrevious || !slices.ContainsFunc(s.previous, last.current.certificate.Equal) {
		t.Errorf("%d are kept, want the newest %d", len(s.previous), maxPrevious)
	}
	before := s.Bundle()
	if earlier.KeepCurrentOf(newSuccession(t), noon); !bytes.Equal(s.Bundle(), before) {
		t.Error("what another succession keeps has changed this one")
	}
	if again := s.KeepCurrentOf(s, noon.Add(time.Hour)); !again.retire.Equal(s.retire) {
		t.Error("the one that signs was kept as one that did")
	}
	if twice := s.Keep(s.current.certificate, noon); len(twice.trusted()) != maxPrevious {
		t.Errorf("%d are trusted, one of them twice", len(twice.trusted()))
	}
}

// Each is trusted for as long after it has stopped signing, also if others have stopped before, and
// the bundle has them in the order in which they were made.
func TestAuthoritiesThatStopSigningOneAfterTheOther(t *testing.T) {
	later, err := NewSuccession(noon.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	first, latest := newSuccession(t), noon.Add(RetireAfter/2)
	s := later.KeepCurrentOf(first, noon).KeepCurrentOf(newSuccession(t), latest)
	if !first.KeepCurrentOf(later, noon).trusted()[1].Equal(later.current.certificate) {
		t.Error("the one that was made first is not the first of the bundle")
	}
	for now, want := range map[time.Time]Step{
		noon.Add(RetireAfter + time.Hour):   "",
		latest.Add(RetireAfter + time.Hour): Retired,
	} {
		if _, step, err := s.Advance(now, true); step != want || err != nil {
			t.Errorf("%v after the first one stopped: %q (%v), want %q", now.Sub(noon), step, err, want)
		}
	}
}

func certified(t *testing.T, by *Authority, now time.Time) *x509.Certificate {
	t.Helper()
	csr, err := Request(newKey(t))
	if err != nil {
		t.Fatal(err)
	}
	chain, err := by.Sign(csr, scheduler2, now)
	if err != nil {
		t.Fatal(err)
	}
	all, err := parseCertificates(chain)
	if err != nil {
		t.Fatal(err)
	}
	return all[0]
}

func trusts(t *testing.T, bundle []byte, leaf *x509.Certificate, now time.Time) bool {
	t.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(bundle) {
		t.Fatal("the bundle is empty")
	}
	_, err := leaf.Verify(x509.VerifyOptions{
		Roots:       roots,
		CurrentTime: now,
		KeyUsages:   []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	})
	return err == nil
}
