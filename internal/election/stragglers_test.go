package election_test

import (
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

// A coordinator answers the COORDINATOR of a lower process. If it has announced itself less than T
// ago, it asks that process when T is over, and answers if that still coordinates.
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
		if text := over(); text != "" || asked(m) != "P2" {
			t.Errorf("%s: when T is over it sends %q, and asks %q", algorithm, text, asked(m))
		}
		if text := sent(m.Step(follows("P2", "P2"))); !strings.Contains(text, answer) || asked(m) != "" {
			t.Errorf("%s: P2 coordinates, and it sends %q, and asks %q", algorithm, text, asked(m))
		}
		if text := over(); text != "" || asked(m) != "" {
			t.Errorf("%s: without another COORDINATOR it sends %q, and asks %q", algorithm, text, asked(m))
		}
		if text := from("P2", 2); !strings.Contains(text, answer) {
			t.Errorf("%s: later than T it sends %q", algorithm, text)
		}
		from("P1", 1)
		m.Step(election.Event{Type: election.Appoint, Process: "P2"})
		if text := over(); text != "" || asked(m) != "" {
			t.Errorf("%s: though P2 holds the lease by then, it sends %q, and asks %q", algorithm, text,
				asked(m))
		}
	}
}

// A VIEW that contradicts an announcement of less than T ago may be older than that: if the same
// process still coordinates when T is over, the sender is asked whom it follows. While a large group
// makes its links, such VIEWs come by the thousand.
func TestViewsOfBeforeTheAnnouncement(t *testing.T) {
	announced := announcement("P4")
	for what, c := range map[string]struct {
		comes []election.Event
		asked string
	}{
		"two of one process":   {[]election.Event{view("P1", "P1"), view("P1", "P1")}, "P1"},
		"of two processes":     {[]election.Event{view("P3", "P1"), view("P1", "P1")}, "P3 P1"},
		"no VIEW":              {},
		"one that agrees":      {comes: []election.Event{view("P1", "P4")}},
		"a VIEW of before":     {[]election.Event{view("P1", "P1"), view("P1", "P4")}, "P1"},
		"an answer of before":  {[]election.Event{view("P1", "P1"), follows("P1", "P4")}, "P1"},
		"another one by then":  {comes: []election.Event{view("P1", "P1"), appoint("P1")}},
		"announced once again": {comes: []election.Event{view("P1", "P1"), announced}},
	} {
		m := machine(t, "Bully", "P2", 4, "")
		m.Step(announced)
		for _, e := range c.comes {
			if text := sent(m.Step(e)); text != "" || asked(m) != "" {
				t.Errorf("%s: less than T after the announcement it sends %q, and asks %q", what, text,
					asked(m))
			}
		}
		if text := sent(m.Step(stragglers)); text != "" || asked(m) != c.asked {
			t.Errorf("%s: when T is over it sends %q, and asks %q, want %q", what, text, asked(m), c.asked)
		}
	}
	m := machine(t, "Bully", "P2", 3, "")
	m.Step(announcement("P3"))
	m.Step(stragglers)
	if text := sent(m.Step(view("P1", "P1"))); text != "P3 ELECTION" {
		t.Errorf("later than T it sends %q", text)
	}
}

// Whoever has contradicted the coordinator is asked until it agrees, or until there is another one.
// If it still follows another process, an election is held.
func TestDoubtersAreAsked(t *testing.T) {
	link := func(is election.EventType) election.Event { return election.Event{Type: is, Process: "P1"} }
	for what, c := range map[string]struct {
		then  []election.Event
		sends string
		asked string
	}{
		"it has heard the announcement": {[]election.Event{follows("P1", "P3")}, "", ""},
		"a VIEW of before agrees":       {[]election.Event{view("P1", "P3")}, "", "P1"},
		"it follows itself":             {[]election.Event{follows("P1", "P1")}, "P3 ELECTION", ""},
		"it elects":                     {[]election.Event{follows("P1", "")}, "", "P1"},
		"it follows this process":       {[]election.Event{follows("P1", "P2")}, "", "P1"},
		"its VIEW comes":                {[]election.Event{view("P1", "P1")}, "P3 ELECTION", ""},
		"its link is down":              {[]election.Event{link(election.PeerDown)}, "", ""},
		"its link is back": {[]election.Event{link(election.PeerDown), link(election.PeerUp)},
			"P1 VIEW P3", "P1"},
		"another one coordinates":         {[]election.Event{appoint("P1")}, "", ""},
		"another one did meanwhile":       {[]election.Event{appoint("P1"), appoint("P3")}, "", ""},
		"the lease says who leads":        {[]election.Event{{Type: election.Led}}, "", ""},
		"its coordinator announces again": {[]election.Event{announcement("P3")}, "", ""},
		"it is another process": {[]election.Event{{
			Type: election.Change, Roster: processes(3)[1:],
		}}, "", ""},
	} {
		m := machine(t, "Bully", "P2", 3, "")
		m.Step(announcement("P3"))
		m.Step(view("P1", "P1"))
		m.Step(stragglers)
		text, asks := "", asked(m)
		if asks != "P1" {
			t.Fatalf("when T is over it asks %q", asks)
		}
		for _, e := range c.then {
			text = sent(m.Step(e))
			asks = asked(m)
		}
		if text != c.sends || asks != c.asked {
			t.Errorf("%s: it sends %q, want %q, and asks %q, want %q", what, text, c.sends, asks, c.asked)
		}
	}
}

// A coordinator that elects asks nobody meanwhile what it has asked before.
func TestNobodyIsAskedDuringAnElection(t *testing.T) {
	m := machine(t, "Bully", "P2", 3, "")
	m.Step(election.Event{Type: election.Start})
	m.Step(election.Event{Type: election.Timeout, Timer: election.AwaitAnswer})
	m.Step(view("P1", "P1"))
	m.Step(stragglers)
	if text := sent(m.Step(follows("P1", "P1"))); text != "P3 ELECTION" || asked(m) != "" {
		t.Errorf("it sends %q, and asks %q", text, asked(m))
	}
}

// A coordinator that was appointed though it ranks below, and announces itself, is answered at once.
func TestTheCoordinatorItselfIsNotAsked(t *testing.T) {
	for _, algorithm := range []string{"Bully", "StatusTableBully"} {
		m := machine(t, algorithm, "P3", 3, "")
		m.Step(election.Event{Type: election.Start})
		for range 3 {
			m.Step(election.Event{Type: election.Timeout, Timer: election.AwaitAnswer})
		}
		m.Step(appoint("P2"))
		if text := sent(m.Step(announcement("P2"))); !strings.Contains(text, "P2 COORDINATOR P3") {
			t.Errorf("%s: it sends %q", algorithm, text)
		}
	}
}

// stragglers is the end of T.
var stragglers = election.Event{Type: election.Timeout, Timer: election.AwaitStragglers}

// asked is whom a machine wants to be asked.
func asked(m *election.Machine) string { return strings.Join(m.Doubters(), " ") }

// Those who contradicted an earlier coordinator say nothing against the present one.
func TestDoubtsAreAboutOneAnnouncement(t *testing.T) {
	m := machine(t, "Bully", "P1", 4, "")
	m.Step(announcement("P3"))
	m.Step(view("P2", "P2"))
	m.Step(appoint("P4"))
	m.Step(view("P3", "P3"))
	if m.Step(stragglers); asked(m) != "P3" {
		t.Errorf("it asks %q", asked(m))
	}
}

// follows is the answer of a process.
func follows(process, coordinator string) election.Event {
	return election.Event{
		Type:    election.Answered,
		Process: process,
		Message: election.Message{Process: coordinator},
	}
}

func appoint(process string) election.Event {
	return election.Event{Type: election.Appoint, Process: process}
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
