package boottime

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
	"unsafe"
)

// Alarm goes off at an instant of CLOCK_BOOTTIME, and right after a suspension that passed it. One
// goroutine may wait while others set and close it.
type Alarm struct {
	timer *os.File // timerfd_create(2)
}

// absolute is TFD_TIMER_ABSTIME: an instant, not a duration.
const absolute = 1

// NewAlarm returns an alarm that is not set. The error is that of the kernel, such as a seccomp
// profile that refuses timerfd_create.
func NewAlarm() (*Alarm, error) {
	// without O_NONBLOCK each wait would take a thread, and Close would not end it
	fd, _, errno := syscall.Syscall(syscall.SYS_TIMERFD_CREATE, clockBoottime,
		syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if errno != 0 {
		return nil, fmt.Errorf("timerfd_create: %w", errno)
	}
	return &Alarm{timer: os.NewFile(fd, "timerfd")}, nil
}

// itimerspec is struct itimerspec of timerfd_settime(2).
type itimerspec struct{ interval, value syscall.Timespec }

// Set has the alarm go off at an instant, and no longer at the one before. An instant that has
// passed is due at once.
func (a *Alarm) Set(at time.Duration) error {
	spec := itimerspec{value: syscall.NsecToTimespec(max(1, int64(at)))} // 0 would disarm it
	conn, err := a.timer.SyscallConn()
	if err != nil {
		return err
	}
	var errno syscall.Errno
	err = conn.Control(func(fd uintptr) {
		_, _, errno = syscall.RawSyscall6(syscall.SYS_TIMERFD_SETTIME, fd, absolute,
			uintptr(unsafe.Pointer(&spec)), 0, 0, 0) //nolint:gosec // G103: the system call needs a pointer
	})
	if errno != 0 {
		err = errors.Join(err, fmt.Errorf("timerfd_settime: %w", errno))
	}
	return err
}

// Wait returns nil when the alarm has gone off, and an error once it is closed.
func (a *Alarm) Wait() error {
	var expirations [8]byte
	_, err := a.timer.Read(expirations[:])
	return err
}

// Close ends Wait.
func (a *Alarm) Close() error { return a.timer.Close() }
