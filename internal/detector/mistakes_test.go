package detector_test

import (
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/detector"
)

// crowd returns a detector of a group that may be too many for its machines.
func crowd() (*detector.Detector, *clock) {
	d, c := watching()
	d.SetTiming(detector.Timing{
		Heartbeat: heartbeat,
		Timeout:   timeout,
		Crowded:   5 * time.Second,
	})
	c.run(5*time.Second, time.Millisecond)
	return d, c
}

// mistake has P5 answer a question only after so long, and then become the coordinator once more.
func (c *clock) mistake(took time.Duration) {
	for len(c.d.Tick(c.now).Ask) == 0 {
		c.now = c.d.Next(c.now)
	}
	asked := c.now
	if c.run(took, 0) {
		c.d.Watch("", []string{"P5"}, nil)
		c.run(asked+took-c.now, 0)
	}
	c.now = asked + took
	last := c.asked[len(c.asked)-1]
	c.d.Answered("P5", last.Sequence, c.now)
	c.d.Watch("P5", nil, nil)
}

// bothLate has P5 answer late, and then P4.
func (c *clock) bothLate(took time.Duration) {
	c.mistake(took)
	c.d.Late("P4", took, c.d.T(), c.now)
}

// What a process that was named silent answers late says how long T should have been, but one such
// process no more than doubles T.
func TestALateAnswerLengthensT(t *testing.T) {
	for took, want := range map[time.Duration]struct{ one, two time.Duration }{
		150 * time.Millisecond: {2 * heartbeat, 3 * heartbeat}, // P5's is no mistake
		250 * time.Millisecond: {4 * heartbeat, 5 * heartbeat},
		800 * time.Millisecond: {4 * heartbeat, 1600 * time.Millisecond},
		4 * time.Second:        {4 * heartbeat, 5 * time.Second}, // as long as it may become
		21 * time.Second:       {2 * heartbeat, 2 * heartbeat},   // they stood still, or were cut off
	} {
		d, c := crowd()
		check := func(who string, want time.Duration) {
			if got := d.T(); got < want || got > want+heartbeat/4 {
				t.Errorf("an answer of %s took %v: T is %v, want %v", who, took, got, want)
			}
		}
		c.mistake(took)
		check("one process", want.one)
		d, c = crowd()
		c.bothLate(took)
		check("two processes", want.two)
	}
}

// If one was late for long and another one for a moment, what both took counts, in any order.
func TestOneIsLateForLonger(t *testing.T) {
	for _, late := range [][]time.Duration{
		{4 * time.Second, 300 * time.Millisecond}, {300 * time.Millisecond, 4 * time.Second},
	} {
		d, c := crowd()
		for i, took := range late {
			d.Late([]string{"P4", "P3"}[i], took, 2*heartbeat, c.now)
		}
		if want := 600 * time.Millisecond; d.T() != want {
			t.Errorf("%v: T is %v, want %v", late, d.T(), want)
		}
	}
}

// One process that is late again and again has T become as long as it may, step by step.
func TestTheSameProcessIsLateAgain(t *testing.T) {
	d, c := crowd()
	for before := d.T(); before < 5*time.Second; before = d.T() {
		c.mistake(4900 * time.Millisecond)
		if want := min(2*before, 5*time.Second); d.T() != want {
			t.Fatalf("T was %v and is %v, want %v", before, d.T(), want)
		}
	}
}

// One that is late every eight seconds is not suspected for ever.
func TestAProcessIsLateRegularly(t *testing.T) {
	d, c := crowd()
	for range 10 {
		c.mistake(800 * time.Millisecond)
		if c.run(7*time.Second, time.Millisecond) {
			t.Fatal("suspected, and not late")
		}
	}
	if d.T() < 800*time.Millisecond {
		t.Errorf("T is %v", d.T())
	}
}

// Processes that are late long after one another say nothing of the machine.
func TestTwoAreLateAtDifferentTimes(t *testing.T) {
	d, c := crowd()
	c.mistake(4 * time.Second)
	c.run(7*time.Second, time.Millisecond)
	c.d.Late("P4", 4*time.Second, d.T(), c.now)
	if d.T() > 4*heartbeat {
		t.Errorf("T is %v", d.T())
	}
}

// T may have been halved, or measured anew, when the late answer comes: it is the T that was too
// short that is doubled.
func TestTheTThatWasTooShort(t *testing.T) {
	d, c := crowd()
	c.d.Late("P4", time.Second, 400*time.Millisecond, c.now)
	if d.T() != 800*time.Millisecond {
		t.Errorf("T is %v", d.T())
	}
}

// In a group whose T has no more room, a late answer changes nothing.
func TestTHasNoMoreRoom(t *testing.T) {
	d, c := watching()
	c.run(5*time.Second, time.Millisecond)
	c.mistake(400 * time.Millisecond)
	if d.T() > timeout {
		t.Errorf("T is %v", d.T())
	}
}

// A coordinator that is elected again before it has answered has answered late, too.
func TestTheSilentIsElectedAgain(t *testing.T) {
	d, c := crowd()
	if !c.run(time.Second, 0) {
		t.Fatal("not suspected")
	}
	d.Watch("", []string{"P5"}, nil)
	d.Watch("P5", nil, nil)
	c.run(time.Second, 100*time.Millisecond)
	if d.T() < 4*heartbeat {
		t.Errorf("T is %v: it took three heartbeats to answer", d.T())
	}
}

// When there was no mistake for 16 T, T is halved, and so on until it is what is measured. If it
// was halved too early, the next time takes twice as long.
func TestMistakesAreForgottenSlowly(t *testing.T) {
	d, c := crowd()
	halved := func() time.Duration {
		before, since := d.T(), c.now
		for d.T() > before*3/4 && c.now < since+time.Hour {
			if c.run(heartbeat, time.Millisecond) {
				t.Fatal("suspected")
			}
		}
		return c.now - since
	}
	c.bothLate(800 * time.Millisecond)
	first := halved()
	c.bothLate(1200 * time.Millisecond)
	second := halved() / 3 * 2  // of a T that is 3/2 as long
	c.bothLate(5 * time.Second) // that would have been a mistake before, too
	third := halved()
	if third < 31*5*time.Second || third > 33*5*time.Second {
		t.Errorf("halved %v after a mistake for which halving it was not to blame", third)
	}
	if first < 15*1600*time.Millisecond || second < first*3/2 || second > first*5/2 {
		t.Errorf("halved after %v, and after another mistake by the same measure after %v", first, second)
	}
	c.run(20*time.Minute, time.Millisecond)
	if d.T() != 2*heartbeat {
		t.Errorf("T is %v in the end", d.T())
	}
}

// A group that shrinks has the T of a small one.
func TestTheCrowdLeaves(t *testing.T) {
	d, c := crowd()
	c.bothLate(800 * time.Millisecond)
	d.SetTiming(detector.Timing{Heartbeat: heartbeat, Timeout: timeout})
	if d.T() > timeout {
		t.Errorf("T is %v", d.T())
	}
}

// What a process missed does not count when its link has closed, or when this process itself stood
// still: the late answer says nothing of T then.
func TestWhatIsNoMistake(t *testing.T) {
	for name, then := range map[string]func(*detector.Detector, *clock){
		"its link closes": func(d *detector.Detector, c *clock) {
			d.Closed("P5", c.now)
		},
		"this process stands still": func(d *detector.Detector, c *clock) {
			c.now += 2 * time.Second
			d.Tick(c.now)
		},
	} {
		d, c := crowd()
		c.run(time.Second, 0)
		d.Watch("", []string{"P5"}, nil)
		c.run(time.Second, 0)
		then(d, c)
		d.Answered("P5", c.asked[len(c.asked)-1].Sequence, c.now)
		if d.T() > timeout {
			t.Errorf("%s: T is %v", name, d.T())
		}
	}
}
