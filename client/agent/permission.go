package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// ErrForeignClock says that a deadline cannot have been read from this machine's clock.
var ErrForeignClock = errors.New("the answer's deadline is not of this machine's CLOCK_BOOTTIME: " +
	"ask the agent in your own pod, not one elsewhere")

// Permission is what the agent said when it was asked, or when something changed. The zero Permission permits nothing.
type Permission struct {
	Name     string    // the coordinator's; empty while there is none
	Self     string    // this process's
	Priority int32     // the coordinator's
	Electing bool      // an election is under way
	Since    time.Time // when this process began to follow the coordinator; zero if it follows none

	// MayAct is what the agent said then. In Guarded groups ask Valid, which knows how long that holds.
	MayAct bool
	// Epoch is the lease's number, to be sent along with every act; 0 in Classic groups, which have none.
	Epoch int64
	// Deadline on the wall clock: for people and logs. A wall clock can be set, so Valid does not read it.
	Deadline time.Time

	until   time.Duration   // the deadline as a reading of now; 0: there is none
	session context.Context // that told so; nil if it was asked for. Whoever closes it gives the permission up
}

// Valid says whether this process may act, at this moment: the agent said so, the deadline has not passed, and the session
// that told so is open. It is never true in Classic groups, where no permission has a deadline and MayAct is all there is.
func (p Permission) Valid() bool { return p.Remaining() > 0 }

// Remaining is for how long Valid will be true if nothing is heard any more; not above 0 if it is not.
func (p Permission) Remaining() time.Duration {
	if !p.MayAct || (p.session != nil && p.session.Err() != nil) {
		return 0
	}
	at, err := now()
	if err != nil { // without a clock nothing is permitted
		return 0
	}
	return p.until - at
}

// answerJSON is the body of /v1/leader and of the events of /v1/session.
type answerJSON struct {
	Name                        string    `json:"name"`
	Self                        string    `json:"self"`
	Priority                    int32     `json:"priority"`
	Epoch                       int64     `json:"epoch"`
	Electing                    bool      `json:"electing"`
	Since                       time.Time `json:"since"`
	MayAct                      bool      `json:"mayAct"`
	Deadline                    time.Time `json:"deadline"`
	DeadlineBoottimeNanoseconds int64     `json:"deadlineBoottimeNanoseconds"`
	RemainingMilliseconds       int64     `json:"remainingMilliseconds"`
}

// span is when an answer was made, at the earliest and at the latest: readings of now.
type span struct{ from, to time.Duration }

// permission reads an answer that was made within the span. The deadline is never later than the agent's.
func permission(data []byte, made span) (Permission, error) {
	var a answerJSON
	if err := json.Unmarshal(data, &a); err != nil {
		return Permission{}, fmt.Errorf("the agent's answer %.64q: %w", data, err)
	}
	p := Permission{Name: a.Name, Self: a.Self, Priority: a.Priority, Electing: a.Electing, Since: a.Since,
		MayAct: a.MayAct, Epoch: a.Epoch, Deadline: a.Deadline}
	if !a.MayAct || (a.Epoch == 0 && a.DeadlineBoottimeNanoseconds == 0 && a.RemainingMilliseconds == 0) {
		return p, nil
	}
	until, err := a.deadline(made)
	if err != nil {
		return Permission{}, err
	}
	p.until = until
	return p, nil
}

// deadline is the agent's own on a shared clock, else what remained, from the earliest instant it can have been true at.
func (a answerJSON) deadline(made span) (time.Duration, error) {
	remaining := time.Duration(max(0, min(a.RemainingMilliseconds, maxRemaining.Milliseconds()))) * time.Millisecond
	if !sharedClock {
		return made.from + remaining, nil
	}
	until := time.Duration(a.DeadlineBoottimeNanoseconds)
	if at := until - remaining; at < made.from-rounding || at > made.to+rounding {
		return 0, ErrForeignClock
	}
	return until, nil
}

const (
	// rounding is by how much whole milliseconds may be off.
	rounding = time.Millisecond
	// maxRemaining bounds what is taken from an answer: leases are seconds.
	maxRemaining = time.Hour
)
