package transport

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podesta-dev/podesta/test/bubble"
)

// inMemory runs a scenario on a network with virtual time, on which everything that can happen has
// happened after synctest.Wait.
func inMemory(t *testing.T, story func(t *testing.T, m *virtualNetwork)) {
	bubble.Test(t, func(t *testing.T) {
		m := newVirtualNetwork()
		defer m.end()
		story(t, m)
	})
}

// silent expects that nothing happens, apart from an Unlinked.
func silent(t *testing.T, links Links) {
	t.Helper()
	synctest.Wait()
	select {
	case e := <-links.Events():
		if _, ok := e.(Unlinked); !ok {
			t.Fatalf("event %#v, want none", e)
		}
		silent(t, links)
	default:
	}
}

func TestACutLosesWhatIsSentOneWayOnly(t *testing.T) {
	inMemory(t, func(t *testing.T, m *virtualNetwork) {
		a, b := m.join("a", 1), m.join("b", 1)
		introduce(m, []string{"a", "b"}, a, b)
		b.Link([]string{"a"})
		expect(t, a, Up{"b"})
		expect(t, b, Up{"a"})
		m.Cut("a", "b")
		a.Send("b", "Bully", 0, say(1))
		b.Send("a", "Bully", 0, say(2))
		expect(t, a, received("b", 1, 2))
		b.Ask("a", 3, 0)
		next(t, a).(Asked).Answer("a", 0) // the answer is lost, too
		silent(t, b)
		m.Heal("a", "b")
		a.Send("b", "Bully", 0, say(4))
		expect(t, b, received("a", 1, 4))
	})
}

func TestNoLinkIsMadeAcrossACut(t *testing.T) {
	for _, cut := range [][2]string{{"a", "b"}, {"b", "a"}} {
		inMemory(t, func(t *testing.T, m *virtualNetwork) {
			a, b := m.join("a", 1), m.join("b", 1)
			m.Cut(cut[0], cut[1])
			began := time.Now()
			introduce(m, []string{"a", "b"}, a, b)
			expect(t, a, Down{"b", Unreachable})
			if took := time.Since(began); took != leastPatience {
				t.Errorf("the attempt took %s, want its bound", took)
			}
			m.Heal(cut[0], cut[1])
			expect(t, a, Up{"b"})
		})
	}
}

// A process that leaves hears of its links no more, also not of one that breaks before the peer has
// read everything.
func TestWhoLeavesHearsOfNoLink(t *testing.T) {
	inMemory(t, func(t *testing.T, m *virtualNetwork) {
		a, b := m.join("a", 1), m.join("b", 1)
		introduce(m, []string{"a", "b"}, a, b)
		expect(t, a, Up{"b"})
		for a.Dropped() == 0 {
			a.Send("b", "Bully", 0, long(1))
			synctest.Wait()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		a.Leave(ctx)
		if ctx.Err() == nil {
			t.Error("b has read nothing, and Leave has not waited")
		}
		m.kill("b")
		silent(t, a)
	})
}

func TestThatAProcessWasKilledDoesNotCrossACut(t *testing.T) {
	inMemory(t, func(t *testing.T, m *virtualNetwork) {
		a, b := m.join("a", 1), m.join("b", 1)
		introduce(m, []string{"a", "b"}, a, b)
		expect(t, a, Up{"b"})
		m.Cut("b", "a")
		m.kill("b")
		silent(t, a)
		began := time.Now()
		expect(t, a, Down{"b", Unreachable})
		if took := time.Since(began); took != halfOpen(leastPatience) {
			t.Errorf("the link was given up after %s", took)
		}
	})
}

func TestAttemptsKeepThePaceThatTheyAreTold(t *testing.T) {
	inMemory(t, func(t *testing.T, m *virtualNetwork) {
		var attempts atomic.Int64
		m.Delay = func(from, _ string) time.Duration { // called once per direction by every attempt
			if from == "a" {
				attempts.Add(1)
			}
			return 0
		}
		a := m.join("a", 1)
		introduce(m, []string{"a", "b"}, a)
		expect(t, a, Down{"b", Refused})
		within := func(d time.Duration) int64 {
			time.Sleep(d)
			synctest.Wait()
			before := attempts.Load()
			time.Sleep(d)
			synctest.Wait()
			return attempts.Load() - before
		}
		if n := within(time.Minute); n < int64(time.Minute/beat) {
			t.Errorf("%d attempts in a minute, want one each %s or more often", n, beat)
		}
		a.Pace(time.Minute)
		if n := within(time.Hour); n < 60 || n > 240 { // 120 expected
			t.Errorf("%d attempts in an hour, want one each half minute or so", n)
		}
		a.Pace(beat)
		if n := within(time.Minute); n < int64(time.Minute/beat) {
			t.Errorf("%d attempts in a minute, want one each %s or more often", n, beat)
		}
	})
}

func TestALossIsReportedOnceAndNotAtEachAttempt(t *testing.T) {
	inMemory(t, func(t *testing.T, m *virtualNetwork) {
		a, b := m.join("a", 1), m.join("b", 1)
		introduce(m, []string{"a", "b", "c"}, a, b)
		events := []Event{next(t, a), next(t, a)}
		for _, want := range []Event{Up{"b"}, Down{"c", Refused}} {
			if !slices.Contains(events, want) {
				t.Errorf("events %v, want %#v among them", events, want)
			}
		}
		m.kill("b")
		expect(t, a, Down{"b", Closed})
		time.Sleep(time.Minute)
		silent(t, a)
	})
}

func TestWhoComesBackIsLinkedAtOnceWhenItSaysHello(t *testing.T) {
	inMemory(t, func(t *testing.T, m *virtualNetwork) {
		m.Reconnect = time.Hour
		a := m.join("a", 1)
		introduce(m, []string{"a", "b"}, a)
		expect(t, a, Down{"b", Refused})
		time.Sleep(24 * time.Hour) // by now the pauses are long
		b := m.join("b", 1)
		began := time.Now()
		introduce(m, []string{"a", "b"}, b)
		expect(t, a, Up{"b"})
		if took := time.Since(began); took != 0 {
			t.Errorf("the link was made after %s", took)
		}
	})
}

func TestAttemptsArePacedWhenLinksDoNotLast(t *testing.T) {
	inMemory(t, func(t *testing.T, m *virtualNetwork) {
		a := m.join("a", 1)
		introduce(m, []string{"a", "b"}, a)
		expect(t, a, Down{"b", Refused})
		began, ups := time.Now(), 0
		for ; time.Since(began) < 10*time.Second; ups++ { // b dies as soon as it is reached
			b := m.join("b", uint64(ups+1))
			b.Admit([]Member{m.member("a")})
			expect(t, a, Up{"b"})
			m.kill("b")
			expect(t, a, Down{"b", Closed})
		}
		if most := 4 * int(10*time.Second/beat); ups > most {
			t.Errorf("%d links in 10 s, want at most about %d", ups, most)
		}
	})
}
