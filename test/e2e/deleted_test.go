package e2e

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// The CRD is deleted, and all groups with it. Nobody acts for a group that does not exist. When CRD
// and group are applied again the same pods elect again, under higher epochs, also where the
// manager was started while there was no CRD.
func crdDeleted(t *testing.T) {
	g, classic := newGroup(t, "crd-deleted"), newGroup(t, "crd-deleted-classic")
	before := g.settled()
	classic.unhurried("podesta_v1_electiongroup_classic.yaml")
	classic.agree("scheduler-4")
	classic.shows("scheduler-4")
	said, saidClassic := g.chronicle(), classic.chronicle()
	for _, c := range []*chronicle{said, saidClassic} {
		if c.agree("scheduler-4"); !c.mayAct("scheduler-4") {
			t.Error("scheduler-4 may not act while all is well")
		}
	}
	manager := managerPID(t)

	g.must(g.Delete(t.Context(), definition()))
	for _, c := range []*chronicle{said, saidClassic} {
		c.await("everybody to follow nobody", func(views map[string]telling) bool {
			for pod := range c.pods {
				if !views[pod].heard || views[pod].coordinator != "" {
					return false
				}
			}
			return true
		})
		for pod := range c.pods {
			if c.mayAct(pod) {
				t.Errorf("%s acts for a group that does not exist", pod)
			}
		}
	}
	g.unlabelled()
	classic.unlabelled()
	g.defined(false)
	if managerPID(t) != manager || manager == 0 {
		t.Error("the manager did not outlive it")
	}
	restarted(t, killProgram(t, "manager")) // nor does one that starts now need the CRD

	back := time.Now()
	g.must(g.ApplyFile(t.Context(), filepath.Join(root, "config/crd/bases/podesta.dev_electiongroups.yaml")))
	g.defined(true)
	g.unhurried("podesta_v1_electiongroup.yaml")
	classic.unhurried("podesta_v1_electiongroup_classic.yaml")
	eg := g.holds("scheduler-4", before.Status.Coordinator.Epoch)
	g.shows("scheduler-4")
	classic.shows("scheduler-4")
	t.Logf("status and label are back %v after the CRD, epoch %d after %d", time.Since(back), eg.Status.Coordinator.Epoch, before.Status.Coordinator.Epoch)
	if eg.UID == before.UID || eg.Status.Roster.Generation <= before.Status.Roster.Generation {
		t.Errorf("group %s made roster generation %d, %s had %d", eg.UID, eg.Status.Roster.Generation, before.UID, before.Status.Roster.Generation)
	}
	said.acts("scheduler-4")
}

// definition is the CRD, without what is in it.
func definition() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion("apiextensions.k8s.io/v1")
	u.SetKind("CustomResourceDefinition")
	u.SetName("electiongroups.podesta.dev")
	return u
}

// defined waits until the CRD is served, or gone.
func (g *group) defined(want bool) {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), patience)
	defer cancel()
	for ctx.Err() == nil {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion("apiextensions.k8s.io/v1")
		list.SetKind("CustomResourceDefinitionList")
		watch, err := g.Stage.Watch(ctx, list, client.MatchingFields{"metadata.name": definition().GetName()})
		g.must(err)
		for more := true; more; _, more = <-watch.ResultChan() {
			found := definition()
			err := g.Get(ctx, client.ObjectKeyFromObject(found), found)
			if !want && apierrors.IsNotFound(err) || want && err == nil && established(found) {
				watch.Stop()
				return
			}
		}
	}
	g.t.Fatalf("await the CRD, served %v: %v", want, context.Cause(ctx))
}

func established(crd *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		condition, ok := c.(map[string]any)
		return ok && condition["type"] == "Established" && condition["status"] == "True"
	})
}

// unlabelled waits until no pod carries the role label.
func (g *group) unlabelled() {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), patience)
	defer cancel()
	_, err := g.AwaitPods(ctx, "pods without the role label", func(pods map[string]corev1.Pod) bool {
		for _, pod := range pods {
			if pod.Labels[v1.RoleLabel] != "" {
				return false
			}
		}
		return true
	})
	g.must(err)
}
