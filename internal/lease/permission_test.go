package lease_test

import (
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

// A session is behind if a quarter of what is left came after it was told.
func TestWhichSessionIsBehind(t *testing.T) {
	for _, c := range []struct {
		told, deadline, now lease.Instant
		want                bool
	}{
		{3000, 4000, 0, true},
		{3001, 4000, 0, false},
		{3500, 4000, 2000, true},
		{3501, 4000, 2000, false},
		{4000, 4000, 0, false},    // renewed for nothing more
		{4000, 3000, 0, false},    // for less: what was told is still promised
		{3000, 4000, 4000, false}, // for nothing that it could use
		{0, 4000, 0, true},        // never told
	} {
		l := granted(epoch(1, 1), c.told)
		if l.Behind(c.now) {
			t.Errorf("%+v: without a session", c)
		}
		l.UseIn(l.Open(), 0)
		l.Grant(lease.Permission{Epoch: epoch(1, 1), Deadline: c.deadline})
		if got := l.Behind(c.now); got != c.want {
			t.Errorf("%+v: it is behind: %v", c, got)
		}
		l.Grant(lease.Permission{})
		if l.Behind(c.now) {
			t.Errorf("%+v: revoked, it is behind", c)
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

// LH10: how far apart the questions of an app are, under one epoch.
func TestGapBetweenQuestions(t *testing.T) {
	l := &lease.Ledger{}
	for i, c := range []struct {
		at   lease.Instant
		in   lease.Epoch
		want time.Duration
	}{
		{5 * time.Second, epoch(1, 1), 0}, // the first one
		{5*time.Second + 9*time.Millisecond, epoch(1, 1), 0},
		{5*time.Second + 19*time.Millisecond, epoch(1, 1), 10 * time.Millisecond},
		{6 * time.Second, epoch(1, 2), 0}, // of a lease before
		{7 * time.Second, epoch(1, 2), time.Second},
	} {
		if gap := l.Gap(lease.Permission{Epoch: c.in}, c.at); gap != c.want {
			t.Errorf("question %d: %v after the last, want %v", i+1, gap, c.want)
		}
	}
}
