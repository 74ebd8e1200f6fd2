package sim

import (
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/node"
	"github.com/podesta-dev/podesta/internal/timing"
)

// stopClocks stops a machine and all of its clocks together for a while, as the migration of a
// virtual machine does.
func (w *World) stopClocks(p int32, length Time) {
	v := &w.processes[p]
	for _, face := range []*clockFace{&v.clock.boot, &v.clock.raw, &v.clock.wall} {
		face.shown -= time.Duration(length)
	}
	w.sleep(p, length)
	v.ticks = 0
	w.planTick(p, max(v.clock.when(v.next), w.now+1))
	w.oracleRates(p)
}

// permitted is how many may act now, by what their apps were told and by their clocks.
func (w *World) permitted() (n int) {
	for p := range w.processes {
		if w.acts(int32(p)) {
			n++
		}
	}
	return n
}

// A process that stops together with its clocks is beyond the promise. A profile outlasts it for as
// long as the table of profiles says, whenever it begins: the leaseholder renews before its voters'
// promises end. Fast does not outlast 300 ms, which KVM may take for a migration: two may act then.
func TestClocksThatStop(t *testing.T) {
	const ms = Time(time.Millisecond)
	for _, profile := range timing.Profiles() {
		for _, stops := range []time.Duration{profile.Stops, 300 * time.Millisecond} {
			two := 0
			for begins := range Time(30) {
				w := NewWorld()
				w.begin(Options{
					Algorithm: "Bully",
					Seed:      1,
					Guarded:   true,
					Clocks:    Clocks{Beyond: true},
					Quiet:     true,
					Processes: 5,
					Chaos:     forever,
					Lease: Lease{
						Lease:      profile.Lease,
						Shortest:   profile.LeaseMinimum,
						Preemption: lease.Never,
					},
				})
				w.route = func(_, _ int32, _ *node.Message, _ Time) Time { return w.now + ms }
				for p := range w.processes {
					w.processes[p].app.keeps = true
				}
				w.until(100*T + 2*Time(profile.Lease))
				p := w.lead(t)
				w.until(w.now + begins*4*ms)
				w.stopClocks(p, Time(stops))
				for end := w.now + Time(stops) + Time(profile.Lease); w.now < end; w.until(w.now + ms) {
					if w.permitted() > 1 {
						two++
						break
					}
				}
				if w.broken != nil {
					t.Fatal(w.broken)
				}
				if two == 0 && w.holder() != p {
					t.Errorf("%s: clocks stop for %v: P%d does not hold the lease any more", profile.Name,
						stops, p+1)
				}
			}
			if outlasts := stops <= profile.Stops; outlasts != (two == 0) {
				t.Errorf("%s: clocks stop for %v: two might act %d times of 30", profile.Name, stops, two)
			}
		}
	}
}
