package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/podesta-dev/podesta/internal/agent"
	"github.com/podesta-dev/podesta/internal/apphealth"
	"github.com/podesta-dev/podesta/internal/door"
	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/roster"
	"github.com/podesta-dev/podesta/internal/statedir"
	"github.com/podesta-dev/podesta/internal/transport"
)

// sidecar is an agent with all that it listens on.
type sidecar struct {
	options
	logger  *slog.Logger
	dir     *statedir.Dir
	saved   statedir.Saved // what the state directory held at the start
	keyring *identity.Keyring
	board   *agent.Board
	ledger  *agent.Ledger
	meter   *agent.Meter
	pings   chan chan<- struct{}

	prober  *apphealth.Prober
	appHost string // where the app is: the host on which the agent serves it
	running atomic.Bool
	links   atomic.Pointer[transport.Links]
}

// statusWithin is how long a question to the status port, and its answer, may take.
const statusWithin = 10 * time.Second

// serve runs the agent until ctx ends, and then leaves.
func serve(ctx context.Context, o options, logger *slog.Logger) error {
	dir, err := statedir.Open(o.stateDir, time.Now())
	if err != nil {
		return err
	}
	defer dir.Close() //nolint:errcheck // nothing is written to it any more
	s := &sidecar{options: o, logger: logger, dir: dir, keyring: identity.NewKeyring(time.Now),
		board: agent.NewBoard(), ledger: agent.NewLedger(agent.ReadClocks), prober: apphealth.NewProber(), pings: make(chan chan<- struct{})}
	s.meter = agent.NewMeter(s.board, s.ledger, s.dropped)
	if err := s.load(); err != nil {
		return err
	}
	var config net.ListenConfig
	listeners := make([]net.Listener, 0, 3)
	for _, l := range []struct{ flag, address string }{{"--listen", o.listen}, {"--status-address", o.statusAddress}, {"--app-address", o.appAddress}} {
		listener, err := config.Listen(ctx, "tcp", l.address)
		if err != nil {
			return fmt.Errorf("%s: %w", l.flag, err)
		}
		defer listener.Close()
		listeners = append(listeners, listener)
	}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx)) // outlives ctx: leaving is served and reported too
	defer stop()
	group, serving := errgroup.WithContext(serving)
	group.Go(func() error { // the whole cluster may reach it
		status := newServer(agent.Status(s.meter, s.loop))
		status.ReadTimeout, status.WriteTimeout = statusWithin, statusWithin
		status.SetKeepAlivesEnabled(false)
		return serveHTTP(serving, door.New(listeners[1]), status)
	})
	telling, hush := context.WithCancel(context.WithoutCancel(ctx)) // outlives the election: to cut a session gives nothing up
	defer hush()
	group.Go(func() error {
		return serveHTTP(telling, listeners[2], newServer(agent.AppAPI(s.board, s.ledger)))
	})
	s.prober.Use(o.health)
	s.appHost = appHost(listeners[2].Addr())
	group.Go(func() error { s.prober.Run(serving); return nil })
	updates := make(chan roster.Update, 1)
	var client *roster.Client
	if o.manager != "" {
		client = s.client()
		group.Go(func() error { return client.Run(serving, updates) })
	}
	group.Go(func() error {
		defer stop()
		defer hush()
		elect, cancel := context.WithCancel(ctx)
		defer cancel()
		context.AfterFunc(serving, cancel) // a server that failed ends the election, too
		return s.elect(elect, listeners[0], updates, client)
	})
	if err := group.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// probe has the app asked as the roster says, unless the flag does.
func (s *sidecar) probe(h roster.AppHealth) {
	if s.health != nil {
		if h != (roster.AppHealth{}) {
			s.logger.Info("--app-health wins over what the group says of its apps' health", "group", h)
		}
		return
	}
	s.prober.Use(apphealth.At(s.appHost, h))
}

// appHost is where the app of this pod is: the address on which the agent serves it, which is this machine's or it could not be
// listened on. The roster names no host.
func appHost(served net.Addr) string {
	if tcp, ok := served.(*net.TCPAddr); ok && !tcp.IP.IsUnspecified() {
		return tcp.IP.String()
	}
	return "127.0.0.1"
}

// elect waits for a roster, unless there is one, and takes part in elections until ctx ends.
func (s *sidecar) elect(ctx context.Context, listener net.Listener, updates chan roster.Update, client *roster.Client) error {
	first, err := s.firstRoster(ctx, updates)
	if err != nil || first == nil {
		return err
	}
	self, ok := s.keyring.Name()
	if !ok {
		return errors.New("a roster came without a certificate")
	}
	if !first.Has(self.Pod, self.UID) {
		return fmt.Errorf("the certificate is of %s, UID %s: no such process is on the roster", self.Pod, self.UID)
	}
	links := transport.New(transport.Config{Listener: listener, Keyring: s.keyring, Self: self, StateID: s.dir.ID,
		Incarnation: s.dir.Incarnation, Reconnect: first.Heartbeat, Logger: s.logger})
	s.links.Store(&links)
	config := agent.Config{
		Self: self.Pod, UID: self.UID, Incarnation: s.dir.Incarnation, Roster: *first, Links: links,
		StateID: s.dir.ID, Saved: s.saved.Lease, Save: s.save, Ledger: s.ledger,
		Health: s.prober.Turns(), Probe: s.probe,
		Certified: func() bool { return time.Now().Before(s.keyring.NotAfter()) },
		Version:   version, Board: s.board, Meter: s.meter, Pings: s.pings, Logger: s.logger,
	}
	if client != nil {
		config.Updates, config.Report, config.Behind = updates, client.Report, client.Hurry
	}
	s.running.Store(true)
	defer s.running.Store(false)
	return agent.Run(ctx, config)
}

// save saves what the voter must not forget, and the roster unless a file brings it.
func (s *sidecar) save(l lease.State, r *roster.Roster) error {
	if s.roster != "" {
		r = s.saved.Roster
	}
	return s.dir.Save(l, r)
}

// firstRoster is the roster to begin with: the file's, else the one kept in memory if the certificate kept with it still
// serves, so that elections need no manager; else the manager's first. It is nil if ctx ends before.
func (s *sidecar) firstRoster(ctx context.Context, updates <-chan roster.Update) (*roster.Roster, error) {
	if s.roster != "" {
		r, err := roster.ReadFile(s.roster)
		return &r, err
	}
	if _, ok := s.keyring.Name(); ok {
		kept := s.saved.Roster
		switch {
		case kept != nil && !slices.Contains(election.Algorithms(), kept.Algorithm):
			s.logger.Warn("this agent does not know the algorithm of the roster kept in the state directory; waiting for the manager's", "algorithm", kept.Algorithm)
		case kept != nil:
			return kept, nil
		}
	}
	s.logger.Info("waiting for a roster", "manager", s.manager)
	for {
		select {
		case <-ctx.Done():
			return nil, nil
		case u := <-updates:
			if u.Roster == nil {
				continue // no group yet
			}
			if err := s.dir.Save(s.saved.Lease, u.Roster); err != nil {
				return nil, err
			}
			return u.Roster, nil
		}
	}
}

// load reads what an earlier incarnation saved. Without its roster the agent waits for the manager's.
func (s *sidecar) load() error {
	var err error
	s.saved, err = s.dir.Load()
	noRoster := (*statedir.RosterError)(nil)
	if errors.As(err, &noRoster) {
		s.logger.Warn("cannot use the roster in the state directory", "error", noRoster)
	} else if err != nil {
		return err
	}
	return s.loadCredentials(s.saved.Roster != nil || noRoster != nil)
}

// loadCredentials fills the keyring from the flags' files, or with what the state directory has saved.
// Joined reports whether the agent had a roster there: then the certificate is of the same group.
func (s *sidecar) loadCredentials(joined bool) error {
	certificate, key, trust, err := s.dir.Credentials()
	if s.roster != "" {
		certificate, key, trust, err = readAll(s.certificate, s.key, s.trustFile)
	}
	if err != nil {
		return err
	}
	if trust != nil {
		if err := s.keyring.SetTrust(trust); err != nil {
			return err
		}
	}
	if certificate == nil || key == nil {
		return nil
	}
	if s.roster == "" && !joined {
		s.logger.Info("no roster is kept in the state directory: the certificate may be of another group; joining anew")
		return nil
	}
	err = s.keyring.SetCertificate(certificate, key)
	if err != nil && s.roster == "" { // a crash between the two files: join again
		s.logger.Warn("cannot use the certificate kept in the state directory; joining anew", "error", err)
		return nil
	}
	return err
}

func readAll(certificateFile, keyFile, trustFile string) (certificate, key, trust []byte, err error) {
	if certificate, err = os.ReadFile(certificateFile); err != nil {
		return nil, nil, nil, err
	}
	if key, err = os.ReadFile(keyFile); err != nil {
		return nil, nil, nil, err
	}
	trust, err = os.ReadFile(trustFile)
	return certificate, key, trust, err
}

func (s *sidecar) client() *roster.Client {
	return roster.NewClient(roster.ClientConfig{
		Address: s.manager,
		Token: func() (string, error) {
			token, err := os.ReadFile(s.tokenFile)
			return strings.TrimSpace(string(token)), err
		},
		Trust:   func() ([]byte, error) { return os.ReadFile(s.trustFile) },
		Keyring: s.keyring,
		Keep:    s.dir.SaveCredentials,
		Logger:  s.logger,
	})
}

// loop is where the running agent is asked whether it is alive; nil while it waits for a roster.
func (s *sidecar) loop() chan<- chan<- struct{} {
	if !s.running.Load() {
		return nil
	}
	return s.pings
}

func (s *sidecar) dropped() uint64 {
	if links := s.links.Load(); links != nil {
		return (*links).Dropped()
	}
	return 0
}

// newServer bounds what a client may send, and how long it may take for it; not how long it may read.
func newServer(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10}
}

// serveHTTP serves until ctx ends; streams that are open then are cut.
func serveHTTP(ctx context.Context, l net.Listener, server *http.Server) error {
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
