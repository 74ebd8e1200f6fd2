package main

import (
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/podesta-dev/podesta/internal/agent"
	"github.com/podesta-dev/podesta/internal/apphealth"
	"github.com/podesta-dev/podesta/internal/credentials"
	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/statedir"
	"github.com/podesta-dev/podesta/internal/transport"
)

// sidecar is a running agent with its servers.
type sidecar struct {
	options
	logger      *slog.Logger
	machine     string // the root directory in which quotas are looked for
	dir         *statedir.Dir
	saved       statedir.Saved // what the state directory held at the start
	keyring     *identity.Keyring
	credentials *credentials.Store // of an agent that a manager certifies
	views       *agent.Views
	ledger      *agent.Ledger
	meter       *agent.Meter
	accounts    *agent.Accounts
	pings       chan chan<- struct{}
	ready       *agent.Readiness

	prober  *apphealth.Prober
	appHost string // the address at which the agent serves its app and probes it
	running atomic.Bool
	links   atomic.Pointer[transport.Links]

	sessionSaved bool // the state directory says that the app has opened one; save alone uses it
}

func newSidecar(o options, logger *slog.Logger, dir *statedir.Dir) *sidecar {
	s := &sidecar{
		options:  o,
		logger:   logger,
		machine:  "/",
		dir:      dir,
		keyring:  identity.NewKeyring(time.Now),
		views:    agent.NewViews(),
		ledger:   agent.NewLedger(agent.MachineClocks{}),
		accounts: agent.NewAccounts(),
		prober:   apphealth.NewProber(),
		pings:    make(chan chan<- struct{}),
	}
	s.credentials = credentials.New(dir, s.keyring, credentials.Clock{
		Boot:   agent.MachineClocks{}.Boot,
		BootID: agent.BootID(),
	}, logger)
	s.meter = agent.NewMeter(s.views, s.ledger, agent.Sources{
		Dropped:  s.dropped,
		NotAfter: s.keyring.NotAfter,
	})
	return s
}
