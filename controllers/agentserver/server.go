package agentserver

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/podesta-dev/podesta/controllers/ca"
	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/roster"
)

// Server serves agents, and has the CA checked, for as long as this manager leads.
type Server struct {
	Rosters *roster.Server
	CA      *ca.Authorities
	Keyring *identity.Keyring // the server's
	Listen  func(context.Context) (net.Listener, error)
	// Lead is called when agents can be served, and at each check: it directs them here.
	Lead   func(context.Context) error
	Logger *slog.Logger

	signer *identity.Authority // of the serving certificate
}

// NeedLeaderElection has only the leading manager serve: there is one place that knows who reports
// what.
func (*Server) NeedLeaderElection() bool { return true }

// Start serves until ctx ends. It fails if it cannot begin: then the manager exits, and another one
// leads.
func (s *Server) Start(ctx context.Context) error {
	if err := s.CA.Check(ctx); err != nil {
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
		return fmt.Errorf("direct agents to this manager: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		s.maintain(ctx)
	}()
	s.Logger.Info("serving agents", "address", listener.Addr().String())
	err = s.Rosters.Serve(ctx, listener)
	cancel()
	<-stopped
	return err
}

// maintain checks the CA, renews the serving certificate in time and by the authority that signs,
// and directs agents here, in case a manager that led for a moment has directed them elsewhere.
// What fails is tried again at the next check: none of it ends the service.
func (s *Server) maintain(ctx context.Context) {
	check := time.NewTicker(s.CA.CheckEvery)
	defer check.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-check.C:
		}
		if err := s.Lead(ctx); err != nil && ctx.Err() == nil {
			s.Logger.Error("agents may not find this manager", "error", err)
		}
		if err := s.CA.Check(ctx); err != nil && ctx.Err() == nil {
			s.Logger.Error("the CA could not be checked and stays as it is", "error", err,
				"validUntil", s.signer.NotAfter())
		}
		if s.CA.Current() == s.signer && time.Now().Before(s.Keyring.RenewAt()) {
			continue
		}
		if err := s.renew(); err != nil {
			s.Logger.Error("the manager's certificate could not be renewed", "error", err,
				"validUntil", s.Keyring.NotAfter())
		}
	}
}

func (s *Server) renew() error {
	signer := s.CA.Current()
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
