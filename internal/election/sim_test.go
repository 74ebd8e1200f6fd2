package election_test

import (
	"bytes"
	"errors"
	"flag"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/election/electiontest"
)

// To replay a failure: go test ./internal/election -run '^TestSimulate$' -mode Guarded -algorithm Bully -seed 4711 -v
var (
	algorithmFlag = flag.String("algorithm", "", "simulate this algorithm only")
	seedFlag      = flag.Uint64("seed", 0, "simulate this seed only, and print what happens; 0: many")
	seedsFlag     = flag.Int("seeds", 0, "how many seeds of each algorithm and mode to simulate; 0: a small share")
	modeFlag      = flag.String("mode", "", "simulate this mode only: Classic or Guarded")
	failuresFlag  = flag.Int("failures", 10, "stop an algorithm after so many failures")
	firstFlag     = flag.Uint64("first", 1, "the first of these seeds")
)

// share is how many seeds a plain go test simulates, always the same ones; a short one has a tenth of them.
var share = 800

func shareOf(weight int) int {
	if testing.Short() {
		weight *= 10
	}
	return max(1, share/weight)
}

func simulated() []string {
	if *algorithmFlag != "" {
		return []string{*algorithmFlag}
	}
	return election.Algorithms()
}

// Chaos, then calm, under every nemesis that a seed draws: invariants after every step, agreement and silence in the end.
func TestSimulate(t *testing.T) {
	for _, mode := range modes {
		if *modeFlag != "" && *modeFlag != mode.name {
			continue
		}
		for _, algorithm := range simulated() {
			t.Run(mode.name+"/"+algorithm, func(t *testing.T) {
				draw := func(seed uint64) electiontest.Options { return mode.draw(algorithm, seed) }
				switch {
				case *seedFlag > 0:
					explain(t, electiontest.NewSimulator(), draw(*seedFlag))
				case *freshFlag > 0:
					first := rand.Uint64() >> 16
					each := *freshFlag / time.Duration(len(modes)*len(election.Algorithms()))
					t.Logf("seeds from %d on, for %v", first, each)
					simulate(t, draw, first, math.MaxInt, time.Now().Add(each))
				case *seedsFlag > 0:
					simulate(t, draw, *firstFlag, *seedsFlag, never)
				default:
					simulate(t, draw, 1, shareOf(mode.weight), never)
				}
			})
		}
	}
}

// modes are what a group's safety may be; a seed weighs as much as so many of a Classic group.
var modes = []struct {
	name   string
	draw   func(algorithm string, seed uint64) electiontest.Options
	weight int
}{
	{"Classic", electiontest.Draw, 1},
	{"Guarded", electiontest.DrawGuarded, 8},
}

// T10: a process that only lost its own link to the holder costs the group neither its coordinator nor an instant.
func TestSimulateOwnLink(t *testing.T) {
	for _, algorithm := range simulated() {
		t.Run(algorithm, func(t *testing.T) {
			draw := func(seed uint64) electiontest.Options { return electiontest.DrawOwnLink(algorithm, seed) }
			simulate(t, draw, *firstFlag, max(*seedsFlag, shareOf(1))/40+1, never)
		})
	}
}

// never is a time that does not come.
var never = time.Now().AddDate(100, 0, 0)

// simulate runs n seeds, or those that there is time for, on as many simulators as there are processors, and says what was
// done every now and then.
func simulate(t *testing.T, draw func(seed uint64) electiontest.Options, first uint64, n int, until time.Time) {
	t.Helper()
	seeds := make(chan uint64)
	var sum sum
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			s := electiontest.NewSimulator()
			for seed := range seeds {
				sum.add(t, s, draw(seed))
			}
		})
	}
	begun, told := time.Now(), time.Now()
	for i := range uint64(n) {
		if sum.failures() >= *failuresFlag || time.Now().After(until) {
			break
		}
		seeds <- first + i
		if now := time.Now(); now.Sub(told) > time.Minute {
			told = now
			t.Logf("%d seeds", i)
		}
	}
	close(seeds)
	workers.Wait()
	sum.report(t, time.Since(begun))
}

// sum is what the seeds of an algorithm came to.
type sum struct {
	mu            sync.Mutex
	seeds, failed int
	steps, sent   int
	virtual       electiontest.Time
	settled       []electiontest.Time
	stats         electiontest.Stats // summed up, but for what is above
}

func (s *sum) failures() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// add runs a seed; the first failure is printed with what led to it.
func (s *sum) add(t *testing.T, simulator *electiontest.Simulator, o electiontest.Options) {
	err := simulator.Run(o)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seeds++
	s.steps += simulator.Steps
	s.sent += simulator.Messages
	s.virtual += simulator.Virtual
	s.settled = append(s.settled, simulator.Settled)
	s.stats.Requests += simulator.Requests
	s.stats.Leases += simulator.Leases
	s.stats.Stopped += simulator.Stopped
	s.stats.Led += simulator.Led
	s.stats.Leaderless += simulator.Leaderless
	s.stats.Accepted += simulator.Accepted
	s.stats.Refused += simulator.Refused
	s.stats.Faults += simulator.Faults
	if err == nil {
		return
	}
	if *freshFlag > 0 {
		pin(t, o, err)
	}
	if s.failed++; s.failed == 1 {
		explain(t, electiontest.NewSimulator(), o)
	} else {
		t.Error(err)
	}
}

func (s *sum) report(t *testing.T, took time.Duration) {
	if s.seeds == 0 {
		return
	}
	slices.Sort(s.settled)
	per := func(p int) electiontest.Time { return s.settled[(len(s.settled)-1)*p/100] / electiontest.T }
	seconds := took.Seconds()
	t.Logf("%d seeds, %d failed; %.1f s; %.0f steps/s, %.0f messages/s, %.0f × real time (T = 200 ms); settled after "+
		"%d T (median), %d T (99 %%), %d T (worst)", s.seeds, s.failed, seconds, float64(s.steps)/seconds, float64(s.sent)/seconds,
		float64(s.virtual)/1000/seconds, per(50), per(99), per(100))
	t.Logf("%.2f years, %d faults; leaderless though a majority was connected: %.2f %% of the time", float64(s.virtual)/1000/3600/24/365,
		s.stats.Faults, 100*float64(s.stats.Leaderless)/float64(max(1, s.stats.Led+s.stats.Leaderless)))
	if s.stats.Leases > 0 {
		t.Logf("%d leases, %d requests and responses; %d writes accepted, %d stale ones refused; %d groups had no majority, or no candidate, "+
			"in the end", s.stats.Leases, s.stats.Requests, s.stats.Accepted, s.stats.Refused, s.stats.Stopped)
	}
}

var linesFlag = flag.Int("lines", 200, "how much of a transcript to print")

// explain runs a seed again and prints what happened.
func explain(t *testing.T, simulator *electiontest.Simulator, o electiontest.Options) {
	t.Helper()
	var out bytes.Buffer
	err := simulator.Explain(o, &out)
	lines := strings.SplitAfter(out.String(), "\n")
	lines = lines[max(0, len(lines)-*linesFlag):]
	if failure := (*electiontest.Failure)(nil); errors.As(err, &failure) {
		mode := modes[0]
		if o.Guarded {
			mode = modes[1]
		}
		t.Errorf("%v\nthe last lines of what happened:\n%s\nreplay: go test ./internal/election -run '^TestSimulate$' -mode %s -algorithm %s -seed %d -v",
			err, strings.Join(lines, ""), mode.name, o.Algorithm, o.Seed)
		return
	}
	t.Logf("%s\n%s", o, strings.Join(lines, ""))
}

// Seeds that failed once, by what was wrong. (They are what they were as long as nothing is drawn before what they drew: a
// new nemesis is drawn last. That the simulator still finds these bugs is what make mutants shows.)
func TestSeedsThatFailed(t *testing.T) {
	for _, c := range []struct {
		algorithm string
		seed      uint64
		why       string
	}{
		{"StatusTableBully", 3, "a table that came after its asker had taken charge made it follow another"},
		{"StatusTableBully", 20, "a coordinator that was silent before it was followed was never suspected"},
		{"StatusTableBully", 306, "a new coordinator did not tell a process that it had crossed off"},
		{"StatusTableBully", 14751, "a second coordinator was not heard because an old roster gave it priority 0"},
		{"StatusTableBully", 28050, "a process that had crossed off all others asked nobody, for ever"},
		{"StatusTableBully", 182291, "two coordinators told each other their views for ever: one had withdrawn once"},
		{"ChangRoberts", 161354, "after a change of algorithm, a coordinator repeated an announcement that was not its own"},
		{"ChangRoberts", 195524, "two coordinators' views were not understood while their algorithms differed"},
		{"Bully", 230, "a process was followed that by the follower's roster never coordinates"},
		{"Bully", 665, "a coordinator that had withdrawn and was well again was not asked, for ever"},
		{"Bully", 4168, "an announcement that only a newer roster explained was forgotten"},
		{"Bully", 17105, "two coordinators told each other their views for ever; each had crossed the other off"},
		{"ActiveListRing", 5367, "views were not heard that named a process once crossed off: two coordinators stayed"},
		{"ChangRoberts", 7, "a process was followed that by the follower's roster never coordinates"},
	} {
		if err := electiontest.NewSimulator().Run(electiontest.Draw(c.algorithm, c.seed)); err != nil {
			t.Errorf("%s\n%v", c.why, err)
		}
	}
}

// G14: the same seed gives the same steps in the same order, also on a simulator that has run before.
func TestSameSeedSameTrace(t *testing.T) {
	used := electiontest.NewSimulator()
	rounds := 40
	if testing.Short() {
		rounds = 4
	}
	for i := range 2 * len(election.Algorithms()) * rounds {
		mode, algorithm := modes[i%2], election.Algorithms()[i/2%len(election.Algorithms())]
		o := mode.draw(algorithm, uint64(i))
		fresh := electiontest.NewSimulator()
		if err := errors.Join(fresh.Run(o), used.Run(o)); err != nil {
			t.Fatal(err)
		}
		if fresh.Stats != used.Stats {
			t.Errorf("%s %s seed %d: %+v, then %+v", mode.name, algorithm, o.Seed, fresh.Stats, used.Stats)
		}
	}
}

// The speed of a simulation: one operation is a seed.
func BenchmarkSimulate(b *testing.B) {
	for i := range 2 * len(election.Algorithms()) {
		mode, algorithm := modes[i%2], election.Algorithms()[i/2]
		b.Run(mode.name+"/"+algorithm, func(b *testing.B) {
			s := electiontest.NewSimulator()
			var steps, virtual float64
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for seed := uint64(1); b.Loop(); seed++ {
				if err := s.Run(mode.draw(algorithm, seed)); err != nil {
					b.Fatal(err)
				}
				steps += float64(s.Steps)
				virtual += float64(s.Virtual) / 1000
			}
			runtime.ReadMemStats(&after)
			b.ReportMetric(steps/b.Elapsed().Seconds(), "steps/s")
			b.ReportMetric(virtual/b.Elapsed().Seconds(), "×realtime")
			b.ReportMetric(float64(after.Mallocs-before.Mallocs)/steps, "allocs/step")
			b.ReportMetric(0, "ns/op")
		})
	}
}
