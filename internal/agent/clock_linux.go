package agent

import (
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/podesta-dev/podesta/internal/lease"
)

// MachineClocks are this machine's. The protocol counts CLOCK_BOOTTIME, because Go's own monotonic
// clock stands still while the machine is suspended.
type MachineClocks struct{}

// Read reads all three.
func (MachineClocks) Read() lease.Reading { return readClocks(read) }

// Boot reads CLOCK_BOOTTIME.
func (MachineClocks) Boot() lease.Instant { return read(unix.CLOCK_BOOTTIME) }

func readClocks(read func(clock int32) time.Duration) (r lease.Reading) {
	for range 10 { // a pause between two readings would look as if the clocks disagreed (LH7)
		begun := read(unix.CLOCK_BOOTTIME)
		r = lease.Reading{
			Raw:  read(unix.CLOCK_MONOTONIC_RAW),
			Wall: read(unix.CLOCK_REALTIME),
			Boot: read(unix.CLOCK_BOOTTIME),
		}
		if r.Boot-begun < time.Millisecond {
			break
		}
	}
	return r
}

func read(clock int32) time.Duration {
	if clock == unix.CLOCK_REALTIME { // Go reads this one without a system call
		return time.Duration(time.Now().UnixNano())
	}
	var t unix.Timespec
	if err := unix.ClockGettime(clock, &t); err != nil { // Linux has these since 2.6.39
		panic("clock_gettime: " + err.Error())
	}
	return time.Duration(t.Nano())
}

// BootID identifies the start of the machine that CLOCK_BOOTTIME counts from; empty: unknown.
func BootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}
