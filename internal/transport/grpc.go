package transport

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/podesta-dev/podesta/internal/connlimit"
	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/transport/linkpb"
)

// Small buffers, and windows that do not grow: a group has many links, and each carries little.
const (
	buffer       = 4 << 10
	window       = 64 << 10
	maxAnswer    = maxFrame // it may hold a roster
	maxHeaders   = 8 << 10
	streamsEach  = 4 // on one connection: one is in use, one may be ending
	idleAfter    = 30 * time.Second
	handshakeMax = 5 * time.Second
	// what a process may send before its certificate is accepted; that is below 4 KiB, and what it
	// sends at once after it may be read with it
	handshakeBytes = 32 << 10
)

// Config configures New. All fields but StateID and Logger are required.
type Config struct {
	Listener net.Listener // receives links from other processes; Close closes it
	// must hold a certificate and the trust before links can be made, but not yet for New
	Keyring     *identity.Keyring
	Self        identity.Name
	Incarnation uint64 // grows with every start of this process
	// identifies the state directory, at most 64 bytes of printable ASCII; empty if there is none
	StateID   string
	Reconnect time.Duration // the initial value of Pace
	Logger    *slog.Logger
}

// New serves links on the listener and makes the links that it is told to make, over gRPC and
// mutual TLS. Initially it admits no process and makes no link.
func New(c Config) Links {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if err := validateStateID(c.StateID); err != nil {
		c.Logger.Error("taking part without a state ID, because no process would accept this "+
			"one: delete the state directory's contents so that the agent creates a new ID",
			"error", err)
		c.StateID = ""
	}
	h := newHub(c.Self.Pod, c.Incarnation, c.StateID, c.Reconnect, c.Logger)
	w := &grpcWire{
		hub:      h,
		self:     c.Self,
		keyring:  c.Keyring,
		listener: newListener(c.Listener, h.patience),
	}
	w.server = grpc.NewServer(
		grpc.Creds(connlimit.Credentials(credentials.NewTLS(c.Keyring.PeerServer(w.admit)))),
		grpc.ConnectionTimeout(handshakeMax),
		grpc.MaxConcurrentStreams(streamsEach),
		grpc.MaxHeaderListSize(maxHeaders),
		grpc.MaxRecvMsgSize(maxFrame),
		grpc.MaxSendMsgSize(maxAnswer),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: idleAfter}),
		grpc.ReadBufferSize(buffer), grpc.WriteBufferSize(buffer),
		grpc.StaticStreamWindowSize(window), grpc.StaticConnWindowSize(window),
		grpc.WaitForHandlers(true),
	)
	linkpb.RegisterLinkServiceServer(w.server, w)
	h.wire = w
	h.start(func() {
		limits := connlimit.Limits{Bytes: handshakeBytes, Within: handshakeMax}
		if err := w.server.Serve(connlimit.New(w.listener, limits)); err != nil && h.ctx.Err() == nil {
			h.log.Error("stopped serving links, so other processes cannot reach this one: "+
				"restart the agent", "error", err)
		}
	})
	return h
}

// grpcWire is both ends of the links: the service that others call, and the calls to others.
type grpcWire struct {
	linkpb.UnimplementedLinkServiceServer
	hub      *hub
	self     identity.Name
	keyring  *identity.Keyring
	listener *listener
	server   *grpc.Server
}

func (w *grpcWire) close() {
	w.listener.closeAll() // otherwise Stop would wait for handshakes that make no progress
	w.server.Stop()
}

// admit decides during the handshake whether the name in a certificate is admitted.
func (w *grpcWire) admit(n identity.Name) error {
	err := w.hub.admits(n.Pod, n.UID)
	if n.Namespace != w.self.Namespace || n.Group != w.self.Group {
		err = refuse(unwanted, "%s is not a process of the group %s/%s", n, w.self.Namespace,
			w.self.Group)
	}
	if err != nil {
		w.hub.log.Debug("connection refused", "from", n, "error", err)
	}
	return err
}

// Open serves a stream of a process that the handshake has admitted.
func (w *grpcWire) Open(stream linkpb.LinkService_OpenServer) error {
	from, certified, err := sender(stream.Context())
	if err == nil {
		err = w.admit(from) // again, because the roster may have changed since
	}
	if err == nil {
		err = w.hub.serve(from.Pod, from.UID, certified, serverStream{stream})
	}
	return toStatus(err)
}

func sender(ctx context.Context) (identity.Name, validity, error) {
	if p, ok := peer.FromContext(ctx); ok {
		if info, ok := p.AuthInfo.(credentials.TLSInfo); ok &&
			len(info.State.PeerCertificates) > 0 {
			leaf := info.State.PeerCertificates[0]
			name, err := identity.NameOf(leaf)
			return name, validityOf(leaf), err
		}
	}
	return identity.Name{}, validity{}, refuse(unwanted, "no certificate")
}

var codeOf = map[refusalKind]codes.Code{
	malformed: codes.InvalidArgument,
	unwanted:  codes.PermissionDenied,
	leaving:   codes.Aborted,
	ending:    codes.Unavailable,
}

// toStatus converts the reason why a stream ends into a status for the peer.
func toStatus(err error) error {
	if r, ok := errors.AsType[*refusal](err); ok {
		return status.Error(codeOf[r.kind], r.reason)
	}
	return err
}

// fromStatus is the reverse of toStatus.
func fromStatus(err error) *loss {
	switch status.Code(err) {
	case codes.InvalidArgument, codes.PermissionDenied, codes.Unauthenticated, codes.Unimplemented,
		codes.ResourceExhausted:
		return &loss{Rejected, err}
	case codes.Aborted:
		return &loss{Left, err}
	default:
		return &loss{Closed, err}
	}
}

type serverStream struct{ linkpb.LinkService_OpenServer }

func (s serverStream) Accept() error { return s.SendHeader(metadata.MD{}) }

// clientStream has a connection of its own, so that one ends with the other.
type clientStream struct {
	linkpb.LinkService_OpenClient
	connection *grpc.ClientConn
	wire       *watchedConn
}

func (w *grpcWire) open(ctx context.Context, to Member) (outbound, error) {
	expect := identity.Name{
		Namespace: w.self.Namespace,
		Group:     w.self.Group,
		Pod:       to.Name,
		UID:       to.UID,
	}
	conn, err := dial(ctx, to.Address, w.keyring.PeerClient(expect), w.hub.patience())
	if err != nil {
		return nil, err
	}
	connection, err := grpc.NewClient("passthrough:///"+to.Address,
		grpc.WithContextDialer(once(conn)),
		grpc.WithTransportCredentials(handshaken{}),
		grpc.WithReadBufferSize(buffer), grpc.WithWriteBufferSize(buffer),
		grpc.WithStaticStreamWindowSize(window), grpc.WithStaticConnWindowSize(window),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswer)),
		grpc.WithMaxHeaderListSize(maxHeaders),
		grpc.WithIdleTimeout(0),
		grpc.WithDisableServiceConfig(), grpc.WithDisableRetry(), grpc.WithDisableHealthCheck(),
		grpc.WithNoProxy(),
	)
	if err != nil {
		conn.Close()
		return nil, &loss{Unreachable, err}
	}
	stream, err := linkpb.NewLinkServiceClient(connection).Open(ctx)
	if err != nil {
		connection.Close()
		conn.Close()
		return nil, conn.explain(err)
	}
	return &clientStream{
		LinkService_OpenClient: stream,
		connection:             connection,
		wire:                   conn,
	}, nil
}

func (s *clientStream) Certified() (own, peer validity) { return s.wire.own, s.wire.peer }

func (s *clientStream) Send(f *linkpb.Frame) error {
	err := s.LinkService_OpenClient.Send(f)
	if err != nil && !errors.Is(err, io.EOF) {
		err = s.wire.explain(err)
	}
	return err
}

func (s *clientStream) Accepted() error {
	header, err := s.Header()
	switch {
	case err != nil:
		return s.wire.explain(err)
	case header == nil: // the stream ended without a header: Recv knows why
		_, err := s.Recv()
		return err
	default:
		return nil
	}
}

func (s *clientStream) Recv() (*linkpb.Answer, error) {
	answer, err := s.LinkService_OpenClient.Recv()
	if err != nil && !errors.Is(err, io.EOF) {
		err = s.wire.explain(err)
	}
	return answer, err
}

func (s *clientStream) Close() {
	s.connection.Close()
	s.wire.Close()
}

// once hands gRPC a connection that exists already, and no second one: the link decides who
// reconnects and when.
func once(conn net.Conn) func(context.Context, string) (net.Conn, error) {
	given := make(chan net.Conn, 1)
	given <- conn
	return func(context.Context, string) (net.Conn, error) {
		select {
		case c := <-given:
			return c, nil
		default:
			return nil, errors.New("the connection has ended")
		}
	}
}

// handshaken tells gRPC that the handshake of a connection is done: dial did it, so that its
// failures can be distinguished.
type handshaken struct{}

func (handshaken) ClientHandshake(_ context.Context, _ string, c net.Conn) (net.Conn,
	credentials.AuthInfo, error) {
	watched, ok := c.(*watchedConn)
	if !ok {
		return nil, nil, errors.New("not a connection from dial")
	}
	return c, credentials.TLSInfo{
		State:          watched.state,
		CommonAuthInfo: credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity},
	}, nil
}

func (handshaken) ServerHandshake(net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("for clients only")
}

func (handshaken) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "tls"}
}
func (handshaken) Clone() credentials.TransportCredentials { return handshaken{} }
func (handshaken) OverrideServerName(string) error         { return nil }
