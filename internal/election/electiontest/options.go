package electiontest

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"reflect"
	"strings"

	"github.com/podesta-dev/podesta/internal/election"
)

// Options is everything that can befall a simulated group, drawn from a seed. Chances are in tenths of a percent. The zero
// value of a nemesis leaves it out.
type Options struct {
	Algorithm string
	Seed      uint64

	Processes int // in the group, and so many more that may join it
	Strangers int
	Equal     bool // some priorities are equal
	Zero      bool // some never coordinate
	Cold      bool // all start at once; else all follow the highest

	Chaos Time // how long faults go on
	Gap   Time // between two faults, on average

	Loss      int  // chance that a message is lost, up to 40 %
	Duplicate int  // that it arrives twice
	Replay    int  // that an old message arrives again along with it
	Tail      int  // that it takes up to 10·T, instead of a Unit at most
	Reorder   bool // messages of a link may overtake each other; not for rings, which assume FIFO
	Drift     int  // timers of a process run faster or slower by up to so much

	Doom      int // chance that a process crashes in a step that sends, part of its messages unsent
	Initiator int // that it crashes when it begins an election
	Holder    int // when it is to forward a message
	Winner    int // when it is to announce itself
	Helper    int // when it has answered OK

	// How often each kind of fault is chosen, relative to the others.
	Crashes, Cuts, Clogs, Pauses, Suspicions, Breaks, Illness, Rosters, Forgeries int

	Flap   bool // cuts come and go
	Lag    Time // until a process has a new roster, at most
	Switch bool // a new roster may name another algorithm
	Rogue  bool // one process sends whatever it likes, under its own name
	Rest   bool // who is down when calm comes stays down

	Guarded bool // the group's safety
	Guarding
}

// Draw draws the options of a seed.
func Draw(algorithm string, seed uint64) Options {
	rng := rand.New(rand.NewPCG(seed, salt(algorithm)))
	o := Options{Algorithm: algorithm, Seed: seed}
	among := func(choices ...int) int { return choices[rng.IntN(len(choices))] }
	seldom := func() bool { return rng.IntN(8) == 0 }

	o.Processes = among(2, 3, 3, 3, 4, 4, 5, 5, 6, 7)
	o.Strangers = among(0, 0, 0, 1, 2)
	o.Equal, o.Zero, o.Cold = seldom(), seldom(), rng.IntN(2) == 0
	o.Chaos, o.Gap = Time(among(20, 60, 120, 240))*T, Time(among(50, 200, 500, 1000, 4000))*T/100

	o.Loss = among(0, 0, 0, 10, 50, 200, 400)
	o.Duplicate = among(0, 0, 0, 20, 200)
	o.Replay = among(0, 0, 0, 20, 100)
	o.Tail = among(0, 0, 0, 20, 200)
	o.Reorder = assumesNoOrder(algorithm) && rng.IntN(4) == 0
	o.Drift = among(0, 0, 100, 500)

	o.Doom, o.Initiator = among(0, 0, 0, 10, 50), among(0, 0, 0, 50, 300)
	o.Holder, o.Winner, o.Helper = among(0, 0, 0, 20, 100), among(0, 0, 0, 100, 400), among(0, 0, 0, 50, 300)

	o.Crashes, o.Cuts, o.Clogs, o.Pauses = among(0, 2, 5), among(0, 0, 2, 5), among(0, 0, 2), among(0, 0, 2)
	o.Suspicions, o.Breaks, o.Illness, o.Rosters = among(0, 1, 3), among(0, 0, 2), among(0, 0, 1), among(0, 0, 1)
	o.Flap, o.Lag = seldom(), Time(among(0, 1, 5, 20))*T
	if o.Switch = seldom(); o.Switch {
		o.Switch = seldom()
	}
	if o.Rogue = seldom(); o.Rogue {
		o.Forgeries = 10
	}
	o.Rest = rng.IntN(2) == 0
	return o
}

// assumesNoOrder: the bullies do not name FIFO links among their assumptions.
func assumesNoOrder(algorithm string) bool {
	return algorithm == "Bully" || algorithm == "StatusTableBully"
}

// salt makes the same seed another schedule for every algorithm.
func salt(algorithm string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(algorithm))
	return h.Sum64()
}

// String names what is not zero, in the order of the fields.
func (o Options) String() string {
	var b strings.Builder
	v := reflect.ValueOf(o)
	for i := range v.NumField() {
		if !v.Field(i).IsZero() {
			fmt.Fprintf(&b, "%s=%v ", v.Type().Field(i).Name, v.Field(i))
		}
	}
	return strings.TrimSpace(b.String())
}

// members draws the processes of a simulation: those of the group first, then those that may join.
func (o *Options) members(rng *rand.Rand, names []string) []election.Process {
	n := o.Processes + o.Strangers
	list := make([]election.Process, n)
	for i, place := range rng.Perm(n) {
		list[i] = election.Process{Name: names[i], Priority: int32(place + 1), UID: uids[1]}
		if o.Equal {
			list[i].Priority = int32(place/2 + 1)
		}
		if o.Zero && rng.IntN(3) == 0 {
			list[i].Priority = 0
		}
	}
	return list
}

// uids are the identities of a name's pods, one after the other.
var uids = [...]string{"", "1", "2", "3", "4", "5", "6", "7", "8", "9"}
