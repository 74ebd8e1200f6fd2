package ca

import (
	"context"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

const system = "podesta-system"

// The ConfigMap is written where a group or a pod wants it, and only if it says anything else.
func TestWhereTheBundleIsWritten(t *testing.T) {
	for _, test := range []struct {
		name         string
		found        string // what the ConfigMap says; empty: there is none
		groups, pods int
		own          string // the manager's namespace
		writes       bool
	}{
		{"nobody wants it", "", 0, 0, system, false},
		{"a group wants it", "", 1, 0, system, true},
		{"a pod wants it", "", 0, 1, system, true},
		{"it says so already", "the bundle", 1, 0, system, false},
		{"it says what was so before", "an older bundle", 1, 0, system, true},
		{"it is out of date, and nobody wants it any more", "an older bundle", 0, 0, system, false},
		{"the manager's own namespace, with no group", "", 0, 0, "shop", true},
		{"the manager's own namespace, out of date", "an older bundle", 0, 0, "shop", true},
		{"the manager's own namespace, as it should be", "the bundle", 0, 0, "shop", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			wrote := false
			b := NewTrustBundle(interceptor.NewClient(nil, interceptor.Funcs{
				Get: func(_ context.Context, _ client.WithWatch, key client.ObjectKey, object client.Object,
					_ ...client.GetOption) error {
					if test.found == "" {
						return apierrors.NewNotFound(
							schema.GroupResource{Resource: "configmaps"},
							key.Name,
						)
					}
					object.(*corev1.ConfigMap).Data = map[string]string{v1.TrustKey: test.found}
					return nil
				},
				List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, _ ...client.ListOption) error {
					switch list := list.(type) {
					case *v1.ElectionGroupList:
						list.Items = make([]v1.ElectionGroup, test.groups)
					case *corev1.PodList:
						list.Items = make([]corev1.Pod, test.pods)
					}
					return nil
				},
				Apply: func(_ context.Context, _ client.WithWatch, object runtime.ApplyConfiguration,
					_ ...client.ApplyOption) error {
					wrote = true
					if got := object.(*corev1ac.ConfigMapApplyConfiguration).Data[v1.TrustKey]; got != "the bundle" {
						t.Errorf("it is to say %q", got)
					}
					return nil
				},
			}), test.own)
			request := reconcile.Request{
				NamespacedName: types.NamespacedName{Namespace: "shop", Name: v1.TrustConfigMap},
			}
			result, err := b.Reconcile(t.Context(), request)
			if err != nil || result.RequeueAfter != awaitBundle || wrote {
				t.Fatalf("before the CA was read: %+v, %v, written %t", result, err, wrote)
			}
			b.Distribute([]byte("the bundle"))
			if _, err := b.Reconcile(t.Context(), request); err != nil || wrote != test.writes {
				t.Errorf("written %t, %v", wrote, err)
			}
		})
	}
}

// The bundle goes to the manager's own namespace without anybody asking for it there; and not for
// ever, if that namespace is being deleted, or is gone.
func TestTheManagersOwnNamespaceHasTheBundle(t *testing.T) {
	ending := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, v1.TrustConfigMap, nil)
	ending.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	var refused error
	var written []string
	b := NewTrustBundle(interceptor.NewClient(nil, interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, key client.ObjectKey, _ client.Object,
			_ ...client.GetOption) error {
			return apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, key.Name)
		},
		List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, _ ...client.ListOption) error {
			if found, ok := list.(*corev1.ConfigMapList); ok {
				found.Items = []corev1.ConfigMap{{ObjectMeta: metav1.ObjectMeta{
					Namespace: "shop", Name: v1.TrustConfigMap}}}
			}
			return nil
		},
		Apply: func(_ context.Context, _ client.WithWatch, object runtime.ApplyConfiguration,
			_ ...client.ApplyOption) error {
			written = append(written, *object.(*corev1ac.ConfigMapApplyConfiguration).Namespace)
			return refused
		},
	}), system)
	b.Distribute([]byte("the bundle"))
	requests := b.all(t.Context(), nil)
	if !slices.Contains(requests, requestFor("shop")) || !slices.Contains(requests, requestFor(system)) {
		t.Fatalf("a new bundle goes to %v", requests)
	}
	gone := apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, system)
	for _, refused = range []error{nil, ending, gone} {
		written = nil
		result, err := b.Reconcile(t.Context(), requestFor(system))
		if err != nil || !result.IsZero() || !slices.Equal(written, []string{system}) || b.Problems.In(system) != "" {
			t.Errorf("refused with %v: %+v, %v, written %v, problem %q", refused, result, err, written, b.Problems.In(system))
		}
	}
}
