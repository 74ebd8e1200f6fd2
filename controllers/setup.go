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
	Authority *identity.Authority
	// Listen opens the listener for agents, when this manager leads.
	Listen func(context.Context) (net.Listener, error)
	// Namespace and PodName are the manager's own; without a PodName it is not in a pod and marks none as the leader.
	Namespace, PodName string
	Registry           prometheus.Registerer
	Gather             time.Duration // of news before a pass; zero is DefaultGather
	Logger             *slog.Logger
}

// Setup adds everything to a controller-runtime manager: both reconcilers and the service for agents.
func Setup(mgr ctrl.Manager, options Options) error {
	bundle, _, err := options.Authority.PEM()
	if err != nil {
		return err
	}
	keyring := identity.NewKeyring(time.Now)
	if err := keyring.SetTrust(bundle); err != nil {
		return err
	}
	sightings := roster.NewSightings(time.Now)
	server := roster.NewServer(roster.ServerConfig{Keyring: keyring, Authority: options.Authority, Trust: bundle,
		Admission: &Admission{Client: mgr.GetClient(), Live: mgr.GetAPIReader()},
		Sightings: sightings, Now: time.Now, Logger: options.Logger})
	groups := &ElectionGroups{Client: mgr.GetClient(), Recorder: mgr.GetEventRecorder("podesta-manager"),
		Board: server, Sightings: sightings, Now: time.Now, Gather: cmp.Or(options.Gather, DefaultGather)}
	if groups.Metrics, err = NewMetrics(options.Registry, groups, sightings); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	if err := groups.SetupWithManager(mgr); err != nil {
		return err
	}
	if err := (&Trust{Client: mgr.GetClient(), Bundle: bundle}).SetupWithManager(mgr); err != nil {
		return err
	}
	lead := func(ctx context.Context) error {
		if options.PodName == "" {
			return nil
		}
		return MarkLeader(ctx, mgr.GetClient(), mgr.GetAPIReader(), options.Namespace, options.PodName)
	}
	return mgr.Add(&RosterService{Server: server, Authority: options.Authority, Keyring: keyring,
		Listen: options.Listen, Lead: lead, Logger: options.Logger})
}
