package sim_test

import (
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/sim"
)

// The worst clocks that the promise allows: every one of them off by ρ, this way or that, and
// changing its rate. Nothing may come of it.
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

// A lease that gets shorter than the links allow gets longer before it lapses, on links that take
// up to 80 ms: nothing is wrong in these groups, and each of them has one leaseholder and one
// epoch.
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
			if testing.Short() && refused > 0 && overlaps > 0 {
				return // both were seen
			}
		}
	}
	t.Logf("%d stale writes were refused, %d times two might act", refused, overlaps)
	if refused == 0 || overlaps == 0 {
		t.Errorf("%d stale writes were refused, %d times two might act: this does not try what it says", refused, overlaps)
	}
}
