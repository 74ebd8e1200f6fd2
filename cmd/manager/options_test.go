package main

import (
	"bytes"
	"flag"
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
	t.Setenv("POD_NAMESPACE", "elsewhere")
	if o, _ := parse(); o.namespace != "elsewhere" {
		t.Errorf("in a pod the namespace is %q, want the pod's", o.namespace)
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
		{[]string{"--metrics-cert-dir=/certs", "--metrics-secure=false"}, "--metrics-cert-dir has no effect"},
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
