package main

import (
	"net/http"
	"net/http/httptrace"
	"sync"
	"syscall"
)

// session is the connection of the session with the agent. The command and all that it starts have
// it open, too. If lead dies, the kernel ends its connections first, and the other processes of its
// container a moment later. Closing a session gives the permission up, so that must not happen
// while a process still runs.
type session struct {
	http.RoundTripper

	mu   sync.Mutex
	conn syscall.Conn // nil: there is none
}

// RoundTrip notes the connection that a session gets.
func (s *session) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path == "/v1/session" {
		trace := &httptrace.ClientTrace{GotConn: s.got}
		r = r.WithContext(httptrace.WithClientTrace(r.Context(), trace))
	}
	return s.RoundTripper.RoundTrip(r)
}

func (s *session) got(info httptrace.GotConnInfo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conn, _ = info.Conn.(syscall.Conn) // of another scheme than http: lead holds it alone
}

// with calls fn with the descriptor of the connection, which stays open meanwhile. Without a
// connection fn gets none.
func (s *session) with(fn func(descriptors ...uintptr)) {
	s.mu.Lock()
	conn := s.conn
	s.mu.Unlock()
	if conn != nil {
		if raw, err := conn.SyscallConn(); err == nil && raw.Control(func(fd uintptr) { fn(fd) }) == nil {
			return
		}
	}
	fn()
}
