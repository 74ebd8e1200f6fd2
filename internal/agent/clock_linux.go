package agent

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/podesta-dev/podesta/internal/lease"
)

// ReadClocks reads the machine's clocks. Lease counts CLOCK_BOOTTIME: Go's own monotonic clock stands still while the machine
// is suspended.
func ReadClocks() (r lease.Reading) {
	for range 10 { // to stand still between two clocks would look as if they disagreed (H7)
		begun := read(unix.CLOCK_BOOTTIME)
		r = lease.Reading{Raw: read(unix.CLOCK_MONOTONIC_RAW), Wall: read(unix.CLOCK_REALTIME), Boot: read(unix.CLOCK_BOOTTIME)}
		if r.Boot-begun < time.Millisecond {
			break
		}
	}
	return r
}

func read(clock int32) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(clock, &t); err != nil { // Linux has these since 2.6.39
		panic("clock_gettime: " + err.Error())
	}
	return time.Duration(t.Nano())
}
