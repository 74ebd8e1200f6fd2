package main

import (
	"context"
	"time"
)

// restart kills all managers, has some groups fail over while none runs, and starts managers.
func restart(ctx context.Context, s *site) error {
	m, err := s.begin(ctx)
	if err != nil {
		return err
	}
	s.endManagers()
	s.failSome()
	s.heard.Store(0)
	s.round.Add(1)
	old := s.managers
	s.managers, m.begun = nil, time.Now()
	for i := range old {
		next, err := s.startManager(ctx, i)
		if err != nil {
			return err
		}
		s.managers = append(s.managers, next)
	}
	if err := s.awaitLeader(ctx); err != nil {
		return err
	}
	s.results.add("restart", "until a manager leads and serves", time.Since(m.begun).Seconds(), "s")
	if m.leader, err = s.leading(ctx); err != nil {
		return err
	}
	m.ran = 0 // all that the next one uses is of this phase
	return s.awaitBack(ctx, "restart", m, s.agents())
}

// endManagers ends all managers and waits for their end.
func (s *site) endManagers() {
	for _, m := range s.managers {
		m.process.Kill()
		<-m.process.Done()
	}
}

// failSome has a share of the groups fail over, at once.
func (s *site) failSome() {
	n := int(stale * float64(len(s.all)))
	for _, g := range s.all {
		if n == 0 {
			return
		}
		if a := g.head(); a != nil {
			g.yield(a)
			n--
		}
	}
}

// yield has another process coordinate, while this one goes on as a follower.
func (g *group) yield(a *agent) {
	client := g.clientOf(a)
	g.lose(a)
	g.win()
	g.mu.Lock()
	defer g.mu.Unlock()
	a.client = client
	g.reportAll()
}
