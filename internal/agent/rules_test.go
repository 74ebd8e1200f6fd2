package agent_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podesta-dev/podesta/internal/agent"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/roster"
	"github.com/podesta-dev/podesta/internal/transport"
	"github.com/podesta-dev/podesta/test/bubble"
)

// MC11: an agent that does not support the rules level of its first roster tells the manager which
// level it supports, and takes part when there is a roster that it supports. Without a manager it
// ends.
func TestFirstRosterOfAnotherRulesLevel(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		r := roster.Roster{Namespace: "shop", Group: "scheduler", GroupUID: "g", Generation: 5, Rules: 2,
			Algorithm: "Bully", Safety: roster.Guarded, Heartbeat: heartbeat, Timeout: timeout,
			Lease: 4 * timeout, Preemption: roster.Never, Processes: []roster.Process{member(1)}}
		run := func(ctx context.Context, p *process, updates chan roster.Update) error {
			links := transport.NewNetwork()
			c := agent.Config{
				Self: "p1", UID: "uid-p1", StateID: "state-p1", Incarnation: 1, Rules: 1, Roster: r,
				Views: agent.NewViews(), Ledger: agent.NewLedger(agent.ClocksFunc(virtual)), Accounts: agent.NewAccounts(), Save: p.save, Report: p.report,
				Logger: slog.New(slog.DiscardHandler),
			}
			l := links.JoinWith("p1", 1, "state-p1")
			c.Links, c.Meter = l, agent.NewMeter(c.Views, c.Ledger, agent.Sources{Dropped: l.Dropped})
			if updates != nil {
				c.Updates = updates
			}
			return agent.Run(ctx, c)
		}
		var alone, managed process
		enough, over := context.WithTimeout(t.Context(), time.Minute) // it returns at once
		defer over()
		if err := run(enough, &alone, nil); !errors.As(err, new(*lease.RulesError)) {
			t.Errorf("without a manager: %v", err)
		}
		ctx, stop := context.WithCancel(t.Context())
		updates, done := make(chan roster.Update), make(chan error, 1)
		go func() { done <- run(ctx, &managed, updates) }()
		synctest.Wait()
		if told := managed.last(); told.Rules != 1 || told.StateID != "state-p1" || told.Generation != 0 {
			t.Errorf("it reports %+v", told)
		}
		next := r
		next.Generation, next.Rules = 6, 1
		updates <- roster.Update{Roster: &next}
		synctest.Wait()
		if told := managed.last(); told.Rules != 1 || told.Generation != 6 {
			t.Errorf("after a roster that it supports it reports %+v", told)
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// last is what the process has reported last.
func (p *process) last() roster.Report {
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.reports) == 0 {
		return roster.Report{}
	}
	return p.reports[len(p.reports)-1]
}
