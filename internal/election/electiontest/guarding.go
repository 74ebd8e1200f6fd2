package electiontest

import (
	"math/rand/v2"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
)

// Guarding is what befalls Guarded groups only.
type Guarding struct {
	Lease      time.Duration
	Preemption lease.Policy
	Stable     time.Duration
	Rate       int  // clocks run faster or slower by up to so many thousandths: up to ρ is within the promise
	Beyond     bool // clocks are off by more than ρ: beyond the promise, so that only G2, G3 and G7 must hold
	Sessions   bool // some apps keep a session
	Ragged     bool // some links stay cut, one way or both, for ever
	OwnLink    bool // when all is well one process loses its link to the holder, and nothing else happens (T10)

	SyncFails, SyncDies, VoterDies int // chances: the disk fails; a crash after a sync, after a promise
	Amnesia                        int // chance that a crash loses the memory
	Unsure                         int // chance that nobody is told that a pod has ended

	// How often each kind of fault is chosen, relative to the others.
	Wallsteps, Pods, Managers, Leases, Renewals, Strandings int
}

// DrawGuarded draws the options of a seed for a Guarded group.
func DrawGuarded(algorithm string, seed uint64) Options {
	o := Draw(algorithm, seed)
	rng := rand.New(rand.NewPCG(seed, salt(algorithm+" Guarded")))
	among := func(choices ...int) int { return choices[rng.IntN(len(choices))] }
	o.Guarded = true
	o.Lease = time.Duration(among(400, 1000, 1000, 1000, 2000)) * time.Millisecond
	o.Preemption = []lease.Policy{lease.Always, lease.Delayed, lease.Never}[rng.IntN(3)]
	o.Stable = time.Duration(among(1, 2, 5)) * time.Second
	o.Rate = among(0, 1, 50, 100, 100)
	o.Sessions = rng.IntN(2) == 0
	o.SyncFails, o.SyncDies, o.VoterDies = among(0, 0, 0, 20, 100), among(0, 0, 0, 20), among(0, 0, 0, 5, 20)
	o.Amnesia, o.Unsure = among(0, 0, 100, 500), among(0, 0, 200, 1000)
	o.Wallsteps, o.Pods, o.Managers = among(0, 0, 1), among(0, 0, 1, 3), among(0, 0, 1)
	o.Leases, o.Renewals, o.Strandings = among(0, 0, 1), among(0, 0, 0, 1), among(0, 0, 2)
	if rng.IntN(10) == 0 {
		o.Beyond, o.Rate = true, among(200, 500)
	}
	o.Ragged = rng.IntN(6) == 0
	return o
}

// DrawOwnLink draws a group in which nothing happens but that one process loses its link to the holder.
func DrawOwnLink(algorithm string, seed uint64) Options {
	o := DrawGuarded(algorithm, seed)
	quiet := Options{Algorithm: algorithm, Seed: seed, Guarded: true, Processes: max(o.Processes, 3), Equal: o.Equal, Cold: true,
		Chaos: 40 * T, Gap: 40 * T}
	quiet.Guarding = Guarding{OwnLink: true, Lease: o.Lease, Preemption: o.Preemption, Stable: o.Stable, Rate: min(o.Rate, 100)}
	return quiet
}

// salt makes a seed another schedule for every algorithm and mode.
func (o *Options) salt() uint64 {
	if o.Guarded {
		return salt(o.Algorithm + " guarded")
	}
	return salt(o.Algorithm)
}
