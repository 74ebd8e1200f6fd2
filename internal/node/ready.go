package node

import (
	"time"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
)

// Ready says what is to be done after an event, in the order of its fields (see the package
// comment). It is valid until the next Step or Advance.
type Ready struct {
	// Revoke: the app's permission ends now, before any message below is sent.
	Revoke bool
	// Write, if not nil, is to be written to the disk and then reported by Advance.
	Write *Write
	// Exited: this process is on no roster any more. Roster, if not nil, is in use from now on, and
	// its members are who may send to us. If both are set, it has left one group and entered another.
	Exited bool
	Roster *Roster
	// Links, if Relink is set, are the processes to keep a link to. New links are to be made before
	// the Messages are sent, and those that are not wanted any more are to end after that.
	Relink bool
	Links  []string
	// Messages are to be sent, in this order. A reply carries the ReplyTo of what it replies to.
	Messages []Message
	// Permission is what the app may be granted from now on; zero: nothing.
	Permission lease.Permission
	// Changed: View shows something new.
	Changed bool
	// Behind: another process has a newer roster than this one.
	Behind bool
	// Left: the process asked to leave, and nothing is left to wait for.
	Left bool
	// Next is when a Tick is due, at the latest.
	Next lease.Instant
	// Notes tell what happened, for logs, metrics and transcripts. Nothing depends on them.
	Notes []Note
}

// Write is what a process must not forget. Each holds everything, whatever earlier ones held.
type Write struct {
	Number uint64      // for Advance; the first is 1
	Lease  lease.State // what the voter must not forget; the zero State in a Classic group
	Roster *Roster     // the roster in use; nil: none, forget what was kept
}

// NoteType says what a Note tells.
type NoteType uint8

// The types of notes.
const (
	// Follows: the process follows Process, under Epoch in a Guarded group; Account tells of the
	// election.
	Follows NoteType = iota + 1
	// Holds: this process holds the lease of Epoch, and asks for a Lease of this length from now on;
	// its first permission ends at Until.
	Holds
	// Asks: it asks for a longer or a shorter Lease than before, under the same Epoch.
	Asks
	// Delayed: the lease of Epoch has run out, or will be longer, because of Delay.
	Delayed
	// Revoked: it holds Epoch no more.
	Revoked
	// Releases: it gives back Epoch of Group.
	Releases
	// Suspects: the failure detector suspects Process, the coordinator.
	Suspects
	// AppSuspected: the app reports that Process, the coordinator, does not answer it.
	AppSuspected
	// Silent: Process does not answer though our link to it is open.
	Silent
	// TimedOut: the timer Timer of the election algorithm ran out.
	TimedOut
	// WriteFailed: a write failed with Err. The voter grants nothing until a later write has
	// succeeded, and the longest lease that it may have promised has passed (V11).
	WriteFailed
	// RewriteFailed: a write failed with Err that would have replaced what is on the disk by a newer
	// signature of the same. Nothing depends on it.
	RewriteFailed
	// OldRoster: the roster is older than one that this voter has used: the lease protocol passes
	// it over. Epoch names the generation that it has used.
	OldRoster
	// Enters and Exits: the process takes part with a roster from now on, or in no group.
	Enters
	Exits
	// Withdraws and Restored: the app keeps the process from being a candidate, or no longer does.
	Withdraws
	Restored
	// RosterChanged: the roster in use is another one.
	// Refused: Err is why this process cannot take part with the roster.
	RosterChanged
	Refused
)

// Note tells what happened. The fields that its type does not name are zero.
type Note struct {
	Type    NoteType
	Process string
	Epoch   lease.Epoch
	Group   string
	Until   lease.Instant
	Lease   time.Duration
	Delay   *lease.Delay
	Timer   election.Timer
	Account *Account
	Err     error
}
