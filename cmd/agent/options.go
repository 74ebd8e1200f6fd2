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

// A pod sets --app-session by this annotation, with this value. api/v1 has both.
const sessionAnnotation, sessionRequired = "podesta.dev/session", "required"

// options holds the values of the command-line flags.
type options struct {
	manager, tokenFile, trustFile string
	roster, certificate, key      string
	stateDir                      string
	appHealth, appSession         string
	installLead                   string
	// parsed from appHealth; nil means that the roster decides
	health                            *apphealth.Probe
	listen, appAddress, statusAddress string
	logLevel                          slog.Level
	showVersion                       bool
}

func parse(args []string) (options, error) {
	var o options
	f := pflag.NewFlagSet("agent", pflag.ContinueOnError)
	f.SortFlags = false
	level := o.addFlags(f)
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if err := o.logLevel.UnmarshalText([]byte(*level)); err != nil {
		return o, fmt.Errorf("--log-level %q: must be debug, info, warn or error", *level)
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf(
			"unexpected argument %q: the agent takes flags only (its subcommands are "+
				"`agent init` and `agent keys`)",
			f.Arg(0),
		)
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

// addFlags defines the flags. It returns the log level, which parse has to check.
func (o *options) addFlags(f *pflag.FlagSet) (level *string) {
	f.StringVar(&o.manager, "manager", "", "`HOST:PORT` of the manager's roster service")
	f.StringVar(
		&o.tokenFile,
		"token-file",
		"/var/run/secrets/podesta.dev/serviceaccount/token",
		"`FILE` with the pod's projected ServiceAccount token, audience podesta.dev (with "+
			"--manager)",
	)
	f.StringVar(
		&o.trustFile,
		"trust-file",
		"/var/run/podesta/trust/ca.crt",
		"`FILE` with the CA bundle in PEM; with --manager the agent waits for it",
	)
	f.StringVar(
		&o.roster,
		"roster",
		"",
		"JSON `FILE` with the roster, which is the processes of the group and their addresses; "+
			"replaces --manager",
	)
	f.StringVar(
		&o.certificate,
		"certificate",
		"",
		"`FILE` with this process's certificate in PEM (with --roster); created by agent keys",
	)
	f.StringVar(&o.key, "key", "", "`FILE` with this process's private key in PEM (with --roster)")
	f.StringVar(
		&o.stateDir,
		"state-dir",
		"/var/lib/podesta",
		"`DIR` for the agent's state; must survive restarts of the container and belong to this "+
			"agent alone",
	)
	f.StringVar(&o.listen, "listen", ":4041", "`HOST:PORT` to listen on for links from other agents")
	f.StringVar(
		&o.statusAddress,
		"status-address",
		":4042",
		"`HOST:PORT` to serve /healthz, /readyz and /metrics on",
	)
	f.StringVar(
		&o.appAddress,
		"app-address",
		"127.0.0.1:4040",
		"`HOST:PORT` to serve the app API on; keep it on a loopback address; an app asks at an IP "+
			"address, at localhost or at HOST",
	)
	f.StringVar(
		&o.appHealth,
		"app-health",
		"",
		"`URL` of the health probe of the app: http://HOST:PORT/PATH (or https), tcp://HOST:PORT or "+
			"grpc://HOST:PORT/SERVICE; while the app is unhealthy, its process is not a "+
			"candidate; overrides spec.appHealth of the group",
	)
	f.StringVar(
		&o.appSession,
		"app-session",
		"",
		"if it is `required`, the process is no candidate before its app has opened a session; "+
			"otherwise that is so once the app has opened one",
	)
	f.StringVar(&o.installLead, "install-lead", "", "`DIR` to copy the program lead into, before the "+
		"agent serves: containers of the app run it there")
	level = f.String("log-level", "info", "log `LEVEL`: debug, info, warn or error")
	f.BoolVar(&o.showVersion, "version", false, "print the version and exit")
	return level
}

func (o options) validate() error {
	switch {
	case o.manager == "" && o.roster == "":
		return errors.New(
			"no roster: set --manager HOST:PORT in a cluster, or --roster FILE outside one",
		)
	case o.manager != "" && o.roster != "":
		return errors.New("--manager and --roster are both set: use only one of them")
	case o.roster != "" && (o.certificate == "" || o.key == ""):
		return errors.New(
			"--roster requires --certificate and --key: `agent keys --roster FILE --out DIR` " +
				"creates them",
		)
	case o.manager != "" && (o.certificate != "" || o.key != ""):
		return errors.New(
			"--certificate and --key require --roster: with --manager the agent gets its " +
				"certificate from the manager",
		)
	}
	if o.appSession != "" && o.appSession != sessionRequired {
		return fmt.Errorf("--app-session %q: must be %s or empty; in a pod it is the annotation %s",
			o.appSession, sessionRequired, sessionAnnotation)
	}
	addresses := map[string]string{
		"--listen":         o.listen,
		"--status-address": o.statusAddress,
		"--app-address":    o.appAddress,
	}
	if o.manager != "" {
		addresses["--manager"] = o.manager
	}
	for flag, address := range addresses {
		if _, port, err := net.SplitHostPort(address); err != nil || port == "" {
			return fmt.Errorf("%s %q: must be host:port", flag, address)
		}
	}
	if o.roster != "" {
		for flag, file := range map[string]string{
			"--roster":      o.roster,
			"--certificate": o.certificate,
			"--key":         o.key,
			"--trust-file":  o.trustFile,
		} {
			if _, err := os.Stat(file); err != nil {
				return fmt.Errorf("%s: %w", flag, err)
			}
		}
	}
	return nil
}
