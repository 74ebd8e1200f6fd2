package sim_test

import (
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/sim"
)

// The worst clocks that the promise allows: every one of them off by ρ, this way or that, and changing
// its rate. Nothing may come of it.
func TestSimulateClocksAtTheBound(t *testing.T) {
	w := sim.NewWorld()
	for _, algorithm := range algorithms() {
		for seed := range uint64(share()/80 + 1) {
			o := sim.DrawGuarded(algorithm, seed)
			o.Beyond, o.Rate, o.ChangeRate = false, 99, 2
			if err := w.Run(o); err != nil {
				t.Error(err)
			}
		}
	}
}

// A lease that gets shorter than the links allow gets longer before it lapses, on links that take up to
// 80 ms: nothing is wrong in these groups, and each of them has one leaseholder and one epoch.
func TestShortLeasesDoNotLapse(t *testing.T) {
	w := sim.NewWorld()
	for _, algorithm := range algorithms() {
		for seed := range uint64(share()/40 + 1) {
			o := sim.DrawGuarded(algorithm, seed)
			quiet := sim.Options{Algorithm: algorithm, Seed: seed, Guarded: true, Quiet: true, Processes: max(o.Processes, 3),
				Chaos: 600 * sim.T, Gap: 600 * sim.T, Lease: o.Lease}
			quiet.Rate, quiet.Shortest = min(o.Rate, 95), 40*time.Millisecond
			if err := w.Run(quiet); err != nil {
				t.Error(err)
			}
			if w.Lapses > 0 {
				t.Errorf("%s seed %d: %d of %d leases lapsed", algorithm, seed, w.Lapses, w.Leases)
			}
		}
	}
}

// Beyond the promise (clocks off by up to a half) epochs still belong to one process each, and a
// resource that checks them is still safe. That two do act at once then, and that stale writes come
// and are refused, shows that the oracle sees them.
func TestSimulateBeyondTheBound(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds to find two that act at once")
	}
	refused, overlaps := 0, 0
	w := sim.NewWorld()
	for _, algorithm := range algorithms() {
		for seed := range uint64(50) {
			o := sim.DrawGuarded(algorithm, seed)
			o.Beyond, o.Rate, o.Ragged = true, 500, false
			o.Cut, o.Crash, o.Gap, o.Chaos = 5, 0, 10*sim.T, 240*sim.T // leaseholders that are cut off, again and again
			if err := w.Run(o); err != nil {
				t.Error(err)
			}
			refused, overlaps = refused+w.Stats.Refused, overlaps+w.Overlaps
		}
	}
	if refused == 0 || overlaps == 0 {
		t.Errorf("%d stale writes were refused, %d times two might act: this does not try what it says", refused, overlaps)
	}
}

// The voters' rules and the nodes, joined: pods come, go and are replaced, agents start with new state
// directories, managers stop, lag and overlap, all the time; and nothing else happens.
func TestMembershipWithNodes(t *testing.T) {
	w := sim.NewWorld()
	changes := 0
	for _, algorithm := range algorithms() {
		for seed := range uint64(share()/40 + 1) {
			if err := w.Run(churn(algorithm, seed)); err != nil {
				t.Error(err)
			}
			changes += w.Rosters
		}
	}
	if changes < 20 {
		t.Errorf("%d rosters were made: this does not try what it says", changes)
	}
}

// churn draws a group whose members change all the time.
func churn(algorithm string, seed uint64) sim.Options {
	o := sim.Options{Algorithm: algorithm, Seed: seed, Guarded: true, Processes: 3 + int(seed%3), Strangers: int(seed % 3),
		Chaos: 200 * sim.T, Gap: 5 * sim.T, Lease: sim.DrawGuarded(algorithm, seed).Lease}
	o.Edit, o.ReplacePod, o.Leave, o.Crash, o.StopManager, o.Strand, o.EditLease = 4, 3, 2, 2, 1, 1, 1
	o.Damaged, o.Refused, o.Slow = 300, 50, 50
	o.Lag, o.Partial, o.Stale, o.Unsure, o.Rate = 5*sim.T, 200, 500, 200, 95
	return o
}

// FuzzMembership lets bytes choose how nasty the world is in which voters change.
func FuzzMembership(f *testing.F) {
	f.Add(uint64(1), uint8(0), uint8(3), uint16(300), uint16(500))
	f.Add(uint64(2), uint8(1), uint8(40), uint16(0), uint16(1000))
	w := sim.NewWorld()
	f.Fuzz(func(t *testing.T, seed uint64, algorithm, gap uint8, damaged, stale uint16) {
		o := churn(election.Algorithms()[int(algorithm)%6], seed)
		o.Gap, o.Damaged, o.Stale = sim.Time(gap)*sim.T/4+sim.T/10, int(damaged)%1000, int(stale)%1000
		o.Lease.Lease = max(o.Lease.Lease, 400*time.Millisecond)
		if err := w.Run(o); err != nil {
			t.Error(err)
		}
	})
}

// G14: the same seed gives the same steps in the same order, also in a world that has run before.
func TestSameSeedSameTrace(t *testing.T) {
	used := sim.NewWorld()
	for i := range 2 * len(election.Algorithms()) * (share()/40 + 1) {
		mode, algorithm := modes[i%2], election.Algorithms()[i/2%len(election.Algorithms())]
		o := mode.draw(algorithm, uint64(i))
		fresh := sim.NewWorld()
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
			w := sim.NewWorld()
			var steps, virtual float64
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for seed := uint64(1); b.Loop(); seed++ {
				if err := w.Run(mode.draw(algorithm, seed)); err != nil {
					b.Fatal(err)
				}
				steps += float64(w.Steps)
				virtual += time.Duration(w.Virtual).Seconds()
			}
			runtime.ReadMemStats(&after)
			b.ReportMetric(steps/b.Elapsed().Seconds(), "events/s")
			b.ReportMetric(virtual/b.Elapsed().Seconds(), "×realtime")
			b.ReportMetric(float64(after.Mallocs-before.Mallocs)/steps, "allocs/event")
			b.ReportMetric(0, "ns/op")
		})
	}
}
