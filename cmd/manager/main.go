// Command manager is Podesta's manager: it decides who is in a group, and shows elections in the
// cluster.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/podesta-dev/podesta/controllers"
	"github.com/podesta-dev/podesta/controllers/agentserver"
	"github.com/podesta-dev/podesta/controllers/apiclock"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/logqueue"
	"github.com/podesta-dev/podesta/internal/memlimit"
)

// leaseName is the Lease by which one manager leads.
const leaseName = "podesta-manager"

// version is set by the linker; a plain build prints what Go knows.
var version string

func main() {
	o, err := parseOptions(flag.CommandLine, os.Args[1:], os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		fmt.Fprintln(os.Stderr, "manager:", err)
		os.Exit(2)
	case o.version:
		fmt.Println(versionString())
		return
	}
	if err := memlimit.FromEnvironment(); err != nil {
		fmt.Fprintln(os.Stderr, "manager:", err)
		os.Exit(2)
	}
	logger := slog.New(slog.NewJSONHandler(logqueue.Stderr(),
		&slog.HandlerOptions{Level: o.logLevel}))
	ctrl.SetLogger(logr.FromSlogHandler(logger.Handler()))
	klog.SetSlogLogger(logger)
	slog.SetDefault(logger)
	if err = run(ctrl.SetupSignalHandler(), o, logger); err != nil {
		logger.Error("the manager stops", "error", err)
	}
	logqueue.Stderr().Flush()
	if err != nil {
		os.Exit(1)
	}
}

// run returns when ctx ends, or with an error when the manager cannot go on: above all when it has
// lost its lease, for then another one leads.
func run(ctx context.Context, o options, logger *slog.Logger) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the cluster (outside of one, set KUBECONFIG or --kubeconfig): %w",
			err)
	}
	scheme, err := controllers.NewScheme()
	if err != nil {
		return err
	}
	clock := apiclock.New(time.Now, logger)
	config.Wrap(clock.Watch)
	writes := new(agentserver.Writes)
	config.Wrap(writes.Watch)
	lock, err := leaseOf(config, o, logger)
	if err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                              scheme,
		Cache:                               controllers.CacheOptions(o.namespaces...),
		MapperProvider:                      controllers.NewMapper,
		Metrics:                             metricsserver.Options{BindAddress: "0"}, // see addMetrics
		PprofBindAddress:                    o.pprofAddress,
		LeaderElection:                      o.leaderElect,
		LeaderElectionID:                    leaseName,
		LeaderElectionNamespace:             o.namespace,
		LeaderElectionResourceLockInterface: lock,
		LeaderElectionReleaseOnCancel:       true, // run returns to main, which exits
		LeaseDuration:                       &o.lease.lasts,
		RenewDeadline:                       &o.lease.renew,
		RetryPeriod:                         &o.lease.retry,
	})
	if err != nil {
		return err
	}
	//nolint:staticcheck // the Lease's events are of the old kind, which client-go's lock records
	lock.LockConfig.EventRecorder = mgr.GetEventRecorderFor("podesta-manager")
	listen := func(ctx context.Context) (net.Listener, error) {
		return sockets.Listen(ctx, "tcp", o.rosterAddress)
	}
	err = controllers.Setup(ctx, mgr, controllers.Options{
		Listen:     listen,
		Namespace:  o.namespace,
		Namespaces: o.namespaces,
		PodName:    os.Getenv("POD_NAME"),
		Registry:   metrics.Registry,
		Version:    version,
		Rules:      lease.Rules,
		Clock:      clock,
		Writes:     writes,
		Logger:     logger,
	})
	if err != nil {
		return err
	}
	if err := addProbes(ctx, mgr, o.healthAddress); err != nil {
		return err
	}
	if err := addMetrics(ctx, mgr, o); err != nil {
		return err
	}
	logger.Info("starting", "version", versionString(), "namespace", o.namespace)
	return mgr.Start(ctx)
}

func versionString() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return "unknown"
}
