package agent

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/podesta-dev/podesta/internal/tenure"
)

// ReadClocks reads the machine's clocks. Tenure counts CLOCK_BOOTTIME: Go's own monotonic clock stands still while the machine
// is suspended.
func ReadClocks() tenure.Reading {
	return tenure.Reading{Boot: read(unix.CLOCK_BOOTTIME), Raw: read(unix.CLOCK_MONOTONIC_RAW), Wall: read(unix.CLOCK_REALTIME)}
}

func read(clock int32) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(clock, &t); err != nil { // Linux has these since 2.6.39
		panic("clock_gettime: " + err.Error())
	}
	return time.Duration(t.Nano())
}
