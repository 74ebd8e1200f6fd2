package agent

import (
	"os"
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
