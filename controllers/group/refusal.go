package group

import (
	"time"

	"github.com/podesta-dev/podesta/controllers/retry"
)

// retryRefused is after how long it is tried again whether the API server takes what it refused, or
// whether a Service's name is free: no watch tells of either.
const retryRefused = 30 * time.Second

// refusal is that the API server refuses a write, and will do so until a user acts. Zero: it does
// not.
type refusal struct {
	message    string
	at         time.Time
	generation int64 // of the group, if what was refused follows from its spec
}

// lately reports whether a write was refused so lately that it is not tried again yet.
func (r refusal) lately(now time.Time) bool {
	return r.message != "" && now.Sub(r.at) < retryRefused
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
