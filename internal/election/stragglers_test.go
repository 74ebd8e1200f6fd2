package election_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/podesta-dev/podesta/internal/election"
)

// Bully, rule 4: within T of a COORDINATOR, an ELECTION from below is answered, and begins no other
// election, as long as the coordinator is one that the sender asks, too, and its link is not
// closed.
func TestStragglers(t *testing.T) {
	for what, c := range map[string]struct {
		then   []election.Event
		begins bool
	}{
		"at once": {nil, false},
		"T later": {[]election.Event{{
			Type:  election.Timeout,
			Timer: election.AwaitStragglers,
		}}, true},
		"the coordinator's link has closed": {[]election.Event{{
			Type:    election.PeerDown,
			Process: "P4",
		}}, true},
		"one below coordinates by its lease": {[]election.Event{{
			Type:    election.Appoint,
			Process: "P1",
		}}, true},
	} {
		m := machine(t, "Bully", "P3", 5, "P5")
		out := m.Step(election.Event{
			Type:        election.Receive,
			Process:     "P4",
			Incarnation: 1,
			Message:     election.Message{Kind: election.Coordinator, Process: "P4", Election: id("P4", 1)},
		})
		timers := out.Timers
		if last := len(timers) - 1; last < 0 || timers[last] != (election.TimerOp{
			Timer: election.AwaitStragglers,
			Wait:  1,
		}) {
			t.Fatalf("timers %v, want one of T for stragglers", timers)
		}
		for _, e := range c.then {
			m.Step(e)
		}
		out = m.Step(election.Event{
			Type:        election.Receive,
			Process:     "P2",
			Incarnation: 1,
			Message:     election.Message{Kind: election.Election, Election: id("P2", 1)},
		})
		text := sent(out)
		if !strings.Contains(text, "P2 OK") {
			t.Errorf("%s: P3 does not answer: %q", what, text)
		}
		if begins := m.State().Electing; begins != c.begins {
			t.Errorf("%s: P3 begins an election: %t, want %t; it sent %q", what, begins, c.begins, text)
		}
	}
}

// A coordinator that withdraws within T of its COORDINATOR calls an election, and is heard.
func TestCoordinatorThatWithdrawsAtOnce(t *testing.T) {
	m := machine(t, "Bully", "P3", 4, "P4")
	hear := func(kind election.Kind, sequence uint64) election.Output {
		return m.Step(election.Event{
			Type:        election.Receive,
			Process:     "P4",
			Incarnation: 1,
			Message:     election.Message{Kind: kind, Process: "P4", Election: id("P4", sequence)},
		})
	}
	hear(election.Coordinator, 1)
	out := hear(election.Election, 2)
	if text := sent(out); !strings.Contains(text, "P4 OK") || !strings.Contains(text, "COORDINATOR P3") {
		t.Errorf("P3 sends %q, want OK and its own COORDINATOR", text)
	}
}

// A coordinator answers the COORDINATOR of a lower process; if it has announced itself less than T
// ago, when T is over, and only if it coordinates then.
func TestAnswersAnnouncementsFromBelow(t *testing.T) {
	for _, algorithm := range []string{"Bully", "StatusTableBully"} {
		m := machine(t, algorithm, "P3", 3, "")
		from := func(process string, sequence uint64) string {
			return sent(m.Step(election.Event{
				Type:        election.Receive,
				Process:     process,
				Incarnation: 1,
				Message: election.Message{
					Kind: election.Coordinator, Process: process, Election: id(process, sequence)},
			}))
		}
		over := func() string {
			return sent(m.Step(election.Event{Type: election.Timeout, Timer: election.AwaitStragglers}))
		}
		const answer = "P2 COORDINATOR P3"
		m.Step(election.Event{Type: election.Start})
		m.Step(election.Event{Type: election.Timeout, Timer: election.AwaitAnswer})
		for range 2 { // StatusTableBully asks its neighbours first
			m.Step(election.Event{Type: election.Timeout, Timer: election.AwaitAnswer})
		}
		if got := m.State().Coordinator; got != "P3" {
			t.Fatalf("%s: %q coordinates", algorithm, got)
		}
		if text := from("P2", 1); text != "" {
			t.Errorf("%s: less than T after its announcement it sends %q", algorithm, text)
		}
		if text := over(); !strings.Contains(text, answer) {
			t.Errorf("%s: when T is over it sends %q", algorithm, text)
		}
		if text := over(); text != "" {
			t.Errorf("%s: without another COORDINATOR it sends %q", algorithm, text)
		}
		if text := from("P2", 2); !strings.Contains(text, answer) {
			t.Errorf("%s: later than T it sends %q", algorithm, text)
		}
		from("P1", 1)
		m.Step(election.Event{Type: election.Appoint, Process: "P2"})
		if text := over(); text != "" {
			t.Errorf("%s: though P2 holds the lease by then, it sends %q", algorithm, text)
		}
	}
}

// A VIEW that contradicts an announcement of less than T ago may be older than that: if the same
// process still coordinates when T is over, an election is held then, and once. While a large group
// makes its links, such VIEWs come by the thousand.
func TestViewsOfBeforeTheAnnouncement(t *testing.T) {
	stragglers := election.Event{Type: election.Timeout, Timer: election.AwaitStragglers}
	announced := announcement("P3")
	for what, c := range map[string]struct {
		comes []election.Event
		want  string
	}{
		"two VIEWs":            {comes: []election.Event{view("P1", "P1"), view("P1", "P1")}, want: "P3 ELECTION"},
		"no VIEW":              {},
		"one that agrees":      {comes: []election.Event{view("P1", "P3")}},
		"another one by then":  {comes: []election.Event{view("P1", "P1"), appoint("P1")}},
		"announced once again": {comes: []election.Event{view("P1", "P1"), announced}},
	} {
		m := machine(t, "Bully", "P2", 3, "")
		m.Step(announced)
		for _, e := range c.comes {
			if text := sent(m.Step(e)); text != "" {
				t.Errorf("%s: less than T after the announcement it sends %q", what, text)
			}
		}
		if text := sent(m.Step(stragglers)); text != c.want {
			t.Errorf("%s: when T is over it sends %q, want %q", what, text, c.want)
		}
	}
	m := machine(t, "Bully", "P2", 3, "")
	m.Step(announced)
	m.Step(stragglers)
	if text := sent(m.Step(view("P1", "P1"))); text != "P3 ELECTION" {
		t.Errorf("later than T it sends %q", text)
	}
}

func appoint(process string) election.Event {
	return election.Event{Type: election.Appoint, Process: process}
}

// While the links of a large group are being made, what was sent before one opened comes late, too:
// T is begun again, until all have opened or failed, but as often as the group has processes at
// most.
func TestViewsWhileLinksAreBeingMade(t *testing.T) {
	stragglers := election.Event{Type: election.Timeout, Timer: election.AwaitStragglers}
	for _, c := range []struct {
		processes int
		links     bool // the last link opens after three T
		again     int
	}{{12, false, 0}, {13, true, 3}, {13, false, 13}} {
		m := machine(t, "Bully", "P2", c.processes, "")
		for i := range c.processes - 1 {
			m.Step(election.Event{Type: election.PeerUp, Process: fmt.Sprintf("P%d", i+1)})
		}
		highest := fmt.Sprintf("P%d", c.processes)
		m.Step(announcement(highest))
		m.Step(view("P1", "P1"))
		again := 0
		for out := m.Step(stragglers); len(out.Messages) == 0; out = m.Step(stragglers) {
			if again++; !waitsForStragglers(out) || again > c.processes {
				t.Fatalf("%d processes: after %d T nothing happens any more", c.processes, again)
			}
			if c.links && again == 3 {
				m.Step(election.Event{Type: election.PeerUp, Process: highest})
			}
		}
		if again != c.again {
			t.Errorf("%d processes: T was begun again %d times, want %d", c.processes, again, c.again)
		}
	}
}

func waitsForStragglers(out election.Output) bool {
	return slices.ContainsFunc(out.Timers, func(op election.TimerOp) bool {
		return op.Timer == election.AwaitStragglers && op.Wait > 0
	})
}

// announcement is the COORDINATOR of a process.
func announcement(process string) election.Event {
	return election.Event{
		Type:        election.Receive,
		Process:     process,
		Incarnation: 1,
		Message:     election.Message{Kind: election.Coordinator, Process: process, Election: id(process, 9)},
	}
}

// While links are being made, a process keeps to the highest coordinator that it has heard of, or
// each would name another one: the COORDINATORs of the beginning come in any order.
func TestTheHighestAnnouncementStays(t *testing.T) {
	for what, c := range map[string]struct {
		processes int
		meanwhile []election.Event
		follows   string
	}{
		"links are made":           {13, nil, "P12"},
		"and the lower one's":      {13, []election.Event{{Type: election.PeerUp, Process: "P5"}}, "P12"},
		"that one's link is down":  {13, []election.Event{{Type: election.PeerDown, Process: "P12"}}, "P5"},
		"a small group":            {12, nil, "P5"},
		"all links have been made": {13, linksUp(13), "P5"},
	} {
		m := machine(t, "Bully", "P2", c.processes, "")
		m.Step(announcement("P12"))
		for _, e := range c.meanwhile {
			m.Step(e)
		}
		m.Step(announcement("P5"))
		if got := m.State().Coordinator; got != c.follows {
			t.Errorf("%s: it follows %q, want %q", what, got, c.follows)
		}
	}
}

// linksUp are links that open to all processes.
func linksUp(n int) (all []election.Event) {
	for i := range n {
		all = append(all, election.Event{Type: election.PeerUp, Process: fmt.Sprintf("P%d", i+1)})
	}
	return all
}
