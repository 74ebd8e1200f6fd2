package boottime

import (
	"syscall"
	"time"
	"unsafe"
)

// Shared is true if the agent and the app read the same clock, so that each can compare the other's
// readings with its own.
const Shared = true

// clockBoottime is CLOCK_BOOTTIME of clock_gettime(2).
const clockBoottime = 7

// Now reads CLOCK_BOOTTIME, the time since the machine started. It returns an error if the kernel
// refuses the call.
func Now() (time.Duration, error) {
	var t syscall.Timespec
	_, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockBoottime,
		uintptr(unsafe.Pointer(&t)), 0) //nolint:gosec // G103: the system call needs a pointer
	if errno != 0 {
		return 0, errno
	}
	return time.Duration(t.Nano()), nil
}
