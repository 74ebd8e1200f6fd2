package sim

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"reflect"
	"strings"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
)

// Options is a group and everything that can befall it. Chances are in tenths of a percent. The
// zero value of a fault leaves it out.
type Options struct {
	Algorithm string
	Seed      uint64
	Guarded   bool
	Quiet     bool // nothing happens but what a script does

	Processes int // in the group, and so many more that may join it
	Strangers int
	Equal     bool // some priorities are equal
	Zero      bool // some never coordinate
	Witnesses int  // the pods of the first so many places are witnesses by their template

	Chaos Time // how long faults go on
	Gap   Time // between two faults, on average

	Links
	Crashes
	Disks
	Clocks
	Apps
	Cluster

	// Weights says how often each kind of fault is chosen, relative to the others.
	Weights

	Rest bool // who is down when calm comes stays down
	Lease
}

// Links is what befalls messages.
type Links struct {
	Loss      int  // chance that a message is lost, and its link breaks
	Duplicate int  // that it arrives twice
	Replay    int  // that an old message arrives again along with it
	Tail      int  // that it takes up to 10·T
	Reorder   bool // messages of a link may overtake each other; not for rings, which assume FIFO
	Flap      bool // cuts come and go
	Ragged    bool // some links stay cut, one way or both, for ever
	OwnLink   bool // when all is well one process loses its link to the leaseholder (T10)
	Rogue     bool // one process sends whatever it likes, under its own name
}

// Crashes are aimed at the moments that hazards name.
type Crashes struct {
	Doom      int // chance that a process crashes in a step that sends, part of its messages unsent
	Initiator int // that it crashes when it begins an election
	Holder    int // when it is to forward a message of a ring
	Winner    int // when it is to announce itself
	Helper    int // when it has answered OK
	VoterDies int // when it is to grant a vote
}

// Disks is what befalls state directories.
type Disks struct {
	Slow     int // chance that a write takes up to 2·T
	Refused  int // that it fails; what it held may be on the disk all the same
	SyncDies int // that the process crashes when it is done
	Damaged  int // that a crash leaves a damaged file: the agent starts with a new state directory
}

// Clocks is what befalls clocks.
type Clocks struct {
	// they run faster or slower by up to so many thousandths; up to ρ is within the promise
	Rate int
	// they are off by more than ρ: beyond the promise, so that only G2, G3 and G7 must hold
	Beyond bool
	Astray bool // a manager's wall clock is two days off, and the API server's shows it
}

// Apps is what befalls apps.
type Apps struct {
	Sessions bool // some apps keep a session
	Deaf     int  // chance that an app does not heed a revocation, and goes on until its deadline
}

// Cluster is what befalls rosters and pods.
type Cluster struct {
	Lag     Time // until a process has a new roster, at most
	Partial int  // chance that an agent is not told of a roster for up to 100·T
	Forsake bool // Strand lasts until calm comes
	Switch  bool // a new roster may name another algorithm
	Stale   int  // chance that a manager's cache lags in one of its passes
	Unsure  int  // chance that nobody learns that a pod has ended

	// BackAndForth lets a manager with a stale cache tell agents the roster of a group that was
	// deleted and made again since: they go A → B → A.
	BackAndForth bool
}

// Weights of the kinds of faults.
type Weights struct {
	Crash, Cut, Clog, Pause, Suspect, Break, Sicken, Leave, Expire, Edit, Forge           int
	StepWall, Suspend, ChangeRate, CutSession, EndApp, ReplacePod, StopManager, EditLease int
	Remake, Strand, Report, SetBack, Upgrade, StepDown, Remark, Replace, Roll             int
}

// Lease is the group's own choice of what Guarded groups need.
type Lease struct {
	Lease      time.Duration
	Shortest   time.Duration // the shortest lease that is asked for (LH10); 0: Lease
	Preemption lease.Policy
	Stable     time.Duration
}

// Draw draws the options of a seed of a Classic group.
func Draw(algorithm string, seed uint64) Options {
	rng := rand.New(rand.NewPCG(seed, salt(algorithm)))
	o := Options{Algorithm: algorithm, Seed: seed}
	among := func(choices ...int) int { return choices[rng.IntN(len(choices))] }
	seldom := func() bool { return rng.IntN(8) == 0 }

	o.Processes = among(2, 3, 3, 3, 4, 4, 5, 5, 6, 7)
	o.Strangers = among(0, 0, 0, 1, 2)
	o.Equal, o.Zero = seldom(), seldom()
	o.Chaos, o.Gap = Time(among(20, 60, 120, 240))*T, Time(among(50, 200, 500, 1000, 4000))*T/100

	o.Loss, o.Duplicate = among(0, 0, 0, 10, 50, 200, 400), among(0, 0, 0, 20, 200)
	o.Replay, o.Tail = among(0, 0, 0, 20, 100), among(0, 0, 0, 20, 200)
	o.Reorder = assumesNoOrder(algorithm) && rng.IntN(4) == 0
	o.Rate = among(0, 0, 100, 300)

	o.Doom, o.Initiator = among(0, 0, 0, 10, 50), among(0, 0, 0, 50, 300)
	o.Holder, o.Winner = among(0, 0, 0, 20, 100), among(0, 0, 0, 100, 400)
	o.Helper = among(0, 0, 0, 50, 300)
	o.Slow, o.Refused, o.Damaged = among(0, 0, 50), among(0, 0, 0, 100), among(0, 0, 200)

	o.Crash, o.Cut, o.Clog, o.Pause = among(0, 2, 5), among(0, 0, 2, 5), among(0, 0, 2), among(0, 0, 2)
	o.Suspect, o.Break, o.Sicken = among(0, 1, 3), among(0, 0, 2), among(0, 0, 1)
	o.Leave, o.Edit = among(0, 0, 1), among(0, 0, 1)
	o.ReplacePod, o.StopManager, o.Strand = among(0, 0, 1), among(0, 0, 1), among(0, 0, 1)
	o.ChangeRate, o.Suspend = among(0, 0, 1), among(0, 0, 1)
	o.Flap, o.Lag = seldom(), Time(among(0, 1, 5, 20))*T
	o.Partial, o.Stale = among(0, 0, 0, 300), among(0, 0, 300)
	o.Switch = rng.IntN(64) == 0
	if o.Rogue = seldom(); o.Rogue {
		o.Forge = 10
	}
	o.Rest = rng.IntN(2) == 0
	if seed%3 == 2 { // not drawn, so that pinned seeds keep their meaning
		o.Report = 2
	}
	if seed%5 == 3 { // not drawn, either
		o.Expire = 1
	}
	if seed%7 == 4 {
		o.Remake, o.BackAndForth = 1, seed%2 == 0
	}
	return o
}

// assumesNoOrder: the bullies do not name FIFO links among their assumptions.
func assumesNoOrder(algorithm string) bool {
	return algorithm == "Bully" || algorithm == "StatusTableBully"
}

// DrawGuarded draws the options of a seed of a Guarded group.
func DrawGuarded(algorithm string, seed uint64) Options {
	o := Draw(algorithm, seed)
	rng := rand.New(rand.NewPCG(seed, salt(algorithm+" Guarded")))
	among := func(choices ...int) int { return choices[rng.IntN(len(choices))] }
	o.Guarded = true
	o.Lease.Lease = time.Duration(among(400, 1000, 1000, 1000, 2000)) * time.Millisecond
	o.Preemption = []lease.Policy{lease.Always, lease.Delayed, lease.Never}[rng.IntN(3)]
	o.Stable = time.Duration(among(1, 2, 5)) * time.Second
	o.Rate = among(0, 1, 50, 95, 95)
	o.Sessions, o.Deaf = rng.IntN(2) == 0, among(0, 0, 500)
	o.Refused, o.SyncDies = among(0, 0, 0, 20, 100), among(0, 0, 0, 20)
	o.VoterDies = among(0, 0, 0, 5, 20)
	o.Damaged, o.Unsure = among(0, 0, 100, 500), among(0, 0, 200, 1000)
	o.StepWall, o.ReplacePod, o.StopManager = among(0, 0, 1), among(0, 0, 1, 3), among(0, 0, 1)
	o.EditLease, o.Remake, o.Strand = among(0, 0, 1), among(0, 0, 0, 1), among(0, 0, 2)
	o.CutSession, o.EndApp = among(0, 0, 1), among(0, 0, 1)
	if rng.IntN(10) == 0 {
		o.Beyond, o.Rate = true, among(200, 500)
	}
	o.Ragged = rng.IntN(6) == 0
	o.Forsake = rng.IntN(6) == 0
	o.BackAndForth = rng.IntN(2) == 0
	if seed%4 == 3 { // not drawn, so that pinned seeds keep their meaning
		o.SetBack = 1
	}
	o.Astray = seed%9 == 5
	// nor is this
	o.Shortest = time.Duration(map[uint64]int64{1: 100, 2: 40, 7: 300}[seed%8]) * time.Millisecond
	return o
}

// DrawOwnLink draws a group in which nothing happens but that one process loses its link to the
// leaseholder; and in some, that another voter's pod is deleted then.
func DrawOwnLink(algorithm string, seed uint64) Options {
	o := DrawGuarded(algorithm, seed)
	quiet := Options{
		Algorithm: algorithm,
		Seed:      seed,
		Guarded:   true,
		Quiet:     true,
		Processes: max(o.Processes, 3),
		Equal:     o.Equal,
		Chaos:     40 * T,
		Gap:       40 * T,
		Lease:     o.Lease,
	}
	quiet.OwnLink, quiet.Rate = true, min(o.Rate, 95)
	if seed%4 == 3 { // not drawn, so that pinned seeds keep their meaning
		// A shorter lease may be over before a roster without the voter has reached all (V4).
		quiet.Leave, quiet.Lease.Lease = 1, max(quiet.Lease.Lease, time.Second)
	}
	return quiet
}

// only has little else happen than these faults.
func (o *Options) only(faults Weights, chaos, gap Time) {
	o.Weights, o.Chaos, o.Gap = faults, chaos, gap
	o.Crashes, o.Disks, o.Partial, o.Loss, o.Flap = Crashes{}, Disks{}, 0, 0, false
}

// DrawUpgrades draws a Guarded group whose agents and managers are of several releases, with
// several rules levels (MC11), and are upgraded and rolled back.
func DrawUpgrades(algorithm string, seed uint64) Options {
	o := DrawGuarded(algorithm, seed)
	o.Upgrade = 2 + int(seed%3)
	if seed/4%2 == 0 { // little else happens, or hardly any upgrade is done before the next begins
		o.only(Weights{
			Upgrade:     6,
			StopManager: 1,
			Strand:      1,
			Sicken:      1,
		}, 600*T, 15*T)
	}
	return o
}

// DrawStepDowns draws a group whose operators ask that coordinators step down (MC12), beside all
// else.
func DrawStepDowns(algorithm string, guarded bool, seed uint64) Options {
	o := Draw(algorithm, seed)
	if guarded {
		o = DrawGuarded(algorithm, seed)
	}
	o.StepDown = 3
	if seed/4%2 == 0 { // little else happens, or hardly any request is seen through
		o.only(Weights{
			StepDown:    6,
			StopManager: 1,
			Strand:      1,
			Sicken:      1,
			Edit:        1,
		}, 400*T, 10*T)
	}
	return o
}

// DrawRollouts draws a group whose pods are replaced in quick succession, as a rollout does that
// waits for nobody, beside all else.
func DrawRollouts(algorithm string, guarded bool, seed uint64) Options {
	o := Draw(algorithm, seed)
	if guarded {
		o = DrawGuarded(algorithm, seed)
	}
	o.Roll, o.Strangers = 6, 1+int(seed%2)
	if seed/4%2 == 0 { // little else happens
		o.only(Weights{
			Roll:        8,
			StopManager: 1,
			Leave:       1,
			Crash:       1,
		}, 400*T, 10*T)
	}
	return o
}

// DrawReplaced draws a Guarded group whose machines are replaced under their nodes' names, while
// the old ones run on, beside all else but a status that is set back: that an old machine alone
// knows better is beyond MC10.
func DrawReplaced(algorithm string, seed uint64) Options {
	o := DrawGuarded(algorithm, seed)
	o.Replace, o.SetBack = 2, 0
	if seed/4%2 == 0 { // little else happens, or hardly any machine runs on for long
		o.only(Weights{
			Replace:     4,
			ReplacePod:  1,
			StopManager: 1,
			Crash:       1,
			Pause:       1,
		}, 400*T, 20*T)
	}
	return o
}

// DrawWitnesses draws a group with a witness: two candidates and a witness mostly. In some, marks
// are put on pods and taken off.
func DrawWitnesses(algorithm string, guarded bool, seed uint64) Options {
	o := Draw(algorithm, seed)
	if guarded {
		o = DrawGuarded(algorithm, seed)
	}
	o.Witnesses = 1
	switch seed % 4 {
	case 0: // little else happens
		o.Processes, o.Strangers, o.Rest = 3, 0, false
		o.Weights = Weights{
			Crash:       4,
			Cut:         4,
			Pause:       2,
			ReplacePod:  1,
			StopManager: 1,
		}
		o.Crashes, o.Disks, o.Partial, o.Loss, o.Flap = Crashes{}, Disks{}, 0, 0, false
	case 1:
		o.Processes = 3
	default:
		o.Remark = 3
	}
	return o
}

// salt makes the same seed another schedule for every algorithm and mode.
func salt(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s))
	return h.Sum64()
}

func (o *Options) salt() uint64 {
	if o.Guarded {
		return salt(o.Algorithm + " guarded")
	}
	return salt(o.Algorithm)
}

// String names what is not zero, in the order of the fields.
func (o Options) String() string {
	var b strings.Builder
	describe(&b, reflect.ValueOf(o))
	return strings.TrimSpace(b.String())
}

func describe(b *strings.Builder, v reflect.Value) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		switch {
		case v.Field(i).IsZero():
		case f.Anonymous:
			describe(b, v.Field(i))
		default:
			fmt.Fprintf(b, "%s=%v ", f.Name, v.Field(i))
		}
	}
}
