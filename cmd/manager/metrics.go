package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"

	"github.com/podesta-dev/podesta/controllers"
)

// How often the API server is asked about scrapers, by a client of its own: the manager's writes do
// not wait for them.
const (
	reviewsPerSecond = 5
	reviewsAtOnce    = 10
)

// addMetrics serves /metrics. If they are secure, a request needs a token that the API server
// accepts (TokenReview), of somebody who may get the path /metrics (SubjectAccessReview); both
// answers are cached for some minutes at most. So metrics need the API server, unlike elections.
func addMetrics(ctx context.Context, mgr ctrl.Manager, o options) error {
	if o.metricsAddress == "0" {
		return nil
	}
	listener, err := listen(ctx, "metrics", o.metricsAddress, o.metricsSecure)
	if err != nil {
		return err
	}
	known := newScrapers(time.Now)
	handler := known.whoGetsHere(promhttp.HandlerFor(metrics.Registry, promhttp.HandlerOpts{
		ErrorHandling: promhttp.HTTPErrorOnError,
	}))
	if o.metricsSecure {
		if handler, err = permitted(mgr, handler); err != nil {
			return err
		}
		if listener, err = certified(mgr, listener, o); err != nil {
			return err
		}
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", known.inTurn(handler))
	return serve(mgr, "metrics", listener, mux)
}

// permitted serves those whom the API server permits it.
func permitted(mgr ctrl.Manager, handler http.Handler) (http.Handler, error) {
	config := rest.CopyConfig(mgr.GetConfig())
	config.QPS, config.Burst = reviewsPerSecond, reviewsAtOnce
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	filter, err := filters.WithAuthenticationAndAuthorization(config, client)
	if err != nil {
		return nil, err
	}
	return filter(ctrl.Log.WithName("metrics"), handler)
}

// certified serves with the certificate of a directory, which is read again when it changes, or
// with one that the manager issues itself by its CA.
func certified(mgr ctrl.Manager, listener net.Listener, o options) (net.Listener, error) {
	if o.metricsCertDir != "" {
		watcher, err := certwatcher.New(filepath.Join(o.metricsCertDir, "tls.crt"),
			filepath.Join(o.metricsCertDir, "tls.key"))
		if err != nil {
			return nil, fmt.Errorf("--metrics-cert-dir: %w", err)
		}
		return secured(listener, watcher.GetCertificate), mgr.Add(watcher)
	}
	certificate, err := controllers.MetricsCertificate(mgr, controllers.Options{
		Namespace: o.namespace,
		Registry:  metrics.Registry,
		Logger:    slog.Default(),
	})
	if err != nil {
		return nil, fmt.Errorf("keep a certificate for metrics: %w", err)
	}
	return secured(listener, certificate), nil
}
