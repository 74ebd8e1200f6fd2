package sim

import (
	"math/rand/v2"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
)

// clock is a machine's clocks. Their rates are in millionths of true time, and may change; nobody
// sets but the wall clock.
type clock struct {
	since           Time // when the rates changed last
	boot, raw, wall clockFace
}

// clockFace is one clock: what it showed at the last change of its rate, and how fast it runs.
type clockFace struct {
	shown lease.Instant
	rate  int64
}

// right is the rate of true time.
const right = 1_000_000

// near is how far, in millionths, two clocks of a machine drift apart at most while nothing is
// wrong with it: otherwise a leaseholder would step down all the time (LH7).
const near = 20_000

// draw sets clocks that are each off by at most so many thousandths, as of now.
func (c *clock) draw(rng *rand.Rand, perMille int, now Time) {
	shown := [...]lease.Instant{c.boot.at(now, c.since), c.raw.at(now, c.since),
		c.wall.at(now, c.since)}
	c.since = now
	c.boot = clockFace{shown: shown[0], rate: right}
	if perMille > 0 {
		c.boot.rate += int64(rng.IntN(2*perMille*1000+1) - perMille*1000)
	}
	c.raw = clockFace{shown: shown[1], rate: c.boot.rate + int64(rng.IntN(2*near+1)-near)}
	c.wall = clockFace{shown: shown[2], rate: c.boot.rate + int64(rng.IntN(2*near+1)-near)}
}

// at is what the clock shows. The two halves of the product keep it within 64 bits.
func (f *clockFace) at(now, since Time) lease.Instant {
	elapsed := int64(now - since)
	return f.shown + time.Duration(elapsed/right*f.rate+elapsed%right*f.rate/right)
}

// read reads all three.
func (c *clock) read(now Time) lease.Reading {
	return lease.Reading{
		Boot: c.boot.at(now, c.since),
		Raw:  c.raw.at(now, c.since),
		Wall: c.wall.at(now, c.since),
	}
}

// instant reads CLOCK_BOOTTIME.
func (c *clock) instant(now Time) lease.Instant { return c.boot.at(now, c.since) }

// when is the first moment at which CLOCK_BOOTTIME shows i or more, at its present rate.
func (c *clock) when(i lease.Instant) Time {
	left := int64(i - c.boot.shown)
	if left <= 0 {
		return c.since
	}
	t := c.since + Time(left/c.boot.rate*right+left%c.boot.rate*right/c.boot.rate)
	for c.boot.at(t, c.since) < i {
		t++
	}
	return t
}

// suspend stops the raw clock for a while: CLOCK_BOOTTIME and the wall clock go on.
func (c *clock) suspend(length Time) { c.raw.shown -= time.Duration(length) }
