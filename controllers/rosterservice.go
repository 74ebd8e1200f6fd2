package controllers

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/roster"
)

// RosterService serves agents for as long as this manager leads.
type RosterService struct {
	Server    *roster.Server
	Authority *identity.Authority
	Keyring   *identity.Keyring // the server's
	Listen    func(context.Context) (net.Listener, error)
	// Lead is called when agents can be served: it directs them here.
	Lead   func(context.Context) error
	Logger *slog.Logger
}

// NeedLeaderElection has only the leading manager serve: there is one place that knows who reports what.
func (*RosterService) NeedLeaderElection() bool { return true }

// Start serves until ctx ends. It fails if it cannot begin: then the manager exits, and another one leads.
func (s *RosterService) Start(ctx context.Context) error {
	if err := s.renew(); err != nil {
		return err
	}
	listener, err := s.Listen(ctx)
	if err != nil {
		return fmt.Errorf("listen for agents: %w", err)
	}
	if err := s.Lead(ctx); err != nil {
		return fmt.Errorf("take the lead: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	renewed := make(chan struct{})
	go func() {
		defer close(renewed)
		s.keepRenewed(ctx)
	}()
	s.Logger.Info("serving agents", "address", listener.Addr().String())
	err = s.Server.Serve(ctx, listener)
	cancel()
	<-renewed
	return err
}

// keepRenewed renews the serving certificate at half of its life. It needs nobody for that, so it does not fail but for a
// broken machine; then it is tried again.
func (s *RosterService) keepRenewed(ctx context.Context) {
	for {
		timer := time.NewTimer(max(time.Until(s.Keyring.RenewAt()), time.Minute))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		if err := s.renew(); err != nil {
			s.Logger.Error("the manager's certificate was not renewed", "error", err, "validUntil", s.Keyring.NotAfter())
		}
	}
}

func (s *RosterService) renew() error {
	certPEM, keyPEM, err := s.Authority.IssueManager(time.Now())
	if err != nil {
		return fmt.Errorf("issue the manager's certificate: %w", err)
	}
	return s.Keyring.SetCertificate(certPEM, keyPEM)
}
