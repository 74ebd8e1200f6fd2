package election_test

import (
	"strings"
	"testing"

	"github.com/podesta-dev/podesta/internal/election"
)

// What a single machine must do, although in a group something else would make up for it sooner or
// later.

func view(from, coordinator string) election.Event {
	return election.Event{
		Type:        election.Receive,
		Process:     from,
		Incarnation: 1,
		Message: election.Message{
			Kind:    election.View,
			Process: coordinator,
			Election: election.ID{
				Initiator:   coordinator,
				Incarnation: 1,
				Sequence:    1,
			},
		},
	}
}

// B5: a new pod with an old name starts new incarnations, even if its clock is behind the old
// one's.
func TestNewPodOfTheSameName(t *testing.T) {
	for _, algorithm := range []string{"Bully", "StatusTableBully"} {
		m := machine(t, algorithm, "P1", 3, "P3")
		say := func(incarnation uint64) {
			id := election.ID{
				Initiator:   "P2",
				Incarnation: incarnation,
				Sequence:    1,
			}
			m.Step(election.Event{
				Type:        election.Receive,
				Process:     "P2",
				Incarnation: incarnation,
				Message: election.Message{
					Kind:     election.Coordinator,
					Process:  "P2",
					Election: id,
				},
			})
		}
		say(9)
		roster := processes(3)
		roster[1].UID = "2"
		m.Step(election.Event{Type: election.Change, Roster: roster})
		m.Step(view("P3", "P3"))
		id := election.ID{
			Initiator:   "P3",
			Incarnation: 1,
			Sequence:    1,
		}
		m.Step(election.Event{
			Type:        election.Receive,
			Process:     "P3",
			Incarnation: 1,
			Message: election.Message{
				Kind:     election.Coordinator,
				Process:  "P3",
				Election: id,
			},
		})
		if say(4); m.State().Coordinator != "P2" {
			t.Errorf("%s: the new pod is ignored; P1 follows %q", algorithm,
				m.State().Coordinator)
		}
	}
}

// M2: a coordinator that follows another process has stopped coordinating.
func TestCoordinatorDenies(t *testing.T) {
	for _, algorithm := range election.Algorithms() {
		m := machine(t, algorithm, "P2", 3, "P3")
		if m.Step(view("P3", "P1")); !m.State().Electing {
			t.Errorf("%s: P2 still follows %q, which follows P1", algorithm, m.State().Coordinator)
		}
	}
}

// R9: a VIEW that names a process known to be dead is outdated; its sender will find out by asking.
func TestViewOfTheDead(t *testing.T) {
	for _, algorithm := range election.Algorithms() {
		m := machine(t, algorithm, "P2", 4, "P3")
		m.Step(election.Event{Type: election.PeerDown, Process: "P4"})
		if out := m.Step(view("P1", "P4")); len(out.Messages) > 0 || m.State().Coordinator != "P3" {
			t.Errorf("%s: P2 takes up arms for a dead process: %s", algorithm, sent(out))
		}
	}
}

// L2: a process that may never coordinate on this roster coordinates nevertheless. On another
// roster it may, so one of the two rosters is outdated.
func TestViewOfOneThatNeverCoordinates(t *testing.T) {
	for _, algorithm := range election.Algorithms() {
		m := machine(t, algorithm, "P2", 3, "P3")
		roster := processes(3)
		roster[0].Priority = 0
		m.Step(election.Event{Type: election.Change, Roster: roster})
		if m.Step(view("P1", "P1")); !m.State().Electing {
			t.Errorf("%s: P2 ignores P1, which coordinates beside %q", algorithm,
				m.State().Coordinator)
		}
	}
}

// A process that cannot coordinate, and looks for a coordinator, accepts a coordinator's VIEW.
func TestTheIllFollowAView(t *testing.T) {
	for _, algorithm := range election.Algorithms() {
		m := machine(t, algorithm, "P2", 3, "P2")
		m.Step(election.Event{Type: election.Withdraw})
		if m.Step(view("P1", "P1")); m.State().Coordinator != "P1" {
			t.Errorf("%s: P2 follows %q, which is not P1 that coordinates", algorithm,
				m.State().Coordinator)
		}
	}
}

// trip returns a ring message from P2's side, in the election of its initiator.
func trip(from string, kind election.Kind, about string, id election.ID) election.Event {
	return election.Event{
		Type:        election.Receive,
		Process:     from,
		Incarnation: 1,
		Message: election.Message{
			Kind:     kind,
			Process:  about,
			Election: id,
			Hops:     3,
		},
	}
}

// R3: the maximum dies after it made others give way. A process that takes part in an election
// starts again at once, not when its timer expires.
func TestTheMaximumDies(t *testing.T) {
	m := machine(t, "ChangRoberts", "P2", 3, "")
	m.Step(election.Event{Type: election.Start})
	m.Step(trip("P1", election.ElectMe, "P3", election.ID{
		Initiator:   "P3",
		Incarnation: 1,
		Sequence:    1,
	}))
	out := m.Step(election.Event{Type: election.PeerDown, Process: "P3"})
	last := out.Messages[len(out.Messages)-1]
	if last.To != "P1" || last.Message.Process != "P2" || last.Message.Election.Sequence != 2 {
		t.Errorf("P2 does not start again: %s", sent(out))
	}
}

// R9: a process that was collected and has vanished is not elected.
func TestTheDeadAreNotElected(t *testing.T) {
	for algorithm, kind := range map[string]election.Kind{
		"LeLann":         election.ElectMe,
		"ActiveListRing": election.Elect,
	} {
		m := machine(t, algorithm, "P1", 4, "P4")
		m.Step(election.Event{Type: election.PeerDown, Process: "P4"})
		out := m.Step(election.Event{Type: election.Suspect, Process: "P4"})
		id := out.Messages[0].Message.Election
		m.Step(trip("P3", kind, "P3", id))
		m.Step(trip("P3", kind, "P2", id))
		m.Step(election.Event{Type: election.PeerDown, Process: "P3"})
		if m.Step(trip("P2", kind, "P1", id)); m.State().Coordinator != "P2" {
			t.Errorf("%s: P1 elects %q, want P2: P3 has vanished", algorithm, m.State().Coordinator)
		}
	}
}

// M2: a process's own links count for more than a neighbour's table.
func TestOwnLinksOverrideTheTable(t *testing.T) {
	m := machine(t, "StatusTableBully", "P1", 3, "")
	m.Step(election.Event{Type: election.PeerDown, Process: "P3"})
	id := m.Step(election.Event{Type: election.Start}).Messages[0].Message.Election
	out := m.Step(election.Event{
		Type:        election.Receive,
		Process:     "P2",
		Incarnation: 1,
		Message: election.Message{
			Kind:     election.StatusTable,
			Election: id,
			Table:    []election.Entry{{Name: "P3", Status: election.Coordinates}},
		},
	})
	if got := sent(out); got != "P2 ELECTION" || m.State().Coordinator != "" {
		t.Errorf("P1 follows %q and sends %q; P3 has vanished, so it should ask P2",
			m.State().Coordinator, got)
	}
}

// M6: a late message does not revive a process whose link is down. An UPDATE from its next
// incarnation does (004, 4.3).
func TestLateMessageOfTheDead(t *testing.T) {
	m := machine(t, "StatusTableBully", "P1", 3, "P2")
	update := func(incarnation uint64) {
		m.Step(election.Event{
			Type:        election.Receive,
			Process:     "P3",
			Incarnation: incarnation,
			Message: election.Message{
				Kind:     election.Update,
				Election: election.ID{Initiator: "P3", Incarnation: incarnation, Sequence: 1},
			},
		})
	}
	update(1)
	m.Step(election.Event{Type: election.PeerDown, Process: "P3"})
	update(1)
	if table := m.AppendTable(nil); table[2].Status != election.Crashed {
		t.Errorf("after a late UPDATE the table shows P3 %s, want CRASHED", table[2].Status)
	}
	update(2)
	if table := m.AppendTable(nil); table[2].Status != election.Normal {
		t.Errorf("after the UPDATE of its next incarnation the table shows P3 %s, want NORMAL", table[2].Status)
	}
}

// M7: a process that is starting knows by convention that the highest process coordinates, and
// answers so.
func TestTableByConvention(t *testing.T) {
	m := machine(t, "StatusTableBully", "P2", 3, "")
	m.Step(election.Event{Type: election.Start})
	out := m.Step(election.Event{
		Type:        election.Receive,
		Process:     "P1",
		Incarnation: 1,
		Message: election.Message{
			Kind: election.Request, Election: election.ID{
				Initiator:   "P1",
				Incarnation: 1,
				Sequence:    1,
			}},
	})
	if got := sent(out); got != "P1 TABLE P1:NORMAL P2:NORMAL P3:COORDINATOR" {
		t.Errorf("sent %q", got)
	}
}

// L1: a process that considers all others dead, only because they were silent, and cannot
// coordinate itself, asks again.
func TestSilenceIsNotForEver(t *testing.T) {
	m := machine(t, "StatusTableBully", "P1", 2, "P2")
	m.Step(election.Event{Type: election.Withdraw})
	m.Step(election.Event{Type: election.Suspect, Process: "P2"})
	m.Step(election.Event{Type: election.Timeout, Timer: election.AwaitAnswer})
	if out := m.Step(election.Event{
		Type:  election.Timeout,
		Timer: election.AwaitAnnouncement,
	}); sent(out) != "P2 ELECTION" {
		t.Errorf("P1 asks no process: sent %q", sent(out))
	}
}

// M6: every message shows that its sender lives, even a VIEW.
func TestWhoeverSpeaksLives(t *testing.T) {
	m := machine(t, "StatusTableBully", "P1", 3, "")
	m.Step(election.Event{Type: election.Start})
	// P2 was asked and is considered dead
	m.Step(election.Event{Type: election.Timeout, Timer: election.AwaitAnswer})
	if table := m.AppendTable(nil); table[1].Status != election.Crashed {
		t.Fatalf("the table shows P2 %s, want CRASHED", table[1].Status)
	}
	m.Step(view("P2", "P3"))
	if table := m.AppendTable(nil); table[1].Status != election.Normal {
		t.Errorf("the table shows P2 %s, want NORMAL", table[1].Status)
	}
}

// ask returns the ELECTION message of a process.
func ask(from string) election.Event {
	return election.Event{
		Type:        election.Receive,
		Process:     from,
		Incarnation: 1,
		Message: election.Message{
			Kind: election.Election, Election: election.ID{
				Initiator:   from,
				Incarnation: 1,
				Sequence:    1,
			}},
	}
}

// L1: a process that has withdrawn once is asked again when an election has no result.
func TestWithdrawingIsNotForEver(t *testing.T) {
	m := machine(t, "Bully", "P1", 3, "")
	out := m.Step(ask("P3")) // so P3 has withdrawn, and P2 is asked
	id := out.Messages[len(out.Messages)-1].Message.Election
	m.Step(election.Event{
		Type:        election.Receive,
		Process:     "P2",
		Incarnation: 1,
		Message:     election.Message{Kind: election.OK, Election: id},
	})
	if out = m.Step(election.Event{
		Type:  election.Timeout,
		Timer: election.AwaitAnnouncement,
	}); sent(out) != "P3 ELECTION; P2 ELECTION" {
		t.Errorf("P1 asks again: %q", sent(out))
	}
}

// L1: so is one that may be a candidate again: P3 called an election among those below it, and P2 won.
func TestWhoMayBeACandidateAgain(t *testing.T) {
	again := view("P3", "P2")
	again.Incarnation = 2
	for name, events := range map[string][]election.Event{
		"nothing has happened since":  nil,
		"it has started again":        {again},
		"the roster is another":       {{Type: election.Change, Roster: processes(3)}},
		"somebody has held the lease": {{Type: election.Led}},
		"it has held the lease":       {appoint("P3"), appoint("P2")},
	} {
		m := machine(t, "Bully", "P1", 3, "")
		m.Step(ask("P3"))
		m.Step(announcement("P2"))
		for _, e := range events {
			m.Step(e)
		}
		if m.State().Coordinator != "P2" {
			t.Fatalf("%s: P1 follows %q", name, m.State().Coordinator)
		}
		out := m.Step(election.Event{Type: election.Suspect, Process: "P2"})
		if asks := strings.Contains(sent(out), "P3 ELECTION"); asks != (events != nil) {
			t.Errorf("%s: P1 does %q", name, sent(out))
		}
	}
}

// L1: a process that withdrew once and now coordinates has not withdrawn any more.
func TestWhoCoordinatesIsWell(t *testing.T) {
	m := machine(t, "StatusTableBully", "P1", 2, "")
	m.Step(ask("P2"))
	if m.State().Coordinator != "P1" {
		t.Fatal("P1 does not stand in for P2, which has withdrawn")
	}
	m.Step(view("P2", "P2"))
	m.Step(stragglers)
	if out := m.Step(follows("P2", "P2")); sent(out) != "P2 ELECTION" {
		t.Errorf("P1 sends %q, want an ELECTION to P2", sent(out))
	}
}

// L2: a coordinator's announcement may have been dropped while rosters differed, so it sends its
// VIEW again when its roster changes.
func TestCoordinatorTellsItsViewAfterAChange(t *testing.T) {
	for _, algorithm := range election.Algorithms() {
		m := machine(t, algorithm, "P3", 3, "P3")
		m.Step(election.Event{Type: election.PeerUp, Process: "P1"})
		out := m.Step(election.Event{Type: election.Change, Roster: processes(3)})
		if got := sent(out); got != "P1 VIEW P3" {
			t.Errorf("%s: sent %q", algorithm, got)
		}
	}
}

// L2: a coordinator that another algorithm elected, by another initiator, announces itself in its
// own name to processes that ask.
func TestCoordinatorAcrossAlgorithms(t *testing.T) {
	m := machine(t, "LeLann", "P3", 3, "")
	m.Step(trip("P2", election.NewCoordinator, "P3", election.ID{
		Initiator:   "P1",
		Incarnation: 1,
		Sequence:    1,
	}))
	if m.State().Coordinator != "P3" {
		t.Fatal("P3 was not elected")
	}
	m.Step(election.Event{
		Type:      election.Change,
		Roster:    processes(3),
		Algorithm: "Bully",
	})
	out := m.Step(ask("P2"))
	last := out.Messages[len(out.Messages)-1].Message
	if last.Kind != election.Coordinator || last.Election.Initiator != "P3" {
		t.Errorf("P3 answers %q in the name of %q", sent(out), last.Election.Initiator)
	}
}

// M6: an UPDATE can come before this process's own link to its sender is open. If the coordinator
// fails then, the ELECTION to that sender is lost. It is sent again when the link opens, and once
// only: a link that was not down has carried it.
func TestElectionBeforeTheLinkIsOpen(t *testing.T) {
	for _, down := range []bool{true, false} {
		m := machine(t, "StatusTableBully", "P2", 4, "P4")
		if down {
			m.Step(election.Event{Type: election.PeerDown, Process: "P3"})
		}
		m.Step(election.Event{
			Type:        election.Receive,
			Process:     "P3",
			Incarnation: 1,
			Message:     election.Message{Kind: election.Update, Election: election.ID{Initiator: "P3", Incarnation: 1, Sequence: 1}},
		})
		m.Step(election.Event{Type: election.PeerDown, Process: "P4"})
		out := m.Step(election.Event{Type: election.Suspect, Process: "P4"})
		if got := sent(out); got != "P3 ELECTION" {
			t.Fatalf("when the coordinator fails P2 sends %q", got)
		}
		for i := range 2 {
			out := m.Step(election.Event{Type: election.PeerUp, Process: "P3"})
			if got, want := strings.Contains(sent(out), "ELECTION"), down && i == 0; got != want {
				t.Errorf("its link was down: %v; when it opens, time %d, P2 sends %q", down, i+1, sent(out))
			}
		}
	}
}

// M5: the REQUEST of a process that recovers can come before this process's own link to it is open.
// The table is lost then. It is sent again when the link opens, and once only.
func TestTableBeforeTheLinkIsOpen(t *testing.T) {
	const up, down = election.PeerUp, election.PeerDown
	for _, c := range []struct {
		before, since election.EventType // of the link to P3
		again         string
	}{
		{down, up, "P3 TABLE P1:NORMAL P2:COORDINATOR P3:NORMAL"},
		{up, up, ""},
		{down, down, ""}, // whoever comes then asks anew
	} {
		m := machine(t, "StatusTableBully", "P1", 3, "P2")
		m.Step(election.Event{Type: c.before, Process: "P3"})
		m.Step(election.Event{
			Type:        election.Receive,
			Process:     "P3",
			Incarnation: 1,
			Message:     election.Message{Kind: election.Request, Election: id("P3", 1)},
		})
		for i, want := range []string{c.again, ""} {
			out := m.Step(election.Event{Type: c.since, Process: "P3"})
			if i > 0 {
				out = m.Step(election.Event{Type: up, Process: "P3"})
			}
			if _, got, _ := strings.Cut(sent(out), "; "); got != want {
				t.Errorf("%+v, %d: P1 sends %q, want %q", c, i, sent(out), want)
			}
		}
	}
}
