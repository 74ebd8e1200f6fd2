package history

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/podesta-dev/podesta/test/register"
	"github.com/podesta-dev/podesta/test/register/writer"
)

// The stories are of group g; their instants are small numbers, and a run ends at 1000.
const g = "g"

func life(process, uid string, pid int, begin register.Instant, lines ...writer.Line) Life {
	return Life{Group: g, Process: process, UID: uid, PID: pid, Begin: begin, Lines: lines}
}

func told(at register.Instant, epoch int64, deadline register.Instant) writer.Line {
	return writer.Line{Kind: writer.Told, At: at, Epoch: epoch, Deadline: deadline}
}

func stopped(at register.Instant) writer.Line { return writer.Line{Kind: writer.Stopped, At: at} }

func wrote(at register.Instant, process, uid string, epoch int64, accepted bool) register.Entry {
	return register.Entry{At: at, Accepted: accepted,
		Write: register.Write{Group: g, Process: process, UID: uid, Epoch: epoch, Since: at, Checked: at, Deadline: at + 10}}
}

func step(at register.Instant, process string, state State, epoch int64) Lease {
	return Lease{Group: g, Process: process, State: state, Epoch: epoch, At: at}
}

// steps are those of agents, each with its incarnation.
type steps []Lease

func by(incarnation uint64, of ...Lease) steps { return steps(nil).and(incarnation, of...) }

func (s steps) and(incarnation uint64, of ...Lease) steps {
	for _, step := range of {
		step.Incarnation = incarnation
		s = append(s, step)
	}
	return s
}

func rules(r Report) []Rule {
	broken := []Rule{}
	for _, v := range r.Violations {
		broken = append(broken, v.Rule)
	}
	slices.Sort(broken)
	return slices.Compact(broken)
}

// Each hazard, made by hand, is found under its name; and what looks like it but is none is not.
func TestGuarded(t *testing.T) {
	for name, c := range map[string]struct {
		History
		want []Rule
	}{
		"one after the other": {History: History{
			Lives: []Life{
				life("a", "1", 10, 0, told(100, 5, 180), told(150, 5, 230)),
				life("b", "2", 20, 0, told(230, 6, 300)),
			},
			Entries: []register.Entry{wrote(110, "a", "1", 5, true), wrote(240, "b", "2", 6, true), wrote(250, "a", "1", 5, false)},
			Leases:  []Lease{step(100, "a", Holds, 5), step(228, "b", Holds, 6), step(290, "b", Stops, 6), step(300, "b", Releases, 6)},
		}},
		"two at once": {History: History{Lives: []Life{
			life("a", "1", 10, 0, told(100, 5, 180), told(150, 5, 231)),
			life("b", "2", 20, 0, told(230, 6, 300)),
		}}, want: []Rule{TwoAct}},
		"a pod and the pod after it, of the same name": {History: History{Lives: []Life{
			life("a", "1", 10, 0, told(100, 5, 180), stopped(169)),
			life("a", "2", 20, 170, told(175, 6, 300)),
		}}},
		"a pod that runs on beside the pod after it": {History: History{Lives: []Life{
			life("a", "1", 10, 0, told(100, 5, 180)),
			life("a", "2", 20, 170, told(175, 6, 300)),
		}}, want: []Rule{TwoAct}},
		"a pod that is known by its UID was killed": {History: History{
			Lives: []Life{
				life("a", "1", 1, 0, told(100, 5, 180)),
				life("b", "2", 1, 0, told(175, 6, 300)),
			},
			Signals: []Signal{{UID: "1", Kill: true, At: 170}},
		}},
		"the first stops before its deadline": {History: History{Lives: []Life{
			life("a", "1", 10, 0, told(100, 5, 300), stopped(200)),
			life("b", "2", 20, 0, told(210, 6, 300)),
		}}},
		"the first stops too late": {History: History{Lives: []Life{
			life("a", "1", 10, 0, told(100, 5, 300), stopped(215)),
			life("b", "2", 20, 0, told(210, 6, 300)),
		}}, want: []Rule{TwoAct}},
		"the first was killed before its deadline": {History: History{
			Lives: []Life{
				life("a", "1", 10, 0, told(100, 5, 300)),
				life("b", "2", 20, 0, told(210, 6, 300)),
			},
			Signals: []Signal{{PID: 10, Kill: true, At: 200}},
		}},
		"the first was told after the instant of its kill, when the second was told": {History: History{
			Lives: []Life{
				life("a", "1", 10, 0, told(100, 5, 300), told(205, 5, 400)),
				life("b", "2", 20, 0, told(203, 6, 300)),
			},
			Signals: []Signal{{PID: 10, Kill: true, At: 200}},
		}, want: []Rule{EpochBack, TwoAct}},
		"another process was killed": {History: History{
			Lives: []Life{
				life("a", "1", 10, 0, told(100, 5, 300)),
				life("b", "2", 20, 0, told(210, 6, 300)),
			},
			Signals: []Signal{{PID: 11, Kill: true, At: 200}},
		}, want: []Rule{TwoAct}},
		"an earlier life with the same process ID was killed": {History: History{
			Lives: []Life{
				life("c", "3", 10, 0, told(20, 4, 40)),
				life("a", "1", 10, 90, told(100, 5, 300)),
				life("b", "2", 20, 0, told(210, 6, 300)),
			},
			Signals: []Signal{{PID: 10, Kill: true, At: 80}},
		}, want: []Rule{TwoAct}},
		"a pause does not shorten a promise": {History: History{
			Lives: []Life{
				life("a", "1", 10, 0, told(100, 5, 300)),
				life("b", "2", 20, 0, told(210, 6, 300)),
			},
			Signals: []Signal{{PID: 10, At: 150, Til: 400}},
		}, want: []Rule{TwoAct}},
		"an answer is read after its deadline": {History: History{Lives: []Life{
			life("a", "1", 10, 0, told(250, 5, 200)),
			life("b", "2", 20, 0, told(210, 6, 300)),
		}}},
		"an epoch of two": {History: History{Lives: []Life{
			life("a", "1", 10, 0, told(100, 5, 180)),
			life("b", "2", 20, 0, told(230, 5, 300)),
		}}, want: []Rule{TwoOwners}},
		"an epoch of a pod and of the pod after it": {History: History{Lives: []Life{
			life("a", "1", 10, 0, told(100, 5, 180)),
			life("a", "2", 20, 200, told(230, 5, 300)),
		}}, want: []Rule{TwoOwners}},
		"an app that was restarted goes on under the epoch": {History: History{Lives: []Life{
			life("a", "1", 10, 0, told(100, 5, 180)),
			life("a", "1", 20, 200, told(230, 5, 300)),
		}}},
		"held by one and told by another": {History: History{
			Lives:  []Life{life("a", "1", 10, 0, told(100, 5, 180))},
			Leases: []Lease{step(90, "b", Holds, 5)},
		}, want: []Rule{TwoOwners}},
		"held by two": {History: History{Leases: []Lease{step(90, "b", Holds, 5), step(95, "a", Holds, 5)}}, want: []Rule{TwoOwners}},
		"an epoch goes back": {History: History{Lives: []Life{
			life("a", "1", 10, 0, told(100, 6, 180)),
			life("b", "2", 20, 0, told(230, 5, 300)),
		}}, want: []Rule{EpochBack}},
		"a process goes back": {History: History{Lives: []Life{
			life("a", "1", 10, 0, told(100, 6, 180), told(200, 5, 280)),
		}}, want: []Rule{EpochBack}},
		"an agent goes back":             {History: History{Leases: []Lease{step(90, "b", Holds, 7), step(95, "b", Holds, 6)}}, want: []Rule{EpochBack}},
		"an agent holds an epoch again":  {History: History{Leases: []Lease{step(90, "b", Holds, 7), step(95, "b", Holds, 7)}}, want: []Rule{EpochBack}},
		"a Guarded group without epochs": {History: History{Lives: []Life{life("a", "1", 10, 0, told(100, 0, 180))}}, want: []Rule{WithoutAnyEpoch}},
		"released while the app relies on it": {History: History{
			Lives:  []Life{life("a", "1", 10, 0, told(100, 5, 180))},
			Leases: []Lease{step(90, "a", Holds, 5), step(120, "a", Stops, 5), step(170, "a", Releases, 5)},
		}, want: []Rule{ReleasedEarly}},
		"released when the app has closed its session": {History: History{
			Lives:  []Life{life("a", "1", 10, 0, told(100, 5, 180), stopped(125))},
			Leases: []Lease{step(90, "a", Holds, 5), step(120, "a", Stops, 5), step(130, "a", Releases, 5)},
		}},
		"released before it stopped": {History: History{
			Leases: []Lease{step(90, "a", Holds, 5), step(170, "a", Releases, 5), step(175, "a", Stops, 5)},
		}, want: []Rule{ReleasedFirst}},
		"a claim that came to nothing is given back": {History: History{Leases: []Lease{step(170, "a", Releases, 5)}}},
		"and so is one that lost to another's under the same number": {History: History{
			Lives:  []Life{life("b", "2", 20, 0, told(171, 5, 300))},
			Leases: []Lease{step(170, "a", Releases, 5), step(171, "b", Holds, 5)},
		}},
		"and so is one of an agent whose next life gets the same number": {History: History{
			Lives: []Life{life("a", "1", 10, 0, told(190, 5, 270))},
			Leases: by(1, step(170, "a", Releases, 5)).
				and(2, step(180, "a", Holds, 5), step(260, "a", Stops, 5), step(271, "a", Releases, 5)),
		}},
		"but not while an earlier life's app relies on it": {History: History{
			Lives:  []Life{life("a", "1", 10, 0, told(150, 5, 200))},
			Leases: by(1, step(170, "a", Releases, 5)).and(2, step(180, "a", Holds, 5)),
		}, want: []Rule{ReleasedEarly}},
		"nor when it is held by the same life later": {History: History{
			Lives:  []Life{life("a", "1", 10, 0, told(190, 5, 270))},
			Leases: by(1, step(170, "a", Releases, 5), step(180, "a", Holds, 5)),
		}, want: []Rule{ReleasedFirst, ReleasedEarly}},
		"nor may a life release what an earlier one holds": {History: History{
			Lives:  []Life{life("a", "1", 10, 0, told(110, 5, 200))},
			Leases: by(1, step(100, "a", Holds, 5)).and(2, step(170, "a", Releases, 5)),
		}, want: []Rule{ReleasedEarly}},
		"another life's stop is not its own": {History: History{
			Leases: by(1, step(90, "a", Holds, 5), step(170, "a", Releases, 5)).and(2, step(160, "a", Stops, 5)),
		}, want: []Rule{ReleasedFirst}},
		"a stale write is taken": {History: History{
			Lives:   []Life{life("a", "1", 10, 0, told(100, 5, 180)), life("b", "2", 20, 0, told(200, 6, 280))},
			Entries: []register.Entry{wrote(110, "a", "1", 5, true), wrote(210, "b", "2", 6, true), wrote(220, "a", "1", 5, true)},
		}, want: []Rule{StaleAccepted}},
		"a fresh write is refused": {History: History{
			Lives:   []Life{life("a", "1", 10, 0, told(100, 5, 180))},
			Entries: []register.Entry{wrote(110, "a", "1", 5, false)},
		}, want: []Rule{FreshRefused}},
		"a write out of the blue": {History: History{
			Lives:   []Life{life("a", "1", 10, 0, told(100, 5, 180))},
			Entries: []register.Entry{wrote(110, "a", "1", 6, true)},
		}, want: []Rule{NeverPermitted}},
		"a write at the instant of a kill": {History: History{
			Lives:   []Life{life("a", "1", 10, 0, told(100, 5, 180))},
			Entries: []register.Entry{wrote(101, "a", "1", 5, true)},
			Signals: []Signal{{PID: 10, Kill: true, At: 99}},
		}},
		"other groups do not count": {History: History{
			Lives: []Life{life("a", "1", 10, 0, told(100, 5, 180)), {Group: "other", Process: "b", UID: "2", PID: 20,
				Lines: []writer.Line{told(120, 4, 200)}}},
			Leases: []Lease{{Group: "other", Process: "b", State: Holds, Epoch: 5, At: 100}},
		}},
		"nor what comes after the end": {History: History{
			Lives: []Life{life("a", "1", 10, 0, told(990, 5, 1080)), life("b", "2", 20, 0, told(1010, 6, 1100))},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c.End = 1000
			if r := c.Guarded(g); !slices.Equal(rules(r), c.want) {
				t.Errorf("broken: %q, want %q\n%v", rules(r), c.want, r.Violations)
			}
		})
	}
}

// What is counted, in a Guarded group.
func TestGuardedCounts(t *testing.T) {
	late := wrote(190, "a", "1", 5, true)
	late.Deadline = 180
	stale := wrote(250, "a", "1", 5, false)
	stale.Careless = true
	h := History{
		End: 1000,
		Lives: []Life{
			life("a", "1", 10, 0, told(100, 5, 150), told(130, 5, 180), told(400, 8, 480)),
			life("b", "2", 20, 0, told(210, 6, 300), told(310, 6, 350)),
		},
		Entries: []register.Entry{wrote(110, "a", "1", 5, true), late, wrote(220, "b", "2", 6, true), stale, wrote(251, "a", "1", 5, false)},
	}
	want := Report{
		Told: 5, Stretches: 4, Writes: Writes{Accepted: 3, Refused: 2, RefusedCareful: 1, Late: 1},
		Nobody: Times{Count: 4, Total: 30 + 10 + 50 + 520, Longest: 520},
	}
	if diff := cmp.Diff(want, h.Guarded(g)); diff != "" {
		t.Error(diff)
	}
}

// A Classic group may have two coordinators: how often and for how long is told, and what they
// wrote over each other.
func TestClassic(t *testing.T) {
	write := func(at, since register.Instant, process, uid string) register.Entry {
		return register.Entry{At: at, Accepted: true, Write: register.Write{Group: g, Process: process, UID: uid, Since: since}}
	}
	for name, c := range map[string]struct {
		History
		together Times
		stale    int
	}{
		"one after the other": {History: History{
			Lives:   []Life{life("a", "1", 10, 0, told(100, 0, 0), stopped(200)), life("b", "2", 20, 0, told(200, 0, 0))},
			Entries: []register.Entry{write(110, 100, "a", "1"), write(210, 200, "b", "2"), write(220, 200, "b", "2")},
		}},
		"a partition": {
			History: History{
				Lives: []Life{life("a", "1", 10, 0, told(100, 0, 0), told(150, 0, 0), stopped(290)), life("b", "2", 20, 0, told(200, 0, 0), stopped(700)),
					life("a", "1", 30, 500, told(600, 0, 0))},
				Entries: []register.Entry{write(110, 100, "a", "1"), write(210, 200, "b", "2"), write(220, 100, "a", "1"), write(221, 200, "b", "2"),
					write(222, 100, "a", "1"), write(610, 600, "a", "1"), write(620, 200, "b", "2")},
			},
			together: Times{Count: 2, Total: 190, Longest: 100}, stale: 2,
		},
		"one that comes back, and was never told otherwise": {
			History: History{
				Lives: []Life{life("a", "1", 10, 0, told(100, 0, 0), told(350, 0, 0)), life("b", "2", 20, 0, told(200, 0, 0), stopped(360))},
				Entries: []register.Entry{write(110, 100, "a", "1"), write(210, 200, "b", "2"), write(310, 100, "a", "1"), write(350, 200, "b", "2"),
					write(370, 100, "a", "1"), write(380, 100, "a", "1")},
				Signals: []Signal{{PID: 10, At: 150, Til: 300}},
			},
			together: Times{Count: 1, Total: 60, Longest: 60}, stale: 1,
		},
		"three at once are one time": {
			History: History{Lives: []Life{life("a", "1", 10, 0, told(100, 0, 0), stopped(300)), life("b", "2", 20, 0, told(200, 0, 0), stopped(400)),
				life("c", "3", 30, 0, told(250, 0, 0), stopped(350))}},
			together: Times{Count: 1, Total: 150, Longest: 150},
		},
		"one that is stopped does not count until it goes on": {
			History: History{
				Lives:   []Life{life("a", "1", 10, 0, told(100, 0, 0), stopped(460)), life("b", "2", 20, 0, told(200, 0, 0))},
				Signals: []Signal{{PID: 10, At: 150, Til: 450}},
			},
			together: Times{Count: 1, Total: 10, Longest: 10},
		},
		"one that was killed is no second": {History: History{
			Lives:   []Life{life("a", "1", 10, 0, told(100, 0, 0)), life("b", "2", 20, 0, told(200, 0, 0))},
			Signals: []Signal{{PID: 10, Kill: true, At: 180}},
		}},
		"nor one that must have ended, as the next life of its process began": {
			History: History{Lives: []Life{life("a", "1", 10, 0, told(100, 0, 0)), life("b", "2", 20, 0, told(200, 0, 0), stopped(900)),
				life("a", "1", 11, 230)}},
			together: Times{Count: 1, Total: 30, Longest: 30},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.End = 1000
			r := c.Classic(g)
			if r.Together != c.together || r.Writes.Stale != c.stale || len(r.Violations) > 0 {
				t.Errorf("together %+v, stale writes %d, violations %v; want %+v, %d, none", r.Together, r.Writes.Stale, r.Violations, c.together, c.stale)
			}
		})
	}
	h := History{End: 1000, Lives: []Life{life("a", "1", 10, 0, told(100, 5, 200))}}
	if broken := rules(h.Classic(g)); !slices.Equal(broken, []Rule{WithAnEpoch}) {
		t.Errorf("an epoch in a Classic group: %q", broken)
	}
}

// A checker that is fed a million intervals must still end.
func TestOverlapsAreFoundInALongRun(t *testing.T) {
	var all []Interval
	for i := range register.Instant(200_000) {
		all = append(all, Interval{UID: []string{"1", "2"}[i/1000%2], Epoch: int64(i / 1000), From: i * 10, To: i*10 + 15})
	}
	begun := time.Now()
	found := overlaps(merge(all))
	if len(found) != 199 || together(found) != (Times{Count: 199, Total: 199 * 5, Longest: 5}) {
		t.Errorf("%d overlaps, %+v", len(found), together(found))
	}
	t.Logf("took %v", time.Since(begun))
}
