package lease

import "time"

// Instant is a reading of CLOCK_BOOTTIME: the time since the machine was started, including the
// time that it was suspended. Readings of two machines do not compare.
type Instant = time.Duration

// The numbers of the protocol.
const (
	// driftPercent is ρ: by how much the rate of a machine's clock may be off. NTP slews by 0.05 %,
	// chrony by up to 8.3 %, and the kernel allows 10 %.
	driftPercent = 10
	// Disagreement is ε: how far two clocks of a machine may come apart, in addition to ρ, before
	// the leaseholder distrusts them (LH7).
	Disagreement = 50 * time.Millisecond
	// anchorAge is how old the reading at least is that rates are judged by (LH7).
	anchorAge = 5 * time.Second

	// beats is how often a lease is renewed at least while it runs (LH10).
	beats = 4
	// slowVotes is for how many renewals votes may be sought beside a lease until the renewals are for
	// the longest lease (LH5).
	slowVotes = 3
	// missedHeartbeats is how many heartbeats, in addition to T, may pass since the last renewal
	// until a leaseholder is no longer heard (V9).
	missedHeartbeats = 2
	// preVoteAttempts is how many pre-votes in a row may find no majority before a candidate
	// withdraws for a while (C5).
	preVoteAttempts = 2
	// splitAfter is how long a voter may take to answer, in T, if others deny; maxSplits bounds, as a
	// power of two, the random part of T until the next attempt (C6).
	splitAfter, maxSplits = 2, 3
	// restLeast and restMore bound how long it withdraws (C5, LH4), in T: 4 to 8.
	restLeast, restMore = 4, 4
	// fallbackLeast and fallbackMore bound when a process nominates itself (C9): one lease and 6 to
	// 12 T.
	fallbackLeast, fallbackMore = 6, 6
	// maxBallotLead is how many ballots one voter may be ahead of the others and still be outbid at
	// once (C3, LH9). It limits what a voter that lies can do.
	maxBallotLead = 1 << 4
	// transferTimeout is how long a process may take to answer a TRANSFER with a TAKE OVER, and
	// transferPause how long it is not asked again after it did not, both in T (PR5).
	transferTimeout, transferPause = 2, 10
	// heirSilence is for how long an heir may ask for nothing after the RELEASE, in T or heartbeats,
	// whichever is longer (F3).
	heirSilence = 2
)

// Window returns how long a leaseholder relies on a promise for the given lease (LH1):
// L·(1−ρ)/(1+ρ). A voter whose clock runs fast by ρ ends the promise after L/(1+ρ) of true time. A
// leaseholder whose clock runs slow by ρ measures only (1−ρ) of that time.
func Window(lease time.Duration) time.Duration {
	return lease * (100 - driftPercent) / (100 + driftPercent)
}

// Outlast returns how long to wait, on one's own clock, until a promise for the given lease has
// run out on every other clock (MC4): L·(1+ρ)/(1−ρ), rounded up.
func Outlast(lease time.Duration) time.Duration {
	const slow = 100 - driftPercent
	return (lease*(100+driftPercent) + slow - 1) / slow
}

// heartbeat returns how often a lease is renewed (LH10): as often as the roster says, and at least
// four times while it runs.
func (r *Roster) heartbeat(lease time.Duration) time.Duration {
	return max(min(r.Heartbeat, lease/beats), time.Millisecond)
}
