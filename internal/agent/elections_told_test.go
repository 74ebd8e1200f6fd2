package agent_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/agent"
	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/roster"
	"github.com/podesta-dev/podesta/internal/trace"
	"github.com/podesta-dev/podesta/test/bubble"
)

// tells is what a process answers at GET /v1/elections.
func (p *process) tells(t *testing.T) trace.Accounts {
	t.Helper()
	status, body := get(agent.AppAPI(p.views, p.ledger, p.accounts, slog.New(slog.DiscardHandler)), "/v1/elections")
	if status != 200 {
		t.Fatalf("%s answers %d: %s", p.name, status, body)
	}
	var told trace.Accounts
	if err := json.Unmarshal([]byte(body), &told); err != nil {
		t.Fatal(err)
	}
	if told.Process != p.name || told.Group != "scheduler" || told.Incarnation != p.incarnation {
		t.Errorf("%s, incarnation %d, tells as %s of %s, incarnation %d", p.name, p.incarnation,
			told.Process, told.Group, told.Incarnation)
	}
	return told
}

// Whatever fails, honest processes do not contradict each other, nothing is received before it is
// sent, and every account is of some election. When all is well again, nobody tells of one that
// goes on: the next one would seem to have begun with it.
func TestHonestAccountsFitTogether(t *testing.T) {
	for _, safety := range []string{roster.Classic, roster.Guarded} {
		for _, algorithm := range election.Algorithms() {
			t.Run(safety+"/"+algorithm, func(t *testing.T) {
				for seed := range uint64(3) {
					bubble.Test(t, func(t *testing.T) { tellThroughFaults(t, safety, algorithm, seed) })
				}
			})
		}
	}
}

// tellThroughFaults has processes crash, restart, leave and be cut off, and joins what they tell.
func tellThroughFaults(t *testing.T, safety, algorithm string, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	g := startGroup(t, guarded(algorithm, roster.Delayed), 5, func(g *group) {
		g.roster.Safety = safety
	})
	time.Sleep(3 * time.Second)
	for range 6 {
		name := fmt.Sprintf("p%d", 1+r.IntN(5))
		_, runs := g.agents[name]
		switch n := r.IntN(4); {
		case !runs:
			g.boot(name)
		case n == 0:
			g.kill(name)
		case n == 1:
			g.leave(name)
		default:
			g.cut(name, n == 2)
		}
		time.Sleep(time.Duration(r.IntN(4000)) * time.Millisecond)
	}
	var in trace.Input
	told := 0
	for _, p := range g.agents {
		if a := p.tells(t); a.Process != "" {
			in.Accounts = append(in.Accounts, a)
			told += len(a.Elections)
		}
	}
	accounts := 0
	for _, picture := range trace.Join(in) {
		if len(picture.Contradictions) > 0 {
			t.Errorf("seed %d: honest processes contradict each other: %q", seed, picture.Contradictions)
		}
		for _, e := range picture.Events {
			if e.What == trace.TakesPart {
				accounts++
			}
			if e.What == trace.Receives && (e.Pair == 0 || e.Pair > e.Number) {
				t.Errorf("seed %d: received before it was sent: %+v", seed, e)
			}
		}
	}
	if accounts != told || told == 0 {
		t.Errorf("seed %d: of %d accounts %d are in a picture", seed, told, accounts)
	}
	for i := range 5 {
		name := fmt.Sprintf("p%d", i+1)
		if _, runs := g.agents[name]; !runs {
			g.boot(name)
		}
		g.cut(name, false)
	}
	time.Sleep(time.Minute)
	for name, p := range g.agents {
		if told := p.tells(t).Elections; len(told) > 0 && told[0].Coordinator == "" {
			t.Errorf("seed %d: %s, which follows %q, takes part in an election since %v",
				seed, name, p.view().Coordinator, time.Since(told[0].Began))
		}
	}
}
