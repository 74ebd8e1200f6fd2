package byuid

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

var (
	pods     = schema.GroupResource{Resource: "pods"}
	notFound = apierrors.NewNotFound(pods, "p-0")
	conflict = apierrors.NewConflict(pods, "p-0", errors.New("another UID"))
	// as API servers say that a merge patch names another UID
	immutable = &apierrors.StatusError{ErrStatus: metav1.Status{
		Reason: metav1.StatusReasonInvalid,
		Details: &metav1.StatusDetails{
			Causes: []metav1.StatusCause{{Field: "metadata.uid", Message: "field is immutable"}},
		},
	}}
	forbidden = apierrors.NewForbidden(pods, "p-0", errors.New("no"))
	elsewhere = &apierrors.StatusError{ErrStatus: metav1.Status{
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Field: "metadata.labels"}}},
	}}
)

var pod = Pod{Namespace: "shop", Name: "p-0", UID: "this-one"}

// Each write names the pod by its UID.
func TestWritesNameThePod(t *testing.T) {
	var wrote []string
	c := interceptor.NewClient(nil, interceptor.Funcs{
		Apply: func(_ context.Context, _ client.WithWatch, object runtime.ApplyConfiguration,
			options ...client.ApplyOption) error {
			wanted := object.(*corev1ac.PodApplyConfiguration)
			if wanted.UID == nil || *wanted.UID != pod.UID {
				t.Errorf("applied %+v", wanted)
			}
			wrote = append(wrote, fmt.Sprintf("apply %q %q %t", wanted.Labels["role"],
				wanted.Annotations["cost"], slices.Contains(options, client.ApplyOption(client.ForceOwnership))))
			if wanted.Annotations["cost"] == "other" {
				return conflict
			}
			wanted.WithResourceVersion("8").WithLabels(map[string]string{"role": "of its template"})
			return nil
		},
		Patch: func(_ context.Context, _ client.WithWatch, object client.Object, p client.Patch,
			_ ...client.PatchOption) error {
			data, err := p.Data(object)
			if err != nil || !strings.Contains(string(data), `"uid":"this-one"`) ||
				!strings.Contains(string(data), `"role":null`) {
				t.Errorf("patched with %s, %v", data, err)
			}
			wrote = append(wrote, "patch")
			object.SetResourceVersion("9")
			return nil
		},
	})
	version, err := SetLabel(t.Context(), c, pod, "role", "coordinator", map[string]string{
		"cost": "other", // than somebody else has set
	}, "us")
	if version != "8" || err != nil {
		t.Errorf("SetLabel: %q, %v", version, err)
	}
	version, err = RemoveLabel(t.Context(), c, pod, "role", "us")
	if version != "9" || err != nil {
		t.Errorf("RemoveLabel: %q, %v", version, err)
	}
	if got := strings.Join(wrote, ", "); got != `apply "coordinator" "other" false, `+
		`apply "coordinator" "" true, apply "" "" false, patch` {
		t.Errorf("it wrote %q", got)
	}
}

// A pod that is gone, or another one of its name, is not an error when a label is to go.
func TestReplaced(t *testing.T) {
	for _, test := range []struct {
		name string
		err  error
		want bool
	}{
		{"not found", notFound, true},
		{"conflict", conflict, true},
		{"the UID is immutable", immutable, true},
		{"forbidden", forbidden, false},
		{"something else is wrong with it", elsewhere, false},
		{"no answer", errors.New("connection refused"), false},
		{"no error", nil, false},
	} {
		if got := Replaced(test.err); got != test.want {
			t.Errorf("%s: %t", test.name, got)
		}
		c := interceptor.NewClient(nil, interceptor.Funcs{
			Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
				return test.err
			},
		})
		_, err := RemoveLabel(t.Context(), c, pod, "role", "us")
		if want := test.err != nil && !test.want; (err != nil) != want {
			t.Errorf("%s: RemoveLabel returns %v", test.name, err)
		}
	}
}
