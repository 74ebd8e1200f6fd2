package agent_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/agent"
	"github.com/podesta-dev/podesta/internal/roster"
)

// A process whose number is below one that others have heard, because its state directory is new and
// its clock was set back, does not run on in silence: it ends, and is heard when it has started
// above that number. In a Guarded group at most one may act all the while.
func TestANumberThatWasPassed(t *testing.T) {
	for _, name := range []string{"p1", "p3"} {
		t.Run(name, func(t *testing.T) {
			forAll(t, func(t *testing.T, algorithm string) {
				passNumber(t, roster.Roster{Algorithm: algorithm, Safety: roster.Classic}, name)
				passNumber(t, guarded(algorithm, roster.Always), name)
			})
		})
	}
}

func passNumber(t *testing.T, r roster.Roster, name string) {
	g := startGroup(t, r, 3)
	defer g.end()
	g.agree("p3")
	g.vanish(name)
	g.incarnation = 10
	g.boot(name)
	g.agree("p3")
	g.vanish(name)

	g.incarnation = 4
	g.boot(name)
	p := g.agents[name]
	limit := time.After(time.Minute)
	for ended := false; !ended; {
		select {
		case <-limit:
			t.Fatal("it runs on")
		case err := <-p.done:
			outnumbered, ok := errors.AsType[*agent.OutnumberedError](err)
			if !ok || outnumbered.Own != 5 || outnumbered.Latest != 11 || outnumbered.By == name {
				t.Fatalf("it ended with %v", err)
			}
			ended = true
		case <-time.After(time.Millisecond):
			if may := g.may(); len(may) > 1 {
				t.Fatalf("%v may act at once", may)
			}
		}
	}
	delete(g.agents, name)
	if may := g.may(); slices.Contains(may, name) {
		t.Errorf("%v may act", may)
	}

	g.incarnation = 11
	g.boot(name)
	if r.Safety == roster.Guarded {
		g.acts("p3")
	}
	g.agree("p3")
}

// A second copy of the leaseholder runs beside it for a while. At most one process may act, and the
// first copy is heard again, above the number of the second, when that has ended.
func TestACopyOfTheLeaseholder(t *testing.T) {
	forAll(t, func(t *testing.T, algorithm string) {
		g := startGroup(t, guarded(algorithm, roster.Always), 3)
		g.acts("p3")
		first := g.agents["p3"]
		delete(g.agents, "p3")
		g.agents["the first p3"] = first
		g.copies = true
		g.boot("p3")
		for range 10_000 {
			if may := g.may(); len(may) > 1 {
				t.Fatalf("%v may act at once", may)
			}
			<-time.After(time.Millisecond)
		}
		g.kill("p3")
		err := <-first.done
		if outnumbered, ok := errors.AsType[*agent.OutnumberedError](err); !ok || outnumbered.Latest != 4 {
			t.Errorf("the first p3 ended with %v", err)
		}
		delete(g.agents, "the first p3")
		g.copies = false
		g.boot("p3")
		g.acts("p3")
		g.agree("p3")
	})
}
