package timeline

import (
	"testing"
	"time"

	"github.com/podesta-dev/podesta/test/register"
)

// The stories' lease, and how long a promise of it is relied on.
const (
	leaseTime = 1000 * time.Millisecond
	window    = 818181818
)

const ms = register.Instant(time.Millisecond)

func guarded(at register.Instant, process string, epoch int64, promised register.Instant) register.Entry {
	return register.Entry{At: at, Accepted: true, Write: register.Write{Process: process, Epoch: epoch, Heard: at, Deadline: promised + window}}
}

// A coordinator that is cut off goes on writing under what it was promised before; that is no
// answer to the cut. The next one's write is.
func TestWhatWasPromisedBeforeIsNoRecovery(t *testing.T) {
	l := &Line{Taken: []register.Entry{
		guarded(90*ms, "a", 5, 80*ms),
		guarded(150*ms, "a", 5, 95*ms), // told after the cut, promised before
		guarded(1100*ms, "b", 6, 1050*ms),
		guarded(1300*ms, "a", 7, 1250*ms), // preempts
	}}
	s := Span{From: 100 * ms, To: 2000 * ms}
	before := l.Last(s.From)
	if before != (Holder{Process: "a", Epoch: 5}) {
		t.Errorf("before: %v", before)
	}
	first, at, ok := l.After(s, before, false, leaseTime)
	if want := (Holder{Process: "b", Epoch: 6}); !ok || first != want || at != 1100*ms {
		t.Errorf("%+v at %d, %t", first, at, ok)
	}
	if _, _, ok := l.After(Span{From: 100 * ms, To: 1000 * ms}, before, false, leaseTime); ok {
		t.Error("nobody was permitted to act until then")
	}
}

// A coordinator that is asked to go acts until it has handed over: what is measured is the
// hand-over.
func TestAskedToGo(t *testing.T) {
	a, b := Holder{Process: "a", Epoch: 5}, Holder{Process: "b", Epoch: 6}
	l := &Line{Taken: []register.Entry{guarded(150*ms, "a", 5, 120*ms), guarded(300*ms, "b", 6, 250*ms)}}
	s := Span{From: 100 * ms, To: 2000 * ms}
	if first, at, ok := l.After(s, a, true, leaseTime); !ok || first != b || at != 300*ms {
		t.Errorf("%+v at %d, %t", first, at, ok)
	}
	if first, _, ok := l.After(Span{From: 100 * ms, To: 200 * ms}, a, true, leaseTime); !ok || first != a {
		t.Errorf("nobody came: %+v, %t", first, ok)
	}
}

// A Classic session is told once; its later checks count. A poll counts by its answer.
func TestProvenInClassicGroups(t *testing.T) {
	for name, c := range map[string]struct {
		write register.Write
		want  bool
	}{
		"told before":                    {register.Write{Heard: 90}, false},
		"told after":                     {register.Write{Heard: 110}, true},
		"session, checked before":        {register.Write{Heard: 50, Checked: 90, Session: true}, false},
		"session, checked after":         {register.Write{Heard: 50, Checked: 110, Session: true}, true},
		"polled before, checked after":   {register.Write{Heard: 50, Checked: 110}, false},
		"deadline of an earlier promise": {register.Write{Heard: 110, Deadline: window + 100}, false},
		"deadline of a later promise":    {register.Write{Heard: 110, Deadline: window + 101}, true},
	} {
		if got := Proven(register.Entry{Write: c.write}, 100, leaseTime); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// Status and Service are measured until they name somebody else, and only if somebody else acts.
func TestTimes(t *testing.T) {
	a, b := Holder{Process: "a", Epoch: 5}, Holder{Process: "b", Epoch: 6}
	l := &Line{
		Named: []Step{{At: 10 * ms, Holder: a}, {At: 150 * ms}, {At: 300 * ms, Holder: b}, {At: 400 * ms, Holder: a}},
		Led:   []Step{{At: 10 * ms, Holder: Holder{Process: "a"}}, {At: 200 * ms}, {At: 350 * ms, Holder: Holder{Process: "b"}}},
	}
	s := Span{From: 100 * ms, To: 1000 * ms}
	times := l.Times(s, a, b, 250*ms)
	if *times.Acts != 150 || *times.Status != 200 || *times.Service != 250 {
		t.Errorf("acts %v, status %v, service %v", *times.Acts, *times.Status, *times.Service)
	}
	same := l.Times(s, a, a, 250*ms)
	if *same.Acts != 150 || same.Status != nil || same.Service != nil {
		t.Errorf("nothing changed: %+v", same)
	}
	again := l.Times(s, a, Holder{Process: "a", Epoch: 6}, 250*ms)
	if again.Status == nil || again.Service != nil {
		t.Errorf("the same pod under another epoch: %+v", again)
	}
	if late := l.Times(Span{From: 100 * ms, To: 240 * ms}, a, b, 250*ms); late.Status != nil || late.Service != nil {
		t.Errorf("what comes after the span does not count: %+v", late)
	}
}

// The status may name nobody, and somebody anew, but under no lower epoch than before. Classic groups
// have none.
func TestReversals(t *testing.T) {
	var steps []Step
	for i, epoch := range []int64{5, 0, 7, 6, 0, 7, 0, 8} {
		process := string(rune('a' + i))
		steps = Note(steps, register.Instant(i)*ms, Holder{Process: process, Epoch: epoch})
	}
	all := Reversals(steps)
	if len(all) != 1 || all[0] != "the status named d under 0.6 after c under 0.7" {
		t.Errorf("%q", all)
	}
}
