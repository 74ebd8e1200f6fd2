package agent

import "github.com/podesta-dev/podesta/internal/lease"

// ClocksFunc are clocks of a test.
type ClocksFunc func() lease.Reading

// Read reads them all.
func (f ClocksFunc) Read() lease.Reading { return f() }

// Boot reads the one that the protocol counts.
func (f ClocksFunc) Boot() lease.Instant { return f().Boot }
