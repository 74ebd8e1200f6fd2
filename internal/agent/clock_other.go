//go:build !linux

package agent

import (
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
)

var started = time.Now()

// ReadClocks stands in where there is no CLOCK_BOOTTIME, for development only: agents run on Linux.
func ReadClocks() lease.Reading {
	since := time.Since(started)
	return lease.Reading{Boot: since, Raw: since, Wall: time.Duration(time.Now().UnixNano())}
}

// BootID is unknown here.
func BootID() string { return "" }
