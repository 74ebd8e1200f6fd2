package sim

import (
	"testing"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/node"
)

// says reports whether a message of an election is of a kind.
func says(m *node.Message, kinds ...election.Kind) bool {
	for _, k := range kinds {
		if m.Type == node.Election && m.Election.Kind == k {
			return true
		}
	}
	return false
}

var classicHistories = []history{
	{
		name: "the late roster",
		then: "a process was followed that by the follower's roster never coordinates: " +
			"Bully 230, G9",
		algorithm: "Bully",
		processes: 3,
		play:      neverCoordinates,
	},
	{
		name: "the late roster",
		then: "a process was followed that by the follower's roster never coordinates: " +
			"Status Table Bully, G9",
		algorithm: "StatusTableBully",
		processes: 3,
		play:      neverCoordinates,
	},
	{
		name: "the late roster",
		then: "a process was followed that by the follower's roster never coordinates: " +
			"Chang-Roberts 7, G9",
		algorithm: "ChangRoberts",
		processes: 3,
		play:      neverCoordinates,
	},
}

// neverCoordinates: P2 has priority 0, and gets 2 again; P1, which is unhealthy, hears of that late.
// P3 dies, P2 takes over and says so to P1, by whose roster it never coordinates.
func neverCoordinates(t *testing.T, h *stage) {
	h.sicken(0, true)
	h.edit(t, 1, 0)
	h.edit(t, 1, 2, 0)
	h.kill(2)
	h.wait(t, "P2 coordinates", func() bool { return h.follows(1) == "P2" })
	h.until(h.now + 5*T)
	if got := h.follows(0); got == "P2" {
		t.Errorf("P1 follows %s, which by its roster never coordinates", got)
	}
	h.sicken(0, false)
}
