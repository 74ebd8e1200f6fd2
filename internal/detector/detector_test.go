package detector_test

import (
	"slices"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/detector"
)

const heartbeat, timeout = 100 * time.Millisecond, 500 * time.Millisecond

// watching returns a detector that watches P5, and a clock that Ticks it as it asks to be.
func watching() (*detector.Detector, *clock) {
	c := &clock{now: 1000 * time.Second}
	c.d = detector.New(detector.Timing{Heartbeat: heartbeat, Timeout: timeout}, func() int {
		return c.rank
	})
	c.d.Watch("P5", nil, nil)
	return c.d, c
}

type clock struct {
	d     *detector.Detector
	rank  int // of this process
	now   detector.Instant
	asked []detector.Question
}

// run ticks until the given time has passed or the coordinator is suspected; each question is
// answered after the given time, unless that is 0.
func (c *clock) run(span, answer time.Duration) (suspected bool) {
	end := c.now + span
	type reply struct {
		at detector.Instant
		q  detector.Question
	}
	var replies []reply
	for c.now <= end {
		f := c.d.Tick(c.now)
		for _, q := range f.Ask {
			c.asked = append(c.asked, q)
			if answer > 0 {
				replies = append(replies, reply{c.now + answer, q})
			}
		}
		if f.Suspect != "" {
			return true
		}
		next := c.d.Next(c.now)
		if len(replies) > 0 && replies[0].at < next {
			c.now = replies[0].at
			c.d.Answered(replies[0].q.Process, replies[0].q.Sequence, c.now)
			replies = slices.Delete(replies, 0, 1)
			continue
		}
		c.now = next
	}
	return false
}

func TestAnsweringCoordinatorIsNotSuspected(t *testing.T) {
	d, c := watching()
	if c.run(time.Minute, 3*time.Millisecond) {
		t.Fatal("suspected")
	}
	if n := len(c.asked); n < 590 || n > 610 {
		t.Errorf("asked %d times in a minute at a heartbeat of 100 ms", n)
	}
	if d.T() != 2*heartbeat {
		t.Errorf("T is %v on a fast network, want its lower bound, two heartbeats", d.T())
	}
}

// Every process does this at every heartbeat, so it costs no memory once there is some: a Finding
// is valid until the next Tick, which writes over it.
func TestAHeartbeatAllocatesNothing(t *testing.T) {
	d, c := watching()
	others := []string{"P2", "P3", "P4"}
	if n := testing.AllocsPerRun(100, func() {
		d.Watch("P5", others, nil)
		c.now += heartbeat
		f := d.Tick(c.now)
		if len(f.Ask) != 4 {
			t.Fatalf("asks %v, want all four", f.Ask)
		}
		for _, q := range f.Ask {
			d.Answered(q.Process, q.Sequence, c.now+time.Millisecond)
		}
	}); n != 0 {
		t.Errorf("%v allocations a heartbeat", n)
	}
}

// Who is named twice is asked once, and what is known of a process stays while it is watched.
func TestWatchingAnew(t *testing.T) {
	d, c := watching()
	d.Tick(c.now)
	d.Watch("P5", []string{"P4", "P5", "P4"}, nil)
	if f := d.Tick(c.now + 1); len(f.Ask) != 1 || f.Ask[0].Process != "P4" {
		t.Errorf("asks %v, want P4 once: P5 has just been asked", f.Ask)
	}
	var f detector.Finding
	for end := c.now + timeout; c.now < end; {
		c.now += heartbeat
		f = d.Tick(c.now)
	}
	if !slices.Equal(f.Silent, []string{"P5"}) || f.Suspect != "P5" {
		t.Errorf("found %+v, want P5 silent: it has been asked for longest", f)
	}
}

func TestTFollowsTheNetworkWithinItsBounds(t *testing.T) {
	for answer, within := range map[time.Duration][2]time.Duration{
		time.Millisecond:      {200 * time.Millisecond, 200 * time.Millisecond},
		90 * time.Millisecond: {200 * time.Millisecond, 499 * time.Millisecond},
	} {
		d, c := watching()
		c.run(5*time.Second, answer)
		if d.T() < within[0] || d.T() > within[1] {
			t.Errorf("answers take %v: T is %v, want within %v", answer, d.T(), within)
		}
	}
	d, _ := watching()
	if d.T() != timeout {
		t.Errorf("T is %v before anything was measured, want the timeout", d.T())
	}
}

func TestSilenceIsSuspectedWithinT(t *testing.T) {
	d, c := watching()
	c.run(time.Second, time.Millisecond)
	since := c.now
	if !c.run(time.Minute, 0) {
		t.Fatal("not suspected")
	}
	if took := c.now - since; took > d.T()+heartbeat {
		t.Errorf("suspected after %v, want at most T and a heartbeat (%v)", took, d.T()+heartbeat)
	}
}

// A link closed by the peer's kernel: the runner-up suspects at once, the others in the order of
// their rank, all within T.
func TestClosedLinkStaggers(t *testing.T) {
	var last time.Duration = -1
	for _, rank := range []int{0, 1, 2, 18, 1000} {
		d, c := watching()
		c.run(time.Second, time.Millisecond)
		since := c.now
		c.rank = rank
		d.Closed("P5", c.now)
		if !c.run(time.Minute, time.Millisecond) {
			t.Fatalf("rank %d does not suspect", rank)
		}
		took := c.now - since
		if rank == 0 && took != 0 || took <= last || took > d.T() {
			t.Errorf("rank %d suspects after %v, after %v for the rank before", rank, took, last)
		}
		last = took
	}
}

// Silence, too: or all processes would call an election as soon as a coordinator stands still.
func TestSilenceStaggers(t *testing.T) {
	var last time.Duration
	for _, rank := range []int{0, 1, 2, 18, 1000} {
		d, c := watching()
		c.rank = rank
		c.run(time.Second, time.Millisecond)
		since := c.now
		if !c.run(time.Minute, 0) {
			t.Fatalf("rank %d does not suspect", rank)
		}
		took := c.now - since
		if took <= last || took > 2*d.T()+heartbeat {
			t.Errorf("rank %d suspects after %v, after %v for the rank before", rank, took, last)
		}
		last = took
	}
}

func TestOpenedTakesTheEvidenceBack(t *testing.T) {
	for name, there := range map[string]func(*detector.Detector, detector.Instant){
		"the link is there again": func(d *detector.Detector, _ detector.Instant) { d.Opened("P5") },
		"it is heard": func(d *detector.Detector, now detector.Instant) {
			d.Heard("P5", heartbeat, now)
		},
	} {
		d, c := watching()
		c.run(time.Second, time.Millisecond)
		c.rank = 3
		d.Closed("P5", c.now)
		there(d, c.now)
		if c.run(time.Second, time.Millisecond) {
			t.Errorf("suspected although %s", name)
		}
	}
}

// An answer to an earlier question than the newest says that the process lives, and not how long an
// answer takes.
func TestALateAnswerIsNotMeasured(t *testing.T) {
	d, c := watching()
	c.run(heartbeat, 0)
	if len(c.asked) < 2 {
		t.Fatalf("asked %v", c.asked)
	}
	d.Answered("P5", c.asked[0].Sequence, c.now)
	if d.T() != timeout {
		t.Errorf("T is %v, and nothing was measured", d.T())
	}
}

// A coordinator that takes part in an election has T to say that it coordinates, however often it
// is asked meanwhile. A link that closes is better evidence.
func TestElectingCoordinatorHasT(t *testing.T) {
	const moment = 50 * time.Millisecond
	for name, c := range map[string]struct {
		then func(*detector.Detector, detector.Instant)
		want time.Duration // after the moment; 0: it is not suspected
	}{
		"it goes on": {
			func(d *detector.Detector, now detector.Instant) { d.Electing("P5", now) },
			2*heartbeat - moment,
		},
		"it coordinates": {func(d *detector.Detector, _ detector.Instant) { d.Opened("P5") }, 0},
		"its link closes": {
			func(d *detector.Detector, now detector.Instant) {
				d.Closed("P5", now)
			},
			2 * time.Millisecond,
		},
		"another one elects": {
			func(d *detector.Detector, now detector.Instant) {
				d.Opened("P5")
				d.Electing("P4", now)
			},
			0,
		},
	} {
		d, c0 := watching()
		c0.rank = 1
		c0.run(time.Second, time.Millisecond)
		d.Electing("P5", c0.now)
		if c0.run(moment, time.Millisecond) {
			t.Fatalf("%s: suspected within %v", name, moment)
		}
		begun := c0.now
		c.then(d, begun)
		suspected := c0.run(time.Second, time.Millisecond)
		took := c0.now - begun
		if suspected != (c.want > 0) || suspected && (took > c.want || took < c.want/2) {
			t.Errorf("%s: suspected: %t, after %v, want %v", name, suspected, took, c.want)
		}
	}
}

// Evidence is acted on once in T, of whatever kind it is.
func TestSuspectedAgainAfterT(t *testing.T) {
	d, c := watching()
	c.run(time.Second, time.Millisecond)
	d.Electing("P5", c.now)
	if !c.run(time.Second, time.Millisecond) {
		t.Fatal("not suspected")
	}
	begun := c.now
	c.now++
	d.Closed("P5", c.now)
	if !c.run(time.Second, time.Millisecond) || c.now-begun < d.T() {
		t.Errorf("suspected again after %v, want %v", c.now-begun, d.T())
	}
}

// So is one whose link is closed.
func TestAClosedCoordinatorIsSuspectedAgain(t *testing.T) {
	d, c := watching()
	c.run(time.Second, time.Millisecond)
	d.Closed("P5", c.now)
	if !c.run(time.Second, time.Millisecond) {
		t.Fatal("not suspected")
	}
	begun := c.now
	if c.now++; !c.run(time.Second, time.Millisecond) || c.now-begun != d.T() {
		t.Errorf("suspected again after %v, want %v", c.now-begun, d.T())
	}
}

// A silent coordinator is suspected once, until it answers again.
func TestSilenceIsSuspectedOnce(t *testing.T) {
	d, c := watching()
	c.run(time.Second, time.Millisecond)
	if !c.run(time.Second, 0) || c.run(time.Minute, 0) {
		t.Error("not suspected once")
	}
	if d.T() != 2*heartbeat {
		t.Errorf("T is %v", d.T())
	}
}

func TestEvidenceAboutOthersIsNoSuspicion(t *testing.T) {
	d, c := watching()
	d.Closed("P4", c.now)
	if c.run(time.Second, time.Millisecond) {
		t.Error("suspected P5 because of P4")
	}
}

// A process that was stopped for long does not suspect when it goes on: the answers lie unread.
func TestOwnPauseIsNoEvidence(t *testing.T) {
	d, c := watching()
	c.run(time.Second, time.Millisecond)
	f := d.Tick(c.now + heartbeat)
	if len(f.Ask) != 1 {
		t.Fatal("nothing was asked")
	}
	c.now = c.now + time.Hour
	if f := d.Tick(c.now); f.Suspect != "" || len(f.Silent) > 0 {
		t.Error("suspected after its own pause")
	}
	if !c.run(time.Second, 0) {
		t.Error("not suspected although silence went on after the pause")
	}
}

// Who is watched besides the coordinator (a ring's successor) is reported silent, without
// suspecting the coordinator.
func TestSilentSuccessor(t *testing.T) {
	d := detector.New(detector.Timing{Heartbeat: heartbeat, Timeout: timeout}, nil)
	d.Watch("P5", []string{"P2"}, nil)
	now := 1000 * time.Second
	var silent []string
	for range 50 {
		f := d.Tick(now)
		for _, q := range f.Ask {
			if q.Process == "P5" {
				d.Answered("P5", q.Sequence, now)
			}
		}
		if f.Suspect != "" {
			t.Fatal("the coordinator is suspected")
		}
		silent = append(silent, f.Silent...)
		now = d.Next(now)
		if len(f.Ask) == 0 && len(f.Silent) == 0 {
			now = now + time.Millisecond
		}
	}
	if !slices.Equal(silent, []string{"P2"}) {
		t.Errorf("silent: %v, want P2 once", silent)
	}
}

// The coordinator sends heartbeats unasked, and each puts off when it is to be asked. Whoever watches
// it does not take that for a pause of its own: its successor, which is silent, is found silent in
// time.
func TestSilentSuccessorBesideHeartbeats(t *testing.T) {
	for _, every := range []time.Duration{25 * time.Millisecond, 50 * time.Millisecond} {
		d := detector.New(detector.Timing{Heartbeat: heartbeat, Timeout: timeout}, nil)
		d.Watch("P5", []string{"P2"}, nil)
		const begun, quiet = 1000 * time.Second, 5 * time.Second
		next, found := begun, time.Duration(0)
		for now := begun; now < begun+2*quiet && found == 0; now += time.Millisecond {
			if (now-begun)%every == 0 {
				d.Heard("P5", every, now)
				next = d.Next(now)
			}
			if now < next {
				continue
			}
			f := d.Tick(now)
			for _, q := range f.Ask {
				if q.Process == "P5" || now < begun+quiet {
					d.Answered(q.Process, q.Sequence, now)
				}
			}
			if len(f.Silent) > 0 {
				found = now - begun - quiet
			}
			next = d.Next(now)
		}
		if most := heartbeat + timeout + time.Millisecond; found <= 0 || found > most {
			t.Errorf("a heartbeat every %v: it is found after %v, want %v at most", every, found, most)
		}
	}
}

// Who is asked only is asked on, however long it is silent. From when its silence counts, it has T.
func TestAskedOnly(t *testing.T) {
	d := detector.New(detector.Timing{Heartbeat: heartbeat, Timeout: timeout}, nil)
	now := 1000 * time.Second
	run := func(span time.Duration) (asked int, silent []string) {
		for end := now + span; now < end; now = min(d.Next(now), end) {
			f := d.Tick(now)
			asked, silent = asked+len(f.Ask), append(silent, f.Silent...)
		}
		return asked, silent
	}
	d.Watch("", nil, []string{"P2", "P2"})
	if asked, silent := run(10 * timeout); asked < 40 || asked > 51 || len(silent) > 0 {
		t.Errorf("asked %d times in %v, and silent: %v", asked, 10*timeout, silent)
	}
	d.Watch("", []string{"P2"}, []string{"P2"})
	if _, silent := run(timeout); len(silent) > 0 {
		t.Errorf("silent: %v, though its silence counts for less than T", silent)
	}
	if _, silent := run(heartbeat); !slices.Equal(silent, []string{"P2"}) {
		t.Errorf("silent: %v, want P2: T has passed", silent)
	}
}

// A process that was silent before it became the coordinator gets T from then on to answer, as any
// other new coordinator.
func TestSilentProcessBecomesCoordinator(t *testing.T) {
	for _, answer := range []time.Duration{0, 3 * time.Millisecond} {
		d, c := watching()
		d.Watch("", []string{"P5"}, nil)
		c.run(time.Second, 0)
		d.Watch("P5", []string{"P5"}, nil)
		if c.run(timeout-time.Millisecond, answer) {
			t.Errorf("answers after %s: suspected before T has passed", answer)
		}
		if got := c.run(2*time.Millisecond+heartbeat, answer); got != (answer == 0) {
			t.Errorf("answers after %s: suspected %t", answer, got)
		}
	}
}
