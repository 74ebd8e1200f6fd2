package main

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
)

// Rounds are drawn from the seed alone; in the long run every fault is drawn, and none is more than a group can bear.
func TestDraw(t *testing.T) {
	const lease = time.Second
	random, again := rand.New(rand.NewPCG(1, 0)), rand.New(rand.NewPCG(1, 0))
	drawn := map[string]int{}
	double := 0
	for range 5000 {
		r := draw(random, lease)
		if other := draw(again, lease); !reflect.DeepEqual(r, other) {
			t.Fatalf("the same seed draws %v and %v", r, other)
		}
		if r[0].delay != 0 || len(r) > 2 || len(r) == 2 && (r[1].delay < 0 || r[1].delay >= lease || !together(r[0], r[1])) {
			t.Fatalf("a round of %v", r)
		}
		double += len(r) - 1
		for _, f := range r {
			role := "another"
			if f.coordinator {
				role = "coordinator"
			}
			drawn[string(f.kind)+" "+string(f.part)+" of "+role]++
			switch {
			case f.kind == pause && (f.length < lease/2 || f.length >= 3*lease),
				(f.kind == stopManager || f.kind == stopServer) && (f.length < time.Second || f.length > maxOutage),
				(f.kind == kill || f.kind == remove || f.kind == killManager) && f.length != 0:
				t.Fatalf("%v takes %v", f, f.length)
			}
		}
	}
	for _, k := range []kind{kill, pause} {
		for _, p := range []part{both, agent, app} {
			for _, role := range []string{"coordinator", "another"} {
				if what := string(k) + " " + string(p) + " of " + role; drawn[what] < 50 {
					t.Errorf("%s: drawn %d times", what, drawn[what])
				}
			}
		}
	}
	for _, k := range []kind{remove, killManager, stopManager, stopServer} {
		if n := drawn[string(k)+"  of another"] + drawn[string(k)+"  of coordinator"]; n < 50 {
			t.Errorf("%s: drawn %d times", k, n)
		}
	}
	if double < 1000 {
		t.Errorf("%d of 5000 rounds have two faults", double)
	}
}

func TestTogether(t *testing.T) {
	for _, c := range []struct {
		a, b kind
		want bool
	}{
		{kill, pause, true}, {kill, remove, true}, {remove, remove, false},
		{kill, stopServer, true}, {stopManager, pause, true}, {remove, killManager, true},
		{remove, stopServer, false}, {stopServer, stopServer, false}, {killManager, stopManager, false}, {killManager, stopServer, true},
	} {
		if got := together(fault{kind: c.a}, fault{kind: c.b}); got != c.want {
			t.Errorf("%s and %s: %v", c.a, c.b, got)
		}
		if got := together(fault{kind: c.b}, fault{kind: c.a}); got != c.want {
			t.Errorf("%s and %s: %v", c.b, c.a, got)
		}
	}
}

func TestAFaultIsNamed(t *testing.T) {
	for want, f := range map[string]fault{
		"SIGKILL coordinator":             {kind: kill, part: both, coordinator: true},
		"SIGSTOP agent of another, 1.5 s": {kind: pause, part: agent, length: 1500 * time.Millisecond},
		"delete coordinator":              {kind: remove, coordinator: true},
		"SIGSTOP API server, 2.0 s":       {kind: stopServer, length: 2 * time.Second},
		"SIGKILL app of coordinator":      {kind: kill, part: app, coordinator: true},
		"SIGKILL manager":                 {kind: killManager, coordinator: true},
	} {
		if got := f.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
