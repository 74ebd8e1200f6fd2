package agentserver

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"

	"k8s.io/client-go/util/flowcontrol"
)

// A pod that joins costs the API server two requests, and one that renews costs one. 5,000 pods
// that start at once are in after 25 s, if the API server is that quick. The manager makes fewer of
// these requests while its own writes pile up, because the API server is slow or much happens.
const (
	requestsPerSecond    = 400
	requestsBesideWrites = 50
	requestsAtOnce       = 100
	manyWrites           = 8 // a quarter of the groups that are reconciled at a time
)

// Writes counts the manager's own writes that are under way. The zero value counts none.
type Writes struct{ underWay atomic.Int64 }

// Watch has the writes that go through a transport counted.
func (w *Writes) Watch(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		// a review of a token is a POST, and changes nothing
		if r.Method == http.MethodGet || strings.HasSuffix(r.URL.Path, "reviews") {
			return next.RoundTrip(r)
		}
		w.underWay.Add(1)
		defer w.underWay.Add(-1)
		return next.RoundTrip(r)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Pace returns the rate limit of an Admission's requests.
func (w *Writes) Pace() flowcontrol.RateLimiter {
	return &pace{
		RateLimiter: flowcontrol.NewTokenBucketRateLimiter(requestsBesideWrites, requestsAtOnce),
		alone:       flowcontrol.NewTokenBucketRateLimiter(requestsPerSecond, requestsAtOnce),
		writes:      w,
	}
}

// pace has two rates: its own counts while many writes are under way, and alone counts otherwise.
type pace struct {
	flowcontrol.RateLimiter
	alone  flowcontrol.RateLimiter
	writes *Writes
}

// Wait is what client-go calls before each request.
func (p *pace) Wait(ctx context.Context) error {
	if p.writes.underWay.Load() < manyWrites {
		return p.alone.Wait(ctx)
	}
	return p.RateLimiter.Wait(ctx)
}
