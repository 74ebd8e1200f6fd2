package roster

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/podesta-dev/podesta/internal/connlimit"
	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/roster/rosterpb"
)

// The limits of the server.
const (
	// how long a Join waits for its turn; each costs the API server a read, and by token a
	// TokenReview
	joinQueue       = 5 * time.Second
	maxToken        = 32 << 10
	maxRequest      = 8 << 10
	maxMessageSize  = 256 << 10 // a report of 256 rows with the longest names is below 100 KiB
	maxStreams      = 4         // on one connection: an agent needs two
	handshakeWithin = 10 * time.Second
	idleWithin      = 30 * time.Second // a connection without a call is closed after this time
	// A connection without a certificate is there for one Join. It may send the longest token and
	// certificate request, the handshake before them and what the protocols add; it may stay for as
	// long as an agent waits for the answer.
	strangerBytes  = maxToken + maxRequest + 16<<10
	strangerWithin = callTimeout
	// Windows that do not grow: an agent sends little, a stranger must not send more.
	streamWindow = 64 << 10
	connWindow   = 2 * streamWindow
	// an agent that vanished silently is noticed within the sum of both
	agentPing       = 10 * time.Second
	agentPingWithin = 5 * time.Second
)

// A source of joins is an address. Where traffic within the cluster is masqueraded that is a node,
// so a node full of pods must be able to start at once. A source of renewals is a pod: it needs one
// in half a day.
var (
	joinLimits = connlimit.TurnLimits{
		AtOnce:   16,
		OfSource: 8,
		Waiting:  256,
		Burst:    512,
		Refill:   100 * time.Millisecond,
		Patience: joinQueue,
	}
	renewalLimits = connlimit.TurnLimits{
		AtOnce:   16,
		OfSource: 1,
		Waiting:  2,
		Burst:    8,
		Refill:   10 * time.Second,
		Patience: joinQueue,
	}
)

// Authority certifies processes. Sign is called concurrently; identity.Authority documents it.
type Authority interface {
	Sign(csrDER []byte, n identity.Name, now time.Time) (chainPEM []byte, err error)
}

// ServerConfig configures a Server. Every field but Trust is required.
type ServerConfig struct {
	// holds the manager's certificate, and the bundle that verifies agents
	Keyring   *identity.Keyring
	Authority Authority
	Trust     []byte // PEM bundle that agents are told to trust, until SetTrust changes it
	Admission Admission
	Sightings *Sightings
	Now       func() time.Time
	Logger    *slog.Logger
}

// Server is the manager's end of the protocol. Publish, Disband and SetTrust may be called
// concurrently and at any time, also before Serve.
type Server struct {
	rosterpb.UnimplementedRosterServiceServer
	ServerConfig
	publisher *publisher
	joins     *connlimit.Turns // by token, limited by address
	// by certificate, limited by pod; separate, so that renewals do not wait for joins
	renewals      *connlimit.Turns
	subscriptions atomic.Uint64 // the number of subscriptions so far
}

// NewServer returns a server. It serves nothing before Serve.
func NewServer(cfg ServerConfig) *Server {
	return &Server{
		ServerConfig: cfg,
		publisher:    newPublisher(cfg.Trust, cfg.Keyring),
		joins:        connlimit.NewTurns(joinLimits, cfg.Now),
		renewals:     connlimit.NewTurns(renewalLimits, cfg.Now),
	}
}

// Publish makes r the newest roster of its group. The caller must have persisted it. An equal
// roster has no effect.
func (s *Server) Publish(r Roster) { s.publisher.publish(r) }

// Disband tells the agents of a group that it does not exist. Until a group was published or
// disbanded, its agents are told nothing, because a manager that has just started does not know
// yet.
func (s *Server) Disband(namespace, group string) {
	s.publisher.disband(groupKey{namespace, group})
}

// SetTrust sends a new CA bundle to all agents.
func (s *Server) SetTrust(pem []byte) { s.publisher.setTrust(pem) }

// Serve serves agents on the listener, which it closes, until ctx ends. Then it closes all
// subscriptions and returns nil.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	server := grpc.NewServer(
		grpc.Creds(connlimit.Credentials(credentials.NewTLS(s.Keyring.RosterServer()))),
		grpc.ConnectionTimeout(handshakeWithin),
		grpc.MaxRecvMsgSize(maxMessageSize),
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.InTapHandle(connlimit.Single),
		grpc.MaxHeaderListSize(16<<10),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			Time:              agentPing,
			Timeout:           agentPingWithin,
			MaxConnectionIdle: idleWithin,
		}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: pingInterval / 2}),
		// TLS has what was received in a buffer already
		grpc.ReadBufferSize(0), grpc.WriteBufferSize(4<<10),
		grpc.StaticStreamWindowSize(streamWindow), grpc.StaticConnWindowSize(connWindow),
		grpc.WaitForHandlers(true))
	rosterpb.RegisterRosterServiceServer(server, s)
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		server.Stop()
	})
	err := server.Serve(connlimit.New(listener, connlimit.Limits{
		Bytes:  strangerBytes,
		Within: strangerWithin,
	}))
	if !stop() {
		<-ended
	}
	if ctx.Err() != nil || errors.Is(err, grpc.ErrServerStopped) {
		return nil
	}
	return fmt.Errorf("serve rosters on %s: %w", listener.Addr(), err)
}

// Join implements RosterService.
func (s *Server) Join(ctx context.Context, request *rosterpb.JoinRequest) (*rosterpb.JoinResponse,
	error) {
	if len(request.GetToken()) > maxToken || len(request.GetCsr()) > maxRequest {
		return nil, status.Errorf(codes.InvalidArgument, "a token must not be longer than %d "+
			"bytes and a certificate request not longer than %d",
			maxToken, maxRequest)
	}
	done, err := s.turn(ctx, request.GetToken() != "")
	if err != nil {
		return nil, err
	}
	defer done()
	// taken before the pod's existence is checked, so that what is signed ends at most a Lifetime
	// after that check
	asked := s.Now()
	name, err := s.admit(ctx, request.GetToken())
	if err != nil {
		return nil, err
	}
	certificate, err := s.Authority.Sign(request.GetCsr(), name, asked)
	if err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "the certificate request cannot be "+
			"signed: %v", err)
	}
	s.Logger.Info("admitted", "namespace", name.Namespace, "group", name.Group, "pod", name.Pod,
		"uid", name.UID,
		"byToken", request.GetToken() != "")
	trust, _, _ := s.publisher.read(name)
	return &rosterpb.JoinResponse{Certificate: certificate, Trust: []byte(trust)}, nil
}

// turn waits until the caller may join.
func (s *Server) turn(ctx context.Context, byToken bool) (done func(), err error) {
	if !byToken {
		name, _, err := s.caller(ctx)
		if err != nil {
			return nil, err
		}
		return s.renewals.Take(ctx, "pod "+name.UID)
	}
	from := "an unknown address"
	if p, ok := peer.FromContext(ctx); ok {
		from = connlimit.AddressOf(p.Addr)
	}
	return s.joins.Take(ctx, from)
}

// admit returns the process to certify: the token's pod or, without a token, the certificate's.
func (s *Server) admit(ctx context.Context, token string) (identity.Name, error) {
	if token != "" {
		name, err := s.Admission.Admit(ctx, token)
		if err != nil {
			return identity.Name{}, admissionError(err)
		}
		return name, nil
	}
	name, _, err := s.caller(ctx)
	if err != nil {
		return identity.Name{}, err
	}
	if err := s.Admission.Readmit(ctx, name); err != nil {
		return identity.Name{}, admissionError(err)
	}
	return name, nil
}

// Follow implements RosterService.
func (s *Server) Follow(stream serverStream) error {
	name, leaf, err := s.caller(stream.Context())
	if err != nil {
		return err
	}
	subscription := newSubscription(name, s.subscriptions.Add(1), leaf.NotAfter)
	s.publisher.enter(name, subscription)
	defer s.publisher.leave(name, subscription)
	s.Sightings.opened(name, subscription)
	defer s.Sightings.closed(name, subscription)

	received := make(chan error, 1)
	// ends with the stream, which ends with this function
	go func() { received <- subscription.receive(stream, s.Sightings) }()
	err = subscription.send(stream.Context(), s.publisher, s.paced(stream), received, s.moved, s.Now)
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// paced is a stream whose updates say how the agents are to come back (see reconnection).
func (s *Server) paced(stream serverStream) sender {
	return func(u *rosterpb.Update) error {
		//nolint:gosec // maxBackoff at most
		u.ReturnWithinMilliseconds = int32(spreadOver(s.publisher.agents()).Milliseconds())
		return stream.Send(u)
	}
}

// caller returns the process that the connection's certificate names. The TLS handshake has
// verified the certificate, but it may have expired since.
func (s *Server) caller(ctx context.Context) (identity.Name, *x509.Certificate, error) {
	if p, ok := peer.FromContext(ctx); ok {
		if info, ok := p.AuthInfo.(credentials.TLSInfo); ok &&
			len(info.State.PeerCertificates) > 0 {
			leaf := info.State.PeerCertificates[0]
			name, err := identity.NameOf(leaf)
			if err != nil {
				return identity.Name{}, nil, status.Error(codes.Unauthenticated, err.Error())
			}
			if s.Now().After(leaf.NotAfter) {
				return identity.Name{}, nil, status.Error(codes.Unauthenticated,
					"the certificate has expired: join with a token")
			}
			return name, leaf, nil
		}
	}
	return identity.Name{}, nil, status.Error(codes.Unauthenticated,
		"a client certificate is required: Join with a token first")
}
