package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// startAgents starts the agents of many groups at a time, as when all pods start at once.
func (s *site) startAgents(ctx context.Context) error {
	ctx, release := s.untilEnded(ctx)
	defer release()
	s.round.Store(1)
	done := during(fmt.Sprintf("%d agents join", s.agents()), func() string {
		return fmt.Sprintf("%d agents have a roster", s.heard.Load())
	})
	defer done()
	begun := time.Now()
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(joining)
	for _, g := range s.all {
		all.Go(func() error {
			for _, a := range g.agents {
				a.begin(ctx, s)
			}
			return g.awaitAll(ctx)
		})
	}
	if err := all.Wait(); err != nil {
		return err
	}
	s.results.add("start", "until all agents have a roster", time.Since(begun).Seconds(), "s")
	return nil
}

func (s *site) agents() int { return s.groups * s.processes }

// awaitAll waits until all agents of the group use its newest roster.
func (g *group) awaitAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		g.mu.Lock()
		all := g.newest != nil && g.united()
		g.mu.Unlock()
		if all {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the agents of %s/%s have no roster: %w", g.namespace, g.name,
				context.Cause(ctx))
		case <-ticker.C:
		}
	}
}

// atRest measures what the manager needs when nothing happens.
func atRest(ctx context.Context, s *site) error {
	const settling = 15 * time.Second // of what the last changes have set off
	if err := pause(ctx, settling); err != nil {
		return err
	}
	m, err := s.begin(ctx)
	if err != nil {
		return err
	}
	done := during(fmt.Sprintf("at rest, for %v", s.span), func() string { return "at rest" })
	err = pause(ctx, s.span)
	done()
	if err != nil {
		return err
	}
	if err := s.end(ctx, m, "rest"); err != nil {
		return err
	}
	for _, one := range s.managers {
		who := "standby"
		if one == m.leader {
			who = "leader"
		}
		if err := s.measureMemory(ctx, "rest", one, who); err != nil {
			return err
		}
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// failovers ends coordinators, at a rate, and measures when the status shows the next ones.
func failovers(ctx context.Context, s *site) error {
	const phase = "failovers"
	m, err := s.begin(ctx)
	if err != nil {
		return err
	}
	var begun atomic.Int64
	done := during(fmt.Sprintf("%g failovers a second, for %v", s.rate, s.span), func() string {
		return fmt.Sprintf("%d failovers, %d statuses are not right", begun.Load(), s.tally.wrong.Load())
	})
	defer done()
	var under sync.WaitGroup
	ticker := time.NewTicker(time.Duration(float64(time.Second) / s.rate))
	defer ticker.Stop()
	for end := time.After(s.span); ; {
		select {
		case <-ctx.Done():
			under.Wait()
			return ctx.Err()
		case <-ticker.C:
			if a := s.someHead(); a != nil {
				begun.Add(1)
				under.Go(func() { s.failOver(ctx, a) })
			}
			continue
		case <-end:
		}
		break
	}
	err = s.end(ctx, m, phase)
	under.Wait()
	if err != nil {
		return err
	}
	if err := s.awaitRight(ctx, "the last statuses"); err != nil {
		return err
	}
	s.results.add(phase, "failovers", float64(begun.Load()), "")
	s.results.addLags(phase, s.lagging.take())
	return nil
}

// someHead is the coordinator of a random group whose status shows it; nil if it finds none.
func (s *site) someHead() *agent {
	const tries = 50
	for range tries {
		if a := s.all[rand.IntN(len(s.all))].head(); a != nil {
			return a
		}
	}
	return nil
}

// failOver kills a coordinator's agent; after the lease the others have another coordinator, and
// some time later the agent is back.
func (s *site) failOver(ctx context.Context, a *agent) {
	a.group.lose(a)
	a.end()
	if pause(ctx, electing) != nil {
		return
	}
	a.group.win()
	if pause(ctx, back-electing) != nil {
		return
	}
	a.begin(ctx, s)
}

// awaitBack measures how long so many agents, whose connections have ended, take to come back, and
// the statuses to be right.
func (s *site) awaitBack(ctx context.Context, phase string, m meter, n int) error {
	ctx, release := s.untilEnded(ctx)
	defer release()
	done := during(fmt.Sprintf("%s: awaiting %d agents", phase, n), func() string {
		return fmt.Sprintf("%d agents are back, %d statuses are not right", s.heard.Load(),
			s.tally.wrong.Load())
	})
	defer done()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for s.heard.Load() < int64(n) {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
		if time.Since(m.begun) > patience {
			return fmt.Errorf("%d of %d agents are back after %v", s.heard.Load(), n, patience)
		}
	}
	s.results.add(phase, fmt.Sprintf("until %d agents are back", n), time.Since(m.begun).Seconds(),
		"s")
	if err := s.awaitRight(ctx, "all statuses right"); err != nil {
		return err
	}
	s.results.add(phase, "until all statuses are right", time.Since(m.begun).Seconds(), "s")
	return s.end(ctx, m, phase)
}
