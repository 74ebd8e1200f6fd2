package roster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"

	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/roster/rosterpb"
)

// How the client talks.
const (
	callTimeout   = 15 * time.Second // of a Join, with its TokenReview
	dialTimeout   = 5 * time.Second
	pingInterval  = 20 * time.Second // a manager that vanished without a word is noticed within both
	pingTimeout   = 10 * time.Second
	trustPoll     = 250 * time.Millisecond // how often a missing CA bundle is looked for
	maxUpdateSize = 1 << 20                // a roster of 256 processes with the longest names is below it
)

// Update is what the manager tells an agent: exactly one of a new roster, or that the group does not exist or this pod is
// not on its roster; then the agent stops electing until a roster comes.
type Update struct {
	Roster *Roster
	Gone   bool
}

// ClientConfig configures a Client; every field is required.
type ClientConfig struct {
	// Address of the manager, host:port.
	Address string
	// Token reads the pod's projected token, anew at each Join by token.
	Token func() (string, error)
	// Trust reads the mounted CA bundle, anew at each attempt. The file may not exist yet: the client says so and retries.
	Trust func() ([]byte, error)
	// Keyring is where new credentials go. It may already hold a certificate and a bundle from the state directory: then
	// there is no Join before RenewAt.
	Keyring *identity.Keyring
	// Keep persists credentials; it is called before they are used. A nil argument is unchanged: certificate and key come
	// together, and a new CA bundle comes without them.
	Keep   func(certPEM, keyPEM, trustPEM []byte) error
	Logger *slog.Logger
}

// Client is an agent's end of the protocol.
type Client struct {
	ClientConfig
	newest atomic.Pointer[Report] // what the agent reported last
	wake   chan struct{}          // newest has changed; capacity 1
	hurry  chan struct{}          // the manager is known to be back; capacity 1

	adopting sync.Mutex // a renewal and a new CA bundle may come at once
	bundle   string     // the bundle that was adopted last

	// Below is Run's own.
	retry   *backoff
	mounted string // the bundle that Trust last returned
	refused bool   // the last attempt with our certificate reached a manager that had nothing to say to us
}

// NewClient returns a client that does nothing before Run.
func NewClient(cfg ClientConfig) *Client {
	return &Client{ClientConfig: cfg, wake: make(chan struct{}, 1), hurry: make(chan struct{}, 1), retry: newBackoff()}
}

// Report replaces what the manager is to be told. It never blocks; only the newest report is kept, and the same report
// is not sent twice over one connection. It may be called before Run, and by any goroutine.
func (c *Client) Report(r Report) {
	r = r.clone()
	c.newest.Store(&r)
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Hurry says that another process has a newer roster: the manager is there, so an attempt that waits its turn is made within a
// second. It never blocks, and may be called by any goroutine, however often.
func (c *Client) Hurry() {
	select {
	case c.hurry <- struct{}{}:
	default:
	}
}

// errRenewed ends a session in order to begin another one with a new certificate: no failure.
var errRenewed = errors.New("the certificate was renewed")

// Run joins, follows and renews until ctx ends; then it returns nil. Whatever goes wrong is logged and tried again with
// full jitter below 1 s at first, below 60 s at last. A receiver that does not take from updates holds up the client only.
func (c *Client) Run(ctx context.Context, updates chan<- Update) error {
	if _, _, err := net.SplitHostPort(c.Address); err != nil {
		return fmt.Errorf("the manager's address %q must be host:port: %w", c.Address, err)
	}
	waiting := false // for the CA bundle; said once
	for {
		begun := time.Now()
		err := c.attempt(ctx, updates)
		if ctx.Err() != nil {
			return nil
		}
		if errors.Is(err, errRenewed) {
			continue
		}
		if missing := (*noTrustError)(nil); errors.As(err, &missing) { // nobody was bothered, so there is nobody to spare
			if !waiting {
				c.Logger.Info("waiting to join", "reason", err)
			}
			if waiting = true; !sleep(ctx, trustPoll) {
				return nil
			}
			continue
		}
		if time.Since(begun) >= steady {
			c.retry.reset()
		}
		wait := c.retry.next()
		c.Logger.Warn("no session with the manager; elections go on with the last roster", "manager", c.Address, "error",
			err, "retryIn", wait)
		if !c.pause(ctx, wait) {
			return nil
		}
	}
}

// attempt makes one connection's worth of progress: credentials if there are none that serve, then a session.
func (c *Client) attempt(ctx context.Context, updates chan<- Update) error {
	bundle, err := c.readTrust()
	if err != nil {
		return err
	}
	if !c.certified() || c.refused {
		if err := c.joinByToken(ctx, bundle); err != nil {
			return err
		}
	}
	return c.follow(ctx, updates)
}

// readTrust puts a bundle that is newly mounted into use. What is mounted lags behind what came by Follow, so the same
// file is taken once only. Without a file, a bundle from the state directory serves; without either there is no start.
func (c *Client) readTrust() ([]byte, error) {
	bundle, err := c.Trust()
	if err != nil {
		if c.certified() && !c.refused {
			return nil, nil
		}
		return nil, &noTrustError{err}
	}
	if string(bundle) == c.mounted {
		return bundle, nil
	}
	if err := c.Keyring.SetTrust(bundle); err != nil {
		return nil, fmt.Errorf("the mounted CA bundle: %w", err)
	}
	c.mounted = string(bundle)
	return bundle, nil
}

// noTrustError: there is no CA bundle yet.
type noTrustError struct{ cause error }

func (e *noTrustError) Error() string {
	return fmt.Sprintf("no CA bundle yet (the manager writes it into the namespace's ConfigMap podesta-trust once there is a group): %v", e.cause)
}

func (e *noTrustError) Unwrap() error { return e.cause }

// certified says whether the keyring holds a certificate that is valid now.
func (c *Client) certified() bool {
	_, ok := c.Keyring.Name()
	return ok && time.Now().Before(c.Keyring.NotAfter())
}

// connect prepares a connection with these credentials. reached is set once the manager has accepted a connection.
// gRPC's own reconnecting is not used: a session that ends is begun anew by Run.
func (c *Client) connect(keyring *identity.Keyring) (conn *grpc.ClientConn, reached *atomic.Bool, err error) {
	reached = new(atomic.Bool)
	dial := func(ctx context.Context, address string) (net.Conn, error) {
		d := net.Dialer{Timeout: dialTimeout}
		conn, err := d.DialContext(ctx, "tcp", address)
		if err == nil {
			reached.Store(true)
		}
		return conn, err
	}
	conn, err = grpc.NewClient("passthrough:///"+c.Address,
		grpc.WithTransportCredentials(credentials.NewTLS(keyring.RosterClient())),
		grpc.WithContextDialer(dial),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: pingInterval, Timeout: pingTimeout}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxUpdateSize)),
		grpc.WithDisableServiceConfig(), grpc.WithDisableRetry(),
		grpc.WithReadBufferSize(4<<10), grpc.WithWriteBufferSize(4<<10))
	return conn, reached, err
}

// joinByToken gets a certificate for the pod that the token speaks of. It presents no certificate: the one there is has
// expired or was refused.
func (c *Client) joinByToken(ctx context.Context, bundle []byte) error {
	token, err := c.Token()
	if err != nil {
		return fmt.Errorf("read the pod's token (the agent's container needs a projected ServiceAccount token with audience podesta.dev): %w", err)
	}
	blank := identity.NewKeyring(time.Now)
	if err := blank.SetTrust(bundle); err != nil {
		return fmt.Errorf("the mounted CA bundle: %w", err)
	}
	conn, _, err := c.connect(blank)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := c.join(ctx, rosterpb.NewRosterServiceClient(conn), token); err != nil {
		return fmt.Errorf("join by token: %w", err)
	}
	c.refused = false
	return nil
}

// join makes a new key and puts the certificate for it into use, after it was kept. An empty token renews: the connection's
// certificate speaks for the pod.
func (c *Client) join(ctx context.Context, manager rosterpb.RosterServiceClient, token string) error {
	key, err := identity.NewKey()
	if err != nil {
		return err
	}
	request, err := identity.Request(key)
	if err != nil {
		return err
	}
	keyPEM, err := identity.EncodeKey(key)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	granted, err := manager.Join(ctx, &rosterpb.JoinRequest{Token: token, Csr: request})
	if err != nil {
		return err
	}
	return c.adopt(granted.GetCertificate(), keyPEM, granted.GetTrust())
}

// adopt keeps credentials, then uses them; nil is unchanged. They are tried on a blank keyring first, so that nothing that
// does not serve is kept.
func (c *Client) adopt(certPEM, keyPEM, trustPEM []byte) error {
	c.adopting.Lock()
	defer c.adopting.Unlock()
	if certPEM == nil && string(trustPEM) == c.bundle {
		return nil // every session begins with the bundle
	}
	trial := identity.NewKeyring(time.Now)
	if err := trial.SetTrust(trustPEM); err != nil {
		return fmt.Errorf("the manager sent a CA bundle that does not serve: %w", err)
	}
	if certPEM != nil {
		if err := trial.SetCertificate(certPEM, keyPEM); err != nil {
			return fmt.Errorf("the manager sent a certificate that does not serve: %w", err)
		}
	}
	if err := c.Keep(certPEM, keyPEM, trustPEM); err != nil {
		return fmt.Errorf("keep the new credentials: %w", err)
	}
	if err := c.Keyring.SetTrust(trustPEM); err != nil {
		return err
	}
	c.bundle = string(trustPEM)
	if certPEM == nil {
		return nil
	}
	return c.Keyring.SetCertificate(certPEM, keyPEM)
}

// hurried is within what time an attempt is made after Hurry, so that those who hurry do not all come at once.
const hurried = time.Second

// pause is sleep, unless somebody hurries.
func (c *Client) pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-c.hurry: // that was before
	default:
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	case <-c.hurry:
		return sleep(ctx, min(d, rand.N(hurried)))
	}
}

// sleep waits and says whether ctx still runs.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
