package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podesta-dev/podesta/test/bubble"
)

// An address that asks for metrics all the time is refused before the API server is asked about its
// token; another one is not.
func TestWhoAsksForMetricsTooOften(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		asked := 0
		handler := newScrapers(time.Now).inTurn(
			http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
		ask := func(address string) int {
			request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
			request.RemoteAddr = address
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, request)
			return answer.Code
		}
		for range 2 * scrapes.Burst {
			ask("10.0.0.1:1")
		}
		if asked != scrapes.Burst {
			t.Errorf("%d requests were let through, want %d", asked, scrapes.Burst)
		}
		if code := ask("10.0.0.1:2"); code != http.StatusTooManyRequests {
			t.Errorf("another port of that address: %d", code)
		}
		if code := ask("10.0.0.2:1"); code != http.StatusOK {
			t.Errorf("another address: %d", code)
		}
		<-time.After(scrapes.Refill)
		if code := ask("10.0.0.1:3"); code != http.StatusOK {
			t.Errorf("after %v: %d", scrapes.Refill, code)
		}
	})
}

// Ten addresses whose tokens are nobody's take all turns, and more. An address that got metrics
// before gets them all the same, for some minutes.
func TestWhoGotMetricsGetsThemAgain(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		const scraper = "10.0.1.1:1"
		s := newScrapers(time.Now)
		metrics := s.whoGetsHere(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		handler := s.inTurn(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
			if request.RemoteAddr == scraper {
				metrics.ServeHTTP(w, request)
				return
			}
			select { // the API server is asked, slowly
			case <-time.After(time.Minute):
			case <-request.Context().Done():
			}
			w.WriteHeader(http.StatusUnauthorized)
		}))
		ctx, cancel := context.WithCancel(t.Context())
		ask := func(address string) int {
			request := httptest.NewRequestWithContext(ctx, http.MethodGet, "/metrics", nil)
			request.RemoteAddr = address
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, request)
			return answer.Code
		}
		if code := ask(scraper); code != http.StatusOK {
			t.Fatalf("before the others: %d", code)
		}
		var strangers sync.WaitGroup
		for i := range 10 {
			for range scrapes.OfSource {
				strangers.Go(func() { ask(fmt.Sprintf("10.0.0.%d:1", i)) })
			}
		}
		synctest.Wait()
		if code := ask(scraper); code != http.StatusOK {
			t.Errorf("beside them: %d", code)
		}
		if code := ask("10.0.1.2:1"); code != http.StatusTooManyRequests {
			t.Errorf("another address: %d; the strangers leave a turn", code)
		}
		cancel()
		strangers.Wait()
		<-time.After(scraperStays + time.Second)
		if s.turns("10.0.1.1") != s.others {
			t.Error("it is known for ever")
		}
	})
}
