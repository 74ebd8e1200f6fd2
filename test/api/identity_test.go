package api

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	podestav1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/controllers/byuid"
)

// The manager names the UID when it changes a pod's labels, so that it never changes another pod of
// the same name. This is how an API server refuses that; the manager must know it for what it is,
// whatever a version calls it.
func TestPatchOfAReplacedPod(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "replaced"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app"}}}}
	if err := kube.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	before := types.UID("5e2f6f5a-0000-4000-8000-000000000000")
	merge := kube.Patch(t.Context(), pod.DeepCopy(), client.RawPatch(types.MergePatchType,
		fmt.Appendf(nil, `{"metadata":{"uid":%q,"labels":{%q:null}}}`, before, podestav1.RoleLabel)))
	label := corev1ac.Pod(pod.Name, pod.Namespace).WithUID(before).WithLabels(map[string]string{podestav1.RoleLabel: podestav1.RoleCoordinator})
	apply := kube.Apply(t.Context(), label, client.FieldOwner("test"), client.ForceOwnership)
	absent := kube.Apply(t.Context(), corev1ac.Pod("absent", pod.Namespace).WithUID(before), client.FieldOwner("test"))
	for what, err := range map[string]error{"merge patch": merge, "apply": apply, "apply to no pod": absent} {
		if err == nil || !byuid.Replaced(err) {
			t.Errorf("%s: %v (%v)", what, err, apierrors.ReasonForError(err))
		}
	}
	if err := kube.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil || pod.Labels[podestav1.RoleLabel] != "" {
		t.Errorf("the pod that has the name now was changed: %v, %v", pod.Labels, err)
	}
	other := kube.Patch(t.Context(), pod.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"a b":"c"}}}`)))
	if !apierrors.IsInvalid(other) || byuid.Replaced(other) {
		t.Errorf("another mistake was taken for it: %v", other)
	}
}
