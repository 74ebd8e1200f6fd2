package agent

import (
	"errors"
	"sync"
	"syscall"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
)

// Ledger is a lease.Ledger against a clock, for the agent's loop, which grants and revokes, and
// for whoever serves the app. It checks the clock at each use. Safe for concurrent use.
type Ledger struct {
	clocks Clocks

	mu          sync.Mutex
	ledger      lease.Ledger
	revocations uint64 // how often a permission was revoked
	// closed when the app's permission begins, ends or gets another epoch, goes on after an app was
	// told that its deadline had passed, or has become much longer than a session was told
	changed    chan struct{}
	sessions   chan struct{}      // capacity 1: sessions have opened or closed
	suspicions chan string        // capacity 1: the coordinator that does not answer the app
	suspected  lease.Instant      // when the app last reported that; 0: never
	gaps       chan time.Duration // capacity 1: between two answers that the app got
}

// Session is an app that is told its permission over an open connection.
type Session struct {
	ledger  *Ledger
	session *lease.Session
}

// NewLedger returns a ledger that permits nothing, by these clocks: MachineClocks, except in tests.
func NewLedger(clocks Clocks) *Ledger {
	return &Ledger{
		clocks:     clocks,
		changed:    make(chan struct{}),
		sessions:   make(chan struct{}, 1),
		suspicions: make(chan string, 1),
		gaps:       make(chan time.Duration, 1),
	}
}

// Use tells the app what it may do now. From then on the app may rely on the deadline.
func (l *Ledger) Use() (lease.Permission, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clocks.Boot()
	p, ok := l.ledger.Use(now)
	if !ok {
		return p, false
	}
	if gap := l.ledger.Gap(p, now); gap > 0 {
		l.tellGap(gap)
	}
	return p, true
}

// Valid reports whether this process may act now, for those who do not act on it.
func (l *Ledger) Valid() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ledger.Valid(l.clocks.Boot())
}

// Changed returns a channel that is closed when the permission begins, ends or gets another epoch.
// A deadline that moves on is a change if an app was told that it had passed, or if a session was
// told much less.
func (l *Ledger) Changed() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changed
}

// Open begins a session. Closing the session gives up what the app was told over it.
func (l *Ledger) Open() *Session {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.tell()
	return &Session{ledger: l, session: l.ledger.Open()}
}

// Use is Ledger.Use for what is told over the session.
func (s *Session) Use() (lease.Permission, bool) {
	p, _, ok := s.use()
	return p, ok
}

// use is Use. It also returns how often a permission was revoked so far.
func (s *Session) use() (p lease.Permission, revocations uint64, ok bool) {
	s.ledger.mu.Lock()
	defer s.ledger.mu.Unlock()
	p, ok = s.ledger.ledger.UseIn(s.session, s.ledger.clocks.Boot())
	return p, s.ledger.revocations, ok
}

// Cut ends the session from this side: the app may rely on what it was told until the deadline.
func (s *Session) Cut() {
	s.ledger.mu.Lock()
	defer s.ledger.mu.Unlock()
	s.ledger.ledger.Cut(s.session)
	s.ledger.tell()
}

// endAfter ends a session after an error of sending. If the app's end of the connection is closed,
// the app has gone, or has given its permission up. Otherwise the app may only be slow to read. It
// relies on the last permission when it reads on.
func (s *Session) endAfter(err error) {
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
		s.Close()
	} else {
		s.Cut()
	}
}

// Close ends the session: the app has gone, or has given its permission up.
func (s *Session) Close() {
	s.ledger.mu.Lock()
	defer s.ledger.mu.Unlock()
	s.ledger.ledger.Close(s.session)
	s.ledger.tell()
}

// grant replaces what the app may be told; the zero Permission revokes it.
func (l *Ledger) grant(p lease.Permission) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.Epoch == 0 && l.ledger.Granted().Epoch != 0 {
		l.revocations++
	}
	if l.ledger.Grant(p) || l.ledger.Sessions() > 0 && l.ledger.Behind(l.clocks.Boot()) {
		close(l.changed)
		l.changed = make(chan struct{})
	}
}

// remaining is how long the app may still act; 0 if it may not. It tells the app nothing.
func (l *Ledger) remaining() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	granted := l.ledger.Granted()
	if granted.Epoch == 0 {
		return 0
	}
	return max(0, granted.Deadline-l.clocks.Boot())
}

// open is how many sessions are open.
func (l *Ledger) open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ledger.Sessions()
}

// told is until when the app relies on what it was told.
func (l *Ledger) told() lease.Instant {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ledger.Told()
}

// Expect says that the app keeps a session, before it has opened one: an earlier incarnation of the
// agent has seen one, or the pod says so. Without a session its process is no candidate.
func (l *Ledger) Expect() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ledger.Expect()
}

// Expected reports whether the app keeps a session. The state directory keeps that, too.
func (l *Ledger) Expected() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ledger.Expected()
}

// deserted reports whether the app keeps a session and has none now.
func (l *Ledger) deserted() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ledger.Deserted()
}

func (l *Ledger) tell() {
	select {
	case l.sessions <- struct{}{}:
	default:
	}
}
