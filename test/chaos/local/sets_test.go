package local

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podesta-dev/podesta/test/chaos/backend"
)

// What a StatefulSet's controller would do next.
func TestDecide(t *testing.T) {
	const ready, starting, leaving, earlier = "ready", "starting", "leaving", "earlier"
	for name, c := range map[string]struct {
		pods    []string // by ordinal; "" is none
		size    int
		inOrder bool
		create  []int
		remove  string
	}{
		"none yet":                           {size: 3, create: []int{0, 1, 2}},
		"none yet, in order":                 {size: 3, inOrder: true, create: []int{0}},
		"the next is made when one is ready": {pods: []string{ready}, size: 3, inOrder: true, create: []int{1}},
		"and not before":                     {pods: []string{starting}, size: 3, inOrder: true},
		"one was deleted":                    {pods: []string{ready, "", ready}, size: 3, create: []int{1}},
		"one is being deleted":               {pods: []string{ready, leaving, ready}, size: 3},
		"two too many":                       {pods: []string{ready, ready, ready}, size: 1, remove: "s-2"},
		"one too many is leaving":            {pods: []string{ready, ready, leaving}, size: 1},
		"all of an earlier template":         {pods: []string{earlier, earlier, earlier}, size: 3, remove: "s-2"},
		"the next of them":                   {pods: []string{earlier, earlier, ready}, size: 3, remove: "s-1"},
		"but one at a time":                  {pods: []string{earlier, earlier, starting}, size: 3},
		"all as wanted":                      {pods: []string{ready, ready, ready}, size: 3},
	} {
		t.Run(name, func(t *testing.T) {
			set := backend.Set{Name: "s", Size: c.size, InOrder: c.inOrder}
			set.Template.Annotations = map[string]string{backend.Revision: "2"}
			pods := map[string]*corev1.Pod{}
			for i, state := range c.pods {
				p := &corev1.Pod{}
				p.Name, p.Annotations = podName(set, i), map[string]string{backend.Revision: "2"}
				switch state {
				case "":
					continue
				case leaving:
					p.DeletionTimestamp = new(metav1.NewTime(time.Unix(1, 0)))
				case earlier:
					p.Annotations[backend.Revision] = "1"
				}
				if state != starting {
					p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
				}
				pods[p.Name] = p
			}
			create, remove := decide(set, pods)
			removed := ""
			if remove != nil {
				removed = remove.Name
			}
			if !slices.Equal(create, c.create) || removed != c.remove {
				t.Errorf("create %v and remove %q, want %v and %q", create, removed, c.create, c.remove)
			}
		})
	}
}
