package lease

import "time"

// Permission lets the app act under an epoch until a deadline on CLOCK_BOOTTIME. The zero
// Permission permits nothing.
type Permission struct {
	Epoch    Epoch
	Deadline Instant
	// Renewed is when the newest request was sent that a majority has granted. It moves on also
	// while the deadline stands still because the lease has become shorter.
	Renewed Instant
}

// valid reports whether the permission permits anything at an instant. It ends at its deadline, not
// after it.
func (p Permission) valid(now Instant) bool { return p.Epoch != 0 && now < p.Deadline }

// Session is a connection over which an app is told its permission. An app that closes its session
// gives back what it was told there.
type Session struct {
	told Instant
}

// Ledger keeps what the app was granted and what it was told. The app's requests use it directly,
// against the clock of that moment, and never go through a Machine. A lease is released only when
// Told has passed (LH6). A Ledger knows no clock and takes no lock: its caller has both.
type Ledger struct {
	granted  Permission
	told     Instant // the latest deadline that the app was told and no session can give back
	sessions map[*Session]struct{}
	expected bool // the app keeps a session: there has been one, or Expect says so
	passed   bool // an app was refused because the deadline of what is granted had passed

	answered Instant // when the app that asks now and then got its last answer
	under    Epoch   // of that answer
}

// seldom is how far apart an app's questions are at least to count for the length of the lease
// (LH10).
const seldom = 10 * time.Millisecond

// Grant replaces what the app may be told from now on, and reports whether that is news: the epoch
// changed, or an app was told that the deadline had passed. The zero Permission revokes. What the
// app was told before stays told.
func (l *Ledger) Grant(p Permission) (news bool) {
	news = p.Epoch != l.granted.Epoch || l.passed
	l.granted, l.passed = p, false
	return news
}

// Use tells the app what it may do now. From then on it may rely on the deadline.
func (l *Ledger) Use(now Instant) (p Permission, ok bool) {
	if !l.mayAct(now) {
		return Permission{}, false
	}
	l.told = max(l.told, l.granted.Deadline)
	return l.granted, true
}

// mayAct reports whether what is granted permits anything at an instant, and notes it if the app is
// told that it does not any more.
func (l *Ledger) mayAct(now Instant) bool {
	ok := l.granted.valid(now)
	l.passed = l.passed || !ok && l.granted.Epoch != 0
	return ok
}

// Gap notes that an app which asks now and then got an answer of Use at an instant. It returns how
// long before the app got the last one, if both are of one epoch and that is long enough to count
// for the length of the lease (LH10); otherwise 0. An app that keeps a session asks nothing.
func (l *Ledger) Gap(p Permission, now Instant) (gap time.Duration) {
	if gap = now - l.answered; l.under != p.Epoch || gap < seldom {
		gap = 0
	}
	l.answered, l.under = now, p.Epoch
	return gap
}

// Granted returns what was granted last, which may have run out, and tells the app nothing.
func (l *Ledger) Granted() Permission { return l.granted }

// Valid reports whether the app may act now, and tells it nothing.
func (l *Ledger) Valid(now Instant) bool { return l.granted.valid(now) }

// Open begins a session.
func (l *Ledger) Open() *Session {
	s := &Session{}
	if l.sessions == nil {
		l.sessions = map[*Session]struct{}{}
	}
	l.sessions[s], l.expected = struct{}{}, true
	return s
}

// UseIn is Use for what is told over a session.
func (l *Ledger) UseIn(s *Session, now Instant) (p Permission, ok bool) {
	if !l.mayAct(now) {
		return Permission{}, false
	}
	s.told = max(s.told, l.granted.Deadline)
	return l.granted, true
}

// Behind reports whether a session was told much less than it would be now: a quarter of the time
// that is left, or more, was granted since. Each renewal of an adaptive lease adds so much.
func (l *Ledger) Behind(now Instant) bool {
	if !l.granted.valid(now) {
		return false
	}
	told := l.granted.Deadline - (l.granted.Deadline-now)/4
	for s := range l.sessions {
		if s.told <= told {
			return true
		}
	}
	return false
}

// Cut ends a session from the agent's side. The app did not give back what it was told, so it may
// rely on it until the deadline.
func (l *Ledger) Cut(s *Session) {
	l.told = max(l.told, s.told)
	delete(l.sessions, s)
}

// Close ends a session from the app's side: the app has stopped acting, or is gone.
func (l *Ledger) Close(s *Session) { delete(l.sessions, s) }

// Told returns until when the app may rely on what it was told. It grows only by Use and UseIn, and
// shrinks only by Close.
func (l *Ledger) Told() Instant {
	until := l.told
	for s := range l.sessions {
		until = max(until, s.told)
	}
	return until
}

// Sessions returns how many sessions are open.
func (l *Ledger) Sessions() int { return len(l.sessions) }

// Expect says that the app keeps a session, before it has opened one.
func (l *Ledger) Expect() { l.expected = true }

// Expected reports whether the app keeps a session: it has opened one, or Expect says so.
func (l *Ledger) Expected() bool { return l.expected }

// Deserted reports whether the app keeps a session and has none now.
func (l *Ledger) Deserted() bool { return l.expected && len(l.sessions) == 0 }
