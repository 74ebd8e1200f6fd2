//go:build !linux

package agent

import "time"

const sharedClock = false

var started = time.Now()

// now reads Go's monotonic clock, as the time since the program started.
func now() (time.Duration, error) { return time.Since(started), nil }
