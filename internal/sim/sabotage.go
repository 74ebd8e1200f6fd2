package sim

import "github.com/podesta-dev/podesta/internal/node"

// sabotage breaks what a Node relies on, or lets a process cheat, so that tests see whether the oracle
// notices. Its zero value breaks nothing.
type sabotage struct {
	forgetTold     bool // the ledger says that the app was told nothing
	keepPermission bool // a withdrawal does not reach the ledger
	forgetState    bool // a restart begins with an empty state directory that has its old identity
	confirmAll     bool // a write that was refused is reported as done
	oneRun         bool // links do not tell the runs of a process apart
	forge          bool // apps write under the highest epoch that the register has seen
	overstay       Time // apps act for so long after their deadlines

	// cheat changes what a step asks for before it is checked and done.
	cheat func(w *World, p int32, e *node.Event, r *node.Ready)
}
