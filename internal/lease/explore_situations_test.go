package lease_test

import (
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
)

// A situation is what an exploration starts from: which clocks are fast, and what may happen.
type situation struct {
	name   string
	fast   [procs]bool
	drift  bool // in each quantum each clock may be fast or slow
	prompt bool // a PREVOTE is answered at once
	slow   bool // writes take time: anything may happen meanwhile
	// how many letters may be under way, and processes may stand still, while time passes
	late   int
	newest int8 // the last of the group's rosters that may come
	short  bool // the leaseholder may ask for half the lease (LH10)
	steady bool // whoever holds the lease counts as if it had led for long (LH4)
	budget
}

func situations() []situation {
	slowHolder := [procs]bool{true, true, false}
	return []situation{
		{name: "nothing but time", fast: slowHolder, budget: budget{quanta: 3}},
		{name: "a restart with state directory", fast: slowHolder,
			budget: budget{restarts: 1, quanta: 3}},
		{
			name:   "a restart without state directory",
			fast:   slowHolder,
			budget: budget{amnesias: 1, quanta: 3},
		},
		{name: "a lost message", fast: slowHolder, budget: budget{losses: 1, quanta: 3}},
		{name: "an app that is ill", fast: slowHolder, budget: budget{illnesses: 1, quanta: 3}},
		{name: "a disk that fails", fast: slowHolder, budget: budget{faults: 1, quanta: 3}},
		{name: "slow disks", fast: slowHolder, slow: true, budget: budget{quanta: 3}},
		{
			name:   "slow disks, one of which fails, and a restart",
			fast:   slowHolder,
			slow:   true,
			budget: budget{faults: 1, restarts: 1, quanta: 3},
		},
		{
			name:   "slow disks and a new generation",
			fast:   slowHolder,
			slow:   true,
			newest: 1,
			budget: budget{faults: 1, steps: 1, quanta: 3},
		},
		{
			name:   "a new generation",
			fast:   slowHolder,
			newest: 1,
			budget: budget{steps: 1, quanta: 3},
		},
		{
			name:   "a new generation, and one with a shorter lease",
			fast:   slowHolder,
			newest: 2,
			budget: budget{steps: 2, quanta: 3},
		},
		{name: "short leases", fast: slowHolder, short: true, budget: budget{quanta: 3}},
		{
			name:   "short leases, a restart with state directory, a lost message and drift",
			drift:  true,
			short:  true,
			budget: budget{losses: 1, restarts: 1, quanta: 2},
		},
		{name: "leases that are asked for again", fast: slowHolder, steady: true,
			budget: budget{quanta: 3}},
		{name: "a lease that is asked for again, and an app that is ill", fast: slowHolder, steady: true,
			budget: budget{illnesses: 1, quanta: 3}},
		{
			name:   "leases that are asked for again, on slow disks, one of which fails",
			fast:   slowHolder,
			slow:   true,
			steady: true,
			budget: budget{faults: 1, quanta: 3},
		},
		{
			name:   "leases that are asked for again, and a new generation",
			fast:   slowHolder,
			newest: 1,
			steady: true,
			budget: budget{steps: 1, quanta: 3},
		},
		{
			name:   "short leases that are asked for again, a lost message and drift",
			drift:  true,
			short:  true,
			steady: true,
			budget: budget{losses: 1, quanta: 2},
		},
		{
			name:   "short leases and a new generation",
			fast:   slowHolder,
			short:  true,
			newest: 2,
			budget: budget{steps: 2, quanta: 3},
		},
		{name: "clocks that change their rates", drift: true, budget: budget{quanta: 3}},
		{
			name:   "a restart with state directory, a lost message and drift",
			drift:  true,
			budget: budget{losses: 1, restarts: 1, quanta: 2},
		},
		{
			name:   "a restart without state directory, a lost message and drift",
			drift:  true,
			budget: budget{losses: 1, amnesias: 1, quanta: 2},
		},
		{
			name:   "all at once",
			drift:  true,
			newest: 2,
			budget: budget{
				losses:    1,
				restarts:  1,
				amnesias:  1,
				illnesses: 1,
				faults:    1,
				steps:     2,
				quanta:    6,
			},
		},
	}
}

// rosters are those of the group: an older promise is renewed under the second (V4), and not under
// the third, whose lease is shorter (V5). With short leases the same holds after one quantum that
// holds after two without: the window of half the lease is a quantum of a slow clock, and the
// promise one of a fast clock.
func (s *situation) rosters() []*lease.Roster {
	if s.short {
		return withHalf
	}
	return withOne
}

var withOne, withHalf = rosters(leaseTime), rosters(leaseTime / 2)

func rosters(shortest time.Duration) []*lease.Roster {
	return []*lease.Roster{
		roster3(1, leaseTime, shortest),
		roster3(2, leaseTime, shortest),
		roster3(3, leaseTime-200*time.Millisecond, shortest),
	}
}

func roster3(generation int64, l, shortest time.Duration) *lease.Roster {
	r := &lease.Roster{Group: "g", Generation: generation, Lease: l, LeaseMinimum: min(l, shortest),
		Preemption: lease.Never}
	for i, name := range members {
		r.Members = append(
			r.Members,
			lease.Member{
				Name:     name,
				UID:      "u",
				StateID:  name + "/0",
				Priority: int32(i),
				Voter:    true,
			},
		)
	}
	return r
}
