package election_test

import (
	"fmt"
	"go/build"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/sim"
	"github.com/podesta-dev/podesta/internal/sim/scenario"
)

func processes(n int) []election.Process {
	roster := make([]election.Process, n)
	for i := range roster {
		roster[i] = election.Process{Name: fmt.Sprintf("P%d", i+1), Priority: int32(i + 1), UID: "1"}
	}
	return roster
}

func machine(t *testing.T, algorithm, self string, n int, coordinator string) *election.Machine {
	t.Helper()
	m, err := election.New(election.Config{Algorithm: algorithm, Self: self, Incarnation: 5, Roster: processes(n), Coordinator: coordinator})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func sent(out election.Output) string {
	var lines []string
	for _, e := range out.Messages {
		lines = append(lines, e.To+" "+sim.Describe(&e.Message))
	}
	return strings.Join(lines, "; ")
}

func TestOnlyTheStandardLibrary(t *testing.T) {
	pkg, err := build.ImportDir(".", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range pkg.Imports {
		if strings.Contains(path, ".") || slices.Contains([]string{"time", "context", "math/rand", "math/rand/v2", "log", "log/slog", "net", "sync"}, path) {
			t.Errorf("package election imports %s: it must stay pure", path)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		config election.Config
		want   string
	}{
		"an unknown algorithm": {election.Config{Algorithm: "Coin", Self: "P1", Roster: processes(2)}, "there are ActiveListRing, Bully, ChangRoberts, LeLann, RingList, StatusTableBully"},
		"a stranger":           {election.Config{Algorithm: "Bully", Self: "P9", Roster: processes(2)}, `process "P9" is not on the roster`},
	} {
		if _, err := election.New(c.config); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

func TestPriorityOrderIsTotal(t *testing.T) {
	a, b := election.Process{Name: "a", Priority: 7}, election.Process{Name: "b", Priority: 7}
	if a.Outranks(b) || !b.Outranks(a) || a.Outranks(a) {
		t.Error("equal priorities are not ordered by name")
	}
}

// A link that the peer's kernel refused counts as the end of T: no process waits for one that
// cannot answer. Nor is the coordinator asked that was missed.
func TestLinkDownAnswersForThePeer(t *testing.T) {
	for algorithm, want := range map[string]string{
		"Bully":            "P3 ELECTION; P1 COORDINATOR P2",
		"StatusTableBully": "P1 COORDINATOR P2",
	} {
		m := machine(t, algorithm, "P2", 4, "P4")
		m.Step(election.Event{Type: election.PeerDown, Process: "P4"})
		m.Step(election.Event{Type: election.PeerDown, Process: "P3"})
		out := m.Step(election.Event{Type: election.Suspect, Process: "P4"})
		if got := sent(out); got != want || m.State().Coordinator != "P2" {
			t.Errorf("%s: sent %q, want %q", algorithm, got, want)
		}
	}
}

// B4: the process that answered OK dies before it announces itself.
func TestAnsweredAndDied(t *testing.T) {
	m := machine(t, "Bully", "P2", 3, "")
	m.Step(election.Event{Type: election.PeerDown, Process: "P1"})
	out := m.Step(election.Event{Type: election.Start})
	id := out.Messages[0].Message.Election
	m.Step(election.Event{Type: election.Receive, Process: "P3", Incarnation: 1, Message: election.Message{Kind: election.OK, Election: id}})
	if m.State().Coordinator != "" {
		t.Fatal("P2 did not wait for the announcement")
	}
	out = m.Step(election.Event{Type: election.PeerDown, Process: "P3"})
	if got := sent(out); got != "P1 COORDINATOR P2" {
		t.Errorf("sent %q", got)
	}
}

// A suspicion that comes late, after another coordinator was announced, does not concern the new
// coordinator.
func TestSuspicionOfAFormerCoordinator(t *testing.T) {
	m := machine(t, "Bully", "P1", 3, "P2")
	if out := m.Step(election.Event{Type: election.Suspect, Process: "P3"}); len(out.Messages) > 0 || m.State().Coordinator != "P2" {
		t.Errorf("P1 suspects P2 because of P3: %s", sent(out))
	}
}

// R1: the successor, which was also the coordinator, dies with the message; the message goes to the
// next process.
func TestSuccessorDiesWithTheMessage(t *testing.T) {
	m := machine(t, "ChangRoberts", "P4", 5, "") // its successor is P5
	announced := election.Message{Kind: election.NewCoordinator, Process: "P5", Hops: 8, Election: election.ID{Initiator: "P5", Incarnation: 1, Sequence: 1}}
	m.Step(election.Event{Type: election.Receive, Process: "P3", Incarnation: 1, Message: announced})
	asked := election.Message{Kind: election.ElectMe, Process: "P3", Hops: 9, Election: election.ID{Initiator: "P3", Incarnation: 1, Sequence: 1}}
	out := m.Step(election.Event{Type: election.Receive, Process: "P3", Incarnation: 1, Message: asked})
	if got := sent(out); got != "P5 ELECT ME P4" {
		t.Fatalf("sent %q", got)
	}
	out = m.Step(election.Event{Type: election.PeerDown, Process: "P5"})
	if got := sent(out); got != "P1 ELECT ME P4" {
		t.Errorf("after P5's death sent %q, want the ELECT ME to P1", got)
	}
}

// B5, R10: messages of an earlier incarnation, and of an earlier election, change nothing. A newer
// incarnation is always accepted.
func TestLateMessages(t *testing.T) {
	announce := func(from string, incarnation, sequence uint64) election.Event {
		return election.Event{Type: election.Receive, Process: from, Incarnation: incarnation, Message: election.Message{
			Kind: election.Coordinator, Process: from, Election: election.ID{Initiator: from, Incarnation: incarnation, Sequence: sequence}}}
	}
	for _, algorithm := range []string{"Bully", "StatusTableBully"} {
		m := machine(t, algorithm, "P1", 4, "")
		for i, step := range []struct {
			event election.Event
			want  string
		}{
			{announce("P4", 7, 3), "P4"},
			{announce("P3", 9, 1), "P3"},
			{announce("P4", 7, 2), "P3"}, // an earlier announcement of the same incarnation
			{announce("P4", 6, 9), "P3"}, // an earlier incarnation
			{announce("P4", 8, 1), "P4"}, // a new incarnation with its counter reset
		} {
			m.Step(step.event)
			if got := m.State().Coordinator; got != step.want {
				t.Fatalf("%s, step %d: follows %q, want %q", algorithm, i, got, step.want)
			}
		}
	}
}

// A process with priority 0 is followed by nobody, though this one has withdrawn and would follow any
// other. Nor is a bully followed that announces the outcome of another one's election.
func TestAnnouncementsThatAreNotFollowed(t *testing.T) {
	announce := func(kind election.Kind, from, initiator string) election.Event {
		return election.Event{Type: election.Receive, Process: from, Incarnation: 1, Message: election.Message{
			Kind: kind, Process: from, Hops: 3, Election: election.ID{Initiator: initiator, Incarnation: 1, Sequence: 1}}}
	}
	for algorithm, kind := range map[string]election.Kind{
		"Bully":        election.Coordinator,
		"LeLann":       election.NewCoordinator,
		"ChangRoberts": election.NewCoordinator,
		"RingList":     election.Coordinator,
	} {
		for _, priority := range []int32{0, 3} {
			roster := processes(3)
			roster[2].Priority = priority
			m := machine(t, algorithm, "P1", 3, "")
			m.Step(election.Event{Type: election.Change, Roster: roster})
			m.Step(election.Event{Type: election.Withdraw})
			m.Step(announce(kind, "P3", "P3"))
			if follows := m.State().Coordinator == "P3"; follows != (priority > 0) {
				t.Errorf("%s, priority %d: P1 follows %q", algorithm, priority, m.State().Coordinator)
			}
		}
	}
	m := machine(t, "Bully", "P1", 3, "")
	if m.Step(announce(election.Coordinator, "P2", "P3")); m.State().Coordinator != "" {
		t.Errorf("P1 follows %q", m.State().Coordinator)
	}
}

// Rule 3: an OK to an earlier election says nothing about the present one.
func TestALateOK(t *testing.T) {
	m := machine(t, "Bully", "P2", 3, "")
	ok := election.Message{Kind: election.OK}
	ok.Election = m.Step(election.Event{Type: election.Start}).Messages[0].Message.Election
	for _, late := range []uint64{1, 0} {
		said := ok
		said.Election.Sequence -= late
		out := m.Step(election.Event{Type: election.Receive, Process: "P3", Incarnation: 1, Message: said})
		if waits := len(out.Timers) > 0; waits != (late == 0) {
			t.Errorf("an OK to election %v, after %v was called: %v", said.Election, ok.Election, out.Timers)
		}
	}
}

// A timer of before an election that begins anew, or before another algorithm, is stopped.
func TestTimersThatAreStopped(t *testing.T) {
	for name, c := range map[string]struct {
		timer  election.Timer
		before []election.Event
		then   election.Event
	}{
		"there was no candidate": {
			election.AwaitAnnouncement,
			[]election.Event{{Type: election.Withdraw}, {Type: election.Start}, {Type: election.Timeout, Timer: election.AwaitAnswer}},
			election.Event{Type: election.Restore},
		},
		"another algorithm": {
			election.AwaitAnswer,
			[]election.Event{{Type: election.Start}},
			election.Event{Type: election.Change, Roster: processes(3), Algorithm: "RingList"},
		},
	} {
		m := machine(t, "Bully", "P2", 3, "")
		set := false
		for _, e := range c.before {
			for _, op := range m.Step(e).Timers {
				set = op.Timer == c.timer && op.Wait > 0 || set && op.Timer != c.timer
			}
		}
		if out := m.Step(c.then); !set || !slices.Contains(out.Timers, election.TimerOp{Timer: c.timer}) {
			t.Errorf("%s: %s was set: %t; then %v", name, c.timer, set, out.Timers)
		}
	}
}

// Who answered in an earlier election is not waited for in this one.
func TestAnswersOfAnEarlierElection(t *testing.T) {
	m := machine(t, "Bully", "P2", 4, "")
	id := m.Step(election.Event{Type: election.Start}).Messages[0].Message.Election
	m.Step(election.Event{Type: election.Receive, Process: "P3", Incarnation: 1, Message: election.Message{Kind: election.OK, Election: id}})
	m.Step(announcement("P4"))
	m.Step(election.Event{Type: election.PeerDown, Process: "P3"})
	m.Step(election.Event{Type: election.PeerUp, Process: "P4"})
	m.Step(election.Event{Type: election.Suspect, Process: "P4"})
	m.Step(election.Event{Type: election.PeerDown, Process: "P4"})
	if got := m.State().Coordinator; got != "P2" {
		t.Errorf("nobody above it is left, and it follows %q", got)
	}
}

// A machine does not write into the messages that it gets.
func TestTheListOfAMessageStaysAsItIs(t *testing.T) {
	m := machine(t, "RingList", "P1", 3, "")
	list := append(make([]string, 0, 4), "P3")
	m.Step(election.Event{Type: election.Receive, Process: "P3", Incarnation: 1, Message: election.Message{
		Kind: election.Election, Hops: 6, List: list, Election: election.ID{Initiator: "P3", Incarnation: 1, Sequence: 1}}})
	if list[:2][1] != "" {
		t.Errorf("it has written %q", list[:2])
	}
}

// R2: who withdraws while its list goes round does not elect itself.
func TestWhoWithdrawsDuringItsRound(t *testing.T) {
	m := machine(t, "RingList", "P3", 3, "")
	round := m.Step(election.Event{Type: election.Start}).Messages[0].Message
	m.Step(election.Event{Type: election.Withdraw})
	round.List = []string{"P3", "P1", "P2"}
	m.Step(election.Event{Type: election.Receive, Process: "P2", Incarnation: 1, Message: round})
	if got := m.State().Coordinator; got != "P2" {
		t.Errorf("it follows %q", got)
	}
}

// The roster that a machine was given may change afterwards: it keeps its own. And it begins with no
// coordinator that is not on it.
func TestWhatAMachineBeginsWith(t *testing.T) {
	roster := processes(3)
	for coordinator, want := range map[string]string{"P3": "P3", "P9": ""} {
		m, err := election.New(election.Config{Algorithm: "Bully", Self: "P1", Roster: roster, Coordinator: coordinator})
		if err != nil {
			t.Fatal(err)
		}
		roster[2].Name = "P8"
		if got := m.State().Coordinator; got != want || m.AppendTable(nil)[2].Name != "P3" {
			t.Errorf("begun with %q, it names %q, and shows %v", coordinator, got, m.AppendTable(nil))
		}
		roster[2].Name = "P3"
	}
}

// A member that lies about another's incarnation must not silence it: only the link determines the
// incarnation of a process. A ring has to trust its relays; there a change of the roster ends the
// effect.
func TestHearsayOfALifeSilencesNobody(t *testing.T) {
	announcements := map[string]election.Kind{"Bully": election.Coordinator, "StatusTableBully": election.Coordinator,
		"LeLann": election.NewCoordinator, "ChangRoberts": election.NewCoordinator, "RingList": election.Coordinator}
	for algorithm, kind := range announcements {
		m := machine(t, algorithm, "P1", 3, "")
		for _, forged := range []election.Kind{election.OK, election.Coordinator, election.NewCoordinator, election.ElectMe, election.Election, election.View} {
			m.Step(election.Event{Type: election.Receive, Process: "P2", Incarnation: 1, Message: election.Message{Kind: forged, Process: "P2", Hops: 3,
				Election: election.ID{Initiator: "P3", Incarnation: 1 << 63, Sequence: 1 << 63}}})
		}
		m.Step(election.Event{Type: election.Change, Roster: append(processes(3), election.Process{Name: "P0", Priority: 1, UID: "1"})})
		m.Step(election.Event{Type: election.Receive, Process: "P3", Incarnation: 2, Message: election.Message{Kind: kind, Process: "P3", Hops: 3,
			Election: election.ID{Initiator: "P3", Incarnation: 2, Sequence: 1}}})
		if got := m.State().Coordinator; got != "P3" {
			t.Errorf("%s: after forged words about P3, P3's announcement is not heard: P1 follows %q", algorithm, got)
		}
	}
}

// G12 for the algorithms: a process that is not on the roster, and a message that names one, change
// nothing.
func TestStrangersHaveNoEffect(t *testing.T) {
	for _, algorithm := range election.Algorithms() {
		m := machine(t, algorithm, "P1", 3, "P3")
		for _, kind := range []election.Kind{election.Election, election.OK, election.Coordinator, election.ElectMe, election.NewCoordinator, election.Request, election.View} {
			out := m.Step(election.Event{Type: election.Receive, Process: "P9", Incarnation: 1, Message: election.Message{Kind: kind, Process: "P9", Hops: 3}})
			if len(out.Messages) > 0 || m.State().Coordinator != "P3" {
				t.Errorf("%s: %s from a stranger had an effect: %s", algorithm, kind, sent(out))
			}
		}
	}
}

// A process with priority 0 never coordinates, alone or not.
func TestPriorityZeroNeverCoordinates(t *testing.T) {
	for _, algorithm := range election.Algorithms() {
		roster := []election.Process{{Name: "a", Priority: 0}, {Name: "b", Priority: 0}}
		g := silent(t, election.Config{Algorithm: algorithm, Roster: roster})
		g.Tell(election.Event{Type: election.Start})
		if err := g.Run(20); err != nil {
			t.Fatal(err)
		}
		for _, p := range roster {
			if got := g.Machine(p.Name).State().Coordinator; got != "" {
				t.Errorf("%s: %s follows %q", algorithm, p.Name, got)
			}
		}
	}
}

// In a Guarded group the leaseholder is appointed. A process that never coordinates is not,
// although nobody else does: the lease may go by a roster of before the edit (found by FuzzStep).
func TestWhoIsAppointed(t *testing.T) {
	for _, algorithm := range election.Algorithms() {
		for priority, want := range []string{"", "b"} {
			roster := []election.Process{{Name: "a", Priority: 0}, {Name: "b", Priority: int32(priority)}}
			for _, self := range roster {
				m, err := election.New(election.Config{Algorithm: algorithm, Self: self.Name, Roster: roster})
				if err != nil {
					t.Fatal(err)
				}
				m.Step(election.Event{Type: election.Appoint, Process: "b"})
				if got := m.State().Coordinator; got != want {
					t.Errorf("%s: %s follows %q, want %q; b has priority %d", algorithm, self.Name, got, want,
						priority)
				}
			}
		}
	}
}

// A process that has stepped down in favour of a lower one has withdrawn: that is the reason that
// the others show. In favour of a higher one, it may still be a candidate.
func TestWhyAnHeirIsAppointed(t *testing.T) {
	for _, c := range []struct {
		heir, predecessor string
		reason            election.Reason
		initiator         string
	}{
		{"P4", "P5", election.Withdrawn, "P5"},
		{"P5", "P4", election.Asked, "P5"},
		{"P4", "", election.Asked, "P4"},
	} {
		m, err := election.New(election.Config{
			Algorithm:   "Bully",
			Self:        "P3",
			Incarnation: 1,
			Roster:      processes(5),
			Coordinator: "P5",
		})
		if err != nil {
			t.Fatal(err)
		}
		if c.heir == "P5" {
			m.Step(election.Event{Type: election.Appoint, Process: "P4"})
		}
		m.Step(election.Event{
			Type:        election.Appoint,
			Process:     c.heir,
			Predecessor: c.predecessor,
		})
		if last := m.State().Last; last.Reason != c.reason || last.Initiator != c.initiator {
			t.Errorf("%s after %q: %s, by %s", c.heir, c.predecessor, last.Reason, last.Initiator)
		}
	}
}

// A coordinator that ends and starts again asks those below it to coordinate, as one that withdraws
// does. That it had failed before is the reason.
func TestACoordinatorThatStartsAgainHadFailed(t *testing.T) {
	for incarnation, want := range map[uint64]election.Reason{
		7: election.Withdrawn, 8: election.CoordinatorUnreachable,
	} {
		m := machine(t, "Bully", "P2", 3, "")
		receive := func(kind election.Kind, incarnation, sequence uint64) {
			m.Step(election.Event{
				Type:        election.Receive,
				Process:     "P3",
				Incarnation: incarnation,
				Message: election.Message{
					Kind:     kind,
					Election: election.ID{Initiator: "P3", Incarnation: incarnation, Sequence: sequence},
					Process:  "P3",
				},
			})
		}
		receive(election.Coordinator, 7, 1)
		m.Step(election.Event{Type: election.Timeout, Timer: election.AwaitStragglers})
		receive(election.Election, incarnation, 2)
		m.Step(election.Event{Type: election.PeerDown, Process: "P3"})
		if last := m.State().Last; m.State().Coordinator != "P2" || last.Reason != want {
			t.Errorf("P3 asks in incarnation %d: %+v, want %s", incarnation, m.State(), want)
		}
	}
}

// The priorities of a running group are edited: a process that is now above the coordinator takes
// over, and a coordinator with priority 0 gives up.
func TestRosterChange(t *testing.T) {
	for _, algorithm := range election.Algorithms() {
		g := silent(t, election.Config{
			Algorithm:   algorithm,
			Roster:      processes(4),
			Coordinator: "P4",
		})
		for _, step := range []struct {
			process  string
			priority int32
			want     string
		}{{"P2", 9, "P2"}, {"P2", 0, "P4"}, {"P1", 5, "P1"}} {
			roster := processes(4)
			for i := range roster {
				if roster[i].Name == step.process {
					roster[i].Priority = step.priority
				}
			}
			g.Change(roster)
			if err := g.Run(50); err != nil {
				t.Fatal(err)
			}
			agree(t, g, roster, fmt.Sprintf("%s after %s:=%d", algorithm, step.process, step.priority), step.want)
		}
	}
}

// The coordinator's pod is deleted: its agent is told to leave, and the roster gives it priority 0,
// in any order, and while the one election that follows is under way. It has withdrawn: that is the
// reason that is shown, not that the roster has changed.
func TestTheRosterTellsOfAWithdrawal(t *testing.T) {
	roster := processes(4)
	roster[3].Priority = 0
	leave := func(g *scenario.Group) { g.Do("P4", election.Event{Type: election.Withdraw}) }
	change := func(g *scenario.Group) { g.Change(roster) }
	deliver := func(g *scenario.Group) {
		if err := g.Deliver(); err != nil {
			t.Fatal(err)
		}
	}
	for _, algorithm := range election.Algorithms() {
		for order, steps := range map[string][]func(*scenario.Group){
			"it leaves, and the roster comes":                        {leave, change},
			"it leaves, others are asked, and the roster comes":      {leave, deliver, change},
			"it leaves, others are asked, and the roster comes late": {leave, deliver, expire, change},
			"the roster comes, and it leaves":                        {change, leave},
			"the roster comes, others are asked, and it leaves":      {change, deliver, leave},
			"the roster comes, and it does not leave":                {change},
		} {
			g := silent(t, election.Config{
				Algorithm:   algorithm,
				Roster:      processes(4),
				Coordinator: "P4",
			})
			for _, step := range steps {
				step(g)
			}
			if err := g.Run(50); err != nil {
				t.Fatal(err)
			}
			when := algorithm + ", " + order
			agree(t, g, roster, when, "P3")
			causes := 0
			for _, p := range roster {
				switch last := g.Machine(p.Name).State().Last; {
				case last.Reason == election.Asked: // no cause
				case last.Reason != election.Withdrawn || last.Initiator != "P4":
					t.Errorf("%s: %s takes part because of %s, by %s", when, p.Name, last.Reason, last.Initiator)
				default:
					causes++
				}
			}
			if causes == 0 {
				t.Errorf("%s: nobody says why", when)
			}
		}
	}
}

// Whoever asked P2 is on the roster no more, and its account will not be heard: P2 takes part
// because the roster has changed.
func TestTheRosterTellsWhoIsGone(t *testing.T) {
	for _, c := range []struct {
		gone      string
		reason    election.Reason
		initiator string
	}{{"P1", election.RosterChanged, "P2"}, {"P3", election.Asked, "P1"}} {
		m := machine(t, "Bully", "P2", 5, "")
		m.Step(election.Event{
			Type:        election.Receive,
			Process:     "P1",
			Incarnation: 1,
			Message:     election.Message{Kind: election.Election, Election: id("P1", 1), Process: "P1"},
		})
		m.Step(election.Event{Type: election.Change, Roster: slices.DeleteFunc(processes(5),
			func(p election.Process) bool { return p.Name == c.gone })})
		m.Step(election.Event{Type: election.Appoint, Process: "P5"})
		if last := m.State().Last; last.Reason != c.reason || last.Initiator != c.initiator {
			t.Errorf("without %s: %s, by %s", c.gone, last.Reason, last.Initiator)
		}
	}
}

// A coordinator holds an election, because another one says that it coordinates, and its priority
// becomes 0: it hands over in another election, which it cannot win.
func TestACoordinatorWithoutPriorityCallsAnotherElection(t *testing.T) {
	for _, algorithm := range []string{"LeLann", "ChangRoberts", "RingList", "ActiveListRing"} {
		m := machine(t, algorithm, "P4", 4, "P4")
		m.Step(election.Event{
			Type:        election.Receive,
			Process:     "P3",
			Incarnation: 1,
			Message:     election.Message{Kind: election.View, Process: "P3"},
		})
		if s := m.State(); !s.Electing || s.Coordinator != "P4" {
			t.Fatalf("%s: %+v", algorithm, s)
		}
		roster := processes(4)
		roster[3].Priority = 0
		out := m.Step(election.Event{Type: election.Change, Roster: roster})
		if s := m.State(); len(out.Messages) == 0 || !s.Electing || s.Coordinator != "" {
			t.Errorf("%s: sends %q, %+v", algorithm, sent(out), s)
		}
	}
}

// An edit changes the algorithm while a coordinator that has withdrawn is replaced: that is still
// why.
func TestAnotherAlgorithmGoesOnForTheSameReason(t *testing.T) {
	m := machine(t, "Bully", "P4", 4, "P4")
	m.Step(election.Event{Type: election.Withdraw})
	m.Step(election.Event{Type: election.Change, Roster: processes(4), Algorithm: "ChangRoberts"})
	m.Step(election.Event{Type: election.Appoint, Process: "P3"})
	if last := m.State().Last; last.Reason != election.Withdrawn || last.Initiator != "P4" {
		t.Errorf("%s, by %s", last.Reason, last.Initiator)
	}
}

// silent returns a group whose transcript nobody reads.
func silent(t *testing.T, config election.Config) *scenario.Group {
	t.Helper()
	g, err := scenario.NewGroup(io.Discard, config)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func expire(g *scenario.Group) { g.Expire() }

func agree(t *testing.T, g *scenario.Group, roster []election.Process, when, want string) {
	t.Helper()
	for _, p := range roster {
		if m := g.Machine(p.Name); m != nil && m.State().Coordinator != want {
			t.Errorf("%s: %s follows %q, want %s", when, p.Name, m.State().Coordinator, want)
		}
	}
}

// Healed partitions merge: each side has its coordinator, then the links open, and all processes
// follow the highest.
func TestPartitionsMerge(t *testing.T) {
	for _, algorithm := range election.Algorithms() {
		g := silent(t, election.Config{
			Algorithm: algorithm,
			Roster:    processes(5),
		})
		sides := [][]string{{"P1", "P3", "P5"}, {"P2", "P4"}}
		g.Partition(sides[0], sides[1])
		g.Tell(election.Event{Type: election.Start})
		if err := g.Run(50); err != nil {
			t.Fatal(err)
		}
		if a, b := g.Machine("P1").State().Coordinator, g.Machine("P2").State().Coordinator; a != "P5" || b != "P4" {
			t.Fatalf("%s: the sides follow %q and %q, want P5 and P4", algorithm, a, b)
		}
		g.Heal()
		if err := g.Run(50); err != nil {
			t.Fatal(err)
		}
		agree(t, g, processes(5), algorithm+" healed", "P5")
	}
}

func BenchmarkStep(b *testing.B) {
	for _, algorithm := range election.Algorithms() {
		b.Run(algorithm, func(b *testing.B) {
			m, err := election.New(election.Config{Algorithm: algorithm, Self: "P3", Incarnation: 1, Roster: processes(5), Coordinator: "P5"})
			if err != nil {
				b.Fatal(err)
			}
			id := election.ID{Initiator: "P5", Incarnation: 1, Sequence: 1}
			b.ReportAllocs()
			for b.Loop() {
				id.Sequence++
				m.Step(election.Event{Type: election.Receive, Process: "P5", Incarnation: 1, Message: election.Message{Kind: election.Coordinator, Election: id, Process: "P5"}})
				m.Step(election.Event{Type: election.Suspect, Process: "P5"})
			}
		})
	}
}
