package agent

import "testing"

// What another process said last counts until it says something else, its link closes, or it leaves
// the roster: what peers make the meter remember is bounded by the roster.
func TestDisagreementIsCounted(t *testing.T) {
	on := func(names ...string) (v View) {
		for _, name := range names {
			v.Processes = append(v.Processes, ProcessView{Name: name})
		}
		return v
	}
	for name, c := range map[string]struct {
		then func(*Meter)
		want int
	}{
		"nothing":              {func(*Meter) {}, 1},
		"it agrees":            {func(m *Meter) { m.answered("p2", "p3") }, 0},
		"it follows nobody":    {func(m *Meter) { m.answered("p2", "") }, 0},
		"its link closes":      {func(m *Meter) { m.linked("p2", false) }, 0},
		"it leaves":            {func(m *Meter) { m.published(on("p1", "p3")) }, 0},
		"it stays":             {func(m *Meter) { m.published(on("p1", "p2", "p3")) }, 1},
		"another one does too": {func(m *Meter) { m.answered("p4", "p4") }, 2},
		"another one agrees":   {func(m *Meter) { m.answered("p3", "p3") }, 1},
	} {
		m := NewMeter(NewViews(), NewLedger(MachineClocks{}), Sources{Dropped: func() uint64 { return 0 }})
		m.answered("p2", "p2")
		c.then(m)
		if _, got := m.others("p3"); got != c.want {
			t.Errorf("%s: %d disagree with p3, want %d", name, got, c.want)
		}
		if _, got := m.others(""); got != 0 {
			t.Errorf("%s: %d disagree with a process that follows nobody", name, got)
		}
	}
}

// A kind that no release of this agent knows, of whatever peer, makes no series.
func TestKindsAreBounded(t *testing.T) {
	m := NewMeter(NewViews(), NewLedger(MachineClocks{}), Sources{Dropped: func() uint64 { return 0 }})
	before := len(m.messagesReceived)
	m.messagesReceived.inc("NONSENSE")
	if got := len(m.messagesReceived); got != before || before != len(messageKinds) {
		t.Errorf("%d kinds of messages, want %d", got, len(messageKinds))
	}
}

func TestTolerated(t *testing.T) {
	table := func(states ...string) (all []ProcessView) {
		for i, s := range states {
			all = append(all, ProcessView{Name: string(rune('a' + i)), State: s})
		}
		return all
	}
	voters := []string{"a", "b", "c", "d", "e"}
	for _, c := range []struct {
		name string
		view View
		want int
	}{
		{"all of five", View{Safety: "Guarded", Voters: voters, Processes: table("Normal", "Normal", "Coordinator", "Normal", "Normal")}, 2},
		{"one is gone", View{Safety: "Guarded", Voters: voters, Processes: table("Crashed", "Normal", "Coordinator", "Normal", "Normal")}, 1},
		{"the smallest majority", View{Safety: "Guarded", Voters: voters, Processes: table("Crashed", "Crashed", "Coordinator", "Normal", "Normal")}, 0},
		{"no majority", View{Safety: "Guarded", Voters: voters, Processes: table("Crashed", "Crashed", "Crashed", "Normal", "Normal")}, 0},
		{"one more is no voter", View{Safety: "Guarded", Voters: voters[:3], Processes: table("Normal", "Normal", "Coordinator", "Normal")}, 1},
		{"an even number", View{Safety: "Guarded", Voters: voters[:4], Processes: table("Normal", "Normal", "Coordinator", "Normal")}, 1},
		{"no roster", View{}, 0},
		{"Classic", View{Name: "a", Safety: "Classic", Processes: table("Normal", "Crashed", "Coordinator")}, 1},
	} {
		if got := c.view.tolerated(); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
