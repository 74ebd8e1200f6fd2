package election_test

import (
	"fmt"
	"testing"

	"github.com/podesta-dev/podesta/internal/election"
)

// A member of a ring sends one election with ever new process names, ever new kinds and ever new
// lists. The others keep, and pass on, no more than what a roster of six can fill.
func TestALyingMemberDoesNotMakeARingGrow(t *testing.T) {
	kinds := append([]election.Kind{"GARBAGE"}, ringKinds...)
	for algorithm := range passing {
		t.Run(algorithm, func(t *testing.T) {
			m := machine(t, algorithm, "P1", 6, "P6")
			passed := 0
			say := func(kind election.Kind, process string, list []string) {
				out := m.Step(election.Event{
					Type:        election.Receive,
					Process:     "P6",
					Incarnation: 1,
					Message: election.Message{
						Kind:     kind,
						Election: id("P5", 1),
						Process:  process,
						List:     list,
						Hops:     10,
					},
				})
				passed += len(out.Messages)
			}
			for i := range 2000 {
				stranger := fmt.Sprintf("stranger-%d", i)
				for _, kind := range kinds {
					say(kind, stranger, []string{stranger})
				}
				say(election.Kind(stranger), "P2", nil)
				say(election.Election, "", make([]string, 7+i))
			}
			if size := len(m.AppendSnapshot(nil)); size > 4<<10 {
				t.Errorf("it has grown to %d bytes", size)
			}
			if passed > 2*len(kinds) {
				t.Errorf("it has passed on %d messages", passed)
			}
		})
	}
}

// Nor does it if it repeats a message of an election that the process itself has called.
func TestRepeatedMessagesDoNotMakeARingGrow(t *testing.T) {
	for algorithm := range passing {
		m := machine(t, algorithm, "P1", 6, "")
		out := m.Step(election.Event{Type: election.Start})
		if len(out.Messages) == 0 {
			t.Fatalf("%s: it calls no election", algorithm)
		}
		for range 2000 {
			said := out.Messages[0].Message
			said.Process = "P2"
			m.Step(election.Event{Type: election.Receive, Process: "P6", Incarnation: 1, Message: said})
		}
		if size := len(m.AppendSnapshot(nil)); size > 4<<10 {
			t.Errorf("%s: it has grown to %d bytes", algorithm, size)
		}
	}
}

// ringKinds are the kinds of message that the ring algorithms use.
var ringKinds = []election.Kind{
	election.Election, election.Coordinator, election.ElectMe, election.NewCoordinator,
	election.Elect, election.ElectNobody, election.Inquiry, election.Reply,
}
