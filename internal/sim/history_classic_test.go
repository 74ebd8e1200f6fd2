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
	{
		name: "the late table",
		then: "a table that came after its asker had taken charge made it follow another: " +
			"Status Table Bully 3, one decision",
		algorithm: "StatusTableBully",
		processes: 2,
		play:      lateTable,
	},
	{
		name: "the coordinator that is crossed off",
		then: "a new coordinator did not tell a process that it had crossed off: " +
			"Status Table Bully 306, L2",
		algorithm: "StatusTableBully",
		processes: 3,
		play:      crossedOff,
	},
	{
		name: "the view of one that is crossed off",
		then: "views were not heard that named a process once crossed off: two coordinators " +
			"stayed: Active List Ring 5367, L2",
		algorithm: "ActiveListRing",
		processes: 5,
		play:      hearsay,
	},
	{
		name: "two algorithms",
		then: "two coordinators' views were not understood while their algorithms differed: " +
			"Chang-Roberts 195524, L2; in a ring they hear it from their successors' answers today",
		algorithm: "Bully",
		processes: 3,
		play:      twoAlgorithms,
	},
	{
		name: "the silent coordinator",
		then: "the failure detector named a silent process once, also when it became the " +
			"coordinator after that: it was followed for as long as it stood still: " +
			"Status Table Bully 20, L1",
		algorithm: "StatusTableBully",
		processes: 2,
		play:      silentCoordinator,
	},
}

// neverCoordinates: P2 has priority 0, and gets 2 again; P1, which is unhealthy, hears of that
// late. P3 dies, P2 takes over and says so to P1, by whose roster it never coordinates.
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

// lateTable: P1 restarts and asks P2, whose table is slow. P1 takes charge, then gets the table.
func lateTable(t *testing.T, h *stage) {
	h.kill(0)
	h.until(h.now + T)
	h.hold(func(_, _ int32, m *node.Message) bool { return says(m, election.Request) })
	h.start(0, false)
	h.wait(t, "P2 has a link", func() bool { return len(h.held) > 0 && h.pair(1, 0).state == open })
	h.deliver()
	h.hold(func(_, _ int32, m *node.Message) bool { return says(m, election.StatusTable) })
	h.wait(t, "P1 coordinates", func() bool { return h.follows(0) == "P1" })
	h.deliver()
	h.until(h.now + T)
}

// crossedOff: P1 coordinates, P2 is the lowest, and P3 starts. P1 is asked for its table, and its
// answer is lost: it has no link to P3 yet. So P3 crosses it off. Then P2, which has started, too,
// asks P3 to coordinate. P3 takes charge, and P1 watches nobody.
func crossedOff(t *testing.T, h *stage) {
	h.api.pods[1].priority = 1
	h.edit(t, 0, 2)
	h.until(h.now + T) // the roster is on the disks
	h.kill(2)
	h.wait(t, "P1 coordinates", h.allAgree)
	h.kill(1)
	h.until(h.now + T)
	ofP1 := func(p, _ int32, m *node.Message) bool { return p == 0 && says(m, election.StatusTable) }
	h.hold(func(p, _ int32, m *node.Message) bool { return p == 1 && says(m, election.Request) })
	h.lose(ofP1)
	h.start(2, false)
	h.until(h.now + T/4)
	h.start(1, false)
	h.wait(t, "P3 has a link", func() bool { return len(h.held) > 0 && h.pair(2, 1).state == open })
	h.deliver()
	asked := false
	h.hold(func(p, q int32, m *node.Message) bool {
		asked = asked || p == 2 && q == 1 && says(m, election.Request)
		return q == 2 && says(m, election.StatusTable, election.Election)
	})
	h.lose(ofP1)
	h.wait(t, "P3 asks P2", func() bool { return asked })
	h.wait(t, "P2 asks P3 to coordinate", func() bool { return len(h.held) > 0 })
	h.deliver()
	h.wait(t, "all follow P3", h.allAgree)
}

// hearsay: P2 ranks below P5 only. P3 misses the answers of P5, and calls an election. P2's link to
// P5 breaks when P5's ELECT has passed, so P2 takes itself for the highest, and all others follow
// P5. P2 learns it from P3, its successor, which it asks; P1, which asks P2, is late.
func hearsay(t *testing.T, h *stage) {
	h.api.pods[2].priority, h.api.pods[3].priority = 1, 2
	h.edit(t, 1, 4)
	h.wait(t, "all follow P5", h.allAgree)
	passed := false
	h.hold(func(p, q int32, m *node.Message) bool {
		passed = passed || p == 1 && says(m, election.Elect) && m.Election.Process == "P5"
		return p == 4 && q == 2 && m.Type == node.Answer
	})
	h.wait(t, "P5's ELECT passes", func() bool { return passed })
	returns := false // not sooner, or P2 would be silent to P1 before the round has ended
	h.hold(func(p, q int32, m *node.Message) bool {
		returns = returns || p == 4 && says(m, election.Elect) && m.Election.Process == "P2"
		return returns && p == 0 && q == 1 && m.Type == node.Question
	})
	h.cut(1, 4, forever)
	h.lost(1, 4, h.pair(1, 4))
	h.wait(t, "P2 coordinates", func() bool { return h.follows(1) == "P2" })
	question, told := uint64(0), false
	h.hold(func(p, q int32, m *node.Message) bool {
		if p == 1 && q == 2 && m.Type == node.Question && question == 0 {
			question = m.Sequence
		}
		told = told || p == 2 && q == 1 && m.Type == node.Answer && m.Sequence == question && m.Follows == "P5"
		return p == 0 && q == 1 && m.Type == node.Question
	})
	h.wait(t, "P3 tells P2, which asks, that it follows P5", func() bool { return told })
	h.until(h.now + T/2)
	if !h.processes[1].node.Election().State().Electing && h.follows(1) == "P2" {
		t.Error("P2 coordinates still")
	}
}

// twoAlgorithms: P3 coordinates and is cut off, so P2 coordinates, too. The group changes to
// the status table bully. P3 hears of that only when the cut has healed and all have said whom
// they follow, each in an algorithm that the other does not use. Nobody passes a roster on.
func twoAlgorithms(t *testing.T, h *stage) {
	h.keepRosters = true
	h.processes[2].stranded = forever
	h.cut(2, 0, forever)
	h.cut(2, 1, forever)
	h.wait(t, "P2 coordinates", func() bool { return h.follows(0) == "P2" && h.follows(1) == "P2" })
	h.api.algorithm = "StatusTableBully"
	h.api.writeSettings()
	h.wait(t, "the roster", func() bool {
		r := h.processes[1].roster
		return r.Algorithm == "StatusTableBully" && h.processes[0].roster == r
	})
	h.cut(2, 0, 0)
	h.cut(2, 1, 0)
	h.until(h.now + 25*T) // all links that lost something have been made anew
	h.processes[2].stranded = h.now
	h.wait(t, "all follow P3", h.allAgree)
}

// silentCoordinator: P2's answers are late, so P1 suspects it and coordinates. P2's app is
// unhealthy for a while; when it is healthy, P2 says that it coordinates, P1 follows it, and P2
// stands still.
func silentCoordinator(t *testing.T, h *stage) {
	h.hold(func(p, _ int32, m *node.Message) bool { return p == 1 && m.Type == node.Answer })
	h.wait(t, "P1 coordinates", func() bool { return h.follows(0) == "P1" })
	h.sicken(1, true)
	h.until(h.now + 4*T)
	h.sicken(1, false)
	h.wait(t, "P1 follows P2", func() bool { return h.follows(0) == "P2" })
	h.sleep(1, 100*T)
	h.until(h.now + 4*T)
	if got := h.follows(0); got != "P1" {
		t.Errorf("P1 follows %q still, which has been silent for 4 T", got)
	}
}
