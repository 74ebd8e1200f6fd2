package agent

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/podesta-dev/podesta/internal/lease"
)

// Alarm is a timer of the kernel's. Go's own would wake an idle agent twice, and its monitor, too:
// ADR 14 says why. If the kernel refuses to make one, it is Go's.
func (c MachineClocks) Alarm() Alarm {
	fd, err := unix.TimerfdCreate(unix.CLOCK_BOOTTIME, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil { // a seccomp profile forbids it
		return alarmOf(c.Boot)
	}
	file := os.NewFile(uintptr(fd), "timerfd")
	raw, err := file.SyscallConn()
	if err != nil { // only of a file that is closed
		panic(err)
	}
	a := &machineAlarm{
		file:  file,
		raw:   raw,
		rings: make(chan struct{}, 1),
		ended: make(chan struct{}),
	}
	a.control = a.arm
	go a.watch()
	return a
}

// machineAlarm is timerfd_create(2) on CLOCK_BOOTTIME.
type machineAlarm struct {
	file  *os.File
	raw   syscall.RawConn
	rings chan struct{}
	ended chan struct{} // closed when watch has returned

	spec    unix.ItimerSpec
	control func(fd uintptr) // arm: a method value of its own would be allocated for each Set
}

func (a *machineAlarm) Set(at lease.Instant) {
	a.spec.Value = unix.NsecToTimespec(max(1, int64(at))) // 0 would disarm it
	if err := a.raw.Control(a.control); err != nil {      // only of a file that is closed
		panic(err)
	}
}

// arm is a raw call, because it never blocks: package rawconn says what any other may cost.
func (a *machineAlarm) arm(fd uintptr) {
	//nolint:gosec // the call ends before spec may go
	_, _, failed := unix.RawSyscall6(unix.SYS_TIMERFD_SETTIME, fd, unix.TFD_TIMER_ABSTIME,
		uintptr(unsafe.Pointer(&a.spec)), 0, 0, 0)
	if failed != 0 { // only of a time that is none
		panic("timerfd_settime: " + failed.Error())
	}
}

func (a *machineAlarm) Rings() <-chan struct{} { return a.rings }

func (a *machineAlarm) Close() {
	_ = a.file.Close() // ends watch
	<-a.ended
}

// watch waits for the kernel, until the alarm is closed.
func (a *machineAlarm) watch() {
	defer close(a.ended)
	for a.raw.Read(gone) == nil {
		ring(a.rings)
	}
}

// gone reports whether the alarm has gone off. Reading it makes it wait for the next time.
func gone(fd uintptr) bool {
	var times uint64
	//nolint:gosec // the call ends before times may go
	_, _, failed := unix.RawSyscall(unix.SYS_READ, fd, uintptr(unsafe.Pointer(&times)), 8)
	return failed != unix.EAGAIN && failed != unix.EINTR
}
