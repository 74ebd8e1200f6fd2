package sim_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/sim"
)

// To replay a failure: go test ./internal/sim -run '^TestSimulate$' -explain 'Guarded Bully 4711'
// -v
var (
	algorithmFlag = flag.String("algorithm", "", "simulate this algorithm only")
	modeFlag      = flag.String("mode", "", "simulate this mode only, such as Guarded: see modes")
	explainFlag   = flag.String("explain", "", "simulate one seed only, such as 'Guarded Bully 4711', and print what happens")
	seedsFlag     = flag.Int("seeds", 0, "how many seeds of each algorithm and mode to simulate; 0: a small share")
	firstFlag     = flag.Uint64("first", 1, "the first of these seeds")
	freshFlag     = flag.Duration("fresh", 0, "simulate seeds that nobody has tried, for so long in all, and pin those that fail")
	failuresFlag  = flag.Int("failures", 10, "stop an algorithm after so many failures")
	linesFlag     = flag.Int("lines", 200, "how much of a transcript to print")
)

// pinned has a line for each seed that failed when nobody had tried it before: mode, algorithm,
// seed, and what was wrong. A line goes when the bug is mended and a scenario shows it, and not
// before.
const pinned = "testdata/pinned_seeds.txt"

// A mode is a way of drawing options.
type mode struct {
	name   string
	draw   func(algorithm string, seed uint64) sim.Options
	weight int // a seed weighs as much as so many of the mode Classic
	fresh  int // its part of the time for seeds that nobody has tried
}

var modes = []mode{
	{"Classic", sim.Draw, 1, 3},
	{"Guarded", sim.DrawGuarded, 8, 6},
	// T10: a process that only lost its own link to the leaseholder costs the group neither its
	// coordinator nor an instant, also while another voter leaves.
	{"OwnLink", sim.DrawOwnLink, 40, 1},
	// T16: agents and managers of three releases, with other rules levels, are upgraded and rolled
	// back in any order, beside all other faults.
	{"Upgrades", sim.DrawUpgrades, 16, 1},
	// T17: operators ask that coordinators step down, for a while or not, beside all other faults.
	{"ClassicStepDowns", of(sim.DrawStepDowns, false), 16, 1},
	{"GuardedStepDowns", of(sim.DrawStepDowns, true), 16, 1},
	// rollouts that wait for nobody: pods leave while others join
	{"ClassicRollouts", of(sim.DrawRollouts, false), 16, 1},
	{"GuardedRollouts", of(sim.DrawRollouts, true), 16, 1},
	// T21: machines are replaced under their nodes' names, and the old ones run on.
	{"Replaced", sim.DrawReplaced, 16, 1},
	// T19: groups with witnesses, of two candidates and a witness and others, under all that befalls
	// groups; and pods that become witnesses, whose marks are taken off.
	{"ClassicWitnesses", of(sim.DrawWitnesses, false), 8, 1},
	{"GuardedWitnesses", of(sim.DrawWitnesses, true), 8, 1},
}

func of(
	draw func(algorithm string, guarded bool, seed uint64) sim.Options, guarded bool,
) func(string, uint64) sim.Options {
	return func(algorithm string, seed uint64) sim.Options { return draw(algorithm, guarded, seed) }
}

// seeds returns how many of them each algorithm gets, if not as many as there is time for.
func (m mode) seeds() int {
	if *seedsFlag > 0 {
		return max(*seedsFlag*8/max(m.weight, 8), 1)
	}
	return max(share()/m.weight, 1)
}

// freshFor returns for how long each algorithm gets seeds that nobody has tried.
func (m mode) freshFor() time.Duration {
	all := 0
	for _, other := range modes {
		all += other.fresh
	}
	return *freshFlag * time.Duration(m.fresh) / time.Duration(all*len(algorithms()))
}

// share is how many seeds a plain go test simulates of each algorithm.
func share() int {
	switch {
	case testing.Short():
		return max(16/slowdown, 1)
	default:
		return 400 / slowdown
	}
}

func algorithms() []string {
	if *algorithmFlag != "" {
		return []string{*algorithmFlag}
	}
	return election.Algorithms()
}

// Chaos, then calm, under every fault that a seed draws: invariants after every step, agreement and
// silence in the end.
func TestSimulate(t *testing.T) {
	if *explainFlag != "" {
		o, name, err := parse(*explainFlag)
		if err != nil {
			t.Fatal(err)
		}
		explain(t, name, o)
		return
	}
	if *modeFlag != "" && !slices.ContainsFunc(modes, func(m mode) bool { return m.name == *modeFlag }) {
		t.Fatalf("-mode %s: there is no such mode", *modeFlag)
	}
	first := *firstFlag
	if *freshFlag > 0 {
		first = rand.Uint64() >> 16
		t.Logf("fresh seeds from %d on, for %v", first, *freshFlag)
	}
	for _, m := range modes {
		if *modeFlag != "" && *modeFlag != m.name {
			continue
		}
		for _, algorithm := range algorithms() {
			t.Run(m.name+"/"+algorithm, func(t *testing.T) {
				n, until := m.seeds(), never
				if *freshFlag > 0 {
					n, until = math.MaxInt, time.Now().Add(m.freshFor())
				}
				simulate(t, m, algorithm, first, n, until)
			})
		}
	}
}

// Upgrades are worth simulating only if they come so far that the level in force changes, both
// ways.
func TestUpgradesChangeTheLevel(t *testing.T) {
	w := sim.NewWorld()
	raised, lowered := 0, 0
	for seed := uint64(0); seed < 400 && (raised == 0 || lowered == 0); seed++ {
		if err := w.Run(sim.DrawUpgrades("Bully", seed)); err != nil {
			t.Fatal(err)
		}
		raised, lowered = raised+w.Raised, lowered+w.Lowered
	}
	if raised == 0 || lowered == 0 {
		t.Errorf("raised %d times, lowered %d times", raised, lowered)
	}
}

// Requests are worth simulating only if they are taken up.
func TestStepDownsAreTakenUp(t *testing.T) {
	w := sim.NewWorld()
	for _, guarded := range []bool{false, true} {
		for seed := range uint64(400) {
			if err := w.Run(sim.DrawStepDowns("Bully", guarded, seed)); err != nil {
				t.Fatal(err)
			}
			if w.StepDowns > 2 {
				break
			}
			if seed == 399 {
				t.Errorf("guarded %t: no seed takes up more than two requests", guarded)
			}
		}
	}
}

// Seeds that failed once.
func TestPinnedSeeds(t *testing.T) {
	text, err := os.ReadFile(pinned)
	if err != nil {
		t.Fatal(err)
	}
	w := sim.NewWorld()
	for line := range strings.SplitSeq(string(text), "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		o, _, err := parse(line)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Run(o); err != nil {
			t.Errorf("%s\n%v", line, err)
		}
	}
}

// parse reads "Guarded Bully 4711", and whatever follows.
func parse(line string) (o sim.Options, mode string, err error) {
	var algorithm string
	var seed uint64
	if _, err := fmt.Sscanf(line, "%s %s %d", &mode, &algorithm, &seed); err != nil {
		return o, "", fmt.Errorf("%q: give a mode, an algorithm and a seed, as in 'Guarded Bully 4711': %w", line, err)
	}
	for _, m := range modes {
		if m.name == mode {
			return m.draw(algorithm, seed), mode, nil
		}
	}
	return o, "", fmt.Errorf("%q: there is no mode %q", line, mode)
}

// never is a time that does not come.
var never = time.Now().AddDate(100, 0, 0)

// simulate runs n seeds, or those that there is time for, on as many worlds as there are
// processors.
func simulate(t *testing.T, m mode, algorithm string, first uint64, n int, until time.Time) {
	t.Helper()
	// Worlds use their memory again, so the heap is small, and by default it would be collected all
	// the time: a fifth of the processors' time.
	defer debug.SetGCPercent(debug.SetGCPercent(800))
	seeds := make(chan uint64)
	var sum sum
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			w := sim.NewWorld()
			for seed := range seeds {
				sum.add(t, w, m.name, m.draw(algorithm, seed))
			}
		})
	}
	begun := time.Now()
	for i := range uint64(n) {
		if sum.failures() >= *failuresFlag || time.Now().After(until) {
			break
		}
		seeds <- first + i
	}
	close(seeds)
	workers.Wait()
	sum.report(t, time.Since(begun))
	sum.wasWorthIt(t, !strings.HasPrefix(m.name, "Classic"))
}

// add runs a seed; the first failure is printed with what led to it.
func (s *sum) add(t *testing.T, w *sim.World, mode string, o sim.Options) {
	err := w.Run(o)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count(w)
	if err == nil {
		return
	}
	if *freshFlag > 0 {
		pin(t, mode, o, err)
	}
	if s.failed++; s.failed == 1 {
		explain(t, mode, o)
	} else {
		t.Error(err)
	}
}

// pin writes down a seed that has failed.
func pin(t *testing.T, mode string, o sim.Options, err error) {
	f, openErr := os.OpenFile(pinned, os.O_APPEND|os.O_WRONLY, 0)
	if openErr != nil {
		t.Error(openErr)
		return
	}
	why := err.Error()
	if failure := (*sim.Failure)(nil); errors.As(err, &failure) {
		why, _, _ = strings.Cut(failure.Broken, "\n")
	}
	_, writeErr := fmt.Fprintf(f, "%s %s %d  %s\n", mode, o.Algorithm, o.Seed, why)
	if err := errors.Join(writeErr, f.Close()); err != nil {
		t.Error(err)
	}
}

// explain runs a seed again and prints what happened.
func explain(t *testing.T, mode string, o sim.Options) {
	t.Helper()
	var out bytes.Buffer
	err := sim.NewWorld().Explain(o, &out)
	lines := strings.SplitAfter(out.String(), "\n")
	text := strings.Join(lines[max(0, len(lines)-*linesFlag):], "")
	if err == nil {
		t.Logf("%s\n%s", o, text)
		return
	}
	t.Errorf("%v\nthe last lines of what happened:\n%s\nreplay: go test ./internal/sim -run '^TestSimulate$' -v -explain '%s %s %d'",
		err, text, mode, o.Algorithm, o.Seed)
}
