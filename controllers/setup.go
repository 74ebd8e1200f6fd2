package controllers

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/controllers/agentserver"
	"github.com/podesta-dev/podesta/controllers/apiclock"
	"github.com/podesta-dev/podesta/controllers/ca"
	"github.com/podesta-dev/podesta/controllers/group"
	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/logqueue"
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

// Options configure a manager.
type Options struct {
	// Listen opens the listener for agents, when this manager leads.
	Listen func(context.Context) (net.Listener, error)
	// Namespace and PodName are the manager's own; without a PodName it does not run in a pod, and
	// marks none as the leader.
	Namespace, PodName string
	// Namespaces are those that the manager is restricted to, as CacheOptions has them. If empty, it
	// manages the groups of all.
	Namespaces []string
	Registry   prometheus.Registerer
	// Debounce is how long news of a group is gathered before a pass; zero is
	// group.DefaultDebounce.
	Debounce time.Duration
	// CheckCAEvery is the time from one check of the CA to the next; zero is ca.DefaultCheckEvery.
	CheckCAEvery time.Duration
	// Version is the manager's; agents of another one are called outdated. Empty: no agent is.
	Version string
	// Rules is the newest rules level that this manager supports (lease.Rules); 0 counts as 1.
	Rules int32
	// Clock watches the requests to the API server; nil: its clock counts as unknown.
	Clock *apiclock.Clock
	// Writes watches them, too; nil: joins yield to no writes.
	Writes *agentserver.Writes
	Logger *slog.Logger
}

// Setup adds everything to a controller-runtime manager: the controllers and the server for agents.
func Setup(ctx context.Context, mgr ctrl.Manager, options Options) error {
	if err := watchAhead(ctx, mgr.GetCache()); err != nil {
		return err
	}
	keyring := identity.NewKeyring(time.Now)
	authorities := &ca.Authorities{
		Client:     mgr.GetClient(),
		Live:       mgr.GetAPIReader(),
		Namespace:  options.Namespace,
		Now:        time.Now,
		CheckEvery: cmp.Or(options.CheckCAEvery, ca.DefaultCheckEvery),
		Logger:     options.Logger,
	}
	reviewer, err := admissionClient(mgr, cmp.Or(options.Writes, new(agentserver.Writes)))
	if err != nil {
		return err
	}
	if err := registerMetrics(options.Registry, authorities, keyring); err != nil {
		return err
	}
	sightings := roster.NewSightings(time.Now)
	rosters := roster.NewServer(roster.ServerConfig{
		Keyring:   keyring,
		Authority: authorities,
		Admission: &agentserver.Admission{
			Client: reviewer,
			Live:   reviewer,
			Cached: mgr.GetClient(),
		},
		Sightings: sightings,
		Now:       time.Now,
		Logger:    options.Logger,
	})
	if err := agentserver.WatchPods(ctx, mgr.GetCache(), rosters.PodGone); err != nil {
		return err
	}
	trust := ca.NewTrustBundle(mgr.GetClient(), options.Namespace)
	if err := setupGroups(ctx, mgr, options, rosters, sightings, trust.Problems); err != nil {
		return err
	}
	if err := trust.SetupWithManager(mgr); err != nil {
		return err
	}
	authorities.Distribute = func(bundlePEM []byte) error {
		if err := keyring.SetTrust(bundlePEM); err != nil {
			return err
		}
		rosters.SetTrust(bundlePEM)
		trust.Distribute(bundlePEM)
		return nil
	}
	lead := func(ctx context.Context) error {
		if options.PodName == "" {
			return nil
		}
		return agentserver.MarkLeader(ctx, mgr.GetClient(), mgr.GetAPIReader(), options.Namespace,
			options.PodName)
	}
	return mgr.Add(&agentserver.Server{
		Rosters: rosters,
		CA:      authorities,
		Keyring: keyring,
		Listen:  options.Listen,
		Lead:    lead,
		Logger:  options.Logger,
	})
}

// registerMetrics registers the metrics that belong to no controller.
func registerMetrics(
	to prometheus.Registerer, authorities *ca.Authorities, keyring *identity.Keyring,
) error {
	return errors.Join(
		registerExpiry(to, certificateCA, authorities.NotAfter),
		registerExpiry(to, certificateAgents, keyring.NotAfter),
		to.Register(logqueue.Counter("podesta_log_dropped_lines_total")),
	)
}

// metricsService is the Service for the metrics of all managers: scrapers know them by its name.
const metricsService = "podesta-metrics"

// MetricsCertificate has a manager keep a certificate of the CA for its metrics, whether it leads
// or not, and returns what a tls.Config takes it from. Of the options, Namespace, CheckCAEvery,
// Registry and Logger count.
func MetricsCertificate(mgr ctrl.Manager,
	options Options) (func(*tls.ClientHelloInfo) (*tls.Certificate, error), error) {
	certificate := &ca.ServingCertificate{
		Live:       mgr.GetAPIReader(),
		Namespace:  options.Namespace,
		DNSName:    metricsService + "." + options.Namespace + ".svc",
		Now:        time.Now,
		CheckEvery: cmp.Or(options.CheckCAEvery, ca.DefaultCheckEvery),
		Logger:     options.Logger,
	}
	if err := registerExpiry(options.Registry, certificateMetrics, certificate.NotAfter); err != nil {
		return nil, err
	}
	return certificate.GetCertificate, mgr.Add(certificate)
}

// admissionClient returns a client that asks the API server, not the cache, and yields to the
// manager's writes.
func admissionClient(mgr ctrl.Manager, writes *agentserver.Writes) (client.Client, error) {
	config := rest.CopyConfig(mgr.GetConfig())
	config.RateLimiter = writes.Pace()
	return client.New(config, client.Options{Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
}

func setupGroups(ctx context.Context, mgr ctrl.Manager, options Options, rosters *roster.Server,
	sightings *roster.Sightings, trust group.TrustProblems) error {
	recorder, err := newRecorder(ctx, mgr)
	if err != nil {
		return err
	}
	groups := &group.Reconciler{
		Client:    mgr.GetClient(),
		Live:      mgr.GetAPIReader(),
		Recorder:  recorder,
		Rosters:   rosters,
		Sightings: sightings,
		Trust:     trust,
		Now:       time.Now,
		Agrees:    options.Clock.Agrees,
		Date:      options.Clock.Date,
		Debounce:  cmp.Or(options.Debounce, group.DefaultDebounce),
		Version:   options.Version,
		Rules:     options.Rules,
	}
	if groups.Metrics, err = group.NewMetrics(options.Registry, groups, sightings); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	leftovers := &group.LeftoverRoles{
		Client:     mgr.GetClient(),
		Live:       mgr.GetAPIReader(),
		Namespaces: options.Namespaces,
		Logger:     options.Logger,
	}
	if err := mgr.Add(leftovers); err != nil {
		return err
	}
	return groups.SetupWithManager(ctx, mgr)
}
