package agent

import (
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
)

// Alarm goes off at an instant of the clock that made it. It belongs to one goroutine.
type Alarm interface {
	// Set has it go off at an instant, and no longer at the one before. An instant that has passed
	// is due at once. What Rings has already sent stays sent.
	Set(at lease.Instant)
	// Rings sends when the alarm has gone off. Whoever receives looks at the clock: an instant that
	// was replaced may have been reached before.
	Rings() <-chan struct{}
	// Close ends it. It does not go off any more.
	Close()
}

// alarmOf returns an alarm that is set by Go's timers, which do not count suspensions. A timer is
// given the time that is left by this clock.
func alarmOf(boot func() lease.Instant) Alarm {
	return &goAlarm{boot: boot, rings: make(chan struct{}, 1)}
}

type goAlarm struct {
	boot  func() lease.Instant
	rings chan struct{}
	timer *time.Timer // nil before the first Set
}

func (a *goAlarm) Set(at lease.Instant) {
	a.Close()
	a.timer = time.AfterFunc(at-a.boot(), func() { ring(a.rings) })
}

func (a *goAlarm) Rings() <-chan struct{} { return a.rings }

func (a *goAlarm) Close() {
	if a.timer != nil {
		a.timer.Stop()
	}
}

// ring says that an alarm has gone off, once until somebody has heard it.
func ring(rings chan<- struct{}) {
	select {
	case rings <- struct{}{}:
	default:
	}
}
