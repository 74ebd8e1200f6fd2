package device

import (
	"context"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/examples/internal/message"
)

// open opens a device, and returns a function by which a process acts.
func open(t *testing.T, dir string, saw func(Act, error)) (*Device, func(name string, turn Turn) error) {
	t.Helper()
	d, err := Open(dir, saw)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(d.Handler())
	t.Cleanup(server.Close)
	return d, func(name string, turn Turn) error {
		c := Client{Name: name, URL: server.URL, Sender: message.NewSender(10 * time.Second)}
		return c.Act(context.WithoutCancel(t.Context()), turn, "")
	}
}

// The device refuses a turn once it has seen a later one, also after a restart, and never lets two
// use the same one.
func TestTheDeviceRefusesEarlierTurns(t *testing.T) {
	dir := t.TempDir()
	refused := 0
	saw := func(_ Act, err error) {
		if err != nil {
			refused++
		}
	}
	d, act := open(t, dir, saw)
	want := 0
	for i, step := range []struct {
		by      string
		turn    Turn
		refused bool
		restart bool
	}{
		{by: "a", turn: Turn{Epoch: 5, Number: 1, Hop: 1}},
		{by: "a", turn: Turn{Epoch: 5, Number: 1, Hop: 1}},
		{by: "b", turn: Turn{Epoch: 5, Number: 1, Hop: 1}, refused: true},
		{by: "b", turn: Turn{Epoch: 5, Number: 1, Hop: 2}},
		{by: "a", turn: Turn{Epoch: 5, Number: 1, Hop: 1}, refused: true},
		{by: "c", turn: Turn{Epoch: 5, Number: 2}},
		{by: "b", turn: Turn{Epoch: 5, Number: 1, Hop: 9}, refused: true},
		{by: "b", turn: Turn{Epoch: 5, Number: 1, Hop: 9}, refused: true, restart: true},
		{by: "d", turn: Turn{Epoch: 7, Number: 1}},
		{by: "c", turn: Turn{Epoch: 5, Number: 3}, refused: true},
		{by: "c", turn: Turn{Epoch: 5, Number: 3}, refused: true, restart: true},
		{by: "e", turn: Turn{}, refused: true},
	} {
		if step.restart {
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			d, act = open(t, dir, saw)
		}
		err := act(step.by, step.turn)
		if Over(err) != step.refused || (err != nil) != step.refused {
			t.Errorf("step %d, %s in turn %v: %v", i, step.by, step.turn, err)
		}
		if step.refused {
			want++
		}
	}
	if refused != want {
		t.Errorf("%d refusals were told, want %d", refused, want)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// The checker finds an act in a turn after a later one, and two in the same turn.
func TestChecker(t *testing.T) {
	one, two := Turn{Epoch: 1, Number: 1}, Turn{Epoch: 1, Number: 1, Hop: 1}
	for name, test := range map[string]struct {
		acts  []Act
		wrong bool
	}{
		"in turn":         {acts: []Act{{Turn: one, By: "a"}, {Turn: one, By: "a"}, {Turn: two, By: "b"}}},
		"one is late":     {acts: []Act{{Turn: one, By: "a"}, {Turn: two, By: "b"}, {Turn: one, By: "a"}}, wrong: true},
		"two in one turn": {acts: []Act{{Turn: one, By: "a"}, {Turn: one, By: "b"}}, wrong: true},
	} {
		t.Run(name, func(t *testing.T) {
			var c Checker
			for _, a := range test.acts {
				c.Saw(a)
			}
			if err := c.Verdict(); (err != nil) != test.wrong {
				t.Error(err)
			}
			if given := c.Given(); len(given) != 1 {
				t.Errorf("given: %v", given)
			}
		})
	}
}
