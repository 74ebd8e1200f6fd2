package main

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/podesta-dev/podesta/test/chaos/report"
)

// Rounds are drawn from the seed alone; in the long run every fault is drawn, and none is more than a group can bear.
func TestDraw(t *testing.T) {
	random, again := rand.New(rand.NewPCG(1, 0)), rand.New(rand.NewPCG(1, 0))
	drawn := map[string]int{}
	double := 0
	for range 5000 {
		r := draw(random, kinds)
		if other := draw(again, kinds); !reflect.DeepEqual(r, other) {
			t.Fatalf("the same seed draws %v and %v", r, other)
		}
		if r[0].delay != 0 || len(r) > 2 || len(r) == 2 && (r[1].delay < 0 || r[1].delay >= leaseTime || !together(r[0].kind, r[1].kind)) {
			t.Fatalf("a round of %v", r)
		}
		double += len(r) - 1
		for _, f := range r {
			drawn[f.name]++
			if f.length < f.least || f.most > 0 && f.length >= f.most {
				t.Fatalf("%s takes %v", f.name, f.length)
			}
		}
	}
	for _, k := range kinds {
		if drawn[k.name] == 0 {
			t.Errorf("%s was never drawn", k.name)
		}
	}
	if double < 500 {
		t.Errorf("of 5000 rounds %d have two faults", double)
	}
}

// A name is a fault; none means all; a wrong one is an error that names those there are.
func TestKindsNamed(t *testing.T) {
	if some, err := kindsNamed([]string{killPod}); err != nil || len(some) != 1 || some[0].class != report.Kill {
		t.Errorf("%v, %v", some, err)
	}
	if every, err := kindsNamed(nil); err != nil || len(every) != len(kinds) {
		t.Errorf("%d kinds, %v", len(every), err)
	}
	if _, err := kindsNamed([]string{"kill everybody"}); err == nil {
		t.Error("there is no such fault")
	}
}

// What needs the API server is not tried while it is away, and what restarts pods in order is tried alone.
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
		{killManagers, pauseServer, false},
		{rollingRestart, killPod, false},
		{killNode, killPod, false},
	} {
		if got := together(kindNamed(c.a), kindNamed(c.b)); got != c.want || got != together(kindNamed(c.b), kindNamed(c.a)) {
			t.Errorf("%s and %s together: %t, want %t", c.a, c.b, got, c.want)
		}
	}
}
