package retry

import (
	"errors"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Refused returns the message of an API server that will refuse the same write again until a user
// acts: because of a policy, a quota or a webhook. It is empty if the next try may succeed, and if
// the namespace is being deleted.
func Refused(err error) string {
	status := apierrors.APIStatus(nil)
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) || !errors.As(err, &status) {
		return ""
	}
	webhook := status.Status().Code == http.StatusBadRequest // of one that gives no code
	if !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) && !webhook {
		return ""
	}
	return status.Status().Message
}
