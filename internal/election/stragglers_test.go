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

// While the links of a large group are being made, what was sent before one opened comes late, too:
// the question waits for one more T, until all but twelve have opened or failed, but as often as the
// group has processes at most.
func TestViewsWhileLinksAreBeingMade(t *testing.T) {
	for _, c := range []struct {
		processes int
		links     bool // they open after three T
		late      bool // the VIEW comes when T is over
		again     int
	}{
		{13, false, false, 0},
		{14, true, false, 3},
		{14, true, true, 3},
		{14, false, false, 14},
		{14, false, true, 14},
	} {
		m := machine(t, "Bully", "P2", c.processes, "")
		m.Step(announcement(fmt.Sprintf("P%d", c.processes)))
		if c.late {
			m.Step(stragglers)
		}
		if text := sent(m.Step(view("P1", "P1"))); text != "" {
			t.Errorf("%+v: at once it sends %q", c, text)
		}
		again := 0
		for out := m.Step(stragglers); asked(m) == ""; out = m.Step(stragglers) {
			if again++; !waitsForStragglers(out) || again > c.processes {
				t.Fatalf("%+v: after %d T nothing happens any more", c, again)
			}
			if c.links && again == 3 {
				for _, up := range linksUp(c.processes) {
					m.Step(up)
				}
			}
		}
		if again != c.again {
			t.Errorf("%+v: it waits for %d more T", c, again)
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

// While links are being made, a process keeps to the highest coordinator that was announced to it,
// or each would name another one: the COORDINATORs of the beginning come in any order.
func TestTheHighestAnnouncementStays(t *testing.T) {
	link := func(is election.EventType, process string) election.Event {
		return election.Event{Type: is, Process: process}
	}
	for what, c := range map[string]struct {
		processes int
		meanwhile []election.Event
		follows   string
	}{
		"links are being made":     {20, nil, "P20"},
		"to the lower one as well": {20, []election.Event{link(election.PeerUp, "P5")}, "P20"},
		"its link is down":         {20, []election.Event{link(election.PeerDown, "P20")}, "P5"},
		"T is over":                {20, []election.Event{stragglers}, "P5"},
		"T is over, its link up":   {20, []election.Event{link(election.PeerUp, "P20"), stragglers}, "P20"},
		"all links have been made": {20, linksUp(20), "P5"},
		"a small group":            {13, nil, "P5"},
	} {
		m := machine(t, "Bully", "P2", c.processes, "")
		m.Step(announcement(fmt.Sprintf("P%d", c.processes)))
		for _, e := range c.meanwhile {
			m.Step(e)
		}
		m.Step(announcement("P5"))
		if got := m.State().Coordinator; got != c.follows {
			t.Errorf("%s: it follows %q, want %q", what, got, c.follows)
		}
	}
}

// While links are being made, an ELECTION begins none long after the COORDINATOR, too, if the link to
// the coordinator is open.
func TestStragglersWhileLinksAreBeingMade(t *testing.T) {
	for what, c := range map[string]struct {
		processes int
		link      election.EventType
		begins    bool
	}{
		"its link is open":             {20, election.PeerUp, false},
		"its link is being made, too":  {20, election.PeerUnlinked, true},
		"its link is down":             {20, election.PeerDown, true},
		"the group has made its links": {13, election.PeerUp, true},
	} {
		m := machine(t, "Bully", "P2", c.processes, "")
		highest := fmt.Sprintf("P%d", c.processes)
		m.Step(announcement(highest))
		m.Step(stragglers)
		m.Step(election.Event{Type: c.link, Process: highest})
		m.Step(ask("P1"))
		if begins := m.State().Electing; begins != c.begins {
			t.Errorf("%s: it begins an election: %t", what, begins)
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
