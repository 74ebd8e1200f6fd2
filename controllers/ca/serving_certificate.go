package ca

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/podesta-dev/podesta/internal/identity"
)

// ServingCertificate is this manager's certificate for a server that everybody knows by the CA
// bundle and a DNS name, as scrapers know its metrics. Each manager issues its own, whether it
// leads or not, with the CA that it finds in the Secret. It renews the certificate at half of its
// life, and when another CA signs. The keys stay in memory; the CA's is forgotten after each look.
//
// It only reads: a manager that does not lead neither makes a CA nor rotates it. While there is no
// CA there is no certificate, and handshakes fail; then they succeed without help.
//
// What is not promised: that the bundle has reached everybody. In a rotation it has, long before
// (see identity.SpreadFor). If somebody replaces the Secret, the certificate may be ahead of it.
type ServingCertificate struct {
	Live      client.Reader // asks the API server: no cache holds secrets
	Namespace string        // the manager's own
	DNSName   string
	Now       func() time.Time
	// CheckEvery is how long there is from one look at the Secret to the next.
	CheckEvery time.Duration
	Logger     *slog.Logger

	held   atomic.Pointer[tls.Certificate]
	waited bool // it was said that there is no CA
}

// awaitAuthority is the time from one look to the next while there is no CA: the manager that leads
// is about to make one.
const awaitAuthority = time.Second

var errNoServingCertificate = errors.New("there is no certificate yet: the manager that leads " +
	"has not made the CA")

// NeedLeaderElection has every manager serve, also those that do not lead.
func (*ServingCertificate) NeedLeaderElection() bool { return false }

// GetCertificate is for tls.Config. It fails while there is no certificate, which ends the
// handshake with an alert.
func (s *ServingCertificate) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if held := s.held.Load(); held != nil {
		return held, nil
	}
	return nil, errNoServingCertificate
}

// NotAfter returns when the certificate expires; zero while there is none.
func (s *ServingCertificate) NotAfter() time.Time {
	if held := s.held.Load(); held != nil {
		return held.Leaf.NotAfter
	}
	return time.Time{}
}

// Start keeps the certificate until ctx ends. It never fails: what does not succeed is tried again.
func (s *ServingCertificate) Start(ctx context.Context) error {
	for {
		next := s.look(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(next):
		}
	}
}

// look reads the Secret once, and returns after what time to look again.
func (s *ServingCertificate) look(ctx context.Context) time.Duration {
	key := types.NamespacedName{Namespace: s.Namespace, Name: authoritySecret}
	// Before the Secret is read, so that a manager that is stopped in between issues nothing that
	// lasts longer than trust in a CA that has been replaced meanwhile.
	now := s.Now()
	_, found, err := readSecret(ctx, s.Live, key)
	switch {
	case err != nil && ctx.Err() != nil:
	case err != nil:
		s.Logger.Error("the certificate of this manager's metrics stays as it is", "error", err)
	case found == nil && s.held.Load() == nil:
		if !s.waited {
			s.Logger.Info("metrics have no certificate yet: there is no CA", "secret", key.String())
		}
		s.waited = true
		return min(awaitAuthority, s.CheckEvery)
	case found != nil:
		if err := s.renew(found.Current(), now); err != nil {
			s.Logger.Error("the certificate of this manager's metrics could not be renewed",
				"error", err)
		}
	}
	return s.CheckEvery
}

// renew issues a new certificate if it is due.
func (s *ServingCertificate) renew(signer *identity.Authority, now time.Time) error {
	held := s.held.Load()
	if held != nil && signer.Issued(held.Leaf) && now.Before(identity.RenewAt(held.Leaf)) {
		return nil
	}
	issued, err := signer.IssueServer(s.DNSName, now)
	if err != nil {
		return fmt.Errorf("issue a certificate for %s: %w", s.DNSName, err)
	}
	s.held.Store(issued)
	s.Logger.Info("this manager's metrics have a new certificate", "name", s.DNSName,
		"validUntil", issued.Leaf.NotAfter)
	return nil
}
