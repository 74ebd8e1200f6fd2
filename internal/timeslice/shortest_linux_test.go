package timeslice

import (
	"errors"
	"os/exec"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/podesta-dev/podesta/test/quantile"
)

// TestEachThreadGetsTheShortestSlice: those that run already, and those that they start later.
func TestEachThreadGetsTheShortestSlice(t *testing.T) {
	end := make(chan struct{})
	defer close(end)
	thread(end)
	if err := Shortest(); err != nil {
		t.Fatal(err)
	}
	later := thread(end)
	all, err := threadsOf(threads)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(all, later) || len(all) < 3 {
		t.Fatalf("the threads are %v, with %d", all, later)
	}
	for _, id := range all {
		attr, err := unix.SchedGetAttr(id, 0)
		if errors.Is(err, unix.ESRCH) || err == nil && attr.Policy == unix.SCHED_DEADLINE {
			continue // it has ended, or is of another test
		}
		if err != nil {
			t.Fatal(err)
		}
		if attr.Runtime == 0 {
			t.Skip("this kernel does not say what slices it grants: it is older than 6.12")
		}
		if got := time.Duration(attr.Runtime); got != shortest {
			t.Errorf("thread %d has slices of %v, want %v", id, got, shortest)
		}
	}
}

// thread starts a thread that stays until end, and returns its ID.
func thread(end <-chan struct{}) int {
	started := make(chan int)
	go func() {
		runtime.LockOSThread() // and never unlocked: it ends with its goroutine
		started <- unix.Gettid()
		<-end
	}()
	return <-started
}

// TestNothingElseChanges: neither the niceness nor the scheduler that somebody has chosen, and a
// thread with deadlines keeps its budget, which stands where others have their slice.
func TestNothingElseChanges(t *testing.T) {
	for name, want := range map[string]unix.SchedAttr{
		"usual":     {Policy: unix.SCHED_NORMAL, Nice: 3},
		"batch":     {Policy: unix.SCHED_BATCH, Nice: 4},
		"deadlines": {Policy: unix.SCHED_DEADLINE, Runtime: 1e6, Deadline: 50e6, Period: 50e6},
	} {
		t.Run(name, func(t *testing.T) {
			runtime.LockOSThread() // and never unlocked
			id := unix.Gettid()
			if err := unix.SchedSetAttr(id, &want, 0); err != nil {
				t.Skipf("only root may have %+v: %v", want, err)
			}
			had, err := unix.SchedGetAttr(id, 0)
			if err != nil || had.Policy != want.Policy || had.Nice != want.Nice {
				t.Fatalf("it has %+v, %v, want %+v", had, err, want)
			}
			if err := shorten(id); err != nil {
				t.Fatal(err)
			}
			got, err := unix.SchedGetAttr(id, 0)
			if err != nil {
				t.Fatal(err)
			}
			if want.Policy != unix.SCHED_DEADLINE {
				had.Runtime = got.Runtime
			}
			if *got != *had {
				t.Errorf("it had %+v, and has %+v", *had, *got)
			}
		})
	}
}

// BenchmarkWake measures how late a thread runs that is to wake up each 5 ms, beside 16 busy loops,
// with the slices of the kernel and with the shortest: `go test -bench Wake ./internal/timeslice`.
func BenchmarkWake(b *testing.B) {
	for range 16 {
		loop := exec.Command("sh", "-c", "while :; do :; done")
		if err := loop.Start(); err != nil {
			b.Fatal(err)
		}
		defer func() {
			_ = loop.Process.Kill()
			_ = loop.Wait() // it was killed
		}()
	}
	for _, slices := range []string{"usual", "shortest"} {
		b.Run(slices, func(b *testing.B) {
			runtime.LockOSThread() // and never unlocked: the next one gets the usual slices again
			if slices == "shortest" {
				if err := shorten(unix.Gettid()); err != nil {
					b.Fatal(err)
				}
			}
			measureLateness(b)
		})
	}
}

// measureLateness wakes this thread each 5 ms.
func measureLateness(b *testing.B) {
	var late []time.Duration
	for b.Loop() {
		due := now(b) + 5*time.Millisecond
		for at := unix.NsecToTimespec(int64(due)); ; {
			err := unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &at, nil)
			if err == nil {
				break
			}
			if !errors.Is(err, unix.EINTR) {
				b.Fatal(err)
			}
		}
		late = append(late, now(b)-due)
	}
	b.ReportMetric(float64(quantile.Of(late, 0.5).Microseconds()), "µs-late-median")
	b.ReportMetric(float64(quantile.Of(late, 0.99).Microseconds()), "µs-late-p99")
	b.ReportMetric(float64(slices.Max(late).Microseconds()), "µs-late-worst")
}

// now is by the clock that wakes the thread.
func now(b *testing.B) time.Duration {
	var at unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &at); err != nil {
		b.Fatal(err)
	}
	return time.Duration(at.Nano())
}
