package envtest

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/podesta-dev/podesta/controllers"
	"github.com/podesta-dev/podesta/controllers/apiclock"
)

// Manager is a running manager, with the rights of its ServiceAccount.
type Manager struct {
	Address string
	Ended   <-chan struct{} // closed when it has ended, by Stop or by itself, with Err
	Err     error
	// MetricsCertificate is what its metrics would be served with.
	MetricsCertificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// Stop ends it; it must not have ended by itself with an error.
	Stop func()
}

// ManagerOptions say how a manager runs.
type ManagerOptions struct {
	Namespace  string
	Namespaces []string // that it is restricted to; none: it is not restricted
	Address    string   // at which agents find it; "" is any
	// Wrap, if there is one, is between the manager and the API server.
	Wrap func(http.RoundTripper) http.RoundTripper
	// Log, if there is one, gets what controller-runtime and client-go log.
	Log  slog.Handler
	Edit []func(*controllers.Options)
}

// StartManager starts a manager that ends with the test.
func (s *Server) StartManager(t *testing.T, o ManagerOptions) *Manager {
	t.Helper()
	account := rest.CopyConfig(s.Config)
	account.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + o.Namespace + ":podesta-manager",
		Groups:   []string{"system:serviceaccounts", "system:authenticated"},
	}
	if o.Wrap != nil {
		account.Wrap(o.Wrap)
	}
	if o.Log == nil {
		o.Log = slog.DiscardHandler
	}
	clock := apiclock.New(time.Now, slog.New(slog.DiscardHandler))
	account.Wrap(clock.Watch)
	mgr, err := ctrl.NewManager(account, ctrl.Options{
		Scheme:                        s.Kube.Scheme(),
		Logger:                        logr.FromSlogHandler(o.Log),
		Cache:                         controllers.CacheOptions(o.Namespaces...),
		Metrics:                       metricsserver.Options{BindAddress: "0"},
		LeaderElection:                true,
		LeaderElectionID:              "podesta-manager",
		LeaderElectionNamespace:       o.Namespace,
		LeaderElectionReleaseOnCancel: true,
		// several managers in one process
		Controller: ctrlconfig.Controller{SkipNameValidation: new(true)},
	})
	Must(t, err)
	if o.Address == "" {
		o.Address = "127.0.0.1:0"
	}
	listener, err := new(net.ListenConfig).Listen(bg, "tcp", o.Address)
	Must(t, err)
	t.Cleanup(func() { _ = listener.Close() }) // if the manager never began to serve
	options := controllers.Options{
		Namespace:  o.Namespace,
		Namespaces: o.Namespaces,
		Registry:   prometheus.NewRegistry(),
		Listen:     func(context.Context) (net.Listener, error) { return listener, nil },
		Clock:      clock,
		Logger:     slog.New(slog.DiscardHandler),
	}
	for _, e := range o.Edit {
		e(&options)
	}
	Must(t, controllers.Setup(t.Context(), mgr, options))
	certificate, err := controllers.MetricsCertificate(mgr, options)
	Must(t, err)
	ctx, cancel := context.WithCancel(bg)
	ended := make(chan struct{})
	m := &Manager{
		Address:            listener.Addr().String(),
		Ended:              ended,
		MetricsCertificate: certificate,
	}
	go func() {
		m.Err = mgr.Start(ctx)
		close(ended)
	}()
	m.Stop = sync.OnceFunc(func() {
		cancel()
		if <-ended; m.Err != nil {
			t.Errorf("the manager ended with %v", m.Err)
		}
	})
	t.Cleanup(m.Stop)
	return m
}
