package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"

	"github.com/spf13/pflag"

	"github.com/podesta-dev/podesta/internal/apphealth"
)

// options are the flags.
type options struct {
	manager, tokenFile, trustFile     string
	roster, certificate, key          string
	stateDir                          string
	appHealth                         string
	health                            *apphealth.Probe // of appHealth; nil: the roster says
	listen, appAddress, statusAddress string
	logLevel                          slog.Level
	showVersion                       bool
}

func parse(args []string) (options, error) {
	var o options
	f := pflag.NewFlagSet("agent", pflag.ContinueOnError)
	f.SortFlags = false
	f.StringVar(&o.manager, "manager", "", "host:port of the manager's roster service")
	f.StringVar(&o.tokenFile, "token-file", "/var/run/secrets/podesta.dev/serviceaccount/token", "the pod's projected ServiceAccount token, audience podesta.dev (with --manager)")
	f.StringVar(&o.trustFile, "trust-file", "/var/run/podesta/trust/ca.crt", "CA bundle in PEM; with --manager it may appear later")
	f.StringVar(&o.roster, "roster", "", "JSON file that says who is in the group; no manager is needed then")
	f.StringVar(&o.certificate, "certificate", "", "certificate in PEM (with --roster; `agent keys` makes one)")
	f.StringVar(&o.key, "key", "", "private key in PEM (with --roster)")
	f.StringVar(&o.stateDir, "state-dir", "/var/lib/podesta", "directory that outlives a restart of the container; one per agent")
	f.StringVar(&o.listen, "listen", ":4041", "address for links from other agents")
	f.StringVar(&o.statusAddress, "status-address", ":4042", "address for /healthz, /readyz and /metrics")
	f.StringVar(&o.appAddress, "app-address", "127.0.0.1:4040", "address for the app in this pod")
	f.StringVar(&o.appHealth, "app-health", "", "where to ask whether the app is well: http://HOST:PORT/PATH, tcp://HOST:PORT or grpc://HOST:PORT/SERVICE; while it is ill its process is no candidate. Without it the roster says (spec.appHealth)")
	level := f.String("log-level", "info", "debug, info, warn or error")
	f.BoolVar(&o.showVersion, "version", false, "print the version and exit")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if err := o.logLevel.UnmarshalText([]byte(*level)); err != nil {
		return o, fmt.Errorf("--log-level %q: must be debug, info, warn or error", *level)
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q: the agent takes flags only, or begins with `keys`", f.Arg(0))
	}
	if o.showVersion {
		return o, nil
	}
	if o.appHealth != "" {
		probe, err := apphealth.Parse(o.appHealth)
		if err != nil {
			return o, fmt.Errorf("--app-health: %w", err)
		}
		o.health = &probe
	}
	return o, o.validate()
}

func (o options) validate() error {
	switch {
	case o.manager == "" && o.roster == "":
		return errors.New("say where the roster comes from: --manager HOST:PORT in a cluster, or --roster FILE outside one")
	case o.manager != "" && o.roster != "":
		return errors.New("--manager and --roster exclude each other")
	case o.roster != "" && (o.certificate == "" || o.key == ""):
		return errors.New("--roster needs --certificate and --key, in PEM: `agent keys --roster FILE --out DIR` makes them")
	case o.manager != "" && (o.certificate != "" || o.key != ""):
		return errors.New("--certificate and --key go with --roster: from a manager the agent gets its own")
	}
	addresses := map[string]string{"--listen": o.listen, "--status-address": o.statusAddress, "--app-address": o.appAddress}
	if o.manager != "" {
		addresses["--manager"] = o.manager
	}
	for flag, address := range addresses {
		if _, port, err := net.SplitHostPort(address); err != nil || port == "" {
			return fmt.Errorf("%s %q: must be host:port", flag, address)
		}
	}
	if o.roster != "" {
		for flag, file := range map[string]string{"--roster": o.roster, "--certificate": o.certificate, "--key": o.key, "--trust-file": o.trustFile} {
			if _, err := os.Stat(file); err != nil {
				return fmt.Errorf("%s: %w", flag, err)
			}
		}
	}
	return nil
}
