package electiontest_test

import (
	"strings"
	"testing"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/election/electiontest"
)

// What happens between the processes of a scenario that the books do not speak of, and how it ends.
func TestMishaps(t *testing.T) {
	fault := func(at electiontest.Time, kind electiontest.FaultKind, processes ...string) electiontest.Fault {
		return electiontest.Fault{At: at * unit, Kind: kind, Processes: processes}
	}
	for name, c := range map[string]struct {
		faults []electiontest.Fault
		at5    string // what P1 to P3 follow at time 5
		end    string
	}{
		"ill and well":      {[]electiontest.Fault{fault(1, electiontest.Ill, "P3"), fault(12, electiontest.Well, "P3")}, "P2 P2 P2", "P3"},
		"paused":            {[]electiontest.Fault{fault(1, electiontest.Pause, "P3"), fault(12, electiontest.Resume, "P3")}, "P2 P2 P3", "P3"},
		"dies in its sleep": {[]electiontest.Fault{fault(1, electiontest.Pause, "P3"), fault(12, electiontest.Crash, "P3")}, "P2 P2 P3", "P2"},
		"a short nap":       {[]electiontest.Fault{fault(1, electiontest.Pause, "P3"), fault(2, electiontest.Resume, "P3")}, "P3 P3 P3", "P3"},
		"misjudged": {[]electiontest.Fault{fault(1, electiontest.Misjudge, "P2", "P3"),
			fault(12, electiontest.Relink, "P2", "P3")}, "P2 P2 P3", "P3"},
		"heard one way": {[]electiontest.Fault{{At: unit, Kind: electiontest.OneWay, Sides: [][]string{{"P3"}, {"P1", "P2"}}},
			fault(12, electiontest.Heal)}, "P2 P2 P3", "P3"},
	} {
		s := electiontest.Scenario{Algorithm: "Bully", Processes: processes(3), Detect: true, Faults: c.faults}
		r, err := electiontest.Play(s)
		if err != nil || r.Coordinator != c.end {
			t.Errorf("%s: %v, in the end they follow %v, want %s\n%s", name, err, r.Coordinators, c.end, lines(r.Events))
		}
		follow := map[string]string{"P1": "P3", "P2": "P3", "P3": "P3"}
		for _, e := range r.Events {
			if e.Kind == electiontest.Follows && e.At <= 5*unit {
				follow[e.Process] = e.Peer
			}
		}
		if got := follow["P1"] + " " + follow["P2"] + " " + follow["P3"]; got != c.at5 {
			t.Errorf("%s: at 5 they follow %s, want %s\n%s", name, got, c.at5, lines(r.Events))
		}
	}
}

// A link keeps its order, however long its messages take, and loses what the scenario says.
func TestCarry(t *testing.T) {
	s := electiontest.Scenario{
		Algorithm: "LeLann", Processes: processes(4), Initiators: []string{"P1"},
		Carry: func(_, _ string, m election.Message, sequence int) (electiontest.Time, bool) {
			return unit * electiontest.Time(2-sequence%2), m.Kind == election.NewCoordinator && sequence%3 == 0
		},
		Until: 200 * unit,
	}
	r, err := electiontest.Play(s)
	if err != nil {
		t.Fatal(err)
	}
	lost, last := 0, map[string]int{}
	for _, e := range r.Events {
		switch e.Kind {
		case electiontest.Lost:
			lost++
			fallthrough
		case electiontest.Delivered:
			link := e.Peer + e.Process
			if e.Sequence < last[link] {
				t.Errorf("message %d overtakes %d on %s", last[link], e.Sequence, link)
			}
			last[link] = e.Sequence
		default:
		}
	}
	if lost == 0 {
		t.Error("nothing was lost")
	}
}

// A fault that makes no sense is refused with what would.
func TestBadFaults(t *testing.T) {
	for want, f := range map[string]electiontest.Fault{
		"names two sides":                      {Kind: electiontest.OneWay, Sides: [][]string{{"P1"}}},
		"names the process that errs":          {Kind: electiontest.Misjudge, Processes: []string{"P1"}},
		"names processes, and no sides":        {Kind: electiontest.Pause},
		"there is no process \"P9\"":           {Kind: electiontest.Ill, Processes: []string{"P9"}},
		"no fault \"Flood\"; there are [Crash": {Kind: "Flood"},
	} {
		_, err := electiontest.Play(electiontest.Scenario{Algorithm: "Bully", Processes: processes(2), Faults: []electiontest.Fault{f}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", f, err, want)
		}
	}
}
