package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"

	"github.com/podesta-dev/podesta/controllers/managerlease"
)

// leaseTimes are those of the Lease by which managers lead, under the names that Kubernetes' own
// components have for them.
//
// The defaults: a manager leads on while the API server is away for a few seconds, as it is when
// etcd elects a leader. A lost machine is noticed after lasts, and by its agents no sooner (see
// pingInterval in internal/roster). A manager that ends is noticed within retry (package
// managerlease), which is why retry is short: two writes a second, however many groups there are.
type leaseTimes struct {
	lasts, renew, retry time.Duration
}

func (l *leaseTimes) flags(flags *flag.FlagSet) {
	flags.DurationVar(&l.lasts, "leader-elect-lease-duration", 8*time.Second,
		"how long a manager that waits lets the Lease of a silent one go without a renewal; "+
			"whole seconds")
	flags.DurationVar(&l.renew, "leader-elect-renew-deadline", 6*time.Second,
		"how long the leading manager tries to renew its Lease before it ends; shorter than the Lease")
	flags.DurationVar(&l.retry, "leader-elect-retry-period", 500*time.Millisecond,
		"how long from one renewal to the next, and from one attempt to take the Lease to the next")
}

// validate checks what client-go's elector would refuse when the manager has started, and that the
// Lease says the same as the flag: it is written in whole seconds.
func (l leaseTimes) validate() error {
	var problems []error
	if l.lasts < time.Second || l.lasts%time.Second != 0 {
		problems = append(problems, fmt.Errorf(
			"--leader-elect-lease-duration %v: must be whole seconds, 1s or more", l.lasts))
	}
	if l.renew+l.retry >= l.lasts {
		problems = append(problems, fmt.Errorf("--leader-elect-renew-deadline %v: with "+
			"--leader-elect-retry-period %v, after which the manager begins to renew, it must be shorter "+
			"than --leader-elect-lease-duration %v, or two managers lead", l.renew, l.retry, l.lasts))
	}
	if l.retry <= 0 || float64(l.renew) <= leaderelection.JitterFactor*float64(l.retry) {
		problems = append(problems, fmt.Errorf("--leader-elect-retry-period %v: must be positive, "+
			"and %g times as long it must be shorter than --leader-elect-renew-deadline %v", l.retry,
			leaderelection.JitterFactor, l.renew))
	}
	return errors.Join(problems...)
}

// leaseOf returns the Lease for this process.
func leaseOf(config *rest.Config, o options, logger *slog.Logger) (*managerlease.Lock, error) {
	pod := os.Getenv("POD_NAME")
	host, err := os.Hostname()
	if err != nil && pod == "" {
		return nil, fmt.Errorf("name this manager in its Lease: %w", err)
	}
	return managerlease.New(config, managerlease.Options{
		Namespace: o.namespace,
		Name:      leaseName,
		Self: managerlease.Holder{
			Pod:     cmp.Or(pod, host),
			Address: reachedAt(o.rosterAddress, os.Getenv("POD_IP")),
			Run:     string(uuid.NewUUID()),
		},
		InPod: pod != "",
		// so that one slow answer does not end the lead
		RequestTimeout: max(o.lease.renew/2, time.Second),
		RenewWithin:    o.lease.retry + o.lease.renew, // client-go waits, and then tries
		Logger:         logger,
	})
}

// reachedAt returns where other managers reach a port that this one listens on; empty: not known.
func reachedAt(listens, podIP string) string {
	host, port, err := net.SplitHostPort(listens)
	if err != nil {
		return ""
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = podIP
	}
	if host == "" {
		return ""
	}
	return net.JoinHostPort(host, port)
}
