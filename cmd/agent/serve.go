package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/podesta-dev/podesta/internal/agent"
	"github.com/podesta-dev/podesta/internal/apphealth"
	"github.com/podesta-dev/podesta/internal/connlimit"
	"github.com/podesta-dev/podesta/internal/cpuquota"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/pathmtu"
	"github.com/podesta-dev/podesta/internal/roster"
	"github.com/podesta-dev/podesta/internal/statedir"
	"github.com/podesta-dev/podesta/internal/transport"
)

// statusWithin bounds how long the status port may take to read a request, and to write its
// response.
const statusWithin = 10 * time.Second

// statusBytes is how much a client of the status port may send.
const statusBytes = 16 << 10

// serve runs the agent until ctx ends, then leaves the group. If others have heard a later
// incarnation of this process, the agent starts again above it, as after a crash.
func serve(ctx context.Context, o options, logger *slog.Logger) error {
	for {
		err := serveIncarnation(ctx, o, logger)
		outnumbered, ok := errors.AsType[*agent.OutnumberedError](err)
		if !ok || ctx.Err() != nil {
			return err
		}
		logger.Error("starting again with a higher incarnation", "error", outnumbered)
	}
}

// serveIncarnation runs the agent until ctx ends, or others ignore this incarnation of it.
func serveIncarnation(ctx context.Context, o options, logger *slog.Logger) error {
	dir, err := statedir.Open(o.stateDir, time.Now())
	if err != nil {
		return err
	}
	defer closeSoon(dir)
	s := newSidecar(o, logger, dir)
	if err := s.load(); err != nil {
		return err
	}
	listeners, err := openListeners(ctx, o)
	if err != nil {
		return err
	}
	defer func() {
		for _, l := range listeners {
			_ = l.Close()
		}
	}()
	err = s.run(ctx, listeners)
	if outnumbered, ok := errors.AsType[*agent.OutnumberedError](err); ok {
		if failed := dir.StartAbove(outnumbered.Latest); failed != nil {
			return failed
		}
	}
	return err
}

// closeWithin is how long the state directory may take to be closed.
const closeWithin = time.Second

// closeSoon closes the state directory, unless the disk hangs in a write that is under way: the end
// of the process closes it, too.
func closeSoon(dir *statedir.Dir) {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = dir.Close() // nothing is written to it any more
	}()
	select {
	case <-closed:
	case <-time.After(closeWithin):
	}
}

// run serves on what openListeners returned, and takes part in elections, until ctx ends. Then it
// leaves the group.
func (s *sidecar) run(ctx context.Context, listeners []net.Listener) error {
	// outlives ctx, so that leaving the group is served and reported, too
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var client *roster.Client
	var manager agent.ManagerEnd
	if s.manager != "" {
		client = s.client()
		manager = client
	}
	s.ready = agent.NewReadiness(s.views, s.ledger, manager, agent.WasReady(s.saved.Roster, s.dir.ID))
	group, serving := errgroup.WithContext(serving)
	group.Go(func() error { // reachable from the whole cluster
		status := newServer(agent.Status(s.meter, s.ready, s.loop))
		status.ReadTimeout, status.WriteTimeout = statusWithin, statusWithin
		status.SetKeepAlivesEnabled(false)
		limits := connlimit.Limits{Bytes: statusBytes, Within: 2 * statusWithin}
		limited := connlimit.Lines(connlimit.New(listeners[1], limits), connlimit.HeaderLines)
		return serveHTTP(serving, limited, status)
	})
	// outlives the election: cutting the app's session does not end the app's permission
	appServing, stopAppAPI := context.WithCancel(context.WithoutCancel(ctx))
	defer stopAppAPI()
	group.Go(func() error { return serveHTTP(appServing, listeners[2], s.appServer()) })
	s.prober.Use(s.health)
	s.appHost = appHost(listeners[2].Addr())
	group.Go(func() error { s.prober.Run(serving); return nil })
	updates := make(chan roster.Update, 1)
	if client != nil {
		group.Go(func() error { return client.Run(serving, updates) })
	}
	group.Go(func() error {
		defer stop()
		defer stopAppAPI()
		elect, cancel := context.WithCancel(ctx)
		defer cancel()
		context.AfterFunc(serving, cancel) // if a server fails, the election ends, too
		return s.elect(elect, listeners[0], updates, client)
	})
	err := group.Wait()
	if moved := (*roster.MovedError)(nil); errors.As(err, &moved) {
		return errors.Join(err, s.leaveGroup())
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// openListeners opens the sockets for links, the status port and the app API, in this order.
func openListeners(ctx context.Context, o options) ([]net.Listener, error) {
	config := net.ListenConfig{Control: pathmtu.Control}
	listeners := make([]net.Listener, 0, 3)
	for _, l := range []struct{ flag, address string }{
		{"--listen", o.listen},
		{"--status-address", o.statusAddress},
		{"--app-address", o.appAddress},
	} {
		listener, err := config.Listen(ctx, "tcp", l.address)
		if err != nil {
			for _, opened := range listeners {
				_ = opened.Close()
			}
			return nil, fmt.Errorf("%s: %w", l.flag, err)
		}
		listeners = append(listeners, listener)
	}
	return listeners, nil
}

// probe starts to probe the app as the roster says, unless --app-health is set.
func (s *sidecar) probe(h roster.AppHealth) {
	if s.health != nil {
		if h != (roster.AppHealth{}) {
			s.logger.Info(
				"ignoring spec.appHealth of the group because --app-health is set",
				"spec",
				h,
			)
		}
		return
	}
	s.prober.Use(apphealth.At(s.appHost, h))
}

// appHost returns the address of the app in this pod: the address at which the agent serves the
// app, which is on this machine, or the agent could not listen on it. The roster names no host.
func appHost(served net.Addr) string {
	if tcp, ok := served.(*net.TCPAddr); ok && !tcp.IP.IsUnspecified() {
		return tcp.IP.String()
	}
	return "127.0.0.1"
}

// rosterFile returns what other agents compare with their own roster files; nil if a manager made
// the roster. It returns an error if this process has another state directory than the file names.
func (s *sidecar) rosterFile(first *roster.Roster, pod string) (*transport.RosterFile, error) {
	if s.roster == "" {
		return nil, nil
	}
	if err := checkStateDir(s.stateDir, s.dir.ID, first, pod); err != nil {
		return nil, err
	}
	s.logger.Info("the roster file", "generation", first.Generation, "digest", first.FileDigest())
	return rosterFileOf(first), nil
}

// elect waits for a roster, unless it has one, and takes part in elections until ctx ends.
func (s *sidecar) elect(
	ctx context.Context,
	listener net.Listener,
	updates chan roster.Update,
	client *roster.Client,
) error {
	first, err := s.firstRoster(ctx, updates, client)
	if err != nil || first == nil {
		return err
	}
	self, ok := s.keyring.Name()
	if !ok {
		return errors.New(
			"received a roster but no certificate: restart the agent so that it joins again",
		)
	}
	if !first.Has(self.Pod, self.UID) {
		return fmt.Errorf(
			"the certificate names process %s with UID %s, which is not on the roster: use the "+
				"certificate of a process of this group",
			self.Pod,
			self.UID,
		)
	}
	file, err := s.rosterFile(first, self.Pod)
	if err != nil {
		return err
	}
	links := transport.New(transport.Config{ //nolint:contextcheck // links end by Close
		Listener:    listener,
		Keyring:     s.keyring,
		Self:        self,
		StateID:     s.dir.ID,
		Incarnation: s.dir.Incarnation,
		RosterFile:  file,
		Reconnect:   first.Heartbeat,
		Logger:      s.logger,
	})
	s.links.Store(&links)
	config := s.config(first, self.Pod, self.UID, links)
	if client != nil {
		config.Updates, config.Report, config.Behind = updates, client.Report, client.Hurry
		config.Again = client.FollowAnew
		config.Open = func(signed []byte) (roster.Roster, error) {
			return roster.Open(s.keyring, signed)
		}
	}
	s.running.Store(true)
	defer s.running.Store(false)
	err = agent.Run(ctx, config)
	if client != nil {
		leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewellWithin)
		defer cancel()
		client.Farewell(leaving)
	}
	return err
}

// config is what the agent of the process of that name and UID runs with.
func (s *sidecar) config(
	first *roster.Roster, name, uid string, links transport.Links,
) agent.Config {
	return agent.Config{
		Self:        name,
		UID:         uid,
		Incarnation: s.dir.Incarnation,
		Roster:      *first,
		Links:       links,
		StateID:     s.dir.ID,
		Saved:       s.saved.Lease,
		Save:        s.save,
		Ledger:      s.ledger,
		Health:      s.prober.Changes(),
		Probe:       s.probe,
		OwnHealth:   s.health != nil,
		Certified:   s.certified,
		Version:     version,
		Rules:       lease.Rules,
		Throttled:   s.throttled(),
		Views:       s.views,
		Meter:       s.meter,
		Accounts:    s.accounts,
		Pings:       s.pings,
		Logger:      s.logger,
	}
}

// farewellWithin is how long it may take to tell the manager that this process has left (MC5).
const farewellWithin = 500 * time.Millisecond

// throttled returns by how much a CPU limit of this container may delay lease.Burst, and says what
// follows from that.
func (s *sidecar) throttled() time.Duration {
	delay := cpuquota.Delay(s.machine, lease.Burst)
	if delay > 0 {
		s.logger.Warn("this container's CPU limit stops the agent now and then: as the coordinator of a "+
			"Guarded group it may ask for a longer lease, and is missed for longer then if it fails; "+
			"remove the limit, or make it 1 CPU or more", "delay", delay)
	}
	return delay
}

// save writes the state that the voter must keep to the state directory. An agent with a manager
// keeps the roster, too, and whether the app has opened a session. Its directory is as old as its
// pod, and each app in it is the same program.
func (s *sidecar) save(l lease.State, r *roster.Roster) error {
	if s.roster != "" {
		r = s.saved.Roster
	} else if s.ledger.Expected() && !s.sessionSaved {
		s.sessionSaved = s.dir.SaveSession() == nil // no vote depends on it
	}
	return s.dir.Save(l, r)
}

// loop returns the channel on which the liveness probe pings the running agent; nil while the agent
// waits for a roster.
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

// newServer returns a server that bounds the size of a request, and the time that a client may take
// to send it and to read the response. A stream sets that time for each event.
func newServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		WriteTimeout:      5 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
	}
}

// appServer returns the server of the app API.
func (s *sidecar) appServer() *http.Server {
	api := http.NewServeMux()
	api.Handle("/", agent.AppAPI(s.views, s.ledger, s.accounts, s.logger))
	api.Handle("GET /v1/readiness", s.ready)
	server := newServer(agent.RefuseOtherSites(api, s.appAddress))
	agent.BoundConnections(server)
	return server
}

// serveHTTP serves until ctx ends. Then it cuts the streams that are still open, and the next
// incarnation may have the address at once.
func serveHTTP(ctx context.Context, l net.Listener, server *http.Server) error {
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(closed)
		_ = server.Close()
	})
	defer func() {
		if !stop() {
			<-closed
		}
	}()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
