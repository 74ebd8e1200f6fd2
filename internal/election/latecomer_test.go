package election_test

import (
	"strings"
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

// R7, R5: who waits in a round whose initiator has called a later one joins that: all that know of
// it drop the elects of the one before. In the round of another initiator it sends no elect.
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
	for _, p := range []string{"P5", "P1", "P4"} { // without those of others it would elect itself
		if got := electOf(out, p, round); got != "P4" {
			t.Errorf("P4 waits for its elect, and that of %s goes to %q: %s", p, got, sent(out))
		}
	}
}

// R1: an elect that goes past its sender waits for that process, whoever has called the round and
// whoever comes into reach first: it may have lost its link only. P3 has passed on P5's elect.
func TestAnElectIsOwedToItsSender(t *testing.T) {
	const up, down, suspect = election.PeerUp, election.PeerDown, election.Suspect
	for what, c := range map[string]struct {
		before, since []linkEvent // the last one is that P5 gets its elect
	}{
		"it is back": {
			[]linkEvent{{down, "P4", ""}, {down, "P5", ""}},
			[]linkEvent{{up, "P5", "P5"}},
		},
		"others are back first": {
			[]linkEvent{{down, "P4", ""}, {down, "P5", ""}},
			[]linkEvent{{up, "P1", ""}, {up, "P4", ""}, {up, "P5", "P5"}},
		},
		"the coordinator is missed": {
			[]linkEvent{{down, "P4", ""}, {down, "P5", ""}},
			[]linkEvent{{suspect, "P6", ""}, {up, "P5", "P5"}},
		},
		"the successor vanishes": {
			[]linkEvent{{down, "P4", ""}, {down, "P5", ""}},
			[]linkEvent{{down, "P6", ""}, {up, "P5", "P5"}},
		},
		"the link closes with it": {
			[]linkEvent{{down, "P4", ""}},
			[]linkEvent{{down, "P5", ""}, {up, "P5", "P5"}},
		},
	} {
		r := &relay{Machine: machine(t, "ActiveListRing", "P3", 6, ""), kind: election.Elect}
		for _, l := range c.before {
			r.Step(election.Event{Type: l.kind, Process: l.peer})
		}
		round := id("P2", 1)
		for _, p := range []string{"P2", "P1", "P6", "P5", "P3"} {
			r.hear(election.Elect, round, p)
		}
		for i, l := range c.since {
			out := r.Step(election.Event{Type: l.kind, Process: l.peer})
			if got := electOf(out, "P5", round); got != l.want {
				t.Errorf("%s, step %d: P5's elect goes to %q, want %q (%s)", what, i+1, got, l.want,
					sent(out))
			}
		}
	}
}

// R1: also if the initiator of that round calls another one, which goes past the sender, too.
func TestAnElectOfAGivenUpRoundIsOwed(t *testing.T) {
	r := &relay{Machine: machine(t, "ActiveListRing", "P3", 5, ""), kind: election.Elect}
	r.Step(election.Event{Type: election.PeerDown, Process: "P4"})
	for sequence := range uint64(2) {
		for _, p := range []string{"P2", "P1", "P5", "P3"} {
			r.hear(election.Elect, id("P2", sequence+1), p)
		}
		if sequence == 0 {
			r.hear(election.Elect, id("P2", 1), "P4")
		}
	}
	out := r.Step(election.Event{Type: election.PeerUp, Process: "P4"})
	if got := electOf(out, "P4", id("P2", 1)); got != "P4" {
		t.Errorf("P4, which waits for its elect, gets %q", sent(out))
	}
}

// electOf returns who gets a process's elect in a round.
func electOf(out election.Output, sender string, round election.ID) (to string) {
	for _, e := range out.Messages {
		if m := e.Message; m.Kind == election.Elect && m.Election == round && m.Process == sender {
			to = e.To
		}
	}
	return to
}

// G13: what is set aside leaves room for a round: of each sender the newest elect, and nothing of a
// process that has left the roster.
func TestWhatIsSetAsideIsBounded(t *testing.T) {
	const up, down = election.PeerUp, election.PeerDown
	for name, downs := range map[string][2]election.EventType{
		"it vanishes before": {down, up}, // up: which it is
		"it vanishes since":  {up, down},
	} {
		r := &relay{Machine: machine(t, "ActiveListRing", "P3", 4, ""), kind: election.Elect}
		r.Step(election.Event{Type: downs[0], Process: "P4"})
		for _, initiator := range []string{"P1", "P2"} {
			r.hear(election.Elect, id(initiator, 1), "P4")
		}
		if downs[1] == down {
			r.Step(election.Event{Type: down, Process: "P4"})
		}
		out := r.Step(election.Event{Type: up, Process: "P4"})
		if strings.Count(sent(out), "ELECT P4") != 1 || electOf(out, "P4", id("P2", 1)) == "" {
			t.Errorf("%s: P4 gets %s, want its newest elect", name, sent(out))
		}
	}
	r := &relay{Machine: machine(t, "ActiveListRing", "P3", 4, ""), kind: election.Elect}
	for _, initiator := range []string{"P1", "P2"} {
		for _, p := range []string{"P1", "P2", "P4", "P3"} {
			r.hear(election.Elect, id(initiator, 20), p)
		}
	}
	r.Step(election.Event{Type: election.PeerDown, Process: "P4"})
	r.Step(election.Event{Type: election.Change, Roster: processes(3)})
	r.hear(election.Elect, id("P1", 21), "P1")
	r.Step(election.Event{Type: election.Change, Roster: processes(4)})
	out := r.Step(election.Event{Type: election.PeerUp, Process: "P4"})
	if electOf(out, "P4", id("P1", 20))+electOf(out, "P4", id("P2", 20)) != "" {
		t.Errorf("P4, which had left the roster, gets %s", sent(out))
	}
}
