package main

import (
	"fmt"
	"regexp"
	"time"
)

// hunt is a search that a mutant must survive besides the unit tests of its package.
type hunt struct {
	name string // before what it found; may be empty
	pkg  string // whose tests search
	last bool   // it searches only if nothing has noticed the mutant before
	// a mutant with which it does not end by then is caught; far above what a busy machine takes
	limit    time.Duration
	args     func(m *mutant, e effort) []string
	failures []*regexp.Regexp
}

// effort is how many seeds a mutant gets in each hunt.
type effort struct{ seeds, wanders, guarded int }

// simulator is the package whose TestSimulate runs a seed of every algorithm.
const simulator = "internal/sim"

// hunts are those of the packages that have any. A package with a table and without hunts has only
// its unit tests.
var hunts = map[string][]hunt{
	"internal/election": {
		{
			pkg:      simulator,
			limit:    20 * time.Minute,
			failures: seedFailures,
			args:     func(m *mutant, e effort) []string { return classic(m, e.seeds) },
		},
		{
			pkg:      simulator,
			last:     true,
			limit:    20 * time.Minute,
			failures: seedFailures,
			args:     func(m *mutant, e effort) []string { return classic(m, 10*e.seeds) },
		},
	},
	"internal/lease": {
		{
			name:     "wander ",
			pkg:      "internal/lease",
			limit:    5 * time.Minute,
			failures: wanderFailures,
			args: func(_ *mutant, e effort) []string {
				return []string{"-test.run=TestWander", fmt.Sprint("-wanders=", e.wanders)}
			},
		},
		{
			name:     "explore ",
			pkg:      "internal/lease",
			last:     true,
			limit:    5 * time.Minute,
			failures: exploreFailures,
			args: func(*mutant, effort) []string {
				return []string{"-test.run=TestExplore", "-states=30000"}
			},
		},
		{
			pkg:      simulator,
			limit:    5 * time.Minute,
			failures: seedFailures,
			args: func(_ *mutant, e effort) []string {
				return simulate("Guarded", e.guarded)
			},
		},
	},
}

// searches are the tests of a package that are no unit tests: the hunts run them, or nobody does.
// The last two count the messages of quiet groups, which takes longer than all other tests of
// internal/agent.
const searches = "TestSimulate|TestPinnedSeeds|TestSameSeed|TestExplore|TestWander|Fuzz|" +
	"TestQuietGroupIsQuiet|TestTrafficGrowsWithTheGroup"

func simulate(mode string, seeds int) []string {
	return []string{"-test.run=^TestSimulate$/^" + mode + "$", fmt.Sprint("-seeds=", seeds),
		"-failures=1", "-lines=0"}
}

func classic(m *mutant, seeds int) []string {
	return append(simulate("Classic", seeds), "-algorithm="+algorithms[m.file])
}

// algorithms are those whose page is in a file; a mutant of another file is one of all algorithms.
var algorithms = map[string]string{
	"bully.go":        "Bully",
	"statustable.go":  "StatusTableBully",
	"lelann.go":       "LeLann",
	"changroberts.go": "ChangRoberts",
	"ringlist.go":     "RingList",
	"activelist.go":   "ActiveListRing",
}

// How the failures of tests look; what the first of these finds is printed.
var (
	testFailures = []*regexp.Regexp{
		regexp.MustCompile(`--- FAIL: (\S+/\S+)`), regexp.MustCompile(`--- FAIL: (\S+)`),
		regexp.MustCompile(`(panic: .*)`),
		regexp.MustCompile(`(fatal error: .*)`), // a deadlock, or a stack without end
	}
	seedFailures = []*regexp.Regexp{regexp.MustCompile(`(\w+ \w+ seed \d+) at [\d.]+ ms: ([^:]*):`),
		regexp.MustCompile(`(panic: .*)`)}
	wanderFailures = []*regexp.Regexp{regexp.MustCompile(`(seed \d+): (G\d+)`),
		regexp.MustCompile(`(panic: .*)`)}
	exploreFailures = []*regexp.Regexp{regexp.MustCompile(`explore_test.go:\d+: (G\d+)`),
		regexp.MustCompile(`(panic: .*)`)}
)
