package group

import (
	"time"

	"github.com/podesta-dev/podesta/controllers/retry"
)

// retryRefused is after how long it is tried again whether the API server takes what it refused, or
// whether a Service's name is free: no watch tells of either.
const retryRefused = 30 * time.Second

// toldAfter is for how long writes may fail that the API server does not refuse for good before
// people are told: a webhook may be away for a moment.
const toldAfter = 5 * time.Second

// refusal is that the API server refuses a write, and will do so until a user acts; or that it
// fails to make one. Zero: neither.
type refusal struct {
	message    string
	at         time.Time
	generation int64     // of the group, if what was refused follows from its spec
	failing    time.Time // since when; zero: it is refused
}

// lately reports whether a write was refused so lately that it is not tried again yet. One that
// failed is tried in each pass, and the passes come less and less often.
func (r refusal) lately(now time.Time) bool {
	return r.message != "" && r.failing.IsZero() && now.Sub(r.at) < retryRefused
}

// words says what becomes of a write; empty: people are not told yet.
func (r refusal) words(what string, now time.Time) string {
	switch {
	case r.failing.IsZero():
		return "the API server refuses to " + what + ": " + r.message
	case now.Sub(r.failing) < toldAfter:
		return ""
	}
	return "the API server fails to " + what + ": " + r.message
}

// refusedFor returns, for people, why the API server refuses a write; empty if it may take the next
// one.
func refusedFor(err error) string { return shorten(retry.Refused(err)) }

// nextTry returns after how long a try at that time is repeated: one that is due is made now, and
// then after retryRefused.
func nextTry(at, now time.Time) time.Duration {
	if left := at.Add(retryRefused).Sub(now); left > 0 {
		return left
	}
	return retryRefused
}
