package manager

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// velero restores a backup of a group: it owns all of the status from then on.
func velero(t *testing.T, namespace string) {
	t.Helper()
	backup := groupIn(t, namespace)
	wipe(t, backup)
	restored := groupIn(t, namespace)
	restored.Status = backup.Status
	must(t, kube.Status().Update(bg, restored, client.FieldOwner("velero")))
	i := slices.IndexFunc(restored.ManagedFields, func(e metav1.ManagedFieldsEntry) bool { return e.Manager == "velero" })
	if i < 0 {
		t.Fatalf("velero owns nothing: %+v", restored.ManagedFields)
	}
	owned := restored.ManagedFields[i].FieldsV1.GetRawString()
	for _, list := range []string{`"f:members":{`, `"f:processes":{`} {
		if _, of, found := strings.Cut(owned, list); !found || !strings.Contains(of, `"k:{\"name\":\"scheduler-0\"}":{`) {
			t.Fatalf("velero owns %s", owned)
		}
	}
}

// Whoever restores a backup owns every member of the roster and every row of the table. They leave
// the status all the same when their pods are gone, also a member of which he owns the name only,
// because the pod was replaced.
func TestForeignOwnerOfAllKeepsNoPodThatIsGone(t *testing.T) {
	m := startManager(t, "")
	namespace, p := three(t, m)
	m.Stop()
	velero(t, namespace)
	m = startManager(t, m.Address)
	p[0].vanish(t)
	replaced := join(t, m, newPod(t, namespace, 0), nil)
	sees(t, namespace, "the pod that replaces scheduler-0", func(g *v1.ElectionGroup) bool {
		return slices.ContainsFunc(g.Status.Roster.Members, func(m v1.RosterMember) bool { return m.UID == replaced.Pod.UID })
	})
	for _, q := range []*process{replaced, p[1]} {
		q.vanish(t)
		sees(t, namespace, "a status without "+q.Pod.Name, func(g *v1.ElectionGroup) bool {
			return !slices.Contains(inStatus(g), q.Pod.Name)
		})
	}
	newPod(t, namespace, 3)
	want := []string{"scheduler-2", "scheduler-3", "scheduler-2", "scheduler-3"}
	sees(t, namespace, "a status with the fourth pod", func(g *v1.ElectionGroup) bool { return slices.Equal(inStatus(g), want) })
}

// The same in a Guarded group, where a roster is a step of the voters.
func TestForeignOwnerOfAGuardedGroup(t *testing.T) {
	m := startManager(t, "")
	namespace, p := voting(t, m, 3)
	m.Stop()
	velero(t, namespace)
	m = startManager(t, m.Address)
	p[0].finish(t)
	sees(t, namespace, "two voters", votersAre(p[1:]...))
	p = append(p[1:], join(t, m, newPod(t, namespace, 3, onNode), nil))
	sees(t, namespace, "three voters again", votersAre(p...))
}

// inStatus are the names of the members of the roster, and then of the rows of the table.
func inStatus(g *v1.ElectionGroup) (names []string) {
	for _, m := range g.Status.Roster.Members {
		names = append(names, m.Name)
	}
	for _, row := range g.Status.Processes {
		names = append(names, row.Name)
	}
	return names
}
