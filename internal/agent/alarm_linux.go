package agent

import (
	"errors"
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/podesta-dev/podesta/internal/lease"
)

// Alarm is a timer of the kernel's. Go's own would wake an idle agent twice, and its monitor, too:
// ADR 14 says why. If the kernel refuses one (a seccomp profile, no more files), it is Go's.
func (c MachineClocks) Alarm() Alarm {
	a, err := newMachineAlarm()
	if err != nil {
		return alarmOf(c.Boot)
	}
	return a
}

// machineAlarm is timerfd_create(2) on CLOCK_BOOTTIME.
type machineAlarm struct {
	file   *os.File
	raw    syscall.RawConn
	rings  chan struct{}
	closed atomic.Bool
	ended  chan struct{} // closed when watch has returned

	spec    unix.ItimerSpec
	failed  syscall.Errno
	control func(fd uintptr) // arm: a method value of its own would be allocated for each Set
}

func newMachineAlarm() (*machineAlarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_BOOTTIME, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	a := &machineAlarm{
		file:  os.NewFile(uintptr(fd), "timerfd"),
		rings: make(chan struct{}, 1),
		ended: make(chan struct{}),
	}
	a.control = a.arm
	a.raw, err = a.file.SyscallConn()
	// only what Go's poller waits for takes a deadline
	if err = errors.Join(err, a.file.SetReadDeadline(time.Time{})); err == nil {
		err = a.set(unix.Timespec{}) // to nothing; nothing later can fail if this does not
	}
	if err != nil {
		return nil, errors.Join(err, a.file.Close())
	}
	go a.watch()
	return a, nil
}

func (a *machineAlarm) Set(at lease.Instant) {
	if err := a.set(unix.NsecToTimespec(max(1, int64(at)))); err != nil { // 0 would disarm it
		panic(err)
	}
}

func (a *machineAlarm) set(at unix.Timespec) error {
	a.spec.Value, a.failed = at, 0
	if err := a.raw.Control(a.control); err != nil {
		return err
	}
	if a.failed != 0 {
		return os.NewSyscallError("timerfd_settime", a.failed)
	}
	return nil
}

// arm is a raw call, because it never blocks: package rawconn says what any other may cost.
func (a *machineAlarm) arm(fd uintptr) {
	//nolint:gosec // the call ends before spec may go
	_, _, a.failed = unix.RawSyscall6(unix.SYS_TIMERFD_SETTIME, fd, unix.TFD_TIMER_ABSTIME,
		uintptr(unsafe.Pointer(&a.spec)), 0, 0, 0)
}

func (a *machineAlarm) Rings() <-chan struct{} { return a.rings }

func (a *machineAlarm) Close() {
	a.closed.Store(true)
	_ = a.file.Close() // ends watch
	<-a.ended
}

// watch waits for the kernel, until the alarm is closed.
func (a *machineAlarm) watch() {
	defer close(a.ended)
	for {
		err := a.raw.Read(gone)
		if a.closed.Load() {
			return
		}
		if err != nil { // an agent whose loop hears of no alarm would do nothing, and seem well
			panic(err)
		}
		ring(a.rings)
	}
}

// gone reports whether the alarm has gone off. Reading it makes it wait for the next time.
func gone(fd uintptr) bool {
	for {
		var times uint64
		//nolint:gosec // the call ends before times may go
		_, _, failed := unix.RawSyscall(unix.SYS_READ, fd, uintptr(unsafe.Pointer(&times)), 8)
		switch failed {
		case 0:
			return true
		case unix.EAGAIN:
			return false
		case unix.EINTR:
		default:
			panic("reading a timerfd: " + failed.Error())
		}
	}
}
