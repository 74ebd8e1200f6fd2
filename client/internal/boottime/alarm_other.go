//go:build !linux

package boottime

import (
	"os"
	"sync"
	"time"
)

// Alarm goes off at a reading of Now. One goroutine may wait while others set and close it.
type Alarm struct {
	timer  *time.Timer
	closed chan struct{}
	once   sync.Once
}

// NewAlarm returns an alarm that is not set. The error is always nil.
func NewAlarm() (*Alarm, error) {
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	return &Alarm{timer: timer, closed: make(chan struct{})}, nil
}

// Set has the alarm go off at an instant, and no longer at the one before. An instant that has
// passed is due at once.
func (a *Alarm) Set(at time.Duration) error {
	now, err := Now()
	if err != nil {
		return err
	}
	a.timer.Reset(max(0, at-now))
	return nil
}

// Wait returns nil when the alarm has gone off, and an error once it is closed.
func (a *Alarm) Wait() error {
	select {
	case <-a.closed:
		return os.ErrClosed
	case <-a.timer.C:
		return nil
	}
}

// Close ends Wait.
func (a *Alarm) Close() error {
	a.once.Do(func() {
		a.timer.Stop()
		close(a.closed)
	})
	return nil
}
