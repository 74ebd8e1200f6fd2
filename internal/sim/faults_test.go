package sim

import (
	"testing"
	"time"
)

// Each fault that befalls machines, disks, apps and managers, alone, in a group that was quiet:
// what it does is seen, the invariants hold all the time, and somebody acts again.

// struck is a group of three in which P3 leads and its app acts.
func struck(t *testing.T, seed uint64, session bool) (w *World, p int32) {
	t.Helper()
	w = script(t, seed, 3)
	for i := range w.processes {
		w.processes[i].app.keeps = session
	}
	p = w.lead(t)
	w.await(t, "its app acts", func() bool {
		return w.acts(p) && session == (w.processes[p].app.session != nil)
	})
	return w, p
}

// await lets the group run until something is so.
func (w *World) await(t *testing.T, what string, so func() bool) {
	t.Helper()
	for end := w.now + 200*T; !so(); w.until(w.now + Unit/100) {
		if w.broken != nil || w.now >= end {
			t.Fatalf("%s: not within 200 T; %v", what, w.broken)
		}
	}
}

// another waits until another process leads, and its app acts.
func (w *World) another(t *testing.T, p int32) {
	t.Helper()
	w.await(t, "another one acts", func() bool { q := w.holder(); return q >= 0 && q != p && w.acts(q) })
}

func TestFaults(t *testing.T) {
	for name, strike := range map[string]func(t *testing.T, seed uint64){
		"an app outlives its agent":                 appOutlivesAgent,
		"an app outlives its session":               appOutlivesSession,
		"a machine is suspended":                    suspended,
		"a wall clock is set":                       wallClockSet,
		"a machine's clocks run apart":              clocksApart,
		"a leaseholder's writes are refused":        refusedWrites,
		"a crash tears a voter's write":             tornWrite,
		"two managers, one of which is behind":      twoManagers,
		"a manager is deposed and does not know it": deposedManager,
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(12) {
				strike(t, seed)
			}
		})
	}
}

// appOutlivesAgent: the app goes on until its deadline, and nobody else acts before.
func appOutlivesAgent(t *testing.T, seed uint64) {
	w, p := struck(t, seed, false)
	w.processes[p].up = false
	w.halt(p)
	if !w.acts(p) {
		t.Error("the app stops when its agent dies")
	}
	w.another(t, p)
	if w.acts(p) {
		t.Error("both act")
	}
}

// appOutlivesSession: the agent cuts the session, as it does where an app does not read. The app
// goes on until its deadline, and its process is no candidate until it has another session.
func appOutlivesSession(t *testing.T, seed uint64) {
	w, p := struck(t, seed, true)
	w.Deaf = 1000
	w.cutSession(p)
	if !w.acts(p) {
		t.Error("the app stops when its session is cut")
	}
	under := w.oracle().holds[p].epoch
	w.await(t, "its lease is over", func() bool { return w.oracle().holds[p].epoch != under })
	w.await(t, "somebody acts under another epoch", func() bool {
		q := w.holder()
		return q >= 0 && w.acts(q) && w.processes[q].app.epoch > under
	})
}

// suspended: nothing runs on the leaseholder's machine for three leases. When it wakes up it knows
// that its time is over.
func suspended(t *testing.T, seed uint64) {
	w, p := struck(t, seed, false)
	const length = 3 * Time(time.Second)
	w.sleep(p, length)
	w.processes[p].clock.suspend(length)
	until := w.now + length
	w.another(t, p)
	if w.now >= until {
		t.Error("nobody took over meanwhile")
	}
	w.until(until + 1)
	if w.acts(p) && w.holder() != p {
		t.Error("it wakes up and acts")
	}
}

// wallClockSet: by an hour. The leaseholder steps down.
func wallClockSet(t *testing.T, seed uint64) {
	w, p := struck(t, seed, false)
	w.processes[p].clock.wall.shown += time.Hour
	w.another(t, p)
}

// clocksApart: CLOCK_BOOTTIME runs 20 % faster than the others, by so little at a time that no step
// shows it. The leaseholder notices within the 10 s after which it compares them.
func clocksApart(t *testing.T, seed uint64) {
	w, p := struck(t, seed, false)
	w.changeRateOf(p)
	v := &w.processes[p]
	v.clock.boot.rate, v.clock.raw.rate, v.clock.wall.rate = right*12/10, right, right
	w.oracleRates(p)
	begun := w.now
	w.another(t, p)
	if took := w.now - begun; took > Time(12*time.Second) {
		t.Errorf("noticed after %s", clockFormat(took))
	}
}

// refusedWrites: the leaseholder's disk refuses all that a new roster has it write. It stops
// acting, and another one leads, whatever of the refused writes is there.
func refusedWrites(t *testing.T, seed uint64) {
	w, p := struck(t, seed, false)
	w.Options.Refused = 1000
	w.api.pods[p].priority++
	w.await(t, "it holds nothing", func() bool { return w.holder() != p })
	w.Options.Refused = 0
	w.await(t, "somebody acts", func() bool { q := w.holder(); return q >= 0 && w.acts(q) })
}

// tornWrite: a voter crashes while it writes what it has promised, and starts with what is there.
func tornWrite(t *testing.T, seed uint64) {
	w, p := struck(t, seed, false)
	q := (p + 1) % 3
	w.Slow = 1000
	w.api.pods[p].priority++
	w.await(t, "a voter writes", func() bool { return w.processes[q].disk.busy })
	w.Slow = 0
	w.processes[q].up = false
	w.halt(q)
	w.start(q, false)
	w.await(t, "somebody acts", func() bool {
		h := w.holder()
		return h >= 0 && w.acts(h) && w.processes[q].roster == w.api.newest().node
	})
}

// twoManagers: one leads, the other acts on with what it knew before a pod was replaced. The status
// decides: no generation has two rosters.
func twoManagers(t *testing.T, seed uint64) {
	w, p := struck(t, seed, false)
	w.managers[0].actsOn, w.managers[1].actsOn = forever, forever
	before := w.api.version
	w.leader = 1 - w.leader
	w.api.pods[(p+1)%3].priority += 10
	w.await(t, "a roster has the new priority, and somebody acts by it", func() bool {
		h := w.holder()
		return w.api.version > before && h >= 0 && w.acts(h) && w.processes[h].roster == w.api.newest().node
	})
	for i, r := range w.api.rosters[1:] {
		if last := w.api.rosters[i]; r.group == last.group && r.node.Generation <= last.node.Generation {
			t.Errorf("generation %d after %d", r.node.Generation, last.node.Generation)
		}
	}
}

// deposedManager goes on with a stale cache while the group changes under the other one: it
// persists nothing.
func deposedManager(t *testing.T, seed uint64) {
	w, p := struck(t, seed, false)
	old := w.leader
	w.managers[old].actsOn = forever
	w.leader = 1 - w.leader
	w.managers[w.leader].down = forever // so nobody else persists
	before := w.api.version
	w.api.pods[p].priority = 0
	w.until(w.now + 50*T)
	if w.api.version != before {
		t.Error("who is deposed persists what it cannot know")
	}
	if w.holder() != p {
		t.Errorf("place %d leads", w.holder())
	}
}
