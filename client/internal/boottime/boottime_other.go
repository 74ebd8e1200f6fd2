//go:build !linux

package boottime

import "time"

// Shared is false: the agent's readings say nothing about ours.
const Shared = false

var started = time.Now()

// Now reads Go's monotonic clock, as the time since the program started. The error is always nil.
func Now() (time.Duration, error) { return time.Since(started), nil }
