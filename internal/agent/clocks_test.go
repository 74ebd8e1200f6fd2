package agent

import (
	"log/slog"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/node"
	"github.com/podesta-dev/podesta/internal/roster"
	"github.com/podesta-dev/podesta/internal/transport"
)

// counted counts how often the clocks are read.
type counted struct{ reads, boots int }

func (c *counted) Read() lease.Reading { c.reads++; return lease.Reading{Boot: time.Hour} }
func (c *counted) Boot() lease.Instant { c.boots++; return time.Hour }

// A reading is three system calls, and a coordinator has hundreds of events a second.
func TestAnEventReadsTheClocksOnce(t *testing.T) {
	a, clocks := standing(t)
	for _, e := range []node.Event{
		{Type: node.Tick},
		{Type: node.LinkUp, From: "p2"},
		{Type: node.Received, From: "p2", Message: node.Message{
			Type:    node.LeaseRequest,
			Request: lease.Request{Kind: lease.PreVote},
		}},
	} {
		a.step(e)
	}
	if *clocks != (counted{reads: 3}) {
		t.Errorf("three events read %+v, want each to read all clocks once", *clocks)
	}
}

// The timer may have run out at what the node wanted before.
func TestAnEarlyTimerIsNoTick(t *testing.T) {
	a, clocks := standing(t)
	for early, next := range map[bool]lease.Instant{true: time.Hour + 1, false: time.Hour} {
		a.next, clocks.reads = next, 0
		if err := a.tick(); err != nil {
			t.Fatal(err)
		}
		if ticked := clocks.reads > 0; ticked == early {
			t.Errorf("an hour after the start, to be told after %v, it ticked: %t", next, ticked)
		}
	}
}

// standing returns an agent that has begun, and its clocks, which stand still.
func standing(t *testing.T) (*agent, *counted) {
	t.Helper()
	clocks := &counted{}
	ledger := NewLedger(clocks)
	links := transport.NewNetwork().Join("p1", 1)
	t.Cleanup(links.Close)
	a := &agent{
		Config: Config{
			Self:        "p1",
			Incarnation: 1,
			Links:       links,
			Roster: roster.Roster{
				Group:     "g",
				Algorithm: "Bully",
				Safety:    roster.Guarded,
				Heartbeat: 100 * time.Millisecond,
				Timeout:   time.Second,
				Lease:     time.Second,
				Processes: []roster.Process{
					{Name: "p1", Priority: 2, Voter: true},
					{Name: "p2", Priority: 1, Voter: true},
				},
			},
			Certified: func() bool { return true },
			Ledger:    ledger,
			Views:     NewViews(),
			Accounts:  NewAccounts(),
			Logger:    slog.New(slog.DiscardHandler),
		},
		writer: newWriter(nil),
	}
	t.Cleanup(a.writer.close)
	a.Meter = NewMeter(a.Views, ledger, Sources{Dropped: links.Dropped})
	a.node = node.New(node.Config{Self: lease.Incarnation{Name: "p1", Number: 1}, Now: clocks.Read()})
	if err := a.begin(); err != nil {
		t.Fatal(err)
	}
	*clocks = counted{}
	return a, clocks
}
