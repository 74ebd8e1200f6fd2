//go:build !linux

package agent

import (
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
)

var started = time.Now()

// MachineClocks stand in where there is no CLOCK_BOOTTIME, for development only: agents run on
// Linux.
type MachineClocks struct{}

// Read reads the clocks that there are.
func (c MachineClocks) Read() lease.Reading {
	since := c.Boot()
	return lease.Reading{
		Boot: since,
		Raw:  since,
		Wall: time.Duration(time.Now().UnixNano()),
	}
}

// Boot reads Go's monotonic clock.
func (MachineClocks) Boot() lease.Instant { return time.Since(started) }

// BootID is unknown here.
func BootID() string { return "" }
