package agentserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

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
	// Lead directs agents here. It is called when they can be served, at each check, and again after
	// it has failed.
	Lead   func(context.Context) error
	Logger *slog.Logger

	signer *identity.Authority // of the serving certificate
}

// NeedLeaderElection has only the leading manager serve: there is one place that knows who reports
// what.
func (*Server) NeedLeaderElection() bool { return true }

// patience is how long the CA may take to be read or made at the beginning; again is how soon that,
// and directing agents here, is tried again.
const (
	patience = 30 * time.Second
	again    = time.Second
)

// Start serves until ctx ends. It fails if it cannot begin: then the manager exits, and another one
// leads. It goes on if the API server refuses a request for a moment, or an admission webhook is
// down: the other manager would fail, too, and one that leads already would go on.
func (s *Server) Start(ctx context.Context) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	listener, err := s.Listen(ctx)
	if err != nil {
		return fmt.Errorf("listen for agents: %w", err)
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

// begin reads the CA, or makes it, and issues the server's certificate. A CA that is damaged stays
// so.
func (s *Server) begin(ctx context.Context) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, again, patience, true,
		func(ctx context.Context) (bool, error) {
			err := s.CA.Check(ctx)
			switch {
			case err == nil:
				return true, nil
			case errors.Is(err, ca.ErrDamaged):
				return false, err
			case ctx.Err() == nil: // else the error may only say that the time is over
				s.Logger.Error("the CA cannot be checked: agents are not served yet", "error", err)
				last = err
			}
			return false, nil
		})
	if err != nil {
		return errors.Join(last, err)
	}
	return s.renew()
}

// direct directs agents here. If that fails, it is to be tried again when the channel says so, and
// is told to the log at this level.
func (s *Server) direct(ctx context.Context, log slog.Level) (retry <-chan time.Time) {
	err := s.Lead(ctx)
	if err == nil {
		return nil
	}
	if ctx.Err() == nil {
		s.Logger.Log(ctx, log, "agents may not find this manager", "error", err)
	}
	return time.After(again)
}

// maintain directs agents here, checks the CA, renews the serving certificate in time and by the
// authority that signs, and directs agents here again, in case a manager that led for a moment has
// directed them elsewhere. What fails is tried again: none of it ends the service.
func (s *Server) maintain(ctx context.Context) {
	retry := s.direct(ctx, slog.LevelError)
	check := time.NewTicker(s.CA.CheckEvery)
	defer check.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-retry:
			retry = s.direct(ctx, slog.LevelDebug)
			continue
		case <-check.C:
		}
		retry = s.direct(ctx, slog.LevelError)
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
