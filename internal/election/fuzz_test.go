package election_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/podesta-dev/podesta/internal/election"
)

// FuzzStep gives one machine whatever events the bytes describe: forged messages, timers that were
// never set, rosters that change. The machine must not panic, must stay small, and must only follow
// processes that are on the roster and may coordinate.
func FuzzStep(f *testing.F) {
	for i := range election.Algorithms() {
		rng := rand.New(rand.NewPCG(uint64(i), 1))
		schedule := []byte{byte(i), 3, 1, 0}
		for range 200 {
			schedule = append(schedule, byte(rng.UintN(256)))
		}
		f.Add(schedule)
	}
	f.Fuzz(func(t *testing.T, schedule []byte) {
		s := script{bytes: schedule}
		algorithms := election.Algorithms()
		algorithm := algorithms[s.below(len(algorithms))]
		roster := processes(1 + s.below(6))
		self := roster[s.below(len(roster))].Name
		m, err := election.New(election.Config{
			Algorithm:   algorithm,
			Self:        self,
			Incarnation: 2,
			Roster:      roster,
			Coordinator: s.name(),
		})
		if err != nil {
			t.Fatal(err)
		}
		running := map[election.Timer]bool{}
		widest := len(roster)
		for len(s.bytes) > 0 {
			e := s.event(self, &roster)
			widest = max(widest, len(roster))
			out := m.Step(e)
			checkStep(t, m, roster, widest, e, out)
			for _, op := range out.Timers {
				running[op.Timer] = op.Wait > 0
			}
			if m.State().Electing && e.Type != election.Timeout && !running[election.AwaitAnswer] &&
				!running[election.AwaitAnnouncement] {
				t.Fatalf("%s: electing, and no timer runs, after %+v", algorithm, e)
			}
		}
		if size := len(m.AppendSnapshot(nil)); size > 8<<10 {
			t.Fatalf("%s has grown to %d bytes", algorithm, size)
		}
	})
}

func checkStep(t *testing.T, m *election.Machine, roster []election.Process, widest int,
	e election.Event, out election.Output) {
	t.Helper()
	if len(out.Messages) > 4*widest+4 || len(out.Timers) > 12 {
		t.Fatalf("%d messages and %d timer operations after %+v", len(out.Messages),
			len(out.Timers), e)
	}
	for _, envelope := range out.Messages {
		if !slices.ContainsFunc(roster, func(p election.Process) bool {
			return p.Name == envelope.To
		}) {
			t.Fatalf("a message to %q, which is not on the roster, after %+v", envelope.To, e)
		}
		if envelope.Message.Hops < 0 || envelope.Message.Hops > 2*widest {
			t.Fatalf("a message that travels %d links, after %+v", envelope.Message.Hops, e)
		}
	}
	if c := m.State().Coordinator; c != "" {
		i := slices.IndexFunc(roster, func(p election.Process) bool { return p.Name == c })
		if i < 0 || e.Type != election.Start && roster[i].Priority == 0 {
			t.Fatalf("follows %q, which is not on the roster or never coordinates, after %+v", c, e)
		}
	}
}

// script reads a schedule from bytes. After its end every value is 0.
type script struct{ bytes []byte }

func (s *script) below(n int) int {
	if len(s.bytes) == 0 {
		return 0
	}
	b := s.bytes[0]
	s.bytes = s.bytes[1:]
	return int(b) % n
}

// name returns a process, often of the roster, or one of many that never are.
func (s *script) name() string {
	if name := []string{"P1", "P2", "P3", "P4", "P5", "P6", "X", ""}[s.below(8)]; name != "X" {
		return name
	}
	return fmt.Sprintf("X%d", s.below(256))
}

func (s *script) event(self string, roster *[]election.Process) election.Event {
	e := election.Event{Type: election.EventType(s.below(14)), Process: s.name()}
	switch e.Type {
	case election.Receive, election.Answered:
		e.Incarnation, e.Message = uint64(s.below(4)), s.message()
	case election.Timeout:
		e.Timer = timers[s.below(len(timers))]
	case election.Change:
		next := processes(1 + s.below(6))
		for i := range next {
			next[i].Priority, next[i].UID = int32(s.below(4)), []string{"1", "2"}[s.below(2)]
		}
		e.Roster, e.Algorithm = next, append(election.Algorithms(), "",
			"Coin")[s.below(len(election.Algorithms())+2)]
		if slices.ContainsFunc(next, func(p election.Process) bool { return p.Name == self }) {
			*roster = next // otherwise the machine keeps the old one
		}
	}
	return e
}

var kinds = [...]election.Kind{
	election.Election, election.OK, election.Coordinator, election.Request, election.StatusTable,
	election.Update, election.ElectMe,
	election.NewCoordinator, election.Elect, election.ElectNobody, election.Inquiry,
	election.Reply, election.View, "", "GARBAGE",
}

func (s *script) message() election.Message {
	m := election.Message{
		Kind:    kinds[s.below(len(kinds))],
		Process: s.name(),
		Hops:    s.below(16) - 2,
		Election: election.ID{
			Initiator:   s.name(),
			Incarnation: uint64(s.below(4)),
			Sequence:    uint64(s.below(8)),
		},
	}
	for range s.below(8) {
		name := s.name()
		m.List = append(m.List, name)
		m.Table = append(m.Table, election.Entry{Name: name, Status: []election.Status{
			election.Normal, election.Coordinates, election.Crashed, ""}[s.below(4)]})
	}
	return m
}
