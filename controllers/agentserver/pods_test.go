package agentserver

import (
	"context"
	"errors"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/identity"
)

// podInformer has the test tell what its handler is called with.
type podInformer struct {
	cache.Informers
	cache.Informer

	handler toolscache.ResourceEventHandler
}

func (p *podInformer) GetInformer(context.Context, client.Object,
	...cache.InformerGetOption) (cache.Informer, error) {
	return p, nil
}

func (p *podInformer) AddEventHandler(h toolscache.ResourceEventHandler) (
	toolscache.ResourceEventHandlerRegistration, error) {
	p.handler = h
	return nil, nil //nolint:nilnil // nobody asks
}

func TestWhichPodsAreGone(t *testing.T) {
	informer := new(podInformer)
	var gone []string
	err := WatchPods(t.Context(), informer, func(uid string) { gone = append(gone, uid) })
	if err != nil {
		t.Fatal(err)
	}
	of := func(uid types.UID) *corev1.Pod { return labelled(func(p *corev1.Pod) { p.UID = uid }) }
	informer.handler.OnAdd(of("added"), false)
	informer.handler.OnUpdate(of("changed"), of("changed"))
	informer.handler.OnUpdate(of("replaced"), of("next"))
	informer.handler.OnDelete(of("deleted"))
	informer.handler.OnDelete(toolscache.DeletedFinalStateUnknown{Obj: of("unseen")})
	if want := []string{"replaced", "deleted", "unseen"}; !slices.Equal(gone, want) {
		t.Errorf("%v are gone, want %v", gone, want)
	}
}

func TestWhichPodsAreThere(t *testing.T) {
	name := identity.Name{
		Namespace: "shop",
		Group:     "scheduler",
		Pod:       "p-0",
		UID:       "uid-0",
	}
	for what, c := range map[string]struct {
		change func(*corev1.Pod)
		there  bool
	}{
		"this pod":             {func(*corev1.Pod) {}, true},
		"a pod that has moved": {func(p *corev1.Pod) { p.Labels[v1.GroupLabel] = "billing" }, true},
		"another pod":          {func(p *corev1.Pod) { p.UID = "uid-1" }, false},
		"a pod without label":  {func(p *corev1.Pod) { p.Labels = nil }, false},
		"no pod of the name":   {func(p *corev1.Pod) { p.Name = "p-1" }, false},
	} {
		admission := Admission{Cached: having(labelled(c.change))}
		if there := admission.Present(name); there != c.there {
			t.Errorf("%s: it is there: %t", what, there)
		}
	}
	broken := Admission{Cached: interceptor.NewClient(nil, interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object,
			...client.GetOption) error {
			return errors.New("the cache has not started")
		},
	})}
	if !broken.Present(name) {
		t.Error("one is sent away because nobody knows whether its pod is there")
	}
}
