package election_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/podesta-dev/podesta/internal/election"
)

// span describes processes: how many there are, and the lowest and the highest of them by number.
func span(names []string) string {
	numbers := make([]int, 0, len(names))
	for _, name := range names {
		var n int
		fmt.Sscanf(name, "P%d", &n)
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	if numbers = slices.Compact(numbers); len(numbers) == 0 {
		return "nobody"
	}
	return fmt.Sprintf("%d: P%d to P%d", len(numbers), numbers[0], numbers[len(numbers)-1])
}

// asks returns whom a process sends ELECTION.
func asks(out election.Output) string {
	var names []string
	for _, e := range out.Messages {
		if e.Message.Kind == election.Election {
			names = append(names, e.To)
		}
	}
	return span(names)
}

func linkDown(process string) election.Event {
	return election.Event{Type: election.PeerDown, Process: process}
}

// down are the events of links to the highest so many of n processes that fail.
func down(highest, n int) (events []election.Event) {
	for i := range highest {
		events = append(events, linkDown(fmt.Sprintf("P%d", n-i)))
	}
	return events
}

// Whom a bully links to. In a crowd that is the front, unless the process belongs to the front or
// coordinates.
func TestLinksOfACrowd(t *testing.T) {
	const all, front = "40: P1 to P40", "12: P30 to P41"
	for _, c := range []struct {
		what      string
		algorithm string
		self      string
		processes int
		events    []election.Event
		want      string
	}{
		{"no crowd", "Bully", "P1", 40, nil, "39: P2 to P40"},
		{"a crowd", "Bully", "P1", 41, nil, front},
		{"the lowest of the front", "Bully", "P30", 41, nil, "40: P1 to P41"},
		{"just below the front", "Bully", "P29", 41, nil, front},
		{"the highest", "Bully", "P41", 41, nil, all},
		{"half of the front is down", "Bully", "P1", 41, down(6, 41), front},
		{"more than half is", "Bully", "P1", 41, down(7, 41), "24: P18 to P41"},
		{"and this process belongs to the front then", "Bully", "P18", 41, down(7, 41),
			"40: P1 to P41"},
		{"one of it is down and comes back", "Bully", "P1", 41, append(down(7, 41),
			election.Event{Type: election.PeerUp, Process: "P41"}), front},
		{"a low one coordinates", "Bully", "P5", 41, []election.Event{appoint("P5")}, "40: P1 to P41"},
		{"another algorithm", "StatusTableBully", "P1", 41, nil, "40: P2 to P41"},
	} {
		m := machine(t, c.algorithm, c.self, c.processes, fmt.Sprintf("P%d", c.processes))
		before := m.Reach()
		for _, e := range c.events {
			m.Step(e)
		}
		if got := span(m.Links()); got != c.want {
			t.Errorf("%s: %s links to %s, want %s", c.what, c.self, got, c.want)
		}
		if crowd := c.algorithm == "Bully" && c.processes > 40; crowd && len(c.events) > 6 &&
			c.want != front && m.Reach() == before {
			t.Errorf("%s: the links are others, and Reach is the same", c.what)
		}
	}
}

// Those that never coordinate are not of the front, and link to it.
func TestFrontOfCandidates(t *testing.T) {
	roster := processes(50)
	for i := range roster[:45] {
		roster[i].Priority = 0
	}
	for self, want := range map[string]string{
		"P1":  "5: P46 to P50",
		"P46": "49: P1 to P50",
	} {
		m, err := election.New(election.Config{Algorithm: "Bully", Self: self, Incarnation: 1, Roster: roster})
		if err != nil {
			t.Fatal(err)
		}
		if got := span(m.Links()); got != want {
			t.Errorf("%s links to %s, want %s", self, got, want)
		}
	}
}

// linked is a process of a crowd all of whose links are open.
func linked(t *testing.T, self string, n int, coordinator string) *election.Machine {
	m := machine(t, "Bully", self, n, coordinator)
	for i := range n {
		m.Step(election.Event{Type: election.PeerUp, Process: fmt.Sprintf("P%d", i+1)})
	}
	return m
}

var (
	start   = election.Event{Type: election.Start}
	timeout = election.Event{Type: election.Timeout, Timer: election.AwaitAnswer}
)

// Rule 1 in a crowd: a block of processes is asked when nobody of the one before it has answered.
// Only when all have been asked does a process elect itself.
func TestAsksAFrontAtATime(t *testing.T) {
	m := linked(t, "P3", 41, "")
	for _, c := range []struct {
		event       election.Event
		asks, links string
	}{
		{start, "12: P30 to P41", "12: P30 to P41"},
		{timeout, "12: P18 to P29", "24: P18 to P41"},
		{timeout, "12: P6 to P17", "24: P6 to P41"},
		{timeout, "2: P4 to P5", "14: P4 to P41"},
		{timeout, "nobody", "40: P1 to P41"},
	} {
		before := m.Reach()
		if got := asks(m.Step(c.event)); got != c.asks {
			t.Errorf("P3 asks %s, want %s", got, c.asks)
		}
		if got := span(m.Links()); got != c.links {
			t.Errorf("having asked %s, it links to %s, want %s", c.asks, got, c.links)
		}
		if m.Reach() == before {
			t.Errorf("having asked %s, it has the same Reach", c.asks)
		}
	}
	if got := m.State().Coordinator; got != "P3" {
		t.Errorf("nobody has answered, and %q coordinates", got)
	}
}

// A process of a crowd that has just started waits for those that cannot be reached, too: they may be
// starting. Once it has had a coordinator, it does not.
func TestOthersMayBeStarting(t *testing.T) {
	m := machine(t, "Bully", "P18", 41, "")
	m.Step(start)
	for _, e := range down(23, 41) {
		if out := m.Step(e); asks(out) != "nobody" || span(m.Links()) != "12: P30 to P41" {
			t.Fatalf("%s is down: P18 asks %s, and links to %s", e.Process, asks(out), span(m.Links()))
		}
	}
	if got := asks(m.Step(timeout)); got != "11: P19 to P29" {
		t.Errorf("T later P18 asks %s", got)
	}
	if m.Step(timeout); m.State().Coordinator != "P18" {
		t.Errorf("T later %q coordinates", m.State().Coordinator)
	}
	m.Step(announcement("P41"))
	out := m.Step(election.Event{Type: election.Suspect, Process: "P41"})
	if m.State().Coordinator != "P18" {
		t.Errorf("when P41 has failed, too, P18 asks %s", asks(out))
	}
}

// Links to those that were asked stay until T after the announcement: there may be another election.
func TestLinksToThoseThatWereAsked(t *testing.T) {
	m := linked(t, "P3", 41, "")
	m.Step(start)
	m.Step(timeout)
	m.Step(announcement("P20"))
	if got := m.State().Coordinator; got != "P20" {
		t.Fatalf("%q coordinates", got)
	}
	if got, want := span(m.Links()), "24: P18 to P41"; got != want {
		t.Errorf("P20 has announced itself, and P3 links to %s, want %s", got, want)
	}
	m.Step(election.Event{Type: election.Timeout, Timer: election.AwaitStragglers})
	if got, want := span(m.Links()), "12: P30 to P41"; got != want {
		t.Errorf("T later it links to %s, want %s", got, want)
	}
}

// Who was asked, or called, in an election that is over is not linked to again when something else
// happens: each failover would have all processes of the crowd make those links at once.
func TestAnElectionThatIsOverMakesNoLinks(t *testing.T) {
	const front = "12: P30 to P41"
	announced := []election.Event{
		announcement("P20"), {Type: election.Timeout, Timer: election.AwaitStragglers},
	}
	appointed := []election.Event{appoint("P20")}
	unlinked := func(process string) election.Event {
		return election.Event{Type: election.PeerUnlinked, Process: process}
	}
	for what, c := range map[string]struct{ end, next []election.Event }{
		"another one announces itself": {announced, []election.Event{announcement("P41")}},
		"the lease had ended it":       {appointed, []election.Event{announcement("P41")}},
		"the coordinator is suspected": {announced, []election.Event{
			{Type: election.Suspect, Process: "P20"}}},
		"a VIEW, while links are made": {announced, []election.Event{unlinked("P41"), unlinked("P40"),
			unlinked("P39"), unlinked("P38"), view("P37", "P37")}},
	} {
		m := linked(t, "P3", 41, "")
		m.Step(start)
		m.Step(timeout)
		m.Step(call("P1", 1))
		if got, want := span(m.Links()), "25: P1 to P41"; got != want {
			t.Fatalf("P1 has called, and P3 links to %s, want %s", got, want)
		}
		for _, e := range c.end {
			m.Step(e)
		}
		if got := span(m.Links()); got != front {
			t.Errorf("it is over, and P3 links to %s, want %s", got, front)
		}
		for _, e := range c.next {
			m.Step(e)
		}
		if got := span(m.Links()); got != front {
			t.Errorf("%s: P3 links to %s, want %s", what, got, front)
		}
	}
}

// While a large group makes its links, an ELECTION that comes long after the announcement begins
// none. The OK needs a link all the same.
func TestAnswersWhileLinksAreMade(t *testing.T) {
	m := machine(t, "Bully", "P20", 41, "P41")
	m.Step(election.Event{Type: election.PeerUp, Process: "P41"})
	if text := sent(m.Step(call("P1", 1))); text != "P1 OK" {
		t.Fatalf("P1 has called, and P20 sends %q", text)
	}
	if got, want := span(m.Links()), "13: P1 to P41"; got != want {
		t.Errorf("P1 has called, and P20 links to %s, want %s", got, want)
	}
	for range 42 { // as many T may pass as the group has processes
		m.Step(election.Event{Type: election.Timeout, Timer: election.AwaitStragglers})
	}
	if got, want := span(m.Links()), "12: P30 to P41"; got != want {
		t.Errorf("then it links to %s, want %s", got, want)
	}
}

// call is the ELECTION of a process.
func call(process string, sequence uint64) election.Event {
	return election.Event{
		Type:        election.Receive,
		Process:     process,
		Incarnation: 1,
		Message:     election.Message{Kind: election.Election, Election: id(process, sequence)},
	}
}

// A process that was asked has T to answer from when its link opens; while a link is being made,
// nobody else is asked, for as many T as the group has processes.
func TestWaitsForLinksOfACrowd(t *testing.T) {
	again := election.TimerOp{Timer: election.AwaitAnswer, Wait: 1}
	m := machine(t, "Bully", "P3", 41, "")
	m.Step(start)
	for i := range 41 {
		e := timeout
		if i%2 == 0 { // it comes and goes
			m.Step(election.Event{Type: election.PeerUnlinked, Process: "P41"})
			e = election.Event{Type: election.PeerUp, Process: "P41"}
		}
		out := m.Step(e)
		if asks(out) != "nobody" || !slices.Contains(out.Timers, again) || i%2 != 0 && !m.AwaitsLinks() {
			t.Fatalf("links are being made: P3 asks %s, and sets %v", asks(out), out.Timers)
		}
	}
	out := m.Step(election.Event{Type: election.PeerUp, Process: "P40"})
	if len(out.Timers) > 0 || m.AwaitsLinks() {
		t.Errorf("41 T are over, and P3 sets %v", out.Timers)
	}
	if got := asks(m.Step(timeout)); got != "12: P18 to P29" {
		t.Errorf("41 T are over, and P3 asks %s", got)
	}
}

// Who has failed, or has just been missed, is not waited for: the next are asked at once.
func TestAsksNobodyInVain(t *testing.T) {
	m := machine(t, "Bully", "P3", 41, "P41")
	for _, e := range down(12, 41) {
		m.Step(e)
	}
	out := m.Step(election.Event{Type: election.Suspect, Process: "P41"})
	if got, want := asks(out), "23: P18 to P40"; got != want {
		t.Errorf("P3 asks %s, want %s", got, want)
	}
	for _, e := range down(23, 41)[12:] {
		out = m.Step(e)
		if got := asks(out); got != "nobody" {
			t.Fatalf("%s is down, another one may answer, and P3 asks %s", e.Process, got)
		}
	}
	if out = m.Step(linkDown("P18")); asks(out) != "12: P6 to P17" {
		t.Errorf("P18, the last that might answer, is down, and P3 asks %s", asks(out))
	}
}

// An answer of any block ends the asking. Who answered is waited for: it has those before its own
// block to ask.
func TestAnswerOfTheSecondBlock(t *testing.T) {
	m := linked(t, "P3", 41, "P41")
	called := m.Step(start).Messages[0].Message.Election
	m.Step(timeout)
	if !m.Awaits("P20") || m.Awaits("P41") || m.Awaits("P10") {
		t.Error("of P20, P41 and P10 only P20 would answer in time")
	}
	out := m.Step(election.Event{
		Type:        election.Receive,
		Process:     "P20",
		Incarnation: 1,
		Message:     election.Message{Kind: election.OK, Election: called},
	})
	if !slices.Contains(out.Timers, election.TimerOp{Timer: election.AwaitAnnouncement, Wait: 3}) {
		t.Errorf("P20 has answered, and its announcement is not waited for: %v", out.Timers)
	}
	for _, e := range down(24, 41) {
		out = m.Step(e)
	}
	if got := asks(out); got != "12: P6 to P17" {
		t.Errorf("all that were asked have failed since, and P3 asks %s", got)
	}
	if !slices.Contains(out.Timers, election.TimerOp{Timer: election.AwaitAnnouncement}) {
		t.Errorf("an announcement is waited for all the same: %v", out.Timers)
	}
}

// A process that does not link to everybody links to those that it has to answer, until T has
// passed since the next announcement.
func TestLinksToItsCallers(t *testing.T) {
	m := linked(t, "P20", 41, "P41")
	calls := func(process string, sequence uint64) string {
		return sent(m.Step(call(process, sequence)))
	}
	expect := func(when string, want ...string) {
		t.Helper()
		links := m.Links()
		for _, caller := range []string{"P1", "P2"} {
			if linked := slices.Contains(links, caller); linked != slices.Contains(want, caller) {
				t.Errorf("%s: linked to %s: %t", when, caller, linked)
			}
		}
	}
	before := m.Reach()
	if text := calls("P2", 1); !strings.Contains(text, "P2 OK") {
		t.Errorf("P2 has called, and P20 sends %q", text)
	}
	expect("P2 has called", "P2")
	if m.Reach() == before {
		t.Error("the links are others, and Reach is the same")
	}
	m.Step(announcement("P41"))
	expect("P41 has announced itself", "P2")
	calls("P1", 1)
	expect("P1 has called, too", "P1", "P2")
	m.Step(election.Event{Type: election.Timeout, Timer: election.AwaitStragglers})
	expect("T later")
	calls("P1", 2)
	expect("P1 has called", "P1")
	m.Step(election.Event{Type: election.Change, Roster: processes(42)[1:]})
	expect("P1 is on the roster no more")
}

// In a crowd nothing is known of a process to which this one does not link any more: it may have
// come back.
func TestForgetsThoseBeyondTheFront(t *testing.T) {
	for n, want := range map[int]election.Status{40: election.Crashed, 41: election.Normal} {
		m := machine(t, "Bully", "P1", n, "P40")
		unlinked := election.Event{Type: election.PeerUnlinked, Process: "P5"}
		m.Step(linkDown("P5"))
		if got := m.AppendTable(nil)[4]; got.Status != election.Crashed {
			t.Errorf("of %d processes: the link to P5 is down, and it is %s", n, got.Status)
		}
		m.Step(unlinked)
		if got := m.AppendTable(nil)[4]; got.Status != want {
			t.Errorf("of %d processes: P1 does not link to P5 any more, and it is %s", n, got.Status)
		}
	}
}

// R9, in a crowd: a VIEW that names a dead coordinator is outdated, though only the failure detector
// had a link to it.
func TestViewOfTheDeadBeyondTheFront(t *testing.T) {
	m := linked(t, "P2", 41, "P40")
	m.Step(linkDown("P5"))
	if out := m.Step(view("P1", "P5")); len(out.Messages) > 0 || m.State().Coordinator != "P40" {
		t.Errorf("P2 takes up arms for a dead process: %s", sent(out))
	}
}

// While a process that does not link to everybody makes its links, VIEWs of before are not answered
// by elections (TestViewsWhileLinksAreBeingMade): more than a quarter of the front is missing.
func TestFormingCrowd(t *testing.T) {
	for up, want := range map[int]string{8: "", 9: "elects"} {
		m := machine(t, "Bully", "P1", 41, "P41")
		for i := range up {
			m.Step(election.Event{Type: election.PeerUp, Process: fmt.Sprintf("P%d", 41-i)})
		}
		got := ""
		if m.Step(view("P40", "P40")); m.State().Electing {
			got = "elects"
		}
		if got != want {
			t.Errorf("%d of 12 links are open, another one coordinates, and P1 %q, want %q", up, got, want)
		}
	}
}
