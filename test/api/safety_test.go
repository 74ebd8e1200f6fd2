package api

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	podestav1 "github.com/podesta-dev/podesta/api/v1"
)

// TestSafetyCannotBeChanged: what a group promises is decided once, in both directions, and leaving
// it out asks for the default.
func TestSafetyCannotBeChanged(t *testing.T) {
	namespace := newNamespace(t)
	for name, step := range map[string]struct{ was, is podestav1.Safety }{
		"guarded-to-classic": {podestav1.Guarded, podestav1.Classic},
		"classic-to-guarded": {podestav1.Classic, podestav1.Guarded},
		"classic-to-nothing": {podestav1.Classic, ""}, // the default would be a change as well
		"default-to-classic": {"", podestav1.Classic},
	} {
		t.Run(name, func(t *testing.T) {
			group := newGroup(namespace)
			group.Name, group.Spec.Safety = name, step.was
			if err := kube.Create(t.Context(), group); err != nil {
				t.Fatal(err)
			}
			group.Spec.Safety = step.is
			checkRefusal(t, kube.Update(t.Context(), group, client.DryRunAll),
				"spec.safety cannot be changed: delete the group and create it again")
		})
	}
}
