package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/podesta-dev/podesta/client/internal/boottime"
)

// ErrForeignClock means that a deadline was not read from this machine's clock.
var ErrForeignClock = errors.New("the deadline was not read from this machine's CLOCK_BOOTTIME: " +
	"ask the agent in the same pod, not another one")

// Permission is what the agent grants its app: to act under an epoch until a deadline. The zero
// Permission permits nothing.
type Permission struct {
	// View is whom this process follows. Its epoch is to be sent along with every write.
	View
	// Granted reports whether the agent granted anything when it answered. In a Guarded group it may
	// have run out since, so call Valid. In a Classic group it is all there is: this process follows
	// itself, and so may others.
	Granted bool
	// Deadline is the deadline on the wall clock, for people and logs. Valid does not use it,
	// because a wall clock can be set. It is zero if there is no deadline.
	Deadline time.Time

	until   time.Duration // the deadline as a reading of boottime.Now; 0 if there is none
	length  time.Duration // how long before that the agent sent it
	renewed time.Duration // when the lease was last renewed, by the agent's clock
	// the session that sent it, nil if MayAct asked; closing it gives the permission up
	session context.Context
}

// Valid reports whether this process may act at this moment: the agent permitted it, the deadline
// has not passed, and the session that sent it is open. Call it right before acting. Valid is never
// true in Classic groups, whose permissions have no deadline.
func (p Permission) Valid() bool { return p.Remaining() > 0 }

// Remaining returns for how long Valid will stay true if the agent sends nothing more. It is zero
// or negative if the permission is not valid.
func (p Permission) Remaining() time.Duration {
	if !p.Granted || (p.session != nil && p.session.Err() != nil) {
		return 0
	}
	return p.remainingAt(boottime.Now())
}

// remainingAt is Remaining by a reading of the clock. Without a clock nothing is permitted.
func (p Permission) remainingAt(at time.Duration, err error) time.Duration {
	if err != nil {
		return 0
	}
	return p.until - at
}

// answerJSON is the body of /v1/permission and of the events of /v1/session.
type answerJSON struct {
	viewJSON
	MayAct                      bool      `json:"mayAct"`
	Deadline                    time.Time `json:"deadline"`
	DeadlineBoottimeNanoseconds int64     `json:"deadlineBoottimeNanoseconds"`
	RenewedBoottimeNanoseconds  int64     `json:"renewedBoottimeNanoseconds"`
	RemainingMilliseconds       int64     `json:"remainingMilliseconds"`
}

// span is the earliest and the latest time at which an answer can have been made, as readings of
// boottime.Now.
type span struct{ from, to time.Duration }

// permission parses an answer that was made within the span. The result's deadline is never later
// than the agent's.
func permission(data []byte, made span) (Permission, error) {
	var a answerJSON
	if err := json.Unmarshal(data, &a); err != nil {
		return Permission{}, fmt.Errorf("the agent's answer %.64q: %w", data, err)
	}
	p := Permission{
		View:     a.view(),
		Granted:  a.MayAct,
		Deadline: a.Deadline,
	}
	if !a.MayAct || (a.Epoch == 0 && a.DeadlineBoottimeNanoseconds == 0 &&
		a.RemainingMilliseconds == 0) {
		return p, nil
	}
	p.length, p.renewed = a.remaining(), time.Duration(a.RenewedBoottimeNanoseconds)
	var err error
	if p.until, err = a.deadline(made, p.length); err != nil {
		return Permission{}, err
	}
	return p, nil
}

func (a answerJSON) remaining() time.Duration {
	return time.Duration(max(0, min(a.RemainingMilliseconds,
		maxRemaining.Milliseconds()))) * time.Millisecond
}

// deadline returns the agent's own deadline if the clock is shared. Otherwise it counts the
// remaining time from the earliest time at which the answer can have been made.
func (a answerJSON) deadline(made span, remaining time.Duration) (time.Duration, error) {
	if !boottime.Shared {
		return made.from + remaining, nil
	}
	until := time.Duration(a.DeadlineBoottimeNanoseconds)
	if at := until - remaining; at < made.from-rounding || at > made.to+rounding {
		return 0, ErrForeignClock
	}
	return until, nil
}

const (
	// rounding is the error that whole milliseconds can cause.
	rounding = time.Millisecond
	// maxRemaining is the longest remaining time that is accepted: leases last seconds.
	maxRemaining = time.Hour
)
