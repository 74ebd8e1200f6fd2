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
// the answer waits for one more T, until all but twelve have opened or failed, but as often as the
// group has processes at most.
func TestViewsWhileLinksAreBeingMade(t *testing.T) {
	stragglers := election.Event{Type: election.Timeout, Timer: election.AwaitStragglers}
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
		for out := m.Step(stragglers); len(out.Messages) == 0; out = m.Step(stragglers) {
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

// F5: what contradicts the coordinator is nothing to answer once the lease says who leads.
func TestTheLeaseAnswersViews(t *testing.T) {
	over := election.Event{Type: election.Timeout, Timer: election.AwaitStragglers, Led: true}
	m := machine(t, "Bully", "P2", 3, "")
	m.Step(announcement("P3"))
	m.Step(view("P1", "P1"))
	if text := sent(m.Step(over)); text != "" {
		t.Errorf("when T is over it sends %q", text)
	}
	if over.Led = false; sent(m.Step(over)) != "" {
		t.Error("it answers when nobody leads any more")
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
	over := election.Event{Type: election.Timeout, Timer: election.AwaitStragglers}
	for what, c := range map[string]struct {
		processes int
		meanwhile []election.Event
		follows   string
	}{
		"links are being made":     {20, nil, "P20"},
		"to the lower one as well": {20, []election.Event{link(election.PeerUp, "P5")}, "P20"},
		"its link is down":         {20, []election.Event{link(election.PeerDown, "P20")}, "P5"},
		"T is over":                {20, []election.Event{over}, "P5"},
		"T is over, its link up":   {20, []election.Event{link(election.PeerUp, "P20"), over}, "P20"},
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
		m.Step(election.Event{Type: election.Timeout, Timer: election.AwaitStragglers})
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
