package agent

import (
	"syscall"
	"time"
	"unsafe"
)

// sharedClock says that agent and app read one clock, so that an instant of the one means something to the other.
const sharedClock = true

// clockBoottime is CLOCK_BOOTTIME of clock_gettime(2).
const clockBoottime = 7

// now reads CLOCK_BOOTTIME, as a time since the machine's start. It fails where the kernel refuses the call.
func now() (time.Duration, error) {
	var t syscall.Timespec
	_, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockBoottime,
		uintptr(unsafe.Pointer(&t)), 0) //nolint:gosec // G103: how a system call takes the place for its answer
	if errno != 0 {
		return 0, errno
	}
	return time.Duration(t.Nano()), nil
}
