package agent

import (
	"slices"

	"github.com/podesta-dev/podesta/internal/membership"
	"github.com/podesta-dev/podesta/internal/roster"
)

// up reports whether a process is believed to run and to answer.
func (p ProcessView) up() bool {
	return p.State != roster.Crashed && p.State != roster.NotAnswering
}

// peersUp returns how many other processes this one believes to be running.
func (v View) peersUp() (n int) {
	for _, p := range v.Processes {
		if p.Name != v.Name && p.up() {
			n++
		}
	}
	return n
}

// tolerated is how many more failures leave a Guarded group a majority of its voters, as the
// process status table shows them; 0 if no more may fail, or the majority is lost already. A
// Classic group needs no majority: any process that is left can coordinate.
func (v View) tolerated() int {
	if !v.guarded() {
		return v.peersUp()
	}
	up := 0
	for _, p := range v.Processes {
		if p.up() && slices.Contains(v.Voters, p.Name) {
			up++
		}
	}
	return max(0, up-membership.Majority(len(v.Voters)))
}

// voters are the names of a Guarded roster's voters.
func voters(r *roster.Roster) (names []string) {
	for _, p := range r.Processes {
		if p.Voter && r.Safety == roster.Guarded {
			names = append(names, p.Name)
		}
	}
	return names
}
