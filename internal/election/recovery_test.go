package election_test

import (
	"strings"
	"testing"

	"github.com/podesta-dev/podesta/internal/election"
)

// R7: a process that comes back calls an election before its predecessor's link to it is open, so
// that its message skips it. It gets the message once the link is open, whatever else happened
// meanwhile.
func TestRecoveredProcessIsPassedOver(t *testing.T) {
	for algorithm, kind := range map[string]election.Kind{
		"ChangRoberts":   election.ElectMe,
		"LeLann":         election.ElectMe,
		"RingList":       election.Election,
		"ActiveListRing": election.Inquiry,
	} {
		for what, then := range meanwhile {
			r := &relay{Machine: machine(t, algorithm, "P3", 4, "P2"), kind: kind}
			r.Step(election.Event{Type: election.PeerDown, Process: "P4"}) // its successor
			r.hear(kind, id("P4", 1), "P4")                                // superseded by the next one
			if out := r.hear(kind, id("P4", 2), "P4"); !strings.HasPrefix(out, "P1 ") {
				t.Fatalf("%s: sent %q", algorithm, out)
			}
			then(t, r)
			newest, late := 0, false
			out := r.Step(election.Event{Type: election.PeerUp, Process: "P4"})
			for _, e := range out.Messages {
				id := e.Message.Election
				switch {
				case id.Initiator == "P4" && id.Sequence == 1:
					late = true
				case id.Initiator == "P4" && e.Message.Kind == kind:
					newest++
				}
			}
			if algorithm == "LeLann" {
				newest-- // P3's own goes ahead
			}
			if newest != 1 || late {
				t.Errorf("%s, %s: when P4's link opened sent %q, want %s of its newest election",
					algorithm, what, sent(out), kind)
			}
		}
	}
}

// meanwhile is what may happen to P3 before its link to P4 opens.
var meanwhile = map[string]func(t *testing.T, r *relay){
	"nothing": func(*testing.T, *relay) {},
	"another election ends": func(_ *testing.T, r *relay) {
		r.hear(election.NewCoordinator, id("P1", 1), "P3")
		r.hear(election.Coordinator, id("P1", 2), "P3")
	},
	"many elections are called": func(_ *testing.T, r *relay) {
		for i := range uint64(20) {
			for _, p := range []string{"P1", "P2", "P3"} {
				r.hear(r.kind, id("P1", 3+i), p)
				r.hear(r.kind, id("P2", 3+i), p)
			}
		}
	},
	"the successor vanishes": func(t *testing.T, r *relay) {
		out := r.Step(election.Event{Type: election.PeerDown, Process: "P1"})
		if strings.Contains(sent(out), string(r.kind)) {
			t.Errorf("P2, which has had it, gets it again: %s", sent(out))
		}
	},
	"two coordinators": func(_ *testing.T, r *relay) { r.Step(view("P1", "P1")) },
}

// relay is a process of a ring, whose predecessor is P2.
type relay struct {
	*election.Machine
	kind election.Kind
}

func id(initiator string, sequence uint64) election.ID {
	return election.ID{Initiator: initiator, Incarnation: 1, Sequence: sequence}
}

// hear has P2 say something about an election. It returns what that leads to.
func (r *relay) hear(kind election.Kind, id election.ID, about string) string {
	return sent(r.Step(election.Event{
		Type:        election.Receive,
		Process:     "P2",
		Incarnation: 1,
		Message: election.Message{
			Kind:     kind,
			Election: id,
			Process:  about,
			List:     []string{about},
			Hops:     8,
		},
	}))
}

// R7: the outcome of an election is not kept for its initiator, which knows it.
func TestOutcomesAreNotOwed(t *testing.T) {
	for algorithm, kind := range map[string]election.Kind{
		"ChangRoberts": election.NewCoordinator,
		"LeLann":       election.NewCoordinator,
		"RingList":     election.Coordinator,
	} {
		r := &relay{Machine: machine(t, algorithm, "P3", 5, "")}
		r.Step(election.Event{Type: election.PeerDown, Process: "P4"})
		r.hear(kind, id("P4", 1), "P5")
		r.hear(kind, id("P1", 1), "P5")
		out := r.Step(election.Event{Type: election.PeerUp, Process: "P4"})
		for _, e := range out.Messages {
			if e.Message.Kind == kind && e.Message.Election.Initiator == "P4" {
				t.Errorf("%s: P4 gets the outcome that it announced: %s", algorithm, sent(out))
			}
		}
	}
}

// Rounds of ActiveListRing that have ended are not begun again: not when the coordinator that they
// elected vanishes, and not by a process that came back since.
func TestEndedRounds(t *testing.T) {
	for _, c := range []struct {
		coordinator string // that the round elects
		back        bool   // P5 comes back
		want        bool   // what P3 passed on is sent again when P4, its successor, vanishes
	}{
		{"P4", false, false},
		{"P6", false, true},
		{"P6", true, false},
	} {
		r := &relay{Machine: machine(t, "ActiveListRing", "P3", 6, "P5"), kind: election.Elect}
		r.Step(election.Event{Type: election.PeerDown, Process: "P5"})
		r.Step(election.Event{Type: election.Suspect, Process: "P5"})
		round := election.ID{Initiator: "P3", Incarnation: 5, Sequence: 1}
		for _, p := range []string{"P1", "P2", c.coordinator, "P3"} {
			r.hear(election.Elect, round, p)
		}
		if got := r.State().Coordinator; got != c.coordinator {
			t.Fatalf("P3 follows %q, not %s", got, c.coordinator)
		}
		if c.back {
			r.Step(election.Event{Type: election.PeerUp, Process: "P5"})
		}
		out := r.Step(election.Event{Type: election.PeerDown, Process: "P4"})
		if got := strings.Contains(sent(out), "ELECT P1"); got != c.want {
			t.Errorf("%+v: P3 sends %q", c, sent(out))
		}
	}
}
