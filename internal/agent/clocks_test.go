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
	clocks := &counted{}
	ledger := NewLedger(clocks)
	links := transport.NewNetwork().Join("p1", 1)
	defer links.Close()
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
	defer a.writer.close()
	a.Meter = NewMeter(a.Views, ledger, Sources{Dropped: links.Dropped})
	a.node = node.New(node.Config{Self: lease.Incarnation{Name: "p1", Number: 1}, Now: clocks.Read()})
	if err := a.begin(); err != nil {
		t.Fatal(err)
	}
	*clocks = counted{}
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
