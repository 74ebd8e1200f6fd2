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

	"github.com/podesta-dev/podesta/internal/door"
	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/roster/rosterpb"
)

// Limits of the server.
const (
	joinQueue       = 5 * time.Second // how long a Join waits for its turn: it costs the API server a read, by token a TokenReview, too
	maxToken        = 32 << 10
	maxRequest      = 8 << 10
	maxMessageSize  = 256 << 10 // a report of 256 rows with the longest names is below 100 KiB
	maxStreams      = 4         // of one connection: an agent needs two
	handshakeWithin = 10 * time.Second
	idleWithin      = 30 * time.Second // a connection without a call is closed
	agentPing       = 10 * time.Second // an agent that vanished without a word is noticed within both
	agentPingWithin = 5 * time.Second
)

// Authority certifies processes. Sign is called by several goroutines; identity.Authority says what it does.
type Authority interface {
	Sign(csrDER []byte, n identity.Name, now time.Time) (chainPEM []byte, err error)
}

// ServerConfig configures a Server; every field is required but Trust.
type ServerConfig struct {
	Keyring   *identity.Keyring // with the manager's certificate and the bundle by which agents are verified
	Authority Authority
	Trust     []byte // PEM bundle that agents are told to trust, until SetTrust says another
	Admission Admission
	Sightings *Sightings
	Now       func() time.Time
	Logger    *slog.Logger
}

// Server is the manager's end of the protocol. Publish, Withdraw and SetTrust may be called at any time, also before Serve,
// by any goroutine.
type Server struct {
	rosterpb.UnimplementedRosterServiceServer
	ServerConfig
	board    *board
	joins    *turns        // by token: of an address
	renewals *turns        // by certificate: of a pod. Who is in already does not wait for those who come
	sessions atomic.Uint64 // counted
}

// NewServer returns a server that serves nobody before Serve.
func NewServer(cfg ServerConfig) *Server {
	return &Server{ServerConfig: cfg, board: newBoard(cfg.Trust), joins: newTurns(joinLimits, cfg.Now),
		renewals: newTurns(renewalLimits, cfg.Now)}
}

// Publish makes r the newest roster of its group. Whoever calls it has persisted it. An equal roster changes nothing.
func (s *Server) Publish(r Roster) { s.board.publish(r) }

// Withdraw tells the agents of a group that it does not exist. Before a group was published or withdrawn, its agents are told
// nothing: a manager that has just started does not know yet.
func (s *Server) Withdraw(namespace, group string) { s.board.withdraw(groupKey{namespace, group}) }

// SetTrust tells all agents of a new CA bundle.
func (s *Server) SetTrust(pem []byte) { s.board.setTrust(pem) }

// Serve answers agents on the listener, which it closes, until ctx ends; then all sessions are closed and it returns nil.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	server := grpc.NewServer(
		grpc.Creds(door.Credentials(credentials.NewTLS(s.Keyring.RosterServer()))),
		grpc.ConnectionTimeout(handshakeWithin),
		grpc.MaxRecvMsgSize(maxMessageSize),
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.MaxHeaderListSize(16<<10),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: agentPing, Timeout: agentPingWithin,
			MaxConnectionIdle: idleWithin}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: pingInterval / 2}),
		grpc.ReadBufferSize(4<<10), grpc.WriteBufferSize(4<<10),
		grpc.WaitForHandlers(true))
	rosterpb.RegisterRosterServiceServer(server, s)
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		server.Stop()
	})
	err := server.Serve(door.New(listener))
	if !stop() {
		<-ended
	}
	if ctx.Err() != nil || errors.Is(err, grpc.ErrServerStopped) {
		return nil
	}
	return fmt.Errorf("serve rosters on %s: %w", listener.Addr(), err)
}

// Join implements RosterService.
func (s *Server) Join(ctx context.Context, request *rosterpb.JoinRequest) (*rosterpb.JoinResponse, error) {
	if len(request.GetToken()) > maxToken || len(request.GetCsr()) > maxRequest {
		return nil, status.Errorf(codes.InvalidArgument, "a token has at most %d bytes and a certificate request %d",
			maxToken, maxRequest)
	}
	done, err := s.turn(ctx, request.GetToken() != "")
	if err != nil {
		return nil, err
	}
	defer done()
	asked := s.Now() // before it is known that the pod is there: what is signed ends a Lifetime after that at the latest
	name, err := s.admit(ctx, request.GetToken())
	if err != nil {
		return nil, err
	}
	certificate, err := s.Authority.Sign(request.GetCsr(), name, asked)
	if err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "the certificate request cannot be signed: %v", err)
	}
	s.Logger.Info("admitted", "namespace", name.Namespace, "group", name.Group, "pod", name.Pod, "uid", name.UID,
		"byToken", request.GetToken() != "")
	trust, _, _ := s.board.read(name)
	return &rosterpb.JoinResponse{Certificate: certificate, Trust: []byte(trust)}, nil
}

// turn waits until it is this caller's turn to join.
func (s *Server) turn(ctx context.Context, byToken bool) (done func(), err error) {
	if !byToken {
		name, _, err := s.caller(ctx)
		if err != nil {
			return nil, err
		}
		return s.renewals.take(ctx, "pod "+name.UID)
	}
	from := "an unknown address"
	if p, ok := peer.FromContext(ctx); ok {
		from = door.AddressOf(p.Addr)
	}
	return s.joins.take(ctx, from)
}

// admit says for whom to sign: the token's pod, or without a token the certificate's.
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
	session := newSession(name, s.sessions.Add(1), leaf.NotAfter)
	s.board.enter(name, session)
	defer s.board.leave(name, session)
	s.Sightings.opened(name, session)
	defer s.Sightings.closed(name, session)

	received := make(chan error, 1)
	go func() { received <- session.listen(stream, s.Sightings) }() // ends with the stream, which ends with this function
	err = session.tell(stream.Context(), s.board, stream, received, s.Now)
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// caller is who the connection's certificate says. The TLS handshake has verified it; it may have expired since.
func (s *Server) caller(ctx context.Context) (identity.Name, *x509.Certificate, error) {
	if p, ok := peer.FromContext(ctx); ok {
		if info, ok := p.AuthInfo.(credentials.TLSInfo); ok && len(info.State.PeerCertificates) > 0 {
			leaf := info.State.PeerCertificates[0]
			name, err := identity.NameOf(leaf)
			if err != nil {
				return identity.Name{}, nil, status.Error(codes.Unauthenticated, err.Error())
			}
			if s.Now().After(leaf.NotAfter) {
				return identity.Name{}, nil, status.Error(codes.Unauthenticated, "the certificate has expired: join with a token")
			}
			return name, leaf, nil
		}
	}
	return identity.Name{}, nil, status.Error(codes.Unauthenticated,
		"this needs a client certificate: Join with a token first")
}
