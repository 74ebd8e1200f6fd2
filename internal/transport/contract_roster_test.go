package transport

import (
	"bytes"
	"testing"
)

func TestWhoIsTakenOffTheRosterIsNotHeard(t *testing.T) {
	inEachFabric(t, func(t *testing.T, f fabric) {
		a, b, c := f.join("a", 1), f.join("b", 1), f.join("c", 1)
		introduce(f, []string{"a", "b", "c"}, a, b, c)
		b.Link([]string{"a"})
		c.Link([]string{"a"})
		expect(t, b, Up{"a"})
		expect(t, c, Up{"a"})
		ups(t, a, "b", "c")

		a.Admit([]Member{f.member("c")})
		expect(t, a, Down{"b", Dropped})
		expect(t, b, Down{"a", Rejected})
		b.Send("a", "Bully", 0, say(1))
		c.Send("a", "Bully", 0, say(2))
		expect(t, a, received("c", 1, 2))

		a.Admit([]Member{f.member("b"), f.member("c")})
		expect(t, a, Up{"b"})
		expect(t, b, Up{"a"})
	})
}

func TestAnotherUIDIsAnotherProcess(t *testing.T) {
	inEachFabric(t, func(t *testing.T, f fabric) {
		a, b := f.join("a", 1), f.join("b", 1)
		introduce(f, []string{"a", "b"}, a, b)
		b.Link([]string{"a"})
		expect(t, b, Up{"a"})
		expect(t, a, Up{"b"})
		replaced := f.member("b")
		replaced.UID = "uid-of-the-next"
		a.Admit([]Member{replaced})
		expect(t, a, Down{"b", Dropped})
		expect(t, b, Down{"a", Rejected})
	})
}

func TestALinkIsDroppedAndMadeAsTold(t *testing.T) {
	inEachFabric(t, func(t *testing.T, f fabric) {
		a, b := f.join("a", 1), f.join("b", 1)
		introduce(f, []string{"a", "b"}, a, b)
		for range 3 {
			expect(t, a, Up{"b"})
			a.Link(nil)
			expect(t, a, Down{"b", Dropped})
			a.Link([]string{"a", "b", "unknown"})
		}
		expect(t, a, Up{"b"})
		a.Link([]string{"b"}) // no change: nothing happens
		a.Admit([]Member{f.member("b")})
		a.Send("b", "Bully", 0, say(1))
		expect(t, b, received("a", 1, 1))
		a.Send("unknown", "Bully", 0, say(1))
		a.Ask("unknown", 1, 0)
		if n := a.Dropped(); n != 2 {
			t.Errorf("%d dropped, want the 2 that had no link", n)
		}
	})
}

func TestALinkThatIsNotWantedAnyMoreSendsWhatIsQueued(t *testing.T) {
	inEachFabric(t, func(t *testing.T, f fabric) {
		a, b := f.join("a", 1), f.join("b", 1)
		introduce(f, []string{"a", "b"}, a, b)
		expect(t, a, Up{"b"})
		for i := range 20 {
			a.Send("b", "Bully", 0, say(i))
		}
		a.Link(nil)
		a.Send("b", "Bully", 0, say(20))
		for i := range 20 {
			expect(t, b, received("a", 1, i))
		}
		expect(t, a, Down{"b", Dropped})
		if n := a.Dropped(); n != 1 {
			t.Errorf("%d dropped, want what came after Link only", n)
		}
	})
}

func TestALinkThatIsToldAboutInHasteEndsUpRight(t *testing.T) {
	inEachFabric(t, func(t *testing.T, f fabric) {
		a, b := f.join("a", 1), f.join("b", 1)
		introduce(f, []string{"a", "b"}, a, b)
		for range 100 {
			a.Link(nil)
			a.Link([]string{"b"})
		}
		a.Send("b", "Bully", 0, say(1))
		expect(t, b, received("a", 1, 1))
		// whatever was reported in between, Up and Down alternate, and Up is last
		for open := false; !open; {
			switch e := next(t, a).(type) {
			case Up:
				open = len(a.Events()) == 0
			case Down:
				if e.Evidence != Dropped {
					t.Errorf("event %#v", e)
				}
				expect(t, a, Up{"b"})
				open = len(a.Events()) == 0
			}
		}
	})
}

// ups expects the links to these processes to open, in any order.
func ups(t *testing.T, links Links, names ...string) {
	t.Helper()
	missing := map[string]bool{}
	for _, name := range names {
		missing[name] = true
	}
	for range names {
		e, ok := next(t, links).(Up)
		if !ok || !missing[e.Name] {
			t.Fatalf("event %#v, want an Up of %v", e, missing)
		}
		delete(missing, e.Name)
	}
}

func TestARosterIsPassedOnWhole(t *testing.T) {
	inEachFabric(t, func(t *testing.T, f fabric) {
		a, b := f.join("a", 1), f.join("b", 1)
		introduce(f, []string{"a", "b"}, a, b)
		expect(t, a, Up{"b"})
		signed := bytes.Repeat([]byte("roster"), maxRoster/6)
		a.RequestRoster("b")
		request := next(t, b).(RosterRequested)
		if request.From != "a" {
			t.Errorf("requested by %s", request.From)
		}
		request.Answer(signed)
		got := next(t, a).(RosterReceived)
		if got.From != "b" || !bytes.Equal(got.Signed, signed) {
			t.Errorf("%d bytes from %s, want %d from b", len(got.Signed), got.From, len(signed))
		}

		// What no process would accept is not sent, and the link goes on.
		request.Answer(nil)
		request.Answer(make([]byte, maxRoster+1))
		a.Ask("b", 1, 0)
		next(t, b).(Asked).Answer("b", 0)
		expect(t, a, Answered{From: "b", Sequence: 1, Coordinator: "b"})
	})
}
