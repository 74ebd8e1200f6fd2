package sim

import (
	"testing"

	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/node"
)

// asks reports whether a message is a request of the lease protocol of a kind.
func asks(m *node.Message, k lease.Kind) bool {
	return m.Type == node.LeaseRequest && m.Request.Kind == k
}

var guardedHistories = []history{
	{
		name: "the late roster",
		then: "a RENEW was followed of a process that by the follower's roster never coordinates: " +
			"Bully 82, G9",
		algorithm: "Bully",
		guarded:   true,
		processes: 4,
		play:      neverLeads,
	},
}

// neverLeads: P2 has priority 0, and gets 2 again; P1 hears of that late. P3 and P4 get priority 0,
// so P2 comes to hold the lease, and renews it with P1, too, by whose roster it never coordinates.
func neverLeads(t *testing.T, h *stage) {
	h.edit(t, 1, 0)
	h.edit(t, 1, 9, 0)
	h.wait(t, "P2 holds", func() bool { return h.holder() == 1 })
	h.until(h.now + 5*T)
	if got := h.follows(0); got == "P2" {
		t.Errorf("P1 follows %s, which by its roster never coordinates", got)
	}
}
