package main

import (
	"context"
	"errors"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	extensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiversion "k8s.io/apimachinery/pkg/version"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/check"
)

// inspecting are surroundings in which `check` finds these objects. Who asks has all rights; the
// manager may not watch groups.
func inspecting(t *testing.T, funcs interceptor.Funcs, objects ...client.Object) surroundings {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientscheme.AddToScheme,
		extensionsv1.AddToScheme, v1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	if funcs.Create == nil {
		funcs.Create = func(_ context.Context, _ client.WithWatch, o client.Object,
			_ ...client.CreateOption) error {
			switch r := o.(type) {
			case *authorizationv1.SelfSubjectAccessReview:
				r.Status.Allowed = true
			case *authorizationv1.SubjectAccessReview:
				a := r.Spec.ResourceAttributes
				r.Status.Allowed = a.Verb != "watch" || a.Resource != "electiongroups"
			default:
				return errors.New("check creates something")
			}
			return nil
		}
	}
	kube := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithInterceptorFuncs(funcs).Build()
	in := around(nil)
	in.inspect = func(c *cluster) (*inspector, error) {
		return &inspector{
			kube:      fakeServer{kube, nil},
			namespace: c.overrides.Context.Namespace,
			ask: func(context.Context) (check.Version, check.Clock, error) {
				return check.Version{Major: 1, Minor: 34, Text: "v1.34.0"},
					check.Clock{Server: noon, Within: time.Second}, nil
			},
		}, nil
	}
	return in
}

// broken are this tree's definition and its manager, which does not run; and a pod with a group's
// label, without a group, without an agent, and cut off.
func broken(t *testing.T) []client.Object {
	t.Helper()
	labels := map[string]string{v1.GroupLabel: "scheduler"}
	definition, manager := &extensionsv1.CustomResourceDefinition{}, &appsv1.Deployment{}
	for file, object := range map[string]client.Object{
		"crd/bases/podesta.dev_electiongroups.yaml": definition,
		"manager/manager.yaml":                      manager,
	} {
		text, err := os.ReadFile("../../config/" + file)
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.UnmarshalStrict(text, object); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	manager.Namespace, manager.Labels = "podesta-system", manager.Spec.Selector.MatchLabels
	return []client.Object{
		definition, manager,
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "stray", Labels: labels}},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "another"}},
		&networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "all"},
			Spec: networkingv1.NetworkPolicySpec{
				PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}}},
	}
}

func forbidden() error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "", errors.New("no"))
}

// TestCheckGolden runs the command lines in testdata/check against a cluster without Podesta, and
// against one whose API server allows nothing but the question for its version. -rewrite writes
// what they print.
func TestCheckGolden(t *testing.T) {
	nothing := interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object,
			...client.GetOption) error {
			return forbidden()
		},
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return forbidden()
		},
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			return forbidden()
		},
	}
	clusters := map[string]surroundings{
		"empty":   inspecting(t, interceptor.Funcs{}),
		"broken":  inspecting(t, interceptor.Funcs{}, broken(t)...),
		"nothing": inspecting(t, nothing),
	}
	datadriven.Walk(t, "testdata/check", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			return golden(t, clusters[d.Cmd], d.Input)
		})
	})
}

// TestCheckWithoutACluster: an API server that gives no answer is said once, and not by each check.
func TestCheckWithoutACluster(t *testing.T) {
	in := inspecting(t, interceptor.Funcs{})
	in.inspect = func(*cluster) (*inspector, error) {
		return &inspector{ask: func(context.Context) (check.Version, check.Clock, error) {
			return check.Version{}, check.Clock{}, &url.Error{Op: "Get", Err: context.DeadlineExceeded}
		}}, nil
	}
	_, _, err := runIn(t.Context(), in, "check")
	if err == nil || exitCode(err) != exitUnreachable ||
		!strings.Contains(err.Error(), "has not answered in time") {
		t.Errorf("%v", err)
	}
}

// A check that could read nothing has found nothing out: it does not pass. Nor does it go on asking
// an API server that has stopped answering.
func TestCheckThatReadsNothing(t *testing.T) {
	for name, c := range map[string]struct {
		version error // what the question for the version gets
		list    error // what the lists get; context.Canceled: the user interrupts the first
		code    int
		most    int // lists
	}{
		"no credentials":       {apierrors.NewUnauthorized("expired"), nil, exitForbidden, 0},
		"no answer after that": {nil, context.DeadlineExceeded, exitUnreachable, 1},
		"interrupted":          {nil, context.Canceled, exitFailed, 1000},
	} {
		ctx, interrupt := context.WithCancel(t.Context())
		lists := 0
		in := inspecting(t, interceptor.Funcs{
			List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
				lists++
				if errors.Is(c.list, context.Canceled) {
					interrupt()
				}
				return c.list
			},
		})
		before := in.inspect
		in.inspect = func(at *cluster) (*inspector, error) {
			i, err := before(at)
			if c.version != nil {
				i.ask = func(context.Context) (check.Version, check.Clock, error) {
					return check.Version{}, check.Clock{}, c.version
				}
			}
			return i, err
		}
		for _, line := range []string{"check", "check -A", "check --pre"} {
			lists = 0
			out, _, err := runIn(ctx, in, line)
			if err == nil || exitCode(err) != c.code || out != "" || lists > c.most ||
				errors.Is(c.list, context.Canceled) != errors.Is(err, context.Canceled) {
				t.Errorf("%s: %s: %v after %d lists, want exit code %d\n%s", name, line, err, lists, c.code, out)
			}
		}
		interrupt()
	}
}

// TestVersionOf: providers write the minor version with a sign.
func TestVersionOf(t *testing.T) {
	for _, test := range []struct {
		major, minor string
		want         int // the minor; -1: an error
	}{{"1", "33", 33}, {"1", "33+", 33}, {"1", "", -1}, {"", "33", -1}} {
		v, err := versionOf(apiversion.Info{Major: test.major, Minor: test.minor})
		if (err != nil) != (test.want < 0) || err == nil && v.Minor != test.want {
			t.Errorf("%q.%q: %+v, %v", test.major, test.minor, v, err)
		}
	}
}
