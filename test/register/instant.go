package register

import (
	"time"

	"golang.org/x/sys/unix"
)

// Instant is a reading of CLOCK_BOOTTIME in nanoseconds: the clock that agents hand out deadlines
// on, and one clock for all processes of a machine. 0 means none.
type Instant int64

// Now reads the clock.
func Now() Instant {
	var now unix.Timespec
	if err := unix.ClockGettime(clock, &now); err != nil {
		panic("no CLOCK_BOOTTIME: " + err.Error()) // every Linux since 2.6.39 has it
	}
	return Instant(now.Nano())
}

// Add is the instant so much later.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d) }

// Sub is the time from an earlier instant to this one.
func (i Instant) Sub(earlier Instant) time.Duration { return time.Duration(i - earlier) }
