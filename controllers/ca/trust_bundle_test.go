package ca

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// The ConfigMap is written where a group or a pod wants it, and only if it says anything else.
func TestWhereTheBundleIsWritten(t *testing.T) {
	for _, test := range []struct {
		name         string
		found        string // what the ConfigMap says; empty: there is none
		groups, pods int
		writes       bool
	}{
		{"nobody wants it", "", 0, 0, false},
		{"a group wants it", "", 1, 0, true},
		{"a pod wants it", "", 0, 1, true},
		{"it says so already", "the bundle", 1, 0, false},
		{"it says what was so before", "an older bundle", 1, 0, true},
		{"it is out of date, and nobody wants it any more", "an older bundle", 0, 0, false},
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
			}))
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
