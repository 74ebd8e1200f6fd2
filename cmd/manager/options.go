package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// options are the manager's flags.
type options struct {
	rosterAddress  string
	healthAddress  string
	metricsAddress string
	metricsSecure  bool
	metricsCertDir string
	pprofAddress   string
	leaderElect    bool
	lease          leaseTimes
	namespace      string
	namespaces     []string // if not empty, it is restricted to these; its own is among them
	logLevel       slog.Level
	version        bool
}

// parseOptions reads the flags and checks them. KUBECONFIG or --kubeconfig points at a cluster;
// inside a cluster neither is needed.
func parseOptions(flags *flag.FlagSet, arguments []string, output io.Writer) (options, error) {
	var o options
	namespace := os.Getenv("POD_NAMESPACE")
	if namespace == "" {
		namespace = "podesta-system"
	}
	flags.SetOutput(output)
	flags.StringVar(&o.rosterAddress, "roster-address", ":9443", "address on which to serve agents")
	flags.StringVar(&o.healthAddress, "health-address", ":8081",
		"address for /healthz and /readyz; 0 turns them off")
	flags.StringVar(&o.metricsAddress, "metrics-address", "0",
		"address for /metrics; 0 turns it off")
	flags.BoolVar(&o.metricsSecure, "metrics-secure", true,
		"serve metrics over HTTPS, to clients that the cluster allows to get /metrics; false: "+
			"over HTTP, to everybody")
	flags.StringVar(&o.metricsCertDir, "metrics-cert-dir", "",
		"directory with tls.crt and tls.key for metrics, read again when they change; without "+
			"it the manager's own CA certifies podesta-metrics.<namespace>.svc")
	flags.StringVar(&o.pprofAddress, "pprof-address", "0",
		"loopback address for profiles of the manager, such as 127.0.0.1:6060; 0 turns them off")
	flags.BoolVar(&o.leaderElect, "leader-elect", true,
		"lead only while holding the lease podesta-manager; needed when several managers run")
	o.lease.flags(flags)
	flags.StringVar(&o.namespace, "namespace", namespace,
		"the manager's own namespace, which holds its lease and its CA")
	flags.Func("namespaces", "the namespaces, separated by commas, whose groups to manage; its own "+
		"is always among them, and it needs no rights in others; without this flag, all", o.restrict)
	flags.TextVar(&o.logLevel, "log-level", slog.LevelInfo, "debug, info, warn or error")
	flags.BoolVar(&o.version, "version", false, "print the version and exit")
	if err := flags.Parse(arguments); err != nil {
		return o, err
	}
	if len(o.namespaces) > 0 && !slices.Contains(o.namespaces, o.namespace) {
		o.namespaces = append(o.namespaces, o.namespace)
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q: the manager takes flags only", flags.Arg(0))
	}
	return o, o.validate()
}

// restrict reads --namespaces. A name that is no namespace's would have the manager wait for it.
func (o *options) restrict(list string) error {
	o.namespaces = nil
	for name := range strings.SplitSeq(list, ",") {
		if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
			return fmt.Errorf("%q is no name of a namespace: %s", name, problems[0])
		}
		o.namespaces = append(o.namespaces, name)
	}
	return nil
}

func (o options) validate() error {
	var problems []error
	if err := checkAddress("roster-address", o.rosterAddress); err != nil {
		problems = append(problems, err)
	}
	for name, address := range map[string]string{
		"health-address":  o.healthAddress,
		"metrics-address": o.metricsAddress,
	} {
		if address == "0" {
			continue
		}
		if err := checkAddress(name, address); err != nil {
			problems = append(problems, err)
		}
	}
	if err := checkLoopback("pprof-address", o.pprofAddress); err != nil {
		problems = append(problems, err)
	}
	if o.metricsCertDir != "" && !o.metricsSecure {
		problems = append(
			problems,
			errors.New(
				"--metrics-cert-dir has no effect with --metrics-secure=false: remove one of them"),
		)
	}
	problems = append(problems, o.lease.validate())
	if o.namespace == "" {
		problems = append(
			problems,
			errors.New(
				"--namespace is empty: set the namespace that holds the manager's lease and CA"),
		)
	}
	return errors.Join(problems...)
}

func checkAddress(flag, address string) error {
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return fmt.Errorf("--%s %q: must be host:port or :port: %w", flag, address, err)
	}
	return nil
}

// checkLoopback refuses addresses that others can reach: profiles show what is in memory, and
// nobody is asked who they are.
func checkLoopback(flag, address string) error {
	if address == "0" {
		return nil
	}
	if err := checkAddress(flag, address); err != nil {
		return err
	}
	host, _, _ := net.SplitHostPort(address) // checkAddress has read it
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("--%s %q: must be on a loopback address, such as 127.0.0.1:6060, and "+
			"reached by kubectl port-forward: profiles are for nobody else", flag, address)
	}
	return nil
}
