// Package timing has the times of client-go's elector where Podesta alone decides who leads.
package timing

import (
	"errors"
	"time"
)

// None of these times says how long this process leads, or how long a failover takes: that is the
// group's lease, and the contexts of what leads end by themselves. An elector whose lock is lost
// gives up after RenewDeadline and RetryPeriod at most, unless its context ends.
const (
	LeaseDuration = time.Second // whole seconds are what client-go writes
	RenewDeadline = 500 * time.Millisecond
	RetryPeriod   = 100 * time.Millisecond
)

// Err means that a program has set times of its own.
var Err = errors.New("LeaseDuration, RenewDeadline and RetryPeriod are set by podesta: remove " +
	"them. How fast a failover is, is the group's spec.timing")
