package boottime

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The kernel's uptime is its boot clock in hundredths of a second.
func TestNowIsTheKernelsBootClock(t *testing.T) {
	before := reading(t)
	data, err := os.ReadFile("/proc/uptime")
	if err != nil {
		t.Skip(err)
	}
	after := reading(t)
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

const suspendedEnv = "PODESTA_TEST_SUSPENDED"

// After a suspension the boot clock is ahead of the monotonic one. A time namespace makes that so
// for the test above.
func TestNowCountsSuspension(t *testing.T) {
	if os.Getenv(suspendedEnv) != "" {
		TestNowIsTheKernelsBootClock(t)
		return
	}
	const ahead = "1000000" // seconds
	unshare := []string{"--user", "--map-root-user", "--time", "--boottime", ahead, "--"}
	if err := exec.CommandContext(t.Context(), "unshare", append(unshare, "true")...).Run(); err != nil {
		t.Skip("no time namespaces here: ", err)
	}
	c := exec.CommandContext(t.Context(), "unshare",
		append(unshare, os.Args[0], "-test.run=^TestNowCountsSuspension$")...)
	c.Env = append(os.Environ(), suspendedEnv+"=1")
	if text, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}
