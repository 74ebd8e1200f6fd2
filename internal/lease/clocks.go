package lease

import "time"

// LH7. If CLOCK_BOOTTIME, CLOCK_MONOTONIC_RAW and the wall clock advanced differently, by more than
// ρ of the time that passed and ε, the leaseholder steps down. They are compared with what they
// showed at the step before, where ε is so much that only a clock that was set, or stood still, is
// noticed; then it rests for 4 to 8 T. And they are compared with what they showed 5
// to 10 s ago, whatever the lease, where ρ counts; whoever finds that, leaseholder or not,
// withdraws its candidacy until 5 s after they have agreed again.

// Reading is a reading of a machine's clocks at one instant.
type Reading struct {
	Boot Instant       // CLOCK_BOOTTIME: the protocol counts with this clock only
	Raw  time.Duration // CLOCK_MONOTONIC_RAW: no time server changes its rate
	Wall time.Duration // the wall clock, since 1970
}

// disagrees reports whether the clocks advanced differently since an earlier reading, by more than
// ρ of the time that passed and ε (LH7).
func (r Reading) disagrees(since Reading) bool {
	boot := r.Boot - since.Boot
	return boot < 0 || apart(boot, r.Raw-since.Raw) || apart(boot, r.Wall-since.Wall)
}

// apart reports whether two clocks have advanced so differently. If one of them is right, the other
// is off by more than ρ.
func apart(a, b time.Duration) bool {
	return max(a-b, b-a) > max(a, b)*driftPercent/100+Disagreement
}

// clocks are the readings that LH7 compares. A short time shows when a clock was set, but no rate,
// which within one heartbeat is lost in ε; a long time shows rates.
type clocks struct {
	last   Reading // at the Step before
	newer  Reading // becomes older when it is anchorAge old
	older  Reading // an anchor once it is anchorAge old
	jumped bool    // they disagree since the Step before
	drift  bool    // they disagree since the anchor
}

// startClocks has the clocks compared from now on.
func startClocks(now Reading) clocks {
	return clocks{
		last:  now,
		newer: now,
		older: now,
	}
}

// watch compares the clocks. After a jump the anchors begin anew: it must not count as a rate.
func (c *clocks) watch(now Reading) {
	c.jumped = now.disagrees(c.last)
	c.last = now
	switch {
	case c.jumped:
		c.newer, c.older = now, now
	case now.Boot-c.newer.Boot >= anchorAge:
		c.older, c.newer = c.newer, now
	}
	c.drift = now.Boot-c.older.Boot >= anchorAge && now.disagrees(c.older)
}

// distrustClocks ends a lease if the clocks disagree, and a candidacy while their rates do (LH7).
func (m *Machine) distrustClocks() {
	if m.leaseholder.held != nil && (m.clocks.jumped || m.clocks.drift) {
		m.stepDown(m.successor())
		m.withdraw(m.roster.hasRival(m.self.Name))
	}
	if m.clocks.drift {
		m.candidacy.restsUntil = m.now.Boot + anchorAge
		m.candidacy.retryAt = m.candidacy.restsUntil
	}
}
