package main

import (
	"maps"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/podesta-dev/podesta/internal/connlimit"
)

// scrapes bound who asks for metrics, by address, before the API server is asked about a token. A
// source may be a node with several scrapers, of which each asks twice a minute.
var scrapes = connlimit.TurnLimits{
	AtOnce:   8,
	OfSource: 2,
	Waiting:  8,
	Burst:    32,
	Refill:   time.Second,
	Patience: 2 * time.Second,
}

// Addresses that got metrics lately have turns of their own. Otherwise some ten addresses that ask
// with tokens of nobody would take all turns, in each of which the API server is asked.
const (
	scraperStays = 10 * time.Minute
	mostScrapers = 256
)

// scrapers have those who ask for metrics take turns.
type scrapers struct {
	now           func() time.Time
	known, others *connlimit.Turns

	mu   sync.Mutex
	last map[string]time.Time // when an address got metrics
}

func newScrapers(now func() time.Time) *scrapers {
	return &scrapers{
		now:    now,
		known:  connlimit.NewTurns(scrapes, now),
		others: connlimit.NewTurns(scrapes, now),
		last:   map[string]time.Time{},
	}
}

// whoGetsHere notes who gets as far as this handler.
func (s *scrapers) whoGetsHere(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		s.note(sourceOf(request))
		handler.ServeHTTP(w, request)
	})
}

func (s *scrapers) note(source string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	maps.DeleteFunc(s.last, func(_ string, at time.Time) bool { return now.Sub(at) > scraperStays })
	if _, known := s.last[source]; known || len(s.last) < mostScrapers {
		s.last[source] = now
	}
}

// turns are those of an address.
func (s *scrapers) turns(source string) *connlimit.Turns {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at, known := s.last[source]; known && s.now().Sub(at) <= scraperStays {
		return s.known
	}
	return s.others
}

// inTurn serves each address within the limits of turns.
func (s *scrapers) inTurn(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		source := sourceOf(request)
		done, err := s.turns(source).Take(request.Context(), source, source)
		if err != nil {
			http.Error(w, "too many requests: "+err.Error(), http.StatusTooManyRequests)
			return
		}
		defer done()
		handler.ServeHTTP(w, request)
	})
}

// sourceOf is the address that a request comes from.
func sourceOf(request *http.Request) string {
	source, _, err := net.SplitHostPort(request.RemoteAddr)
	if err != nil {
		return request.RemoteAddr
	}
	return source
}
