package agent

import "github.com/podesta-dev/podesta/internal/lease"

// Clocks are the clocks of a machine. An agent reads them at each event, so what a reading costs
// counts: a clock is a system call, the wall clock excepted.
type Clocks interface {
	Read() lease.Reading // all of them, at one instant
	Boot() lease.Instant // CLOCK_BOOTTIME alone
}
