package install

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

const (
	witnessStays = "the label podesta.dev/witness of a pod cannot be set, changed or removed"
	witnessTrue  = `the label podesta.dev/witness must be "true"`
	witnessOf    = "a witness needs the label podesta.dev/group"
)

// TestAWitnessStaysOne: the label of a witness is given to a pod when it is made, and is not
// changed afterwards by anybody, by the way of the status either. All else of such a pod may
// change.
func TestAWitnessStaysOne(t *testing.T) {
	namespace := newNamespace(t)
	witness := func(name string, labels map[string]string) *corev1.Pod {
		pod := &corev1.Pod{ObjectMeta: named(namespace, name), Spec: podSpec}
		pod.Labels = labels
		return pod
	}
	marked := map[string]string{v1.GroupLabel: "shop", v1.WitnessLabel: v1.WitnessTrue}
	plain := map[string]string{v1.GroupLabel: "shop"}
	wrong := witness("wrong", map[string]string{v1.GroupLabel: "shop", v1.WitnessLabel: "yes"})
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, patience, true,
		func(ctx context.Context) (bool, error) {
			return kube.Create(ctx, wrong.DeepCopy(), client.DryRunAll) != nil, nil
		})
	if err != nil {
		t.Fatalf("the policy podesta-witness does not come into force: %v", err)
	}
	check(t, kube.Create(t.Context(), wrong), witnessTrue)
	check(t, kube.Create(t.Context(), witness("stray", map[string]string{v1.WitnessLabel: v1.WitnessTrue})), witnessOf)
	for name, test := range map[string]struct {
		labels map[string]string
		patch  string
		says   string
	}{
		"taken off":               {marked, `{"metadata":{"labels":{"podesta.dev/witness":null}}}`, witnessStays},
		"all labels taken off":    {marked, `{"metadata":{"labels":null}}`, witnessStays},
		"changed":                 {marked, `{"metadata":{"labels":{"podesta.dev/witness":"false"}}}`, witnessStays},
		"added":                   {plain, `{"metadata":{"labels":{"podesta.dev/witness":"true"}}}`, witnessStays},
		"another label":           {marked, `{"metadata":{"labels":{"app":"shop"}}}`, ""},
		"out of its group":        {marked, `{"metadata":{"labels":{"podesta.dev/group":null}}}`, ""},
		"of a pod that is no one": {plain, `{"metadata":{"labels":{"app":"shop"}}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			pod := witness("", test.labels)
			pod.GenerateName = "pod-"
			must(t, kube.Create(t.Context(), pod))
			patch := client.RawPatch(types.MergePatchType, []byte(test.patch))
			check(t, kube.Status().Patch(t.Context(), pod.DeepCopy(), patch), test.says)
			check(t, kube.Patch(t.Context(), pod.DeepCopy(), patch), test.says)
		})
	}
}
