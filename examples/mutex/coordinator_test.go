package main

import (
	"testing"

	"github.com/podesta-dev/podesta/examples/internal/device"
	"github.com/podesta-dev/podesta/examples/internal/message"
)

// A session may be interrupted, and the process coordinates again under the same epoch: it gives no
// ticket and no turn twice.
func TestTheSameEpochAgain(t *testing.T) {
	p, err := newProcess("p", []message.Peer{{Name: "p"}}, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	var last device.Turn
	for _, want := range []device.Turn{{Epoch: 5, Number: 1}, {Epoch: 5, Number: 2}, {Epoch: 7, Number: 1}} {
		d := p.newDesk(t.Context(), want.Epoch)
		p.place(d)
		ticket, err := p.hearEnter(t.Context(), request{Process: "q", ID: 1})
		if err != nil || ticket != want {
			t.Errorf("ticket %v, want %v: %v", ticket, want, err)
		}
		if _, turn, ok := d.next(); !ok || turn != want || turn.Compare(last) <= 0 {
			t.Errorf("turn %v after %v, want %v", turn, last, want)
		}
		last = want
		p.place(nil)
	}
}

// A new coordinator finds the queue and who is inside in the answers, and grants nothing meanwhile.
func TestRestore(t *testing.T) {
	p, err := newProcess("p", []message.Peer{{Name: "p"}}, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	d := p.newDesk(t.Context(), 7)
	d.restore(map[string]state{
		"a": {Waits: request{Process: "a", ID: 1, Ticket: Ticket{Epoch: 5, Number: 9}}},
		"b": {Inside: device.Turn{Epoch: 5, Number: 7}},
		"c": {Waits: request{Process: "c", ID: 1, Ticket: Ticket{Epoch: 5, Number: 8}}},
		"d": {Waits: request{Process: "d", ID: 1}}, // it repeats its request, and gets a ticket then
	})
	if r, _, ok := d.next(); ok {
		t.Errorf("%+v is let in, but b is inside", r)
	}
	d.left(device.Turn{Epoch: 5, Number: 7})
	for i, want := range []string{"c", "a"} {
		r, turn, ok := d.next()
		if !ok || r.Process != want || turn != (device.Turn{Epoch: 7, Number: int64(i + 1)}) {
			t.Errorf("%+v is let in, in turn %v; want %s", r, turn, want)
		}
		d.left(turn)
	}
	if r, _, ok := d.next(); ok {
		t.Errorf("%+v is let in, without a ticket", r)
	}
}
