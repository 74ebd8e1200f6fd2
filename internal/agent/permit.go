package agent

import (
	"sync"

	"github.com/podesta-dev/podesta/internal/lease"
)

// Permit is what stands between the process's lease and its app. The loop grants and withdraws; whoever serves the app uses it,
// checking the clock at that moment. It remembers until when the app was told that it may act: only then, or when the
// apps have closed the sessions that were told so, may the lease be released (rule H6 of docs/lease.md). Safe for concurrent use.
type Permit struct {
	clock func() lease.Reading

	mu       sync.Mutex
	granted  Permission
	told     lease.Instant // by answers that no session can take back
	sessions map[*Session]struct{}
	had      bool          // there has been a session
	changed  chan struct{} // closed when the app's permission begins, ends or gets another epoch
	news     chan struct{} // capacity 1: sessions have opened or closed
}

// Permission lets the app act under an epoch until a deadline on CLOCK_BOOTTIME. The zero Permission permits nothing.
type Permission struct {
	Epoch    lease.Epoch
	Deadline lease.Instant
}

// Session is an app that is told its permission over an open connection.
type Session struct {
	permit *Permit
	told   lease.Instant
}

// NewPermit returns a permit that permits nothing, by the given clock: ReadClocks, but for tests.
func NewPermit(clock func() lease.Reading) *Permit {
	return &Permit{clock: clock, sessions: map[*Session]struct{}{}, changed: make(chan struct{}), news: make(chan struct{}, 1)}
}

// Use tells the app what it may do now. From then on it may rely on the deadline.
func (p *Permit) Use() (Permission, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, ok := p.valid()
	p.told = max(p.told, now.Deadline)
	return now, ok
}

// Valid reports whether this process may act now, for those who do not act on it.
func (p *Permit) Valid() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.valid()
	return ok
}

func (p *Permit) valid() (Permission, bool) {
	if p.granted.Epoch == 0 || p.clock().Boot >= p.granted.Deadline {
		return Permission{}, false
	}
	return p.granted, true
}

// Changed returns a channel that is closed when the permission begins, ends or gets another epoch. A deadline that moves on is no
// change.
func (p *Permit) Changed() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changed
}

// Open begins a session. Closing the session gives up what it was told.
func (p *Permit) Open() *Session {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := &Session{permit: p}
	p.sessions[s], p.had = struct{}{}, true
	p.tell()
	return s
}

// Use is Permit.Use for what is told over the session.
func (s *Session) Use() (Permission, bool) {
	s.permit.mu.Lock()
	defer s.permit.mu.Unlock()
	now, ok := s.permit.valid()
	s.told = max(s.told, now.Deadline)
	return now, ok
}

// cut says that the session is about to be closed from this side: the app may rely on what it was told.
func (s *Session) cut() {
	s.permit.mu.Lock()
	defer s.permit.mu.Unlock()
	s.permit.told = max(s.permit.told, s.told)
}

// Close ends the session: the app has gone, or has given its permission up.
func (s *Session) Close() {
	s.permit.mu.Lock()
	defer s.permit.mu.Unlock()
	delete(s.permit.sessions, s)
	s.permit.tell()
}

// grant lets the app act; the zero Permission withdraws what it was granted.
func (p *Permit) grant(now Permission) {
	p.mu.Lock()
	defer p.mu.Unlock()
	changed := now.Epoch != p.granted.Epoch
	p.granted = now
	if changed {
		close(p.changed)
		p.changed = make(chan struct{})
	}
}

// outstanding is until when the app relies on what it was told.
func (p *Permit) outstanding() lease.Instant {
	p.mu.Lock()
	defer p.mu.Unlock()
	until := p.told
	for s := range p.sessions {
		until = max(until, s.told)
	}
	return until
}

// deserted reports whether the app had a session and has none: it has gone.
func (p *Permit) deserted() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.had && len(p.sessions) == 0
}

func (p *Permit) tell() {
	select {
	case p.news <- struct{}{}:
	default:
	}
}
