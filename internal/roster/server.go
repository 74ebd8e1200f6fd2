package roster

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/podesta-dev/podesta/internal/connlimit"
	"github.com/podesta-dev/podesta/internal/identity"
)

// The limits of the server.
const (
	// how long a Join waits for its turn; each costs the API server a read, and by token a
	// TokenReview
	joinQueue       = 5 * time.Second
	maxToken        = 32 << 10
	maxRequest      = 8 << 10
	maxMessageSize  = 256 << 10 // a report of 100 rows with the longest names is below 100 KiB
	handshakeWithin = 10 * time.Second
	idleWithin      = 30 * time.Second // a connection that follows nothing is closed after this time
	// A connection without a certificate is there for one Join. It may send the longest token and
	// certificate request, the handshake before them and what the protocols add; it may stay for as
	// long as an agent waits for the answer.
	strangerBytes  = maxToken + maxRequest + 16<<10
	strangerWithin = callTimeout
	// An agent that was silent for this long is gone: it sends a Ping more often (pingInterval).
	silentWithin = 20 * time.Second
	writeWithin  = 10 * time.Second // how long an agent may take to read what it is sent
	lastWord     = time.Second      // and why its connection is closed
)

// A source of joins is an address. Where traffic within the cluster is masqueraded that is a node,
// so a node full of pods must be able to start at once. A source of renewals is a pod: it needs one
// in half a day. The tenant is the namespace. So many of one wait that the API server has enough to
// do; the others are sent away at once, because those who wait take the places of strangers.
var (
	joinLimits = connlimit.TurnLimits{
		AtOnce:   12,
		OfSource: 6,
		Waiting:  256,
		OfTenant: 256,
		Burst:    512,
		Refill:   100 * time.Millisecond,
		Patience: joinQueue,
	}
	renewalLimits = connlimit.TurnLimits{
		AtOnce:   16,
		OfSource: 1,
		Waiting:  2,
		OfTenant: 256,
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
	ServerConfig
	publisher *publisher
	joins     *connlimit.Turns // by token, limited by address
	// by certificate, limited by pod; separate, so that renewals do not wait for joins
	renewals      *connlimit.Turns
	shaking       connlimit.Handshakes
	paces         paces   // of pods
	returns       returns // see Returning
	strays        strays
	subscriptions atomic.Uint64  // the number of subscriptions so far
	tasks         sync.WaitGroup // connections, and what is done for them beside reading
}

// NewServer returns a server. It serves nothing before Serve.
func NewServer(cfg ServerConfig) *Server {
	return &Server{
		ServerConfig: cfg,
		publisher:    newPublisher(cfg.Trust, cfg.Keyring),
		joins:        connlimit.NewTurns(joinLimits, cfg.Now),
		renewals:     connlimit.NewTurns(renewalLimits, cfg.Now),
		shaking:      connlimit.NewHandshakes(),
		paces:        paces{of: map[string]*pace{}},
		strays:       strays{of: map[string][]*accepted{}},
	}
}

// Publish makes r the newest roster of its group. The caller must have persisted it. An equal
// roster has no effect.
func (s *Server) Publish(r Roster) {
	if s.publisher.publish(r) {
		s.Sightings.keepRows(groupKey{r.Namespace, r.Group}, &r)
	}
}

// Disband tells the agents of a group that it does not exist. Until a group was published or
// disbanded, its agents are told nothing, because a manager that has just started does not know
// yet.
func (s *Server) Disband(namespace, group string) {
	s.publisher.disband(groupKey{namespace, group})
	s.Sightings.keepRows(groupKey{namespace, group}, nil)
}

// Hold tells the agents of a group, all that come later included, why no further process can become
// a voter now. A group of which nothing was published or subscribed is left alone.
func (s *Server) Hold(namespace, group string, h Hold) {
	s.publisher.setHold(groupKey{namespace, group}, h)
}

// SetTrust sends a new CA bundle to all agents.
func (s *Server) SetTrust(pem []byte) { s.publisher.setTrust(pem) }

// Serve serves agents on the listener, which it closes, until ctx ends. Then it closes all
// connections and returns nil.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer s.tasks.Wait()
	defer cancel()
	limited := connlimit.New(listener, connlimit.Limits{
		Bytes:      strangerBytes,
		Unanswered: connlimit.HelloBytes,
		Within:     strangerWithin,
	})
	defer limited.Close()
	config := s.Keyring.RosterServer()
	err := limited.Each(ctx, s.Logger, func(raw net.Conn) {
		s.tasks.Go(func() { s.serve(ctx, raw, config) })
	})
	if err != nil {
		return fmt.Errorf("serve rosters on %s: %w", listener.Addr(), err)
	}
	return nil
}
