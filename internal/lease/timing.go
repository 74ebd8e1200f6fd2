package lease

import "time"

// Instant is a reading of CLOCK_BOOTTIME: the time since the machine was started, suspended or not. Readings of two machines do not
// compare.
type Instant = time.Duration

// The numbers of the protocol (docs/reference/lease.md).
const (
	// driftPercent is ρ: how much the rate of a machine's clock may be off.
	driftPercent = 10
	// Disagreement is ε: how far two clocks of a machine may come apart within a lease, beyond ρ, before the holder distrusts them.
	Disagreement = 50 * time.Millisecond

	// missed is how many heartbeats, beyond T, a holder counts as heard after its last renewal (V9).
	missed = 2
	// preVotes is how many preVotes in a row may find no majority before a candidate rests (C5).
	preVotes = 2
	// restLeast and restMore bound its rest, and that of a holder that lapsed, in T: 4 to 8.
	restLeast, restMore = 4, 4
	// fallbackLeast and fallbackMore bound, in T and beyond one lease, when a process nominates itself (C9).
	fallbackLeast, fallbackMore = 6, 6
	// ahead is by how many ballots one voter may be ahead of the others to be followed up at once (C3, LH9).
	ahead = 1 << 4
	// offerFor is how long a process may take to yield after an offer, in T, and declineFor when it is offered again (P5).
	offerFor, declineFor = 2, 10
)

// Window is how long a holder relies on a promise of the given lease, on its own clock from the instant it sent the claim (LH1):
// L·(1−ρ)/(1+ρ). A voter whose clock runs fast by ρ ends the promise after L/(1+ρ) of true time; a holder whose clock runs
// slow by ρ counts (1−ρ) of that.
func Window(lease time.Duration) time.Duration {
	return lease * (100 - driftPercent) / (100 + driftPercent)
}

// Outlast is how long to wait, on one's own clock, until a promise of the given lease has run out on any other (MC4):
// L·(1+ρ)/(1−ρ).
func Outlast(lease time.Duration) time.Duration {
	const slow = 100 - driftPercent
	return (lease*(100+driftPercent) + slow - 1) / slow
}

// Reading is a reading of a machine's clocks at one instant.
type Reading struct {
	Boot Instant       // CLOCK_BOOTTIME: all that the protocol counts
	Raw  time.Duration // CLOCK_MONOTONIC_RAW: no time server speeds it up or slows it down
	Wall time.Duration // the wall clock, since 1970
}

// disagrees reports whether the clocks advanced differently since an earlier reading, by more than ρ of the way and ε (LH7).
func (r Reading) disagrees(since Reading) bool {
	boot := r.Boot - since.Boot
	allowed := boot*driftPercent/100 + Disagreement
	return boot < 0 || apart(boot, r.Raw-since.Raw) > allowed || apart(boot, r.Wall-since.Wall) > allowed
}

func apart(a, b time.Duration) time.Duration { return max(a-b, b-a) }
