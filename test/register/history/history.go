// Package history checks what a run of a group has left: the register's log, the traces of its
// writers, the logs of its agents, and the signals that the run sent. It is pure: the same files
// give the same report.
//
// All instants are of one machine's CLOCK_BOOTTIME. What is checked is what applications see: when
// they were told that they may act, and what the resource took from them. An agent that is wrong
// but told nobody is not found here.
package history

import (
	"cmp"
	"slices"

	"github.com/podesta-dev/podesta/test/register"
	"github.com/podesta-dev/podesta/test/register/writer"
)

// History is what is known of a run.
type History struct {
	Entries []register.Entry // the register's log, in its order
	Lives   []Life           // of writers
	Leases  []Lease          // of agents
	Signals []Signal         // sent by the run
	// End is when the run was over. What comes after it is not looked at: everything is being killed
	// by then.
	End register.Instant
}

// Life is one life of a writer: from a start of its process to its end.
type Life struct {
	Group, Process, UID string
	PID                 int
	Begin               register.Instant
	Lines               []writer.Line // Told and Stopped, in order
}

// State is a step in an agent's lease.
type State string

// The states, in their order.
const (
	Holds    State = "holds"    // a majority has promised the epoch
	Stops    State = "stops"    // it hands out no further permission
	Releases State = "releases" // the voters may promise another
)

// Lease is a line of an agent's log, with the message "lease".
type Lease struct {
	Group, Process string
	// Incarnation is the agent's. Two of a process may seek the same epoch, one after the other.
	// 0: its log does not say.
	Incarnation uint64
	State       State
	Epoch       int64
	At          register.Instant
}

// Signal is a SIGKILL, or a SIGSTOP and the SIGCONT after it, to a process.
type Signal struct {
	PID int `json:"pid,omitempty"`
	// of the pod; if set, it says which writer, and not the PID
	UID  string `json:"uid,omitempty"`
	Kill bool   `json:"kill,omitempty"`
	// a SIGKILL: before it was sent; a SIGSTOP: when all that it was sent to stand still
	At  register.Instant `json:"at"`
	Til register.Instant `json:"until,omitempty"` // before the SIGCONT was sent
}

// Interval is a time in which a process was told that it may act: To is not part of it.
type Interval struct {
	Process, UID string
	Epoch        int64 // 0 in Classic groups
	From, To     register.Instant
}

// told returns when the writers of a group were told that they may act: from the instant at which
// each had the answer to its deadline, or to the writer's end if that was earlier. (The instant
// before asking would be too early: a writer or agent that is paused while it asks is answered long
// after.)
func (h History) told(group string) []Interval {
	var all []Interval
	ends := h.ends(group)
	for i, life := range h.Lives {
		if life.Group != group {
			continue
		}
		end := ends[i]
		for _, line := range slices.Backward(life.Lines) {
			if line.Kind == writer.Stopped {
				end = min(end, line.At)
				continue
			}
			to := end
			if line.Deadline != 0 {
				to = min(to, line.Deadline)
			}
			if line.At < to {
				all = append(all, Interval{
					Process: life.Process,
					UID:     life.UID,
					Epoch:   line.Epoch,
					From:    line.At,
					To:      to,
				})
			}
		}
	}
	slices.SortFunc(all, byFrom)
	return all
}

func byFrom(a, b Interval) int {
	return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
}

// order is a group's lives by their index, the last one first: process IDs are used again.
func (h History) order(group string) (lives []int) {
	for i, life := range h.Lives {
		if life.Group == group {
			lives = append(lives, i)
		}
	}
	slices.SortFunc(lives, func(a, b int) int {
		return cmp.Compare(h.Lives[b].Begin, h.Lives[a].Begin)
	})
	return lives
}

// ends tells by when each life of a group was over, by its index: a SIGKILL, the next life of its
// pod, the end of the run. Where nothing that it was told has a deadline, also the next life of its
// process, in whatever pod: it would not end else.
func (h History) ends(group string) map[int]register.Instant {
	order := h.order(group)
	ends := map[int]register.Instant{}
	next := map[string]register.Instant{} // life of that pod, or process, begins
	for _, i := range order {
		life := h.Lives[i]
		key := life.UID
		if !life.bounded() {
			key = life.Process
		}
		ends[i] = h.End
		if begin, ok := next[key]; ok {
			ends[i] = min(h.End, begin)
		}
		next[life.UID], next[life.Process] = life.Begin, life.Begin
	}
	for _, s := range h.Signals {
		if i, ok := h.receiver(order, s); ok && s.Kill {
			ends[i] = min(ends[i], max(s.At, h.Lives[i].alive()))
		}
	}
	return ends
}

// alive is until when a life has shown that it is not over: its last line. Between the instant of a
// SIGKILL and its effect may be a tenth of a second, where a whole node is killed.
func (l Life) alive() register.Instant {
	if len(l.Lines) == 0 {
		return 0
	}
	return l.Lines[len(l.Lines)-1].At + 1
}

// bounded: all that it was told has a deadline.
func (l Life) bounded() bool {
	return !slices.ContainsFunc(l.Lines, func(line writer.Line) bool {
		return line.Kind == writer.Told && line.Deadline == 0
	})
}

// receiver is the life that a signal went to.
func (h History) receiver(order []int, s Signal) (life int, ok bool) {
	for _, i := range order {
		life := h.Lives[i]
		if sent := life.UID == s.UID || s.UID == "" && life.PID == s.PID; sent && life.Begin <= s.At {
			return i, true
		}
	}
	return 0, false
}

// pauses returns when the writers of a group were stopped, by the pod's UID.
func (h History) pauses(group string) map[string][]Interval {
	order := h.order(group)
	pauses := map[string][]Interval{}
	for _, s := range h.Signals {
		if i, ok := h.receiver(order, s); ok && !s.Kill {
			uid := h.Lives[i].UID
			pauses[uid] = append(pauses[uid], Interval{From: s.At, To: s.Til})
		}
	}
	return pauses
}
