// Package byuid writes to the one object that was meant: every write names a UID, and touches no
// other object that got the name meanwhile.
package byuid

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Pod names one pod.
type Pod struct {
	Namespace string
	Name      string
	UID       types.UID
}

// PodOf returns the name of a pod.
func PodOf(pod *corev1.Pod) Pod {
	return Pod{
		Namespace: pod.Namespace,
		Name:      pod.Name,
		UID:       pod.UID,
	}
}

// SetLabel applies a label to the pod, with annotations that go with it, and returns the pod's
// resource version. If somebody else has set the label or an annotation to another value, SetLabel
// takes the label and leaves the annotations alone. With the UID, an apply never makes a pod. The
// error satisfies Replaced if the pod is gone.
func SetLabel(ctx context.Context, c client.Client, pod Pod, label, value string,
	annotations map[string]string, owner client.FieldOwner) (version string, err error) {
	wanted := corev1ac.Pod(pod.Name, pod.Namespace).
		WithUID(pod.UID).
		WithLabels(map[string]string{label: value}).
		WithAnnotations(annotations)
	err = c.Apply(ctx, wanted, owner)
	if apierrors.IsConflict(err) {
		wanted.Annotations = nil
		err = c.Apply(ctx, wanted, owner, client.ForceOwnership)
	}
	return ptr.Deref(wanted.ResourceVersion, ""), err
}

// RemoveLabel takes off the pod what SetLabel has put on it, and returns the pod's resource
// version; empty if the pod is gone, which is no error. The label goes also where someone else put
// it, such as a pod template.
func RemoveLabel(ctx context.Context, c client.Client, pod Pod, label string,
	owner client.FieldOwner) (version string, err error) {
	without := corev1ac.Pod(pod.Name, pod.Namespace).WithUID(pod.UID)
	err = c.Apply(ctx, without, owner)
	if _, stays := without.Labels[label]; err != nil || !stays {
		if Replaced(err) {
			return "", nil
		}
		return ptr.Deref(without.ResourceVersion, ""), err
	}
	patched := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
	patch := fmt.Sprintf(`{"metadata":{"uid":%q,"labels":{%q:null}}}`, pod.UID, label)
	err = c.Patch(ctx, patched, client.RawPatch(types.MergePatchType, []byte(patch)), owner)
	if Replaced(err) {
		return "", nil
	}
	return patched.ResourceVersion, err
}

// Replaced reports whether a write that names a UID was refused because no object of the name has
// it. API servers say so in three ways: not found, conflict, and, for a merge patch of another
// object of that name, that the UID is immutable.
func Replaced(err error) bool {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return true
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(c metav1.StatusCause) bool {
		return c.Field == "metadata.uid"
	})
}
