package lateness

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/podesta-dev/podesta/test/register"
)

const (
	// beat is how often a watcher looks at the clock.
	beat = 4 * time.Millisecond
	// priority goes before every thread that has no priority for real time.
	priority = 50
)

// Watch looks at the clock on one CPU again and again, before every usual thread, and writes a line
// for each time that it came back late. It returns when nobody reads them any more.
func Watch(cpu int, out io.Writer) error {
	runtime.LockOSThread()
	debug.SetGCPercent(-1) // it makes nothing to collect
	if err := own(cpu); err != nil {
		return fmt.Errorf("watch CPU %d before all other threads; that needs root: %w", cpu, err)
	}
	if _, err := fmt.Fprintln(out, ready); err != nil {
		return err
	}
	for last := register.Now(); ; {
		rest := unix.NsecToTimespec(beat.Nanoseconds())
		_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &rest, nil) // a signal ends it sooner
		now := register.Now()
		if late := now.Sub(last) - beat; late >= Least {
			if _, err := fmt.Fprintln(out, int64(last), int64(now)); err != nil {
				return err
			}
			now = register.Now()
		}
		last = now
	}
}

// ready is the first line of a watcher.
const ready = "watches"

// own binds this thread to a CPU, and has it go before every usual one there.
func own(cpu int) error {
	var set unix.CPUSet
	set.Set(cpu)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return err
	}
	return unix.SchedSetAttr(0, &unix.SchedAttr{
		Size:     unix.SizeofSchedAttr,
		Policy:   unix.SCHED_FIFO,
		Priority: priority,
	}, 0)
}

// Main is Watch as a program of its own: its argument is the CPU.
func Main(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%q: name one CPU", args)
	}
	cpu, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	go func() { // it ends with the one that has started it
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	return Watch(cpu, os.Stdout)
}
