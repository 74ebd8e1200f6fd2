package election_test

import (
	"testing"

	"github.com/podesta-dev/podesta/internal/election"
)

// latecomer brings P3 of five processes so far that the round which it has called has ended: P5 is
// down, and all others are active. Then P5, which has recovered, joins that round: its predecessor
// P2 (in this ring of P3's) got a link to it before that round had ended there.
func latecomer(t *testing.T) (r *relay, round election.ID) {
	t.Helper()
	r = &relay{Machine: machine(t, "ActiveListRing", "P3", 5, "P5"), kind: election.Elect}
	r.Step(election.Event{Type: election.PeerDown, Process: "P5"})
	r.Step(election.Event{Type: election.Suspect, Process: "P5"})
	round = election.ID{Initiator: "P3", Incarnation: 5, Sequence: 1}
	for _, p := range []string{"P4", "P2", "P1", "P3"} {
		r.hear(election.Elect, round, p)
	}
	if got := r.State().Coordinator; got != "P4" {
		t.Fatalf("P3 follows %q, not P4", got)
	}
	return r, round
}

// R7: the initiator of a round that has ended does not send an elect in it again: all others would
// drop that, and it would wait for n/2+2 T.
func TestNobodyJoinsItsOwnRound(t *testing.T) {
	r, round := latecomer(t)
	if out := r.hear(election.Elect, round, "P5"); out != "P4 ELECT P5 [P5]" {
		t.Errorf("P3 sends %q, want P5's elect only", out)
	}
	if r.State().Electing {
		t.Error("P3 waits for an elect that nobody passes on")
	}
}

// R7: and it passes on what comes late while it takes part in another round: P5 waits for it.
func TestLateElectsGoOn(t *testing.T) {
	r, round := latecomer(t)
	r.hear(election.Elect, election.ID{Initiator: "P1", Incarnation: 5, Sequence: 1}, "P1")
	if out := r.hear(election.Elect, round, "P5"); out != "P4 ELECT P5 [P5]" {
		t.Errorf("P3 sends %q, want P5's elect", out)
	}
}

// R7, R5: who waits in a round whose initiator has called a later one joins that: all that know of it
// drop the elects of the one before. In the round of another initiator it sends no elect.
func TestAGivenUpRoundIsLeft(t *testing.T) {
	elects := func(initiator string, sequence uint64) string {
		r := &relay{Machine: machine(t, "ActiveListRing", "P3", 5, ""), kind: election.Elect}
		r.hear(election.Elect, id("P1", 2), "P1")
		return r.hear(election.Elect, id(initiator, sequence), "P2")
	}
	for _, c := range []struct {
		initiator string
		sequence  uint64
		want      string
	}{
		{"P1", 3, "P4 ELECT P3; P4 ELECT P2 [P2]"},
		{"P1", 2, "P4 ELECT P2 [P2]"},
		{"P1", 1, ""},
		{"P2", 3, "P4 ELECT P2 [P2]"},
	} {
		if got := elects(c.initiator, c.sequence); got != c.want {
			t.Errorf("round %d of %s: P3 sends %q, want %q", c.sequence, c.initiator, got, c.want)
		}
	}
}

// R7: what is left of a round that has ended here waits for the process that has called it, which
// has recovered and to which this one has no link yet, whoever else comes into reach meanwhile: it
// may not have ended there.
func TestARoundIsOwedToItsInitiator(t *testing.T) {
	r := &relay{Machine: machine(t, "ActiveListRing", "P3", 5, ""), kind: election.Elect}
	r.Step(election.Event{Type: election.PeerDown, Process: "P4"})
	round := id("P4", 1)
	for _, p := range []string{"P5", "P1", "P4", "P3", "P2"} {
		r.hear(election.Elect, round, p)
	}
	if r.State().Electing {
		t.Fatal("the round has not ended")
	}
	r.Step(election.Event{Type: election.PeerUp, Process: "P1"})
	out := r.Step(election.Event{Type: election.PeerUp, Process: "P4"})
	if !has(out, "P4", election.Elect, round) {
		t.Errorf("P4, which waits for its elect, gets %q", sent(out))
	}
}
