package transport

import (
	"context"
	"reflect"
	"runtime"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/election"
)

func TestWhatIsSentArrivesWholeAndInOrder(t *testing.T) {
	inEachFabric(t, func(t *testing.T, f fabric) {
		a, b := f.join("a", 7), f.join("b", 1)
		introduce(f, []string{"a", "b"}, a, b)
		expect(t, a, Up{"b"})
		whole := election.Message{
			Kind: election.StatusTable,
			Election: election.ID{
				Initiator:   "b",
				Incarnation: 1 << 60,
				Sequence:    3,
			},
			Process: "c",
			Hops:    12,
			List:    []string{"a", "b", "c"},
			Table: []election.Entry{
				{Name: "a", Status: election.Normal},
				{Name: "b", Status: election.Crashed},
			},
		}
		a.Send("b", "StatusTableBully", 1<<60, whole)
		got := next(t, b)
		if want := (Received{
			From:        "a",
			Incarnation: 7,
			Algorithm:   "StatusTableBully",
			Sequence:    1 << 60,
			Message:     whole,
		}); !reflect.DeepEqual(got, want) {
			t.Fatalf("%#v\nwant %#v", got, want)
		}
		for i := range 50 {
			a.Send("b", "Bully", 0, say(i))
		}
		for i := range 50 {
			expect(t, b, received("a", 7, i))
		}
	})
}

func TestSendCopiesWhatBelongsToTheSender(t *testing.T) {
	inEachFabric(t, func(t *testing.T, f fabric) {
		a, b := f.join("a", 1), f.join("b", 1)
		introduce(f, []string{"a", "b"}, a, b)
		list, table := []string{"a"}, []election.Entry{{Name: "a", Status: election.Normal}}
		a.Send("b", "RingList", 0, election.Message{
			Kind:  election.Election,
			List:  list,
			Table: table,
		})
		list[0], table[0].Name = "x", "x"
		got := next(t, b).(Received).Message
		if got.List[0] != "a" || got.Table[0].Name != "a" {
			t.Errorf("the message changed on its way: %v", got)
		}
	})
}

func TestAMessageForALinkThatIsBeingMadeWaitsForIt(t *testing.T) {
	inEachFabric(t, func(t *testing.T, f fabric) {
		a, b := f.join("a", 1), f.join("b", 1)
		introduce(f, []string{"a", "b"}, a, b)
		a.Send("b", "Bully", 0, say(1)) // no Up yet
		expect(t, b, received("a", 1, 1))
		expect(t, a, Up{"b"})
		if n := a.Dropped(); n != 0 {
			t.Errorf("%d messages dropped, want none", n)
		}
	})
}

func TestARefusedConnectionIsReportedAndTheLinkIsMadeWhenTheProcessStarts(t *testing.T) {
	inEachFabric(t, func(t *testing.T, f fabric) {
		a := f.join("a", 1)
		introduce(f, []string{"a", "b"}, a)
		expect(t, a, Down{"b", Refused})
		a.Send("b", "Bully", 0, say(1))
		if n := a.Dropped(); n != 1 {
			t.Errorf("%d messages to a process that is down are dropped, want 1", n)
		}
		b := f.join("b", 1)
		b.Admit([]Member{f.member("a")})
		expect(t, a, Up{"b"})
		a.Send("b", "Bully", 0, say(2))
		expect(t, b, received("a", 1, 2))
	})
}

func TestAKilledProcessIsReportedOnceAndHeardInItsNextIncarnation(t *testing.T) {
	inEachFabric(t, func(t *testing.T, f fabric) {
		a, b := f.join("a", 1), f.join("b", 1)
		introduce(f, []string{"a", "b"}, a, b)
		b.Link([]string{"a"})
		expect(t, a, Up{"b"})
		expect(t, b, Up{"a"})
		b.Send("a", "Bully", 0, say(1))
		expect(t, a, received("b", 1, 1))

		f.kill("b")
		expect(t, a, Down{"b", Closed})
		a.Send("b", "Bully", 0, say(2))

		b = f.join("b", 2)
		introduce(f, []string{"a", "b"}, b)
		b.Send("a", "Bully", 0, say(3))
		seen := map[Event]bool{}
		for range 2 { // in any order, because they are of two links
			switch e := next(t, a).(type) {
			case Up:
				seen[e] = true
			case Received:
				if e.Incarnation != 2 || e.Message.Election.Sequence != 3 {
					t.Errorf("received %v", e)
				}
			default:
				t.Errorf("event %#v", e)
			}
		}
		if !seen[Up{"b"}] {
			t.Error("the link was not made again")
		}
		expect(t, b, Up{"a"})
		a.Send("b", "Bully", 0, say(4))
		// and not the second one, which was sent to the dead process
		expect(t, b, received("a", 1, 4))
	})
}

func TestAProcessWithoutAnAddressIsUnreachableUntilItHasOne(t *testing.T) {
	inEachFabric(t, func(t *testing.T, f fabric) {
		a, b := f.join("a", 1), f.join("b", 1)
		b.Admit([]Member{f.member("a")})
		homeless := f.member("b")
		homeless.Address = ""
		a.Admit([]Member{homeless})
		a.Link([]string{"b"})
		expect(t, a, Down{"b", Unreachable})
		a.Admit([]Member{f.member("b")})
		expect(t, a, Up{"b"})
	})
}

func TestAQuestionIsAnswered(t *testing.T) {
	inEachFabric(t, func(t *testing.T, f fabric) {
		a, b := f.join("a", 4), f.join("b", 1)
		introduce(f, []string{"a", "b"}, a, b)
		expect(t, a, Up{"b"})
		a.Ask("b", 41, 7)
		a.Ask("b", 42, 7)
		first, second := next(t, b).(Asked), next(t, b).(Asked)
		if first.From != "a" || first.Incarnation != 4 || first.Generation != 7 {
			t.Errorf("asked by %s, incarnation %d, generation %d", first.From, first.Incarnation,
				first.Generation)
		}
		second.Answer("c", 8)
		first.Answer("", 0)
		expect(t, a, Answered{
			From:        "b",
			Sequence:    42,
			Coordinator: "c",
			Generation:  8,
		})
		expect(t, a, Answered{From: "b", Sequence: 41})

		a.Ask("b", 43, 7)
		late := next(t, b).(Asked)
		f.kill("a")
		for range 100 {
			late.Answer("c", 0) // must neither block nor have an effect
		}
	})
}

func TestWhoLeavesIsHeardToTheEnd(t *testing.T) {
	inEachFabric(t, func(t *testing.T, f fabric) {
		a, b := f.join("a", 1), f.join("b", 1)
		introduce(f, []string{"a", "b"}, a, b)
		b.Link([]string{"a"})
		expect(t, a, Up{"b"})
		expect(t, b, Up{"a"})
		for i := range 20 {
			b.Send("a", "Bully", 0, say(i))
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		b.Leave(ctx)
		if ctx.Err() != nil {
			t.Fatal("Leave waited until its context ended")
		}
		b.Send("a", "Bully", 0, say(99))
		for i := range 20 {
			expect(t, a, received("b", 1, i))
		}
		expect(t, a, Down{"b", Left})

		a.Send("b", "Bully", 0, say(21))
		b.Link([]string{"a"}) // too late
		b.Close()
		f.kill("b")
		b = f.join("b", 2)
		b.Admit([]Member{f.member("a")})
		expect(t, a, Up{"b"})
	})
}

func TestLeaveWaitsForNobodyWhoIsNotThere(t *testing.T) {
	inEachFabric(t, func(t *testing.T, f fabric) {
		a := f.join("a", 1)
		introduce(f, []string{"a", "b"}, a)
		expect(t, a, Down{"b", Refused})
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		a.Leave(ctx)
		if ctx.Err() != nil {
			t.Error("Leave waited until its context ended")
		}
		a.Leave(ctx) // twice is harmless
	})
}

func TestWhoDoesNotReceiveHoldsTheSenderBackAndNothingIsReordered(t *testing.T) {
	inEachFabric(t, func(t *testing.T, f fabric) {
		a, b := f.join("a", 1), f.join("b", 1)
		introduce(f, []string{"a", "b"}, a, b)
		expect(t, a, Up{"b"})
		var sent []uint64 // and not dropped
		for number := range uint64(1_000_000) {
			before := a.Dropped()
			a.Send("b", "Bully", 0, long(int(number)))
			switch {
			case a.Dropped() == before:
				sent = append(sent, number)
			case len(sent) > eventsAhead+queueLength: // everything between the two is full
				for _, want := range sent {
					if got := next(t, b).(Received).Message.Election.Sequence; got != want {
						t.Fatalf("message %d came, want %d", got, want)
					}
				}
				return
			default:
				runtime.Gosched() // the queue is full, but the wire still accepts frames
			}
		}
		t.Fatalf("%d messages wait for a process that does not receive", len(sent))
	})
}

func TestCloseDoesNotWaitForAnAgentThatDoesNotReceive(t *testing.T) {
	inEachFabric(t, func(t *testing.T, f fabric) {
		a, b := f.join("a", 1), f.join("b", 1)
		introduce(f, []string{"a", "b"}, a, b)
		expect(t, a, Up{"b"})
		for i := 0; len(b.Events()) < eventsAhead; i++ {
			a.Send("b", "Bully", 0, say(i))
			runtime.Gosched()
		}
		for i := range 10 {
			a.Send("b", "Bully", 0, say(i)) // the stream is waiting for room
		}
		b.Close()
		b.Close() // twice is harmless
		n := 0
		for range b.Events() {
			n++
		}
		if n != eventsAhead {
			t.Errorf("%d events, then the end; want %d", n, eventsAhead)
		}
		expect(t, a, Down{"b", Closed})
	})
}

// long returns a numbered message of some kilobytes.
func long(number int) election.Message {
	m := say(number)
	for range 100 {
		m.List = append(m.List, "a-process-with-a-name-of-some-length")
	}
	return m
}
