package credentials

import (
	"cmp"
	"crypto/rand"
	"sync/atomic"
	"time"

	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/statedir"
)

// Clock is the clock of a machine's run, which goes on during suspend, and which nobody can set.
type Clock struct {
	Boot   func() time.Duration // CLOCK_BOOTTIME
	BootID string               // identifies this run of the machine; empty: it is not known
}

// expiry knows until when the certificate counts that the manager has signed. The manager takes a
// process whose pod is gone for ended when all its certificates have expired by any clock within
// the bound (MC5 in internal/membership), so the end is a time on CLOCK_BOOTTIME, counted from
// before the certificate was asked for. After a reboot that clock says nothing about the time
// before: then the certificate has ended. Where the machine does not say which of its runs this is,
// a certificate that an earlier incarnation of the agent asked for has ended, too.
type expiry struct {
	clock Clock
	asked atomic.Pointer[statedir.Asked] // when the certificate in use was; nil: there is none
}

func newExpiry(c Clock) *expiry {
	c.BootID = cmp.Or(c.BootID, "agent "+rand.Text())
	return &expiry{clock: c}
}

// begins notes when the certificate in use was asked for.
func (e *expiry) begins(a statedir.Asked) { e.asked.Store(&a) }

// over reports whether the certificate does not count any more.
func (e *expiry) over() bool {
	a := e.asked.Load()
	return a == nil || a.BootID != e.clock.BootID || e.clock.Boot() >= a.Boot+identity.Lifetime
}
