// Package apiclock compares the manager's wall clock with the API server's, which dates every
// response (the header Date).
//
//	clock := apiclock.New(time.Now, logger)
//	config.Wrap(clock.Watch)          // before the first request
//	if clock.Agrees() { … }           // at each use
//
// A manager keeps a few times in the cluster for the next manager, which may run on another
// machine. They are worth something only if both clocks agreed with one that both can see.
//
// What is not promised: that the API server's clock is right.
package apiclock

import (
	"log/slog"
	"net/http"
	"sync"
	"time"
)

const (
	// Tolerance is how far the clocks may be apart. The rule that relies on it has room for twice
	// as much (membership.CertificatesEnd).
	Tolerance = 2 * time.Minute
	// staleAfter is for how long a comparison counts.
	staleAfter = 15 * time.Minute
)

// Clock knows whether the two clocks agree, and what the other one shows. It is safe for concurrent
// use.
type Clock struct {
	now    func() time.Time
	logger *slog.Logger

	mu       sync.Mutex
	compared time.Time // when they were compared last, with a monotonic reading; zero: never
	date     time.Time // that the API server showed then
	agreed   bool
}

// New returns a Clock that has compared nothing yet. What now returns must have a monotonic
// reading, as time.Now's does.
func New(now func() time.Time, logger *slog.Logger) *Clock {
	return &Clock{now: now, logger: logger}
}

// Agrees reports whether the clocks agreed when they were compared last, which was not long ago,
// and the wall clock was not set since.
func (c *Clock) Agrees() bool {
	if c == nil {
		return false
	}
	now := c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	passed := now.Sub(c.compared) // by the monotonic clock
	shown := now.Round(0).Sub(c.compared.Round(0))
	return !c.compared.IsZero() && c.agreed && passed < staleAfter &&
		max(passed-shown, shown-passed) <= Tolerance
}

// Date returns what the API server's clock shows, to a second and the time that its answer took: by
// the last comparison, and by a clock that nobody sets since; zero before the first one.
func (c *Clock) Date() time.Time {
	if c == nil {
		return time.Time{}
	}
	now := c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.compared.IsZero() {
		return time.Time{}
	}
	return c.date.Add(now.Sub(c.compared))
}

// Watch has the responses that go through a transport compared.
func (c *Clock) Watch(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		sent := c.now()
		response, err := next.RoundTrip(r)
		if err != nil {
			return response, err
		}
		if date, err := http.ParseTime(response.Header.Get("Date")); err == nil {
			c.compare(sent, date)
		}
		return response, nil
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// compare takes a date, in whole seconds, of between when a request was sent and now.
func (c *Clock) compare(sent, date time.Time) {
	now := c.now()
	from, to := sent.Round(0).Add(-Tolerance), now.Round(0).Add(Tolerance)
	agreed := !date.Before(from) && !date.After(to)
	c.mu.Lock()
	changed := c.compared.IsZero() || c.agreed != agreed
	c.compared, c.date, c.agreed = now, date, agreed
	c.mu.Unlock()
	if changed && !agreed {
		c.logger.Error("the clocks of this machine and of the API server differ: until they "+
			"agree, no voter whose pod is missing counts as stopped because its certificates have "+
			"expired. Set the clocks right",
			"here", now.UTC(), "apiServer", date.UTC())
	}
}
