//go:build !linux

package agent

import (
	"time"

	"github.com/podesta-dev/podesta/internal/tenure"
)

var started = time.Now()

// ReadClocks stands in where there is no CLOCK_BOOTTIME, for development only: agents run on Linux.
func ReadClocks() tenure.Reading {
	since := time.Since(started)
	return tenure.Reading{Boot: since, Raw: since, Wall: time.Duration(time.Now().UnixNano())}
}
