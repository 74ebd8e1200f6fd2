package controllers

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// The certificates of a manager, as values of a label.
const (
	certificateCA      = "ca"      // that signs for agents
	certificateAgents  = "agents"  // that agents know the manager by
	certificateMetrics = "metrics" // that scrapers know it by
)

// registerExpiry registers when a certificate expires; a zero time is shown as 0.
func registerExpiry(registry prometheus.Registerer, certificate string,
	notAfter func() time.Time) error {
	gauge := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "podesta_certificate_expiration_timestamp_seconds",
		Help: "When a certificate of this manager expires, as Unix time; 0 while it has none. Only " +
			"the manager that leads has those named ca and agents.",
		ConstLabels: prometheus.Labels{"certificate": certificate},
	}, func() float64 {
		if end := notAfter(); !end.IsZero() {
			return float64(end.Unix())
		}
		return 0
	})
	if err := registry.Register(gauge); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	return nil
}
