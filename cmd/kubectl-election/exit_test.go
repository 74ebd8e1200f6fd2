package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

var groupResource = schema.GroupResource{Group: "podesta.dev", Resource: "electiongroups"}

// apiErrors are errors of an API server, or on the way to it, with the code that they are to have.
func apiErrors() map[string]struct {
	err  error
	code int
	says string
} {
	return map[string]struct {
		err  error
		code int
		says string
	}{
		"no such group": {apierrors.NewNotFound(groupResource, "g"), exitNoGroup,
			"kubectl election status -A"},
		"no CRD, as discovery says": {
			fmt.Errorf("get: %w", &meta.NoKindMatchError{
				GroupKind: v1.GroupVersion.WithKind("ElectionGroup").GroupKind(),
			}),
			exitNoCRD, "Install Podesta"},
		"no CRD any more, as the API server says": {
			apierrors.NewGenericServerResponse(http.StatusNotFound, "get", groupResource, "g",
				"404 page not found", 0, true), exitNoCRD, "Install Podesta"},
		"no rights": {apierrors.NewForbidden(groupResource, "g", errors.New("by RBAC")), exitForbidden,
			"kubectl auth can-i"},
		"no credentials": {apierrors.NewUnauthorized("token expired"), exitForbidden, "Log in again"},
		"no answer": {&url.Error{Op: "Get", URL: "https://10.0.0.1", Err: &net.OpError{Op: "dial",
			Err: errors.New("connection refused")}}, exitUnreachable, "connection refused"},
		"no answer in time":  {context.DeadlineExceeded, exitUnreachable, "--request-timeout"},
		"not available":      {apierrors.NewServiceUnavailable("etcd is away"), exitUnreachable, "etcd"},
		"too many requests":  {apierrors.NewTooManyRequests("later", 1), exitUnreachable, "later"},
		"something else":     {errors.New("no idea"), exitFailed, "no idea"},
		"that is a terminal": {errors.New("\x1b[2Jno idea"), exitFailed, `\x1b[2Jno idea`},
	}
}

func TestErrorsOfTheAPIServer(t *testing.T) {
	for name, test := range apiErrors() {
		in := around(fakeCluster(t, interceptor.Funcs{
			Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object,
				...client.GetOption) error {
				return test.err
			},
			List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
				return test.err
			},
		}))
		for _, line := range []string{"status g", "status -A", "status g -w", "explain g", "trace g",
			"adopt g", "forget g"} {
			if line == "status -A" && test.code == exitNoGroup { // no list says that
				continue
			}
			out, _, err := runIn(t.Context(), in, line)
			if err == nil || exitCode(err) != test.code || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%s: %s: %v, want exit code %d and %q", name, line, err, test.code, test.says)
				continue
			}
			if out != "" || strings.ContainsRune(err.Error(), '\x1b') {
				t.Errorf("%s: %s: %q, %q", name, line, out, err)
			}
		}
	}
}

// The error of a missing right names the verb that is missing, and the namespace.
func TestMissingRights(t *testing.T) {
	refused := apierrors.NewForbidden(groupResource, "", errors.New("by RBAC"))
	for want, which := range map[string]reading{
		"can-i get electiongroups.podesta.dev -n shop":   {verb: "get", namespace: "shop", name: "g"},
		"can-i list electiongroups.podesta.dev -A":       {verb: "list"},
		"can-i watch electiongroups.podesta.dev -n shop": {verb: "watch", namespace: "shop"},
		"you may not read the groups of namespace shop":  {verb: "list", namespace: "shop"},
		"you may not read the groups of all namespaces":  {verb: "list"},
		"which the ClusterRole view has":                 {verb: "list"},
	} {
		if err := which.failed(refused); !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// Without a kubeconfig, every command that needs a cluster says so.
func TestNoKubeconfig(t *testing.T) {
	t.Setenv("KUBECONFIG", t.TempDir()+"/none")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	t.Setenv("HOME", t.TempDir())
	for _, line := range []string{"status", "explain g", "trace g", "adopt g", "forget g"} {
		_, _, err := runIn(t.Context(), realSurroundings(), line)
		if err == nil || exitCode(err) != exitUnreachable ||
			!strings.Contains(err.Error(), "no cluster is configured") {
			t.Errorf("%s: %v", line, err)
		}
	}
	_, _, err := runIn(t.Context(), realSurroundings(), "status --kubeconfig /does/not/exist")
	if err == nil || exitCode(err) != exitUnreachable {
		t.Errorf("a kubeconfig that does not exist: %v", err)
	}
}

// Whatever is wrong with a command line is told by one exit code, also where cobra does not see it.
func TestWrongUsage(t *testing.T) {
	in := around(fakeCluster(t, interceptor.Funcs{}))
	for _, line := range []string{
		"nonsense",
		"status a b -w",
		"status -o nonsense",
		"explain",
		"trace --last 0 g",
		"check --pre -A",
		"forget",
		"adopt a b",
		"step-down g --for 1ms",
		"witness",
		"simulate extra",
		"simulate -o nonsense",
		"simulate --seed 0",
		"simulate --processes 0",
		"simulate --compare --crash nonsense",
		"inject",
		"inject -f - --image :",
		"inject policy --manager nonsense",
		"version --nonsense",
	} {
		_, _, err := runIn(t.Context(), in, line)
		if err == nil || exitCode(err) != exitUsage {
			t.Errorf("%s: %v, want exit code %d", line, err, exitUsage)
		}
	}
}

// -v is kubectl's: it has client-go say what it asks.
func TestVerbosity(t *testing.T) {
	run := func(level string) {
		command := newCommand(around(fakeCluster(t, interceptor.Funcs{})))
		command.SetArgs([]string{"version", "-v", level})
		command.SetOut(io.Discard)
		if err := command.ExecuteContext(t.Context()); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(func() { run("0") })
	run("6")
	if !klog.V(6).Enabled() || klog.V(7).Enabled() {
		t.Error("-v 6 does not set the level to 6")
	}
}
