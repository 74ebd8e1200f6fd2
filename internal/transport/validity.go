package transport

import (
	"crypto/x509"
	"math/rand/v2"
	"time"
)

// validity is the life of a certificate, as the wall clock counts it. The zero validity has no end: so are processes of the
// in-memory network that nobody certified.
type validity struct{ from, until time.Time }

func validityOf(c *x509.Certificate) validity { return validity{c.NotBefore, c.NotAfter} }

func (v validity) endless() bool { return v.until.IsZero() }

func (v validity) over() bool { return !v.endless() && time.Now().After(v.until) }

// within is what there is of two lives together: it ends with the one that ends first.
func (v validity) within(o validity) validity {
	if v.endless() || !o.endless() && o.until.Before(v.until) {
		return o
	}
	return v
}

// outlasts says whether v ends later than o.
func (v validity) outlasts(o validity) bool {
	return !o.endless() && (v.endless() || v.until.After(o.until))
}

// untilOver is a timer for the end of v; nil if there is none. It may be late, as the clocks that it does not know are set or
// stand still: whatever comes in is judged by over.
func (v validity) untilOver(then func()) *time.Timer {
	if v.endless() {
		return nil
	}
	return time.AfterFunc(time.Until(v.until)+1, then)
}

// renewal is how long to wait before a stream that ends with v is made anew. Certificates are replaced at half their lives;
// the first attempt comes in the last quarter, when the one that ends first should have been, and each further one, if it was
// not, after an eighth to a quarter of what is left, or a pause if that is longer. Processes draw, so as not to come all at once.
func (v validity) renewal(pause time.Duration) time.Duration {
	quarter, left := max(v.until.Sub(v.from)/4, 0), max(time.Until(v.until), 0)
	if early := left - quarter; early > 0 {
		return early + rand.N(quarter/4+1)
	}
	return max(pause, left/8+rand.N(left/8+1))
}
