package node_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/node"
)

// A process tells how long a lease it asks for, whenever that changes, and who was late when it
// became longer or ran out.
func TestAProcessTellsOfItsLease(t *testing.T) {
	r := newRoster(true)
	r.Members, r.LeaseMinimum = r.Members[:1], 100*ms // alone: nobody is late but itself and its app
	p := start(t, "P1", r)
	p.pass(5 * time.Second)
	p.step(node.Event{Type: node.AppAsked, Length: 100 * ms})
	p.pass(9 * time.Second)
	p.now += 300 * ms // it stands still
	p.step(node.Event{Type: node.Tick})
	p.pass(ms)
	var told []string
	for _, n := range p.notes {
		switch n.Type {
		case node.Holds:
			told = append(told, fmt.Sprint("holds ", n.Lease))
		case node.Asks:
			told = append(told, fmt.Sprint("asks for ", n.Lease))
		case node.Delayed:
			told = append(told, fmt.Sprintf("late: %s, lapsed: %t, by at least 100 ms: %t",
				n.Delay.Late, n.Delay.Lapsed, n.Delay.Gap >= 100*ms))
		case node.Revoked:
			told = append(told, "revoked")
		default:
		}
	}
	want := []string{
		"holds 100ms",
		fmt.Sprintf("late: %s, lapsed: false, by at least 100 ms: true", lease.LateApp),
		"asks for 400ms",
		"asks for 200ms", // nothing has been late for its patience of 4 s
		"asks for 100ms",
		fmt.Sprintf("late: %s, lapsed: true, by at least 100 ms: true", lease.LateAgent),
		"revoked",
		"holds 1s",
	}
	if !slices.Equal(told, want) {
		t.Errorf("it tells\n%q\nwant\n%q", told, want)
	}
}
