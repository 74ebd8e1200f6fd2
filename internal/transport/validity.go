package transport

import (
	"crypto/x509"
	"math/rand/v2"
	"time"
)

// validity is the lifetime of a certificate on the wall clock. The zero validity never ends;
// processes of the in-memory network without a certificate have it.
type validity struct{ from, until time.Time }

func validityOf(c *x509.Certificate) validity { return validity{c.NotBefore, c.NotAfter} }

func (v validity) endless() bool { return v.until.IsZero() }

func (v validity) over() bool { return !v.endless() && time.Now().After(v.until) }

// within returns the common part of two validities, which ends with the one that ends first.
func (v validity) within(o validity) validity {
	if v.endless() || !o.endless() && o.until.Before(v.until) {
		return o
	}
	return v
}

// outlasts reports whether v ends later than o.
func (v validity) outlasts(o validity) bool {
	return !o.endless() && (v.endless() || v.until.After(o.until))
}

// untilOver returns a timer for the end of v; nil if v never ends. The timer may fire late, because
// wall clocks are set and timers stop during suspend. So everything that arrives is checked with
// over.
func (v validity) untilOver(then func()) *time.Timer {
	if v.endless() {
		return nil
	}
	return time.AfterFunc(time.Until(v.until)+1, then)
}

// renewal returns how long to wait before a stream that ends with v is replaced. Certificates are
// renewed at half their lifetime. The first attempt comes in the last quarter, when the certificate
// that expires first should have been renewed. If it was not, each further attempt comes after an
// eighth to a quarter of the remaining time, or after a pause if that is longer. The times are
// random, so that processes do not come all at once.
func (v validity) renewal(pause time.Duration) time.Duration {
	quarter, left := max(v.until.Sub(v.from)/4, 0), max(time.Until(v.until), 0)
	if early := left - quarter; early > 0 {
		return early + rand.N(quarter/4+1)
	}
	return max(pause, left/8+rand.N(left/8+1))
}
