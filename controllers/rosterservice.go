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

// RosterService keeps the CA and serves agents for as long as this manager leads.
type RosterService struct {
	Server      *roster.Server
	Authorities *Authorities
	Keyring     *identity.Keyring // the server's
	Listen      func(context.Context) (net.Listener, error)
	// Lead is called when agents can be served: it directs them here.
	Lead   func(context.Context) error
	Logger *slog.Logger

	signer *identity.Authority // of the serving certificate
}

// NeedLeaderElection has only the leading manager serve: there is one place that knows who reports what.
func (*RosterService) NeedLeaderElection() bool { return true }

// Start serves until ctx ends. It fails if it cannot begin: then the manager exits, and another one leads.
func (s *RosterService) Start(ctx context.Context) error {
	if err := s.Authorities.Check(ctx); err != nil {
		return err
	}
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
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		s.keep(ctx)
	}()
	s.Logger.Info("serving agents", "address", listener.Addr().String())
	err = s.Server.Serve(ctx, listener)
	cancel()
	<-kept
	return err
}

// keep looks at the CA, and has the serving certificate renewed in time and by the authority that signs. What fails is tried again
// at the next look: nothing of it ends the service.
func (s *RosterService) keep(ctx context.Context) {
	look := time.NewTicker(s.Authorities.Look)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
		if err := s.Authorities.Check(ctx); err != nil && ctx.Err() == nil {
			s.Logger.Error("the CA stays as it is", "error", err, "validUntil", s.signer.NotAfter())
		}
		if s.Authorities.Current() == s.signer && time.Now().Before(s.Keyring.RenewAt()) {
			continue
		}
		if err := s.renew(); err != nil {
			s.Logger.Error("the manager's certificate was not renewed", "error", err, "validUntil", s.Keyring.NotAfter())
		}
	}
}

func (s *RosterService) renew() error {
	signer := s.Authorities.Current()
	certPEM, keyPEM, err := signer.IssueManager(time.Now())
	if err != nil {
		return fmt.Errorf("issue the manager's certificate: %w", err)
	}
	if err := s.Keyring.SetCertificate(certPEM, keyPEM); err != nil {
		return err
	}
	s.signer = signer
	return nil
}
