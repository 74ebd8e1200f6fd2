package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/podesta-dev/podesta/internal/display"
)

// The exit codes. docs/guides/observe.md lists them.
const (
	exitFailed      = 1 // of any other error
	exitUsage       = 2
	exitForbidden   = 3 // no rights, or no valid credentials
	exitNoCRD       = 4
	exitNoGroup     = 5
	exitUnreachable = 6  // the API server does not answer, or no cluster is configured
	exitRefused     = 7  // the group, as it is, cannot do what was asked
	exitNotDone     = 8  // the manager has not done in time what was asked
	exitCheck       = 9  // of check: a check has failed
	exitNoElection  = 10 // of trace: there is no such election
	exitStale       = 11 // what was shown is old: no manager keeps it up to date
	exitUnknown     = 12 // of check: none has failed, and some could not be made
	exitInterrupted = 130
)

// failure is an error with an exit code of its own. Its text says what to do.
type failure struct {
	code  int
	text  string
	cause error
}

func (f *failure) Error() string { return f.text }
func (f *failure) Unwrap() error { return f.cause }

// exitCode returns the code with which the command ends because of an error.
func exitCode(err error) int {
	var f *failure
	switch {
	case errors.As(err, &f):
		return f.code
	case strings.HasPrefix(err.Error(), "unknown command "): // cobra has no type for it
		return exitUsage
	default:
		return exitFailed
	}
}

func usage(err error) error {
	if err == nil {
		return nil
	}
	return &failure{exitUsage, err.Error(), err}
}

// reading describes what was read, for errors.
type reading struct {
	verb            string // get, list or watch
	namespace, name string // empty: all
	labels          string // a selector; empty: all
}

func (r reading) String() string {
	namespace := display.Printable(r.namespace, 253)
	switch {
	case r.name != "":
		return fmt.Sprintf("group %s in namespace %s", display.Printable(r.name, 253), namespace)
	case namespace != "":
		return "the groups of namespace " + namespace
	default:
		return "the groups of all namespaces"
	}
}

// failed returns an error of the API server, or on the way to it, with what to do about it.
func (r reading) failed(err error) error {
	said := display.Printable(err.Error(), 1000)
	in := " -n " + display.Printable(r.namespace, 253)
	if r.namespace == "" {
		in = " -A"
	}
	switch {
	case meta.IsNoMatchError(err), apierrors.IsNotFound(err) && !namesAGroup(err):
		return &failure{exitNoCRD, "this cluster has no election groups: the resource " +
			"electiongroups.podesta.dev is not installed. Install Podesta (docs/start/install.md), or " +
			"choose the cluster that has it with --context", err}
	case apierrors.IsNotFound(err):
		return r.noGroup()
	case apierrors.IsForbidden(err):
		return &failure{exitForbidden, fmt.Sprintf("you may not read %s: it needs the verb %s on "+
			"electiongroups.podesta.dev, which the ClusterRole view has (to see what you have: kubectl "+
			"auth can-i %s electiongroups.podesta.dev%s). The API server says: %s", r, r.verb, r.verb, in,
			said), err}
	case apierrors.IsUnauthorized(err):
		return &failure{exitForbidden, "the API server does not accept your credentials. Log in again, " +
			"or choose others with --context or --user. It says: " + said, err}
	case errors.Is(err, context.DeadlineExceeded):
		return &failure{exitUnreachable, fmt.Sprintf("the API server has not answered in time: %s. To "+
			"wait longer: --request-timeout=5m. Elections do not need it: while it is away, ask the "+
			"agents (docs/reference/app-api.md)", said), err}
	case unreachable(err):
		return &failure{exitUnreachable, fmt.Sprintf("the API server cannot be reached: %s. Elections "+
			"do not need it: while it is away, ask the agents (docs/reference/app-api.md)", said), err}
	default:
		return &failure{exitFailed, fmt.Sprintf("read %s: %s", r, said), err}
	}
}

func (r reading) noGroup() error {
	return &failure{exitNoGroup, fmt.Sprintf("there is no %s. To list all groups: kubectl election "+
		"status -A", r), nil}
}

// namesAGroup reports whether the API server has the resource, and says that there is no such
// object. If it does not have the resource, the client library marks its answer as unexpected.
func namesAGroup(err error) bool {
	return !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// unreachable reports whether an error says that the API server gave no answer.
func unreachable(err error) bool {
	var network net.Error // so are a *url.Error and context.DeadlineExceeded
	return errors.As(err, &network) || apierrors.IsServiceUnavailable(err) ||
		apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err)
}

// noCluster returns what is wrong with the kubeconfig.
func noCluster(err error) error {
	text := "load the kubeconfig: " + display.Printable(err.Error(), 1000)
	if clientcmd.IsEmptyConfig(err) {
		text = "no cluster is configured: set KUBECONFIG, or use --kubeconfig"
	}
	return &failure{exitUnreachable, text, err}
}
