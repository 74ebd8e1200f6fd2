package agent

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/podesta-dev/podesta/internal/lease"
)

// Each clock is the one that the protocol counts on. They all run alike until a machine is
// suspended, so that no machine can show it.
func TestEachClockIsRead(t *testing.T) {
	clocks := map[int32]time.Duration{
		unix.CLOCK_BOOTTIME:      3 * time.Hour,
		unix.CLOCK_MONOTONIC_RAW: 2 * time.Hour,
		unix.CLOCK_REALTIME:      time.Hour,
	}
	want := lease.Reading{Boot: 3 * time.Hour, Raw: 2 * time.Hour, Wall: time.Hour}
	got := readClocks(func(clock int32) time.Duration { return clocks[clock] })
	if got != want {
		t.Errorf("read %+v, want %+v", got, want)
	}
}

// LH7: a process that is paused between two readings reads again, or its clocks would seem to
// disagree.
func TestAPauseBetweenTwoReadings(t *testing.T) {
	now, readings := time.Hour, 0
	got := readClocks(func(int32) time.Duration {
		if readings++; readings == 4 { // the last one of the first try
			now += time.Second
		}
		return now
	})
	if want := (lease.Reading{Boot: now, Raw: now, Wall: now}); got != want {
		t.Errorf("read %+v, want %+v", got, want)
	}
}

// The kernel's uptime is its boot clock in hundredths of a second.
func TestTheBootClockIsTheKernels(t *testing.T) {
	before := MachineClocks{}.Boot()
	data, err := os.ReadFile("/proc/uptime")
	if err != nil {
		t.Skip(err)
	}
	after := MachineClocks{}.Boot()
	field, _, _ := strings.Cut(string(data), " ")
	seconds, err := strconv.ParseFloat(field, 64)
	if err != nil {
		t.Fatal(err)
	}
	uptime := time.Duration(seconds * float64(time.Second))
	if uptime < before-20*time.Millisecond || uptime > after+20*time.Millisecond {
		t.Errorf("the kernel says %v, we read %v before and %v after", uptime, before, after)
	}
}

// A machine's run has a name, which stays.
func TestBootID(t *testing.T) {
	first := BootID()
	if again := BootID(); first == "" || again != first {
		t.Errorf("this machine's run is %q, then %q", first, again)
	}
}
