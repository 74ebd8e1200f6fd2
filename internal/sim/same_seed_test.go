package sim_test

import (
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/sim"
)

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
