package sim

import (
	"testing"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/node"
)

// Rings in which the highest process recovers just before the coordinator dies (R7).
var ringHistories = []history{
	{
		name: "the message of a process that recovers",
		then: "the outcome of another election emptied the outbox of its predecessor, which had " +
			"no link to it yet: it named nobody for 7 T",
		algorithm: "LeLann",
		processes: 5,
		play:      lostWithTheCoordinator,
	},
	{
		name:      "the message of a process that recovers",
		then:      "as in Le Lann's ring, for 7 T",
		algorithm: "RingList",
		processes: 5,
		play:      lostWithTheCoordinator,
	},
	{
		name:      "the message of a process that recovers",
		then:      "as in Le Lann's ring, for 8 T",
		algorithm: "ChangRoberts",
		processes: 5,
		play:      lostWithTheCoordinator,
	},
	{
		name: "the round that had ended",
		then: "the predecessor sent a process that had recovered what was left of a round that " +
			"had ended: it joined that round, alone, and waited for 4 T",
		algorithm: "ActiveListRing",
		processes: 5,
		play:      endedRound,
	},
	{
		name: "the round that was joined late",
		then: "a round had ended at the process that had called it when one that had recovered " +
			"joined it: the caller joined it, too, with an elect that all others had seen, and " +
			"waited for 4 T",
		algorithm: "ActiveListRing",
		processes: 5,
		play:      joinedLate,
	},
	{
		name: "the message that nobody follows up",
		then: "the followers of the leaseholder dropped the message of a process that recovered, " +
			"and that process stopped theirs: nobody was nominated for 8 T",
		algorithm: "ChangRoberts",
		guarded:   true,
		processes: 5,
		play:      droppedByFollowers,
	},
	{
		name: "the message that nobody follows up",
		then: "the same with the inquiry: what was left of an earlier round went round instead, " +
			"for 4 T",
		algorithm: "ActiveListRing",
		guarded:   true,
		processes: 5,
		play:      droppedByFollowers,
	},
	{
		name: "the message that a process farther away had",
		then: "the message of a process that recovers went past the others, which it did not reach " +
			"yet, to the leaseholder, and died with it. Nobody sent it again, because the leaseholder " +
			"was not the successor any more; the others' messages ended at the process that waited " +
			"for its own: nobody was nominated until a timer or the fallback, and the highest held " +
			"nothing for 27 T",
		algorithm: "ChangRoberts",
		guarded:   true,
		processes: 7,
		play:      swallowedFartherAway,
	},
	{
		name: "the outcome that went past",
		then: "processes that were skipped when the outcome went round waited for their timers, 10 T " +
			"with seven processes",
		algorithm: "ChangRoberts",
		processes: 7,
		play:      outcomeWentPast,
	},
	{
		name: "the follower by hearsay",
		then: "a process that suspected a paused leaseholder first followed it by hearsay, " +
			"dropped the elects of the others, and in a round of its own heard of nobody: it was " +
			"elected, the lowest (the demo's last step)",
		algorithm: "ActiveListRing",
		guarded:   true,
		processes: 5,
		play:      followerByHearsay,
	},
}

// swift is how long an election of five processes may take on these links. It is below every timer
// of a ring of five.
const swift = 3 * T

// oneRound is how long one round of the active list ring may take when one process of five is dead:
// its caller sees the closed link within Unit, and waits 10 ms for each of two candidates that rank
// between it and the dead one; the caller's elect is at the last of the four after three links; and
// that one's own elect is back after four more. (The mean delay is half of Unit: of 3000 seeds the
// slowest round took 2.2 T, half of them 1.4 T.)
const oneRound = Unit + 2*T/20 + (3+4)*Unit

// lostWithTheCoordinator: P5 is down, P4 coordinates. P5 comes back, P3 has no link to it yet. P4
// dies with P5's message on its way to it. P3 is elected; then its link to P5 opens.
func lostWithTheCoordinator(t *testing.T, h *stage) {
	h.kill(4)
	h.wait(t, "P4 coordinates", h.allAgree)
	h.cut(2, 4, forever)
	h.start(4, false)
	sent := false
	h.hold(func(p, q int32, m *node.Message) bool {
		sent = sent || p == 2 && q == 3 && m.Type == node.Election && m.Election.Election.Initiator == "P5"
		return false
	})
	h.wait(t, "P5's message goes to P4", func() bool { return sent })
	h.kill(3)
	h.wait(t, "all but P5 follow P3", func() bool {
		return h.follows(0) == "P3" && h.follows(1) == "P3" && h.follows(2) == "P3"
	})
	h.cut(2, 4, 0)
	h.wait(t, "P3 has a link to P5", func() bool { return h.pair(2, 4).state == open })
	h.led(t, "P5", swift)
}

// endedRound: P5 is down, P4 coordinates. P5 comes back, and when P3 has a link to it P4 dies,
// before it has answered P5's inquiry.
func endedRound(t *testing.T, h *stage) {
	h.kill(4)
	h.wait(t, "P4 coordinates", h.allAgree)
	h.start(4, false)
	h.wait(t, "P3 has a link to P5", func() bool { return h.pair(2, 4).state == open })
	h.kill(3)
	h.led(t, "P5", oneRound)
}

// joinedLate: P5 is down, P4 coordinates. P5 comes back, P3 has no link to it yet. P4 dies; P2 sees
// it first, and calls a round. When that has ended at P2, P3 gets a link to P5, and what it has yet
// to pass on is the first that P5 hears of an election.
func joinedLate(t *testing.T, h *stage) {
	h.kill(4)
	h.wait(t, "P4 coordinates", h.allAgree)
	for _, link := range [][2]int32{{0, 3}, {2, 3}, {2, 4}} {
		h.cut(link[0], link[1], forever)
	}
	called := false
	h.hold(func(p, q int32, m *node.Message) bool {
		called = called || p == 1 && says(m, election.Elect)
		return says(m, election.Inquiry) ||
			p == 1 && q == 2 && says(m, election.Elect) && m.Election.Process != "P2"
	})
	h.start(4, false)
	h.kill(3)
	h.wait(t, "P2 calls a round", func() bool { return called })
	h.cut(0, 3, 0)
	h.cut(2, 3, 0)
	h.wait(t, "P2 follows P3", func() bool { return h.follows(1) == "P3" })
	h.cut(2, 4, 0)
	h.wait(t, "P3 has a link to P5", func() bool { return h.pair(2, 4).state == open })
	h.deliver()
	h.led(t, "P5", swift)
}

// droppedByFollowers: P5 is down, P4 holds the lease. P5 comes back, and P1 gets its message. P4
// dies before P5 gets a renewal. (P5 had promised P4's epoch when it went down: it does not stand
// back.)
func droppedByFollowers(t *testing.T, h *stage) {
	h.kill(4)
	h.wait(t, "P4 holds", h.allAgree)
	h.start(4, false)
	h.wait(t, "P5 has promised P4's epoch", func() bool { return h.boundTo(4, 3) })
	h.kill(4)
	h.start(4, false)
	h.wait(t, "P1 has P5's message", func() bool { return h.processes[0].heard[4] == 3 })
	h.kill(3)
	h.led(t, "P5", Time(h.Lease.Lease)+swift)
	if h.Leases != 3 {
		t.Errorf("%d leases: P5, P4 and another one held it before P5", h.Leases)
	}
}

// swallowedFartherAway: P7 is down, P6 holds the lease. P7 comes back and reaches P6 only, so P6
// gets its message. The cuts heal; when P5 and P7 have their links, P6 dies, before P7 has got a
// renewal. (P7 had promised P6's epoch when it went down for the second time: it does not stand
// back.)
func swallowedFartherAway(t *testing.T, h *stage) {
	h.kill(6)
	h.wait(t, "P6 holds", h.allAgree)
	h.start(6, false)
	h.wait(t, "P7 has promised P6's epoch", func() bool { return h.boundTo(6, 5) })
	h.kill(6)
	for p := range int32(5) {
		h.cut(p, 6, forever)
	}
	h.hold(func(p, q int32, m *node.Message) bool { return p == 5 && q == 6 && asks(m, lease.Renew) })
	h.start(6, false)
	h.wait(t, "P6 has P7's message", func() bool { return h.processes[5].heard[6] == 3 })
	for p := range int32(5) {
		h.cut(p, 6, 0)
	}
	h.wait(t, "P5 has a link to P7, and P7 to P1", func() bool {
		return h.pair(4, 6).state == open && h.pair(6, 0).state == open
	})
	h.kill(5)
	h.led(t, "P7", Time(h.Lease.Lease)+swift)
}

// outcomeWentPast: P6 does not reach P1 and P2, and skips them. P7 dies, and all call elections; P6
// is elected by those that its message reaches. The cuts heal.
func outcomeWentPast(t *testing.T, h *stage) {
	h.cut(0, 5, forever)
	h.cut(1, 5, forever)
	h.kill(6)
	h.wait(t, "P3 to P6 follow P6", func() bool {
		for p := int32(2); p < 6; p++ {
			if h.follows(p) != "P6" {
				return false
			}
		}
		return true
	})
	h.cut(0, 5, 0)
	h.cut(1, 5, 0)
	h.led(t, "P6", swift)
}

// followerByHearsay: P5 holds the lease, and is paused. P1 has missed its last renewals, suspects
// it first, and asks the voters, who hear P5 still. Then they suspect it, too.
func followerByHearsay(t *testing.T, h *stage) {
	asked := false
	h.hold(func(p, q int32, m *node.Message) bool {
		asked = asked || p == 0 && asks(m, lease.PreVote)
		return p == 4 && q == 0 && (asks(m, lease.Renew) || m.Type == node.Answer)
	})
	h.wait(t, "P1 asks the voters", func() bool { return asked })
	h.sleep(4, 100*T)
	h.led(t, "P4", Time(h.Lease.Lease)+swift)
	if h.Leases != 2 {
		t.Errorf("%d leases: P5 and another one held it before P4", h.Leases)
	}
}

// led waits until everybody that is awake follows a process, and asks that it takes no longer than
// that.
func (h *stage) led(t *testing.T, by string, within Time) {
	t.Helper()
	begun := h.now
	h.wait(t, "all follow "+by, func() bool {
		for p := range h.processes {
			v := &h.processes[p]
			if v.node != nil && v.awake <= h.now && h.follows(int32(p)) != by {
				return false
			}
		}
		return !h.Guarded || h.holder() == h.place(by)
	})
	if took := h.now - begun; took > within {
		t.Errorf("all follow %s after %s; it should take %s at most", by, clockFormat(took),
			clockFormat(within))
	}
}
