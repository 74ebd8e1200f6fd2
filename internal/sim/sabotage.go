package sim

import (
	"math/bits"

	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/node"
)

// sabotage breaks what a Node relies on, or lets a process cheat, so that tests see whether the
// oracle notices. Its zero value breaks nothing.
type sabotage struct {
	forgetTold     bool // the ledger says that the app was told nothing
	keepPermission bool // a revocation does not reach the ledger
	forgetState    bool // a restart begins with an empty state directory that has its old identity
	forgetLength   bool // a restart forgets for how long the voter is bound
	confirmAll     bool // a write that was refused is reported as done
	oneRun         bool // links do not tell the runs of a process apart
	forge          bool // apps write under the highest epoch that the register has seen
	hasty          bool // a manager makes voters of those that are connected to it only
	nextLevel      bool // agents use rosters of the rules level above their newest
	anyRequest     bool // managers take what an operator saw for what they see themselves
	endlessRequest bool // managers take it that another process coordinates while one stands aside
	leftOut        bool // no roster reaches the first process
	leavesAtOnce   bool // who is to leave ends at once
	unmark         bool // managers give witnesses the priorities of their names
	overstay       Time // apps act for so long after their deadlines

	// cheat changes what a step asks for before it is checked and done.
	cheat func(w *World, p int32, e *node.Event, r *node.Ready)
}

// cheat lets a process cheat. It has a copy of the event, so that events need no heap where nobody
// cheats.
func (w *World) cheat(p int32, e node.Event, r *node.Ready) { w.sabotage.cheat(w, p, &e, r) }

// read is what a process that starts finds in its state directory.
func (s *sabotage) read(saved lease.State) lease.State {
	switch {
	case s.forgetState:
		return lease.State{}
	case s.forgetLength:
		saved.Lease = 1
	}
	return saved
}

// level is which newest rules level a process's Node is told.
func (s *sabotage) level(newest int32) int32 {
	if s.nextLevel {
		return newest + 1
	}
	return newest
}

// hasten makes voters of those that are connected to a manager, if they are two or more.
func (w *World) hasten(m *manager, members []lease.Member) {
	var connected uint32
	for i := range members {
		if r := &m.reports[w.place(members[i].Name)]; r.at > 0 && w.now-r.at < patience &&
			r.uid == members[i].UID && r.stateID != "" {
			connected |= 1 << i
			members[i].StateID = r.stateID
		}
	}
	if bits.OnesCount32(connected) < 2 {
		return
	}
	for i := range members {
		members[i].Voter = connected>>i&1 != 0
	}
}
