package controllers

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/roster"
)

// NewScheme returns a scheme with all types that the manager uses.
func NewScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	return scheme, v1.AddToScheme(scheme)
}

// Options say how a manager serves agents.
type Options struct {
	// Listen opens the listener for agents, when this manager leads.
	Listen func(context.Context) (net.Listener, error)
	// Namespace and PodName are the manager's own; without a PodName it is not in a pod and marks none as the leader.
	Namespace, PodName string
	Registry           prometheus.Registerer
	Gather             time.Duration // of news before a pass; zero is DefaultGather
	Look               time.Duration // from one look at the CA to the next; zero is DefaultLook
	Version            string        // of the manager; agents of another one are called outdated. Empty: none is
	Logger             *slog.Logger
}

// Setup adds everything to a controller-runtime manager: both reconcilers and the service for agents.
func Setup(mgr ctrl.Manager, options Options) error {
	keyring := identity.NewKeyring(time.Now)
	authorities := &Authorities{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Namespace: options.Namespace, Now: time.Now,
		Look: cmp.Or(options.Look, DefaultLook), Logger: options.Logger}
	sightings := roster.NewSightings(time.Now)
	server := roster.NewServer(roster.ServerConfig{Keyring: keyring, Authority: authorities,
		Admission: &Admission{Client: mgr.GetClient(), Live: mgr.GetAPIReader()},
		Sightings: sightings, Now: time.Now, Logger: options.Logger})
	groups := &ElectionGroups{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Version: options.Version, Recorder: mgr.GetEventRecorder("podesta-manager"),
		Board: server, Sightings: sightings, Now: time.Now, Gather: cmp.Or(options.Gather, DefaultGather)}
	var err error
	if groups.Metrics, err = NewMetrics(options.Registry, groups, sightings); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	if err := groups.SetupWithManager(mgr); err != nil {
		return err
	}
	trust := NewTrust(mgr.GetClient())
	if err := trust.SetupWithManager(mgr); err != nil {
		return err
	}
	authorities.Spread = func(bundlePEM []byte) error {
		if err := keyring.SetTrust(bundlePEM); err != nil {
			return err
		}
		server.SetTrust(bundlePEM)
		trust.Spread(bundlePEM)
		return nil
	}
	lead := func(ctx context.Context) error {
		if options.PodName == "" {
			return nil
		}
		return MarkLeader(ctx, mgr.GetClient(), mgr.GetAPIReader(), options.Namespace, options.PodName)
	}
	return mgr.Add(&RosterService{Server: server, Authorities: authorities, Keyring: keyring,
		Listen: options.Listen, Lead: lead, Logger: options.Logger})
}
