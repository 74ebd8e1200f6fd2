package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/test/bubble"
)

// requested is a request about the group shop/scheduler of a cluster.
func requested(kube client.WithWatch) request {
	return request{operation{
		kube:  fakeServer{kube, leading()},
		key:   types.NamespacedName{Namespace: "shop", Name: "scheduler"},
		notes: io.Discard,
	}, v1.ForgetAnnotation, forgetRight, "the roster changes"}
}

// A request that is not made says why, and what to do: which right is missing, that another group
// has the name by now, or that it may have been made.
func TestRequestsThatAreNotMade(t *testing.T) {
	kind := v1.GroupVersion.WithKind("ElectionGroup").GroupKind()
	for name, c := range map[string]struct {
		err  error
		code int
		says []string
	}{
		"no rights": {
			apierrors.NewForbidden(groupResource, "scheduler", errors.New("by a policy")), exitForbidden,
			[]string{"shop/scheduler", "verbs patch and forget", "by a policy",
				"kubectl auth can-i forget electiongroups.podesta.dev -n shop", "ClusterRole admin"},
		},
		"the group was made again": {
			apierrors.NewInvalid(kind, "scheduler", field.ErrorList{
				field.Invalid(field.NewPath("metadata", "uid"), "1", "field is immutable")}), exitRefused,
			[]string{"made again", "Nothing was changed"},
		},
		"the group was made again, by a precondition": {
			apierrors.NewConflict(groupResource, "scheduler", errors.New("UID in precondition")), exitRefused,
			[]string{"made again"},
		},
		"the group is not valid": {
			apierrors.NewInvalid(kind, "scheduler", field.ErrorList{
				field.Required(field.NewPath("spec", "selector"), "")}), exitFailed,
			[]string{"spec.selector"},
		},
		"the group was deleted": {
			apierrors.NewNotFound(groupResource, "scheduler"), exitNoGroup, []string{"status -A"}},
		"no credentials any more": {
			apierrors.NewUnauthorized("token expired"), exitForbidden, []string{"Log in again"}},
		"interrupted": {
			&url.Error{Op: "Patch", URL: "https://10.0.0.1", Err: context.Canceled}, exitInterrupted,
			[]string{"may have been made"},
		},
		"no answer": {
			context.DeadlineExceeded, exitUnreachable,
			[]string{"may have been made", "kubectl annotate eg scheduler -n shop podesta.dev/forget-"},
		},
	} {
		kube := fakeCluster(t, interceptor.Funcs{
			Patch: func(context.Context, client.WithWatch, client.Object, client.Patch,
				...client.PatchOption) error {
				return c.err
			},
		})
		err := requested(kube).make(t.Context(), "uid", "{}")
		if err == nil || exitCode(err) != c.code {
			t.Errorf("%s: %v, want exit code %d", name, err, c.code)
			continue
		}
		for _, says := range c.says {
			if !strings.Contains(err.Error(), says) {
				t.Errorf("%s: %v, want it to say %q", name, err, says)
			}
		}
	}
}

// A request that was made stands, whether or not its answer can be seen.
func TestRequestsWhoseAnswerIsNotSeen(t *testing.T) {
	for name, c := range map[string]struct {
		err  error // why the group is not read; nil: the user interrupts
		code int
	}{
		"no right to read": {apierrors.NewForbidden(groupResource, "", nil), exitForbidden},
		"the API server is away": {
			apierrors.NewGenericServerResponse(http.StatusServiceUnavailable, "get", groupResource, "",
				"away", 0, true), exitUnreachable,
		},
		"interrupted": {nil, exitInterrupted},
	} {
		bubble.Test(t, func(t *testing.T) {
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			kube := fakeCluster(t, interceptor.Funcs{
				Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object,
					...client.GetOption) error {
					if c.err == nil {
						interrupt()
					}
					return c.err
				},
			})
			err := requested(kube).await(ctx, time.Minute, func(*v1.ElectionGroup) (bool, error) {
				return false, nil
			})
			if err == nil || exitCode(err) != c.code {
				t.Fatalf("%s: %v, want exit code %d", name, err, c.code)
			}
			for _, says := range []string{"stands until the roster changes",
				"kubectl annotate eg scheduler -n shop podesta.dev/forget-"} {
				if !strings.Contains(err.Error(), says) {
					t.Errorf("%s: %v, want it to say %q", name, err, says)
				}
			}
		})
	}
}

// Whoever waits for more than two seconds is told for what.
func TestWaitingIsTold(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var said strings.Builder
		for _, takes := range []time.Duration{time.Second, 5 * time.Second} {
			over := waiting(&said, "reading %s", takes)
			time.Sleep(takes)
			over()
		}
		time.Sleep(time.Minute)
		if got := said.String(); got != "reading 5s …\n" {
			t.Errorf("%q", got)
		}
	})
}
