package main

import (
	"crypto/tls"

	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// metricsOptions returns how metrics are served. If they are secure, a request needs a token that
// the API server accepts (TokenReview), of somebody who may get the path /metrics
// (SubjectAccessReview); both answers are cached for some minutes at most. So metrics need the API
// server, unlike elections.
func metricsOptions(o options) server.Options {
	options := server.Options{BindAddress: o.metricsAddress}
	if !o.metricsSecure {
		return options
	}
	options.SecureServing = true
	options.CertDir = o.metricsCertDir
	options.FilterProvider = filters.WithAuthenticationAndAuthorization
	options.TLSOpts = []func(*tls.Config){func(c *tls.Config) {
		c.MinVersion = tls.VersionTLS13
		c.NextProtos = []string{"http/1.1"} // a scraper needs no HTTP/2, nor its attacks
	}}
	return options
}
