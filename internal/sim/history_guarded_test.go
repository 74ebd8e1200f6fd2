package sim

import (
	"slices"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/membership"
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
		processes: 3,
		play:      neverLeads,
	},
	{
		name: "the heir that has withdrawn",
		then: "an heir that had withdrawn since its TAKE OVER was appointed all the same: " +
			"Active List Ring 838, G9",
		algorithm: "ActiveListRing",
		guarded:   true,
		processes: 3,
		play:      withdrawnHeir,
	},
	{
		name: "the heir that is cut off",
		then: "an heir over links that stayed cut was suspected before it could ask for votes: " +
			"Le Lann 832, hand-overs without end",
		algorithm: "Bully",
		guarded:   true,
		processes: 3,
		play:      cutOffHeir,
	},
	{
		name: "the newcomer",
		then: "an epoch that was sought under a newer roster was given back to the members of the " +
			"older one: newcomers waited a lease for it: Ring List 186878644472314",
		algorithm: "RingList",
		guarded:   true,
		processes: 3,
		strangers: 1,
		play:      newcomer,
	},
	{
		name: "the highest that rested",
		then: "it was restarted while its own voter was bound to it, which the others heard, and was a " +
			"candidate again, which they did not: at the next failure the second highest did not ask it, and " +
			"both asked for votes: eight times in an hour of bench/peers",
		algorithm: "Bully",
		guarded:   true,
		processes: 5,
		lease: Lease{
			Lease:      3 * time.Second,
			Shortest:   100 * time.Millisecond,
			Preemption: lease.Never,
		},
		play: rested,
	},
	{
		name: "the short stop",
		then: "a leaseholder that had stood still for some ms too long released its lease and rested, " +
			"and another one took over: once in 25 minutes of bench/peers beside 4 busy loops, when the whole " +
			"machine had stood still for 74 ms",
		algorithm: "Bully",
		guarded:   true,
		processes: 5,
		lease: Lease{
			Lease:      time.Second,
			Shortest:   100 * time.Millisecond,
			Preemption: lease.Never,
		},
		play: shortStop,
	},
}

// neverLeads: P3 holds the lease, and its priority becomes 0. P3 itself hears of that late, and
// goes on renewing.
func neverLeads(t *testing.T, h *stage) {
	h.edit(t, 2, 0, 2)
	h.until(h.now + 5*T)
	for p := range int32(2) {
		if got := h.follows(p); got == "P3" {
			t.Errorf("%s follows P3, which by its roster never coordinates", names[p])
		}
	}
}

// withdrawnHeir: P2 holds the lease, P3 comes back, says TAKE OVER, and its app becomes unhealthy
// while the STEP DOWN that names it is on its way.
func withdrawnHeir(t *testing.T, h *stage) {
	h.kill(2)
	h.wait(t, "P2 holds", h.allAgree)
	h.start(2, false)
	h.wait(t, "P2 steps down", h.sees(func(m *node.Message) bool { return asks(m, lease.StepDown) }))
	h.sicken(2, true)
	h.wait(t, "P2 holds", h.allAgree)
	h.sicken(2, false)
}

// cutOffHeir: P2 holds the lease, and P3 comes back, which P1 cannot reach and never will. P1
// suspects the heir before it can hold the lease: the RELEASE takes T longer to P3 than to P1.
// In the bully algorithm P1 then elects itself.
func cutOffHeir(t *testing.T, h *stage) {
	h.kill(2)
	h.wait(t, "P2 holds", h.allAgree)
	h.cut(0, 2, forever)
	h.start(2, false)
	h.route = func(_, q int32, m *node.Message, at Time) Time {
		if q == 2 && asks(m, lease.Release) {
			return at + T
		}
		return at
	}
	before := h.Leases
	h.until(h.now + 150*T)
	if h.holder() != 2 || h.Leases != before+1 {
		t.Errorf("place %d holds, and the lease was handed over %d times", h.holder(), h.Leases-before)
	}
}

// rested: P5 holds the lease, is killed and starts at once, and P4 takes over while P5 rests. P4 is
// killed when P5 has long been a candidate again, and P3 is the first to notice.
func rested(t *testing.T, h *stage) {
	h.kill(4)
	h.start(4, false)
	h.wait(t, "P4 holds", func() bool { return h.holder() == 3 })
	h.wait(t, "P5 follows P4", func() bool { return h.follows(4) == "P4" })
	h.until(h.now + 41*T)
	h.kill(3)
	h.route = func(p, q int32, m *node.Message, at Time) Time {
		if p == 2 && m.Type == node.Election && m.Election.Kind == election.Coordinator {
			t.Error("P3 announces itself, and P5 is a candidate")
		}
		if q == 4 && m.Type == node.LeaseResponse {
			at += T / 2
		}
		return at
	}
	h.wait(t, "P5 holds", func() bool { return h.holder() == 4 })
}

// shortStop: P5 holds a short lease, over quick links. First it alone stands still until its lease
// has just lapsed, then three of its voters do, then all. Each time it gets another epoch, and
// nobody else does.
func shortStop(t *testing.T, h *stage) {
	h.route = func(_, _ int32, _ *node.Message, _ Time) Time { return h.now + T/1000 }
	p5 := func() *lease.Machine { return h.processes[4].node.Lease() }
	h.processes[4].app.keeps = true // it asks so seldom that its lease would be long
	for _, still := range [][]int32{{4}, {1, 2, 3}, {0, 1, 2, 3, 4}} {
		h.wait(t, "the lease of P5 is short", func() bool {
			return h.holder() == 4 && p5().Asks() == 100*time.Millisecond
		})
		before, deadline, _ := p5().Permission()
		lapses := Time(deadline - h.processes[4].clock.read(h.now).Boot)
		for _, p := range still {
			h.sleep(p, lapses+T/40)
		}
		h.wait(t, "the lease lapses", func() bool { return h.holder() < 0 })
		h.wait(t, "somebody holds it", func() bool { return h.holder() >= 0 })
		epoch, _, _ := p5().Permission()
		if h.holder() != 4 || epoch <= before {
			t.Errorf("%v stood still: place %d holds the lease; P5 had %s, and has %s",
				still, h.holder(), before, epoch)
		}
	}
}

// newcomer: P4 joins, as a voter. Only it and P3, which holds the lease, have the roster when P3
// loses its links to the others, and they pass it on to nobody. So P3 seeks an epoch of the new
// generation, P4 promises it, and P3 gives up.
func newcomer(t *testing.T, h *stage) {
	h.keepRosters = true
	for i := range h.managers {
		h.managers[i].down = forever
	}
	h.addPod(3)
	h.start(3, false)
	v := &h.processes[3]
	r := *h.api.newest().members
	r.Generation++
	r.Members = append(slices.Clone(r.Members), membership.Member{
		Name:    v.name,
		UID:     v.self.UID,
		StateID: v.self.StateID,
		Voter:   true,
	})
	h.persist(&h.managers[0], &membership.Decision{Roster: &r})
	for _, p := range [...]int32{2, 3} {
		h.step(p, &node.Event{Type: node.RosterReceived, Roster: h.api.newest().node})
	}
	bound := func() bool { to, left := v.node.Lease().Promised(); return to.Name == "P3" && left > 0 }
	h.wait(t, "P4 promises", bound)
	h.cut(2, 0, forever)
	h.cut(2, 1, forever)
	h.wait(t, "P3 gives up", func() bool { return h.holder() != 2 })
	h.until(h.now + T)
	if bound() {
		t.Error("P4 is still bound")
	}
}
