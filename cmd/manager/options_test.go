package main

import (
	"bytes"
	"flag"
	"slices"
	"strings"
	"testing"
)

func TestDefaults(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "")
	o, err := parse()
	if err != nil {
		t.Fatal(err)
	}
	if o.rosterAddress != ":9443" || o.healthAddress != ":8081" || o.metricsAddress != "0" || !o.metricsSecure ||
		!o.leaderElect ||
		o.namespace != "podesta-system" {
		t.Errorf("defaults are %+v", o)
	}
	if o.pprofAddress != "0" {
		t.Errorf("profiles are served at %s by default", o.pprofAddress)
	}
	if _, err := parse("--pprof-address=127.0.0.1:6060"); err != nil {
		t.Error(err)
	}
	t.Setenv("POD_NAMESPACE", "elsewhere")
	if o, _ := parse(); o.namespace != "elsewhere" {
		t.Errorf("in a pod the namespace is %q, want the pod's", o.namespace)
	}
}

// Others reach a manager where it listens, or at its pod's address if it listens on all.
func TestWhereOtherManagersReachThisOne(t *testing.T) {
	for _, test := range []struct{ listens, podIP, want string }{
		{":9443", "10.0.0.7", "10.0.0.7:9443"},
		{"0.0.0.0:9443", "10.0.0.7", "10.0.0.7:9443"},
		{"[::]:9443", "fd00::7", "[fd00::7]:9443"},
		{":9443", "", ""},
		{"127.0.0.1:9443", "10.0.0.7", "127.0.0.1:9443"},
	} {
		if got := reachedAt(test.listens, test.podIP); got != test.want {
			t.Errorf("%s in pod %s: %q, want %q", test.listens, test.podIP, got, test.want)
		}
	}
}

// A manager that is restricted to namespaces manages its own, too.
func TestNamespaces(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "elections")
	for _, test := range []struct {
		argument string
		want     []string
	}{
		{"--namespaces=shop,bar", []string{"shop", "bar", "elections"}},
		{"--namespaces=shop,elections", []string{"shop", "elections"}},
		{"--log-level=info", nil},
	} {
		o, err := parse(test.argument)
		if err != nil || !slices.Equal(o.namespaces, test.want) {
			t.Errorf("%s: %v, %v; want %v", test.argument, o.namespaces, err, test.want)
		}
	}
}

func TestBadFlagsSayWhatIsWrong(t *testing.T) {
	for _, test := range []struct {
		arguments []string
		says      string
	}{
		{[]string{"--roster-address=9443"}, `--roster-address "9443": must be host:port`},
		{[]string{"--roster-address=0"}, `--roster-address "0": must be`},
		{[]string{"--health-address=:http-something"}, `--health-address`},
		{[]string{"--metrics-address=localhost"}, `--metrics-address`},
		{[]string{"--namespaces=shop, bar"}, `" bar" is no name of a namespace`},
		{[]string{"--namespaces="}, `"" is no name of a namespace`},
		{[]string{"--metrics-cert-dir=/certs", "--metrics-secure=false"}, "--metrics-cert-dir has no effect"},
		{[]string{"--leader-elect-lease-duration=2500ms"}, "must be whole seconds"},
		{[]string{"--leader-elect-lease-duration=0s"}, "must be whole seconds, 1s or more"},
		{[]string{"--leader-elect-lease-duration=6s"}, "must be shorter than --leader-elect-lease-duration 6s"},
		{[]string{"--leader-elect-retry-period=2s"}, "must be shorter than --leader-elect-lease-duration 8s"},
		{[]string{"--leader-elect-retry-period=5s"}, "must be shorter than --leader-elect-renew-deadline 6s"},
		{[]string{"--leader-elect-retry-period=0s"}, "must be positive"},
		{[]string{"--pprof-address=:6060"}, "must be on a loopback address"},
		{[]string{"--pprof-address=10.0.0.1:6060"}, "must be on a loopback address"},
		{[]string{"--pprof-address=127.0.0.1"}, `--pprof-address "127.0.0.1": must be host:port`},
		{[]string{"--namespace="}, "--namespace is empty"},
		{[]string{"--log-level=loud"}, "log-level"},
		{[]string{"--leader-election"}, "leader-election"},
		{[]string{"serve"}, `unexpected argument "serve"`},
	} {
		if _, err := parse(test.arguments...); err == nil ||
			!strings.Contains(err.Error(), test.says) {
			t.Errorf("%v: got %v, want %q", test.arguments, err, test.says)
		}
	}
}

func parse(arguments ...string) (options, error) {
	return parseOptions(flag.NewFlagSet("manager", flag.ContinueOnError), arguments,
		&bytes.Buffer{})
}
