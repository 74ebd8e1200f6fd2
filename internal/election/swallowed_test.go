package election_test

import (
	"testing"

	"github.com/podesta-dev/podesta/internal/election"
)

// passing are the messages of an election that go past other processes.
var passing = map[string]election.Kind{
	"ChangRoberts":   election.ElectMe,
	"LeLann":         election.ElectMe,
	"RingList":       election.Election,
	"ActiveListRing": election.Inquiry,
}

// linkEvent is what a process learns of its link to another.
type linkEvent struct {
	kind election.EventType
	peer string
	want string // who gets the message because of it
}

// R1: whoever had a message last and vanishes, it goes on: to a process that was skipped before and
// has come back, to one that comes back when nobody else is there, and to the successor if the link
// on which it was under way is not kept any more. P1 has passed on a message of P5's.
func TestWhatIsSwallowedGoesOn(t *testing.T) {
	const up, down = election.PeerUp, election.PeerDown
	for what, links := range map[string][]linkEvent{
		"the successor vanishes": {{down, "P2", "P3"}, {down, "P3", "P4"}},
		"one that was skipped comes back": {
			{down, "P2", "P3"}, {up, "P2", ""}, {down, "P4", ""}, {down, "P3", "P2"},
		},
		"nobody else is there": {
			{down, "P3", ""}, {down, "P4", ""}, {down, "P6", ""}, {down, "P5", ""}, {down, "P2", ""},
		},
		"and somebody comes back": {
			{down, "P3", ""}, {down, "P4", ""}, {down, "P6", ""}, {down, "P2", "P5"}, {up, "P4", ""},
		},
		"the link is not kept": {
			{down, "P2", "P3"}, {down, "P3", "P4"}, {up, "P2", ""}, {up, "P3", "P2"},
		},
	} {
		for algorithm, kind := range passing {
			r := &relay{Machine: machine(t, algorithm, "P1", 6, "P6"), kind: kind}
			r.hear(kind, id("P5", 1), "P5")
			for i, l := range links {
				out := r.Step(election.Event{Type: l.kind, Process: l.peer})
				got := ""
				for _, e := range out.Messages {
					if e.Message.Kind == kind && e.Message.Election == id("P5", 1) {
						got = e.To
					}
				}
				if got != l.want {
					t.Errorf("%s, %s, step %d: goes to %q, want %q (%s)", algorithm, what, i+1, got,
						l.want, sent(out))
				}
			}
		}
	}
}

// R1: a process that can reach nobody keeps what it has said until somebody comes back.
func TestAloneForAWhile(t *testing.T) {
	for algorithm, kind := range passing {
		r := &relay{Machine: machine(t, algorithm, "P3", 3, ""), kind: kind}
		r.Step(election.Event{Type: election.Start})
		r.Step(election.Event{Type: election.PeerDown, Process: "P1"})
		r.Step(election.Event{Type: election.PeerDown, Process: "P2"})
		out := r.Step(election.Event{Type: election.PeerUp, Process: "P2"})
		if len(out.Messages) != 1 || out.Messages[0].To != "P2" || out.Messages[0].Message.Kind != kind {
			t.Errorf("%s: P2 gets %q, want P3's %s", algorithm, sent(out), kind)
		}
	}
}

// R8: a process that was skipped when the outcome went round gets it when it is back, as long as
// the outcome counts.
func TestOutcomeForOneThatWasSkipped(t *testing.T) {
	for algorithm, kind := range outcomes {
		for what, c := range map[string]struct {
			then []election.Event
			want bool
		}{
			"it counts": {nil, true},
			"P4 is missed": {[]election.Event{
				{Type: election.Suspect, Process: "P4"},
			}, false},
			"another one has the lease": {[]election.Event{
				{Type: election.Appoint, Process: "P3"},
			}, false},
		} {
			r := &relay{Machine: machine(t, algorithm, "P1", 4, ""), kind: kind}
			r.Step(election.Event{Type: election.PeerDown, Process: "P2"})
			r.hear(kind, id("P4", 1), "P4")
			for _, e := range c.then {
				r.Step(e)
			}
			out := r.Step(election.Event{Type: election.PeerUp, Process: "P2"})
			if got := has(out, "P2", kind, id("P4", 1)); got != c.want {
				t.Errorf("%s, %s: P2 gets the outcome: %t, want %t (%s)", algorithm, what, got, c.want,
					sent(out))
			}
		}
	}
}

// R8: an outcome whose initiator is skipped goes on to the others, when the successor vanishes with
// it.
func TestOutcomeOfOneThatIsSkipped(t *testing.T) {
	for algorithm, kind := range outcomes {
		r := &relay{Machine: machine(t, algorithm, "P1", 4, ""), kind: kind}
		r.Step(election.Event{Type: election.PeerDown, Process: "P2"})
		r.hear(kind, id("P2", 1), "P4")
		out := r.Step(election.Event{Type: election.PeerDown, Process: "P3"})
		if !has(out, "P4", kind, id("P2", 1)) {
			t.Errorf("%s: P4 gets %q, not the outcome", algorithm, sent(out))
		}
	}
}

// outcomes are the messages that tell how an election has ended.
var outcomes = map[string]election.Kind{
	"ChangRoberts": election.NewCoordinator,
	"LeLann":       election.NewCoordinator,
	"RingList":     election.Coordinator,
}

// has reports whether a message of an election goes to a process.
func has(out election.Output, to string, kind election.Kind, id election.ID) bool {
	for _, e := range out.Messages {
		if e.To == to && e.Message.Kind == kind && e.Message.Election == id {
			return true
		}
	}
	return false
}

// R8, R10: its own outcome, when it has come round, is kept for those that were skipped, but not
// for one that outranks the coordinator; and a newer election of the same process goes on.
func TestOwnOutcomeHasComeRound(t *testing.T) {
	const me, won = election.ElectMe, election.NewCoordinator
	r := &relay{Machine: machine(t, "ChangRoberts", "P3", 5, "P5"), kind: me}
	own := func(sequence uint64) election.ID {
		return election.ID{Initiator: "P3", Incarnation: 5, Sequence: sequence}
	}
	for _, p := range []string{"P4", "P5", "P1"} {
		r.Step(election.Event{Type: election.PeerDown, Process: p})
	}
	r.Step(election.Event{Type: election.Suspect, Process: "P5"})
	r.hear(me, own(1), "P3")
	r.hear(won, own(1), "P3")
	if got := r.State().Coordinator; got != "P3" {
		t.Fatalf("P3 follows %q, want itself", got)
	}
	out := r.Step(election.Event{Type: election.PeerUp, Process: "P1"})
	if !has(out, "P1", won, own(1)) {
		t.Errorf("P1, which was skipped, gets %q", sent(out))
	}
	out = r.Step(election.Event{Type: election.PeerUp, Process: "P5"})
	if has(out, "P5", won, own(1)) {
		t.Errorf("P5, which outranks P3, gets %q", sent(out))
	}
	r.Step(election.Event{Type: election.PeerDown, Process: "P5"})
	r.Step(view("P2", "P2")) // another coordinator: P3 calls again
	r.hear(won, own(1), "P3")
	out = r.Step(election.Event{Type: election.PeerDown, Process: "P1"})
	if !has(out, "P2", me, own(2)) {
		t.Errorf("P1 vanishes with P3's second election; P2 gets %q", sent(out))
	}
}

// Rounds of ActiveListRing that have elected the coordinator are void as soon as the coordinator is
// missed, not only when its link closes: a process that has just recovered would join them.
func TestRoundsOfAMissedCoordinator(t *testing.T) {
	for what, misses := range map[string]func(r *relay){
		"by itself":    func(r *relay) { r.Step(election.Event{Type: election.Suspect, Process: "P4"}) },
		"another does": func(r *relay) { r.hear(election.Elect, id("P1", 1), "P1") },
	} {
		r := &relay{Machine: machine(t, "ActiveListRing", "P3", 5, "P5"), kind: election.Elect}
		r.Step(election.Event{Type: election.PeerDown, Process: "P5"})
		round := id("P2", 1)
		for _, p := range []string{"P1", "P2", "P4", "P3"} {
			r.hear(election.Elect, round, p)
		}
		if got := r.State().Coordinator; got != "P4" {
			t.Fatalf("P3 follows %q, not P4", got)
		}
		misses(r)
		out := r.Step(election.Event{Type: election.PeerDown, Process: "P4"})
		if has(out, "P1", election.Elect, round) {
			t.Errorf("%s: P1 gets the round that elected P4: %s", what, sent(out))
		}
	}
}

// But the round of the coordinator itself goes on: it may live, and wait for its elect, which the
// successor has swallowed. P5's round has ended at P3 and not at P5, and P1 suspects P5.
func TestRoundOfACoordinatorThatLives(t *testing.T) {
	r := &relay{Machine: machine(t, "ActiveListRing", "P3", 5, ""), kind: election.Elect}
	for _, p := range []string{"P1", "P2", "P5", "P4", "P3"} {
		r.hear(election.Elect, id("P5", 1), p)
	}
	if got := r.State().Coordinator; got != "P5" {
		t.Fatalf("P3 follows %q, not P5", got)
	}
	r.hear(election.Elect, id("P1", 1), "P1")
	out := r.Step(election.Event{Type: election.PeerDown, Process: "P4"})
	if !has(out, "P5", election.Elect, id("P5", 1)) {
		t.Errorf("P5, which waits for its elect, gets %q", sent(out))
	}
}
