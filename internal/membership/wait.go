package membership

import "time"

// MaxClockDriftPercent is ρ: by how much the rate of a machine's clock may be off. It is the same
// as in internal/lease.
const MaxClockDriftPercent = 10

// Outlast returns how long to wait, on one's own clock, until a promise of the given lease has run
// out on any other: L·(1+ρ)/(1−ρ), where L is the lease. A clock that is slow by ρ takes L/(1−ρ) of
// true time for L, and a clock that is fast by ρ counts (1+ρ) of that.
func Outlast(lease time.Duration) time.Duration {
	const slow = 100 - MaxClockDriftPercent
	return (lease*(100+MaxClockDriftPercent) + slow - 1) / slow
}

// elapsed reports whether wait has passed since then, and how much of it is left otherwise. Since a
// zero time nothing passes, and nothing is left either: it takes an event.
func elapsed(then time.Time, wait time.Duration, now time.Time) (passed bool, left time.Duration) {
	if then.IsZero() {
		return false, 0
	}
	left = then.Add(wait).Sub(now)
	return left <= 0, max(left, 0)
}

// sooner returns the shorter of two waits, where zero is never.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// heldSince returns when a condition became true: since earlier, or since now if earlier is zero.
// It returns zero if the condition is false.
func heldSince(holds bool, earlier, now time.Time) time.Time {
	switch {
	case !holds:
		return time.Time{}
	case earlier.IsZero():
		return now
	default:
		return earlier
	}
}
