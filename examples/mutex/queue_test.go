package main

import "testing"

// TestQueue gives places, keeps those of another coordinator, and does not give two to one process.
func TestQueue(t *testing.T) {
	q := queue{epoch: 2}
	for _, step := range []struct {
		r    request
		want Ticket
	}{
		{request{Process: "a", ID: 1}, Ticket{Epoch: 2, Number: 1}},
		{request{Process: "b", ID: 1}, Ticket{Epoch: 2, Number: 2}},
		{request{Process: "a", ID: 1}, Ticket{Epoch: 2, Number: 1}},                                      // again
		{request{Process: "c", ID: 1, Ticket: Ticket{Epoch: 1, Number: 9}}, Ticket{Epoch: 1, Number: 9}}, // of the coordinator before
		{request{Process: "a", ID: 2}, Ticket{Epoch: 2, Number: 3}},                                      // it has started again
	} {
		if got := q.add(step.r); got != step.want {
			t.Errorf("%+v has ticket %v, want %v", step.r, got, step.want)
		}
	}
	q.remove("b")
	for _, want := range []string{"c", "a", ""} {
		if r, ok := q.next(); r.Process != want || ok != (want != "") {
			t.Errorf("%q is next, want %q", r.Process, want)
		}
	}
}
