package main

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/podesta-dev/podesta/test/chaos/report"
)

// Rounds are drawn from the seed alone; in the long run every fault is drawn, and none is more than
// a group can bear.
func TestDraw(t *testing.T) {
	kinds := faultKinds()
	random, again := rand.New(rand.NewPCG(1, 0)), rand.New(rand.NewPCG(1, 0))
	drawn, roles := map[string]int{}, map[string]int{}
	double := 0
	for range 5000 {
		r := draw(random, kinds)
		if other := draw(again, kinds); !reflect.DeepEqual(r, other) {
			t.Fatalf("the same seed draws %v and %v", r, other)
		}
		if r[0].delay != 0 || len(r) > 2 || len(r) == 2 && (r[1].delay < 0 || r[1].delay >= longestLease || !together(r[0].faultKind, r[1].faultKind)) {
			t.Fatalf("a round of %v", r)
		}
		double += len(r) - 1
		for _, f := range r {
			drawn[f.name]++
			if f.coordinator {
				roles[f.name]++
			}
			if f.length < f.least || f.most > 0 && f.length >= f.most {
				t.Fatalf("%s takes %v", f.name, f.length)
			}
		}
	}
	for _, k := range kinds {
		if n := drawn[k.name]; n < 20*k.weight || roles[k.name] == 0 || roles[k.name] == n {
			t.Errorf("%s was drawn %d times, %d of them for the coordinator", k.name, n, roles[k.name])
		}
	}
	if double < 500 {
		t.Errorf("of 5000 rounds %d have two faults", double)
	}
}

// A name is a fault; none means all; a wrong one is an error that names those there are.
func TestNamed(t *testing.T) {
	kinds := faultKinds()
	if some, err := named(kinds, []string{killPod}); err != nil || len(some) != 1 || some[0].class != report.Kill {
		t.Errorf("%v, %v", some, err)
	}
	if every, err := named(kinds, nil); err != nil || len(every) != len(kinds) {
		t.Errorf("%d kinds, %v", len(every), err)
	}
	if _, err := named(kinds, []string{"kill everybody"}); err == nil {
		t.Error("there is no such fault")
	}
}

// On a cluster that is not full exactly the faults that need one are left out.
func TestWithin(t *testing.T) {
	able, leftOut := within(faultKinds(), false)
	if names := namesOf(leftOut); !slices.Equal(names, []string{cutOff, cutDeaf, cutMute, cutHalves, cutBridge, cutLink,
		pauseNode, killNode, drainNode, cutLeader, editForSome}) {
		t.Errorf("left out: %q", names)
	}
	if len(able) != 18 {
		t.Errorf("every backend is capable of %d faults: %q", len(able), namesOf(able))
	}
}

// Every run begins with a pause that no lease outlives, unless it may draw no pause.
func TestOpening(t *testing.T) {
	kinds := faultKinds()
	if r := opening(kinds); len(r) != 1 || r[0].name != pausePod || !r[0].coordinator || r[0].length != 3*longestLease {
		t.Errorf("%v", r)
	}
	if r := opening(kinds[:3]); r != nil {
		t.Errorf("a run without pauses begins with %v", r)
	}
}

// What needs the API server is not tried while it is away, and what restarts pods in order is tried
// alone.
func TestTogether(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{killPod, pausePod, true},
		{killPod, pauseServer, true},
		{killPod, starveNode, true},
		{deletePod, pauseServer, false},
		{forceDelete, killEtcd, false},
		{renewAuthority, killEtcd, false},
		{killManagers, pauseServer, true},
		{killManagers, pauseManager, false},
		{pauseManager, pausePod, true},
		{pauseServer, pauseServer, false},
		{deletePod, killManagers, true},
		{killPod, deletePod, true},
		{rollingRestart, killPod, false},
		{setStatusBack, killPod, false},
		{killNode, killPod, false},
	} {
		pair, err := named(faultKinds(), []string{c.a, c.b})
		if err != nil {
			t.Fatal(err)
		}
		if got := together(pair[0], pair[1]); got != c.want || got != together(pair[1], pair[0]) {
			t.Errorf("%s and %s together: %t, want %t", c.a, c.b, got, c.want)
		}
	}
}
