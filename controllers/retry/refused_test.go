package retry_test

import (
	"errors"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/podesta-dev/podesta/controllers/retry"
)

// What an API server refuses for good, and what it may take the next time.
func TestWhatIsRefused(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	terminating := apierrors.NewForbidden(pods, "p", errors.New("it is being deleted"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	byWebhook := &apierrors.StatusError{ErrStatus: metav1.Status{
		Code:    http.StatusBadRequest,
		Message: `admission webhook "w" denied the request: no`,
	}}
	for name, test := range map[string]struct {
		err     error
		refused bool
	}{
		"nothing":               {nil, false},
		"a policy":              {apierrors.NewForbidden(pods, "p", errors.New("no")), true},
		"a rule of the type":    {apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "p", nil), true},
		"a webhook":             {byWebhook, true},
		"a namespace that goes": {terminating, false},
		"a conflict":            {apierrors.NewConflict(pods, "p", errors.New("changed")), false},
		"too many requests":     {apierrors.NewTooManyRequests("later", 1), false},
		"a server in trouble":   {apierrors.NewInternalError(errors.New("etcd is away")), false},
		"no answer":             {errors.New("connection refused"), false},
	} {
		got := retry.Refused(test.err)
		if (got != "") != test.refused {
			t.Errorf("%s: %q", name, got)
		}
	}
}
