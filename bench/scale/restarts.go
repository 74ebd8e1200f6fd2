package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/podesta-dev/podesta/internal/delimited"
	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/roster/rosterpb"
)

// coldStart kills all managers, has some groups fail over while none runs, and starts one.
func coldStart(ctx context.Context, s *site) error {
	return s.restart(ctx, "coldstart", "manager.kubeconfig", syscall.SIGKILL)
}

// restart ends all managers and starts them again, with a way to the API server.
func (s *site) restart(ctx context.Context, phase, kubeconfig string, by syscall.Signal) error {
	m, err := s.begin(ctx)
	if err != nil {
		return err
	}
	if err := s.endManagers(by); err != nil {
		return err
	}
	s.managersGone()
	old := s.managers
	s.managers, m.begun = nil, time.Now()
	for i := range old {
		next, err := s.startManager(ctx, i, kubeconfig)
		if err != nil {
			return err
		}
		s.managers = append(s.managers, next)
	}
	m.cpu["manager"] = usage{} // all that the next one uses is of this phase
	return s.awaitNext(ctx, phase, "a manager", m)
}

// managersGone has some groups fail over, and agents counted that find the next manager.
func (s *site) managersGone() {
	s.failSome()
	s.heard.Store(0)
	s.round.Add(1)
}

// awaitNext measures a manager from when there was none.
func (s *site) awaitNext(ctx context.Context, phase, who string, m meter) error {
	if err := s.awaitLeader(ctx); err != nil {
		return err
	}
	s.results.add(phase, "until "+who+" leads and serves", time.Since(m.begun).Seconds(), "s")
	var err error
	if m.leader, err = s.leading(); err != nil {
		return err
	}
	return s.awaitBack(ctx, phase, m, s.agents())
}

// endManagers ends all managers and waits for their end.
func (s *site) endManagers(by syscall.Signal) error {
	for _, m := range s.managers {
		if err := m.process.Signal(by); err != nil {
			return err
		}
	}
	for _, m := range s.managers {
		<-m.process.Done()
	}
	return nil
}

// failSome has a share of the groups fail over, at once.
func (s *site) failSome() {
	n := int(s.stale * float64(len(s.all)))
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

// takeover kills the leader, and has the standby take over.
func takeover(ctx context.Context, s *site) error {
	m, err := s.begin(ctx)
	if err != nil {
		return err
	}
	i := slices.Index(s.managers, m.leader)
	standby := s.managers[1-i]
	if m.cpu["manager"], err = usageOf(standby.process.PID); err != nil {
		return err
	}
	if err := m.leader.process.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-m.leader.process.Done()
	m.begun = time.Now()
	s.managersGone()
	s.managers = []*manager{standby}
	if err := s.awaitNext(ctx, "takeover", "the standby", m); err != nil {
		return err
	}
	next, err := s.startManager(ctx, i, "manager.kubeconfig")
	if err != nil {
		return err
	}
	s.managers = append(s.managers, next)
	return nil
}

// slow starts the managers again with a slow way to the API server, has groups fail over, and goes
// back to the fast way.
func slow(ctx context.Context, s *site) error {
	p, err := newProxy(ctx, s.apiServer(), s.delay)
	if err != nil {
		return err
	}
	defer p.close()
	if err := s.writeKubeconfig("slow.kubeconfig", p.address()); err != nil {
		return err
	}
	phase := fmt.Sprintf("slow by %v", s.delay)
	if err := s.restart(ctx, phase+", start", "slow.kubeconfig", syscall.SIGTERM); err != nil {
		return err
	}
	if err := s.failovers(ctx, phase+", failovers", s.slowRate); err != nil {
		return err
	}
	return s.restart(ctx, "back to fast, start", "manager.kubeconfig", syscall.SIGTERM)
}

// renewals has agents get their next certificates as they do in the middle of the old ones' time: a
// Join by certificate, and a new connection with the new one.
func renewals(ctx context.Context, s *site) error {
	m, err := s.begin(ctx)
	if err != nil {
		return err
	}
	all := s.shuffled()
	var renewed, failed atomic.Int64
	done := during(fmt.Sprintf("%g renewals a second, for %v", s.renewals, s.span),
		func() string { return fmt.Sprintf("%d renewed", renewed.Load()) })
	defer done()
	var under sync.WaitGroup
	ticker := time.NewTicker(time.Duration(float64(time.Second) / s.renewals))
	defer ticker.Stop()
	end := time.Now().Add(s.span)
	for i := 0; i < len(all) && time.Now().Before(end); i++ {
		under.Go(func() {
			if all[i].renew(ctx, s) != nil {
				failed.Add(1)
				return
			}
			renewed.Add(1)
		})
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
	under.Wait()
	s.results.add("renewals", "certificates renewed", float64(renewed.Load()), "")
	s.results.add("renewals", "renewals that failed", float64(failed.Load()), "")
	return s.end(ctx, m, "renewals")
}

// renew gets the next certificate over a connection that shows the current one, and connects anew
// with the next one at once, as the client does.
func (a *agent) renew(ctx context.Context, s *site) error {
	key, err := identity.NewKey()
	if err != nil {
		return err
	}
	request, err := identity.Request(key)
	if err != nil {
		return err
	}
	keyPEM, err := identity.EncodeKey(key)
	if err != nil {
		return err
	}
	conn, err := dialFrom(a.node.source, func(*cable) {})(ctx, s.address)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	messages := delimited.New(tls.Client(conn, a.keyring.RosterClient()), 1<<20)
	if err := messages.Send(&rosterpb.ToManager{Message: &rosterpb.ToManager_Join{
		Join: &rosterpb.JoinRequest{Csr: request},
	}}); err != nil {
		return err
	}
	var answer rosterpb.ToAgent
	if err := messages.Receive(&answer); err != nil {
		return err
	}
	granted := answer.GetJoined()
	if granted.GetCertificate() == nil {
		return errors.New(granted.GetRefused().GetText())
	}
	if err := a.keyring.SetCertificate(granted.GetCertificate(), keyPEM); err != nil {
		return err
	}
	a.end()
	a.begin(ctx, s)
	return nil
}
