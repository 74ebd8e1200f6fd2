package roster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/podesta-dev/podesta/internal/identity"
)

// The timing of the client.
const (
	callTimeout = 15 * time.Second // of a Join, including its TokenReview
	dialTimeout = 5 * time.Second
	// A manager that vanished silently is noticed within the sum of both, and an agent by the manager
	// (silentWithin).
	pingInterval = 15 * time.Second
	pingTimeout  = 5 * time.Second
	trustPoll    = 250 * time.Millisecond // how often the client looks for a missing CA bundle
	// a roster of 100 processes with the longest names is smaller
	maxUpdateSize = 1 << 20
)

// Update is a message of the manager. Either it holds a new roster, or it says that the group does
// not exist or that this pod is not on its roster; then the agent stops electing until a roster
// comes.
type Update struct {
	Roster *Roster
	Gone   bool
}

// ClientConfig configures a Client. Every field but Dial is required.
type ClientConfig struct {
	// Address is the HOST:PORT of the manager.
	Address string
	// Token reads the pod's projected token. It is called for each Join by token.
	Token func() (string, error)
	// Trust reads the mounted CA bundle. It is called when a manager has to prove itself by it (see
	// joinByToken). While the file does not exist then, the client logs that and retries.
	Trust func() ([]byte, error)
	// Keyring receives new credentials. It may already hold a certificate and a bundle from the
	// state directory; then the client does not join before RenewAt.
	Keyring *identity.Keyring
	// Pinned is until when nothing but the bundle that the keyring begins with proves a manager: the
	// end of the certificate that came with that bundle, also if the keyring does not hold it. Zero:
	// there was none. Each certificate that comes later prolongs it.
	Pinned time.Time
	// Keep persists credentials before they are used. Nil arguments are unchanged: certificate and
	// key come together, and a new CA bundle comes without them. asked is what Boot returned
	// before the certificate was asked for: by that clock it lasts for identity.Lifetime at most.
	Keep func(certPEM, keyPEM, trustPEM []byte, asked time.Duration) error
	// Boot reads CLOCK_BOOTTIME.
	Boot func() time.Duration
	// Dial opens a connection to Address; nil: by TCP, from any address of this machine.
	Dial   func(ctx context.Context, address string) (net.Conn, error)
	Logger *slog.Logger
}

// Client is an agent's end of the protocol.
type Client struct {
	ClientConfig
	newest atomic.Pointer[Report] // what the agent reported last
	sent   atomic.Pointer[Report] // what was sent on the subscription last; nil: nothing yet
	told   chan struct{}          // signals that sent has changed; capacity 1
	stands atomic.Pointer[standing]
	wake   chan struct{} // signals that newest has changed; capacity 1
	hurry  chan struct{} // signals that the manager is known to be back; capacity 1
	anew   chan struct{} // signals that the subscription is to begin anew; capacity 1

	adopting sync.Mutex // a renewal and a new CA bundle may come at the same time
	bundle   string     // the bundle that was adopted last

	// The fields below are used by Run only.
	reconnect  reconnection
	refused    bool      // the last attempt failed because of our certificate, or of what we trust
	unanswered int       // attempts in a row that reached the manager, and it said nothing
	renewed    time.Time // when the certificate was renewed last; zero: it was not
}

// NewClient returns a client. It does nothing before Run.
func NewClient(cfg ClientConfig) *Client {
	return &Client{
		ClientConfig: cfg,
		wake:         make(chan struct{}, 1),
		told:         make(chan struct{}, 1),
		hurry:        make(chan struct{}, 1),
		anew:         make(chan struct{}, 1),
		reconnect:    reconnection{first: minBackoff, most: maxBackoff},
	}
}

// Report replaces the report for the manager. It does not block and may be called before Run and
// concurrently. Only the newest report is kept, and the same report is not sent twice over one
// connection.
func (c *Client) Report(r Report) {
	r = r.clone()
	c.newest.Store(&r)
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// standing is how this agent stands with the manager.
type standing struct {
	hold     Hold
	admitted bool // there is a subscription that the manager has answered
	trouble  string
}

// Standing returns why no further process can become a voter now, as the manager says, and whether
// it has admitted this agent. If it has not, trouble is what failed last.
func (c *Client) Standing() (hold Hold, admitted bool, trouble string) {
	if s := c.stands.Load(); s != nil {
		return s.hold, s.admitted, s.trouble
	}
	return Hold{}, false, ""
}

// Farewell waits until the newest report has been sent, if there is a subscription, and for ctx at
// most. It is for an agent that ends: the subscription ends with it.
func (c *Client) Farewell(ctx context.Context) {
	for sent := c.sent.Load(); sent != nil && sent != c.newest.Load(); sent = c.sent.Load() {
		select {
		case <-c.told:
		case <-ctx.Done():
			return
		}
	}
}

// Hurry tells the client that another process has a newer roster, so the manager is available: an
// attempt that waits is made within a second. It does not block, and may be called concurrently and
// often.
func (c *Client) Hurry() {
	select {
	case c.hurry <- struct{}{}:
	default:
	}
}

// FollowAnew has the client begin its subscription anew, so that the manager says again which
// roster counts. It does not block, and may be called concurrently.
func (c *Client) FollowAnew() {
	select {
	case c.anew <- struct{}{}:
	default:
	}
}

// errAnew ends a subscription to start another one. It is not a failure.
var errAnew = errors.New("the subscription begins anew")

// errRenewed ends a subscription to start another one with a new certificate. It is not a failure.
var errRenewed = errors.New("the certificate was renewed")

// Run joins, follows and renews until ctx ends, and then returns nil, or until the pod belongs to
// another group than the one that it has joined: that is a *MovedError. It logs failures and
// retries (see reconnection). A receiver that does not read updates blocks the client only.
func (c *Client) Run(ctx context.Context, updates chan<- Update) error {
	if _, _, err := net.SplitHostPort(c.Address); err != nil {
		return fmt.Errorf("the manager's address %q must be HOST:PORT: %w", c.Address, err)
	}
	waiting := false // true once the client has logged that it waits for the CA bundle
	for {
		err := c.attempt(ctx, updates)
		if ctx.Err() != nil {
			return nil
		}
		if errors.Is(err, errRenewed) {
			c.renewed = time.Now()
			continue
		}
		if errors.Is(err, errAnew) {
			continue
		}
		if moved := (*MovedError)(nil); errors.As(err, &moved) {
			return moved
		}
		c.stands.Store(&standing{trouble: err.Error()})
		// the attempt did not reach the manager, so no backoff is needed
		if missing := (*noTrustError)(nil); errors.As(err, &missing) {
			if !waiting {
				c.Logger.Info("waiting for the CA bundle", "reason", err)
			}
			if waiting = true; !sleep(ctx, trustPoll) {
				return nil
			}
			continue
		}
		wait, often := c.reconnect.next(time.Now())
		level := slog.LevelWarn
		if often {
			level = slog.LevelDebug
		}
		c.Logger.Log(ctx, level, "no connection to the manager, elections continue with the last roster",
			"manager", c.Address, "error",
			err, "retryIn", wait)
		if !c.pause(ctx, wait) {
			return nil
		}
	}
}

// attempt gets credentials if there are no valid ones, then follows the roster. Each takes a
// connection of its own.
func (c *Client) attempt(ctx context.Context, updates chan<- Update) error {
	if c.needsCertificate() {
		if err := c.joinByToken(ctx); err != nil {
			return err
		}
	}
	return c.follow(ctx, updates)
}

// noTrustError means that there is no CA bundle yet.
type noTrustError struct{ cause error }

func (e *noTrustError) Error() string {
	return fmt.Sprintf("no CA bundle yet (the manager writes it to the ConfigMap podesta-trust "+
		"of the namespace once a group exists there): %v", e.cause)
}

func (e *noTrustError) Unwrap() error { return e.cause }
