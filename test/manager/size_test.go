package manager

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// largestObject is how many bytes the object of a group may have, with its managed fields.
const largestObject = 200_000

// The object of the largest group stays small, and a failover changes only the rows of the two
// processes that it is about.
func TestTheLargestGroup(t *testing.T) {
	namespace := newNamespace(t)
	group := newGroup(t, namespace, guarded, func(g *v1.ElectionGroup) {
		for i := range v1.MaxProcesses {
			g.Spec.Processes = append(g.Spec.Processes, v1.Process{Name: longName(i), Priority: new(int32(i + 1))})
		}
	})
	var pods []*corev1.Pod
	for i := range v1.MaxProcesses {
		pods = append(pods, newPod(t, namespace, i, onNode, func(pod *corev1.Pod) { pod.Name = longName(i) }))
	}
	vote(t, group, pods) // or the manager would make one after another a voter
	m := startManager(t, "")
	var all []*process
	for _, pod := range pods {
		all = append(all, join(t, m, pod, nil))
	}
	last := v1.MaxProcesses - 1
	follow := func(c int) *v1.ElectionGroup {
		hold(groupIn(t, namespace).Status.Roster.Generation<<20+1, all[c], others(all, c)...)
		seen := sees(t, namespace, "its coordinator", func(g *v1.ElectionGroup) bool {
			return coordinatedBy(longName(c), metav1.ConditionTrue)(g) && conditionOf(g, v1.ConditionDegraded) == metav1.ConditionFalse
		})
		return seen[len(seen)-1]
	}
	before, after := follow(last), follow(last-1)

	data, err := json.Marshal(after)
	must(t, err)
	managed, err := json.Marshal(after.ManagedFields)
	must(t, err)
	t.Logf("the object has %d bytes, of which %d are managed fields", len(data), len(managed))
	if len(data) > largestObject {
		t.Errorf("the object has %d bytes: at most %d are promised", len(data), largestObject)
	}
	for i, row := range after.Status.Processes {
		if was := before.Status.Processes[i]; i < last-1 && !equality.Semantic.DeepEqual(row, was) {
			t.Fatalf("the failover changed the row of a process that only follows, from %+v to %+v", was, row)
		}
	}
}

// longName is a name of 40 characters.
func longName(i int) string {
	return fmt.Sprintf("scheduler-of-the-shop-%s-%03d", strings.Repeat("x", 14), i)
}

// vote persists a roster on which all pods vote, as an earlier manager has.
func vote(t *testing.T, group *v1.ElectionGroup, pods []*corev1.Pod) {
	t.Helper()
	var members []any
	for _, pod := range pods {
		members = append(members, map[string]any{
			"name": pod.Name, "uid": string(pod.UID), "stateID": "state-" + string(pod.UID)[:8], "voter": true,
		})
	}
	u := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{
		"roster": map[string]any{"generation": int64(1), "longestLeaseMilliseconds": int64(200), "members": members},
	}}}
	u.SetGroupVersionKind(v1.GroupVersion.WithKind("ElectionGroup"))
	u.SetNamespace(group.Namespace)
	u.SetName(group.Name)
	must(t, kube.Status().Apply(bg, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner("podesta-roster")))
}

// others are all processes but one.
func others(all []*process, but int) (rest []*process) {
	for i, p := range all {
		if i != but {
			rest = append(rest, p)
		}
	}
	return rest
}
