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
