package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/test/chaos/signals"
	"github.com/podesta-dev/podesta/test/chaos/timeline"
	"github.com/podesta-dev/podesta/test/register"
	"github.com/podesta-dev/podesta/test/stage"
)

// again is how soon a watch that ended, or could not begin, is tried again.
const again = 100 * time.Millisecond

// scene is a namespace as its user sees it, and what the register has taken, with the instants at
// which that was seen here. It is safe for concurrent use.
type scene struct {
	mu      sync.Mutex
	pods    map[string]*corev1.Pod
	groups  map[string]*v1.ElectionGroup
	led     map[string][]string // pods, by group: where its Service leads to
	lines   map[string]*timeline.Line
	changed chan struct{} // closed at every change
}

func newScene() *scene {
	s := &scene{lines: map[string]*timeline.Line{}, changed: make(chan struct{})}
	s.clear()
	return s
}

// clear forgets the namespace; what the groups wrote stays.
func (s *scene) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pods, s.groups = map[string]*corev1.Pod{}, map[string]*v1.ElectionGroup{}
	s.led = map[string][]string{}
}

func (s *scene) line(group string) *timeline.Line {
	l, ok := s.lines[group]
	if !ok {
		l = &timeline.Line{}
		s.lines[group] = l
	}
	return l
}

// wake wakes all who wait. The lock is held.
func (s *scene) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// wrote takes a line of the register's log.
func (s *scene) wrote(e register.Entry) {
	if !e.Accepted {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.line(e.Group)
	l.Taken = append(l.Taken, e)
	s.wake()
}

// await returns nil once accept says nothing, and asks again at every change. The lock is held
// while it is asked. The error tells what it said last.
func (s *scene) await(ctx context.Context, accept func() (missing string)) error {
	for {
		s.mu.Lock()
		missing, changed := accept(), s.changed
		s.mu.Unlock()
		if missing == "" {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%w: %s", context.Cause(ctx), missing)
		}
	}
}

// watch keeps the scene up to date until ctx ends.
func (s *scene) watch(ctx context.Context, c *stage.Stage, namespace string) {
	var all sync.WaitGroup
	for _, list := range []client.ObjectList{&corev1.PodList{}, &v1.ElectionGroupList{},
		&discoveryv1.EndpointSliceList{}} {
		all.Go(func() { s.watchKind(ctx, c, namespace, list) })
	}
	all.Wait()
}

func (s *scene) watchKind(
	ctx context.Context, c *stage.Stage, namespace string, list client.ObjectList,
) {
	for ctx.Err() == nil {
		events, err := c.ListAndWatch(ctx, list, client.InNamespace(namespace))
		if err != nil {
			signals.Wait(ctx, again)
			continue
		}
		s.replace(list)
		for e := range events.ResultChan() {
			s.mu.Lock()
			s.take(e.Object, e.Type == watch.Deleted)
			s.wake()
			s.mu.Unlock()
		}
		events.Stop()
	}
}

// replace takes a whole list: what is not in it has gone.
func (s *scene) replace(list client.ObjectList) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch list.(type) {
	case *corev1.PodList:
		s.pods = map[string]*corev1.Pod{}
	case *v1.ElectionGroupList:
		s.groups = map[string]*v1.ElectionGroup{}
	case *discoveryv1.EndpointSliceList:
		s.led = map[string][]string{}
	}
	for _, object := range stage.Objects(list) {
		s.take(object, false)
	}
	s.wake()
}

// take takes an object as it is now, or was when it went.
func (s *scene) take(object runtime.Object, gone bool) {
	switch object := object.(type) {
	case *corev1.Pod:
		if s.pods[object.Name] = object; gone {
			delete(s.pods, object.Name)
		}
	case *v1.ElectionGroup:
		if s.group(object); gone {
			delete(s.groups, object.Name)
		}
	case *discoveryv1.EndpointSlice:
		s.leads(object, gone)
	}
}

// group takes a group, and notes whom its status names since when.
func (s *scene) group(g *v1.ElectionGroup) {
	s.groups[g.Name] = g
	named := timeline.Holder{}
	if c := g.Status.Coordinator; c != nil {
		named = timeline.Holder{Process: c.Name, Epoch: c.Epoch}
	}
	l := s.line(g.Name)
	l.Named = timeline.Note(l.Named, register.Now(), named)
}

// leads takes where a group's Service leads to.
func (s *scene) leads(e *discoveryv1.EndpointSlice, gone bool) {
	service := e.Labels[discoveryv1.LabelServiceName]
	group, ok := strings.CutSuffix(service, v1.CoordinatorServiceSuffix)
	if !ok {
		return
	}
	pods := map[string]bool{}
	for _, endpoint := range e.Endpoints {
		ready := endpoint.Conditions.Ready == nil || *endpoint.Conditions.Ready
		if !gone && ready && endpoint.TargetRef != nil {
			pods[endpoint.TargetRef.Name] = true
		}
	}
	s.led[group] = slices.Sorted(maps.Keys(pods))
	to := timeline.Holder{}
	if len(s.led[group]) == 1 { // to two at once is to nobody yet
		to.Process = s.led[group][0]
	}
	l := s.line(group)
	l.Led = timeline.Note(l.Led, register.Now(), to)
}

// podsOf are a group's pods, by name.
func (s *scene) podsOf(group string) []*corev1.Pod {
	return s.podsThat(func(p *corev1.Pod) bool { return p.Labels[v1.GroupLabel] == group })
}

func (s *scene) podsOn(node string) []*corev1.Pod {
	return s.podsThat(func(p *corev1.Pod) bool {
		return p.Spec.NodeName == node && p.Labels[v1.GroupLabel] != ""
	})
}

func (s *scene) podsThat(wanted func(*corev1.Pod) bool) (pods []*corev1.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.pods {
		if wanted(p) {
			pods = append(pods, p)
		}
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return pods
}

func (s *scene) pod(name string) *corev1.Pod {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pods[name]
}

// reversals are where a group's status has named a lower epoch than before.
func (s *scene) reversals(group string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return timeline.Reversals(s.line(group).Named)
}

// last is who acts in a group at present.
func (s *scene) last(group string) timeline.Holder {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.line(group).Last(register.Now())
}
