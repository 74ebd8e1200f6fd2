package electiontest

import (
	"math/rand/v2"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
)

// clock is a machine's clocks. They run at constant rates, in millionths of true time; nobody sets but the wall clock.
type clock struct {
	offset          time.Duration // of CLOCK_BOOTTIME
	rate, raw, wall int64
	stepped         time.Duration // what the wall clock was set by so far
}

// true time goes at this rate.
const right = 1_000_000

// within draws clocks that keep the bound: each rate is off by at most so many thousandths.
func (c *clock) within(rng *rand.Rand, perMille int) {
	off := func() int64 { return right + int64(rng.IntN(2*perMille*1000+1)-perMille*1000) }
	*c = clock{offset: time.Duration(rng.Int64N(int64(time.Hour))), rate: off()}
	// Both other clocks are within ε of it for as long as a lease, or the holder would step down all the time.
	near := func() int64 { return c.rate + int64(rng.IntN(40_001)-20_000) }
	c.raw, c.wall = near(), near()
}

// at is how a clock of that rate has advanced.
func at(now Time, rate int64) time.Duration {
	return time.Duration(int64(now) * rate) // a Time is a millisecond, and a rate counts nanoseconds of it
}

func (c *clock) boot(now Time) lease.Instant { return c.offset + at(now, c.rate) }

func (c *clock) read(now Time) lease.Reading {
	return lease.Reading{Boot: c.boot(now), Raw: at(now, c.raw), Wall: at(now, c.wall) + c.stepped}
}

// when is the first instant at which the clock shows i or more.
func (c *clock) when(i lease.Instant) Time {
	elapsed := int64(i - c.offset)
	if elapsed <= 0 {
		return 0
	}
	return Time((elapsed + c.rate - 1) / c.rate)
}

// duration is how long d of virtual time is on this clock.
func (c *clock) duration(d Time) time.Duration { return at(d, c.rate) }
