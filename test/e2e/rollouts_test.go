package e2e

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/test/manifest"
	"github.com/podesta-dev/podesta/test/register"
	"github.com/podesta-dev/podesta/test/register/history"
	"github.com/podesta-dev/podesta/test/register/writer"
	"github.com/podesta-dev/podesta/test/stage"
)

var allRollouts = flag.Bool("rollouts", false, "roll out every workload of the matrix, not three of them")

// mostIdle is for how long nobody may act in a rollout, all in all.
const mostIdle = 300 * time.Millisecond

// A rollout is what happens to a workload, and what it may cost its group.
type rollout struct {
	kind     string // deployment, statefulset or ordinals: the latter with priority.from: Ordinal
	replicas int32
	slow     bool // the app takes 5 s to end, else 0.1 s at most
	surge    string
	deed     string // restart, scale, or drain: two pods are deleted, one of them the coordinator's
	to       int32  // scale to so many
	changes  int    // of the coordinator, at most
	alone    bool   // no majority is left in the end, or none was there in the beginning
}

func (r rollout) String() string {
	text := fmt.Sprintf("%s of %d", r.kind, r.replicas)
	switch r.deed {
	case "scale":
		text += fmt.Sprintf(" to %d", r.to)
	default:
		text += " " + r.deed
	}
	if r.surge != "" {
		text += " surge " + r.surge
	}
	if r.slow {
		text += " ends in 5 s"
	}
	return text
}

// cells are the three that every run has.
var cells = []rollout{
	{kind: "deployment", replicas: 3, surge: "1", deed: "restart", changes: 1},
	{kind: "ordinals", replicas: 5, deed: "restart", changes: 2},
	{kind: "deployment", replicas: 5, surge: "1", deed: "scale", to: 2, changes: 1},
}

func matrix() (all []rollout) {
	for _, replicas := range []int32{3, 5, 7} {
		for _, slow := range []bool{false, true} {
			for _, surge := range []string{"1", "25%", "0"} {
				all = append(all, rollout{kind: "deployment", replicas: replicas, slow: slow, surge: surge, deed: "restart", changes: 1})
			}
			for _, kind := range []string{"statefulset", "ordinals"} {
				all = append(all, rollout{kind: kind, replicas: replicas, slow: slow, deed: "restart", changes: 2})
			}
		}
	}
	return append(all,
		rollout{kind: "deployment", replicas: 5, surge: "1", deed: "scale", to: 2, changes: 1},
		rollout{kind: "deployment", replicas: 2, surge: "1", deed: "scale", to: 7, changes: 1},
		rollout{kind: "deployment", replicas: 0, surge: "1", deed: "scale", to: 3, changes: 1, alone: true},
		rollout{kind: "deployment", replicas: 7, surge: "1", deed: "scale", to: 0, changes: 1, alone: true},
		rollout{kind: "deployment", replicas: 5, surge: "1", deed: "drain", changes: 1})
}

// TestRollouts has Kubernetes' own controllers roll out workloads, beside each pod an app with a session,
// and says what that cost the group.
func TestRollouts(t *testing.T) {
	todo := cells
	if *allRollouts {
		todo = matrix()
	}
	var table strings.Builder
	columns := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(columns, "\nrollout\ttook\tchanges\tnobody acts\tlongest\twithout majority")
	for i, r := range todo {
		t.Run(r.String(), func(t *testing.T) {
			found := r.run(newGroup(t, fmt.Sprintf("rollout-%d", i)))
			fmt.Fprintf(columns, "%s\t%.1f s\t%d\t%d ms\t%d ms\t%v\n", r, found.took.Seconds(), found.changes,
				found.idle.Total.Milliseconds(), found.idle.Longest.Milliseconds(), found.lost)
			if found.changes > r.changes {
				t.Errorf("the coordinator changed %d times, at most %d are needed: %s", found.changes, r.changes, found.who)
			}
			if found.idle.Total > mostIdle && !r.alone {
				t.Errorf("nobody acted for %v, in pieces of %v at most", found.idle.Total, found.idle.Longest)
			}
			if found.lost && !r.alone {
				t.Error("the group had no majority for a while")
			}
			for _, v := range found.violations {
				t.Errorf("%s: %s", v.Rule, v.Text)
			}
		})
	}
	if err := columns.Flush(); err != nil {
		t.Fatal(err)
	}
	t.Log(table.String())
}

// cost is what a rollout cost its group.
type cost struct {
	took       time.Duration
	changes    int
	who        string // coordinated, in order
	idle       history.Times
	lost       bool
	violations []history.Violation
}

func (r rollout) run(g *group) cost {
	g.t.Helper()
	eg := &v1.ElectionGroup{}
	eg.Namespace, eg.Name = g.Namespace, g.Group
	if r.kind == "ordinals" {
		eg.Spec.Priority.From = v1.Ordinal
	}
	g.must(g.Create(g.t.Context(), eg))
	apps := g.writers()
	defer apps.end()
	g.must(g.Create(g.t.Context(), r.workload(g)))
	if r.replicas > 0 {
		g.rolled(r.replicas, nil)
		apps.acting(g)
	}
	r.highest(g)
	begun, from := time.Now(), register.Now()
	old, err := g.Pods(g.t.Context())
	g.must(err)
	r.do(g, old)
	switch r.deed {
	case "scale":
		g.rolled(r.to, nil)
	case "drain":
		g.rolled(r.replicas, nil)
	default:
		g.rolled(r.replicas, old)
	}
	took := time.Since(begun)
	r.highest(g)
	if r.deed != "scale" || r.to > 0 {
		apps.acting(g)
		pass(g.t, time.Now().Add(settling))
	}
	c := apps.cost(g, from)
	c.took = took
	return c
}

// highest waits until the process of the highest priority coordinates, if they differ.
func (r rollout) highest(g *group) {
	g.t.Helper()
	if r.kind == "ordinals" {
		highest := g.podName(int(r.replicas) - 1)
		g.await(highest+" as the coordinator", func(eg *v1.ElectionGroup) bool { return stage.Coordinates(eg, highest) })
	}
}

// workload is the object that makes the pods.
func (r rollout) workload(g *group) client.Object {
	pod, err := manifest.Pod(filepath.Join(root, "config/samples/pods.yaml"))
	g.must(err)
	labels := map[string]string{v1.GroupLabel: g.Group}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod.Spec}
	if r.slow {
		template.Spec.Containers[0].Image = "slow"
	}
	is := metav1.ObjectMeta{Namespace: g.Namespace, Name: g.Group}
	selector := &metav1.LabelSelector{MatchLabels: labels}
	if r.kind != "deployment" {
		return &appsv1.StatefulSet{ObjectMeta: is, Spec: appsv1.StatefulSetSpec{
			Replicas: &r.replicas, Selector: selector, Template: template, ServiceName: g.Group,
		}}
	}
	surge := intstr.Parse(r.surge)
	update := &appsv1.RollingUpdateDeployment{MaxSurge: &surge}
	if r.surge == "0" {
		update.MaxUnavailable = new(intstr.FromInt32(1))
	}
	return &appsv1.Deployment{ObjectMeta: is, Spec: appsv1.DeploymentSpec{
		Replicas: &r.replicas, Selector: selector, Template: template,
		Strategy: appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: update},
	}}
}

// do begins what happens.
func (r rollout) do(g *group, pods map[string]corev1.Pod) {
	g.t.Helper()
	object := r.workload(g)
	patch := func(text string) {
		g.must(g.Patch(g.t.Context(), object, client.RawPatch(types.MergePatchType, []byte(text))))
	}
	switch r.deed {
	case "restart":
		patch(`{"spec": {"template": {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": "now"}}}}}`)
	case "scale":
		patch(fmt.Sprintf(`{"spec": {"replicas": %d}}`, r.to))
	case "drain": // of the node of the coordinator and another one
		coordinator, others := g.read().Status.Coordinator.Name, 0
		for name, pod := range pods {
			if name != coordinator {
				if others++; others > 1 {
					continue
				}
			}
			g.must(g.Delete(g.t.Context(), &pod))
		}
	}
}

// rolled waits until the group's voters are its n pods, all of them ready, none of the old ones.
func (g *group) rolled(n int32, old map[string]corev1.Pod) {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), 3*patience)
	defer cancel()
	err := g.Until(ctx, fmt.Sprintf("%d new ready pods of %s", n, g.Group), &corev1.PodList{}, func(runtime.Object) bool {
		var list corev1.PodList
		if err := g.List(ctx, &list, client.InNamespace(g.Namespace)); err != nil || len(list.Items) != int(n) {
			return false
		}
		return !slices.ContainsFunc(list.Items, func(p corev1.Pod) bool {
			was, known := old[p.Name]
			return p.DeletionTimestamp != nil || !stage.Ready(&p) || known && was.UID == p.UID
		})
	}, client.InNamespace(g.Namespace))
	g.must(err)
	if n > 0 {
		g.voting(int(n))
	}
}

// writers are the apps of a group: one beside each pod's agent, as long as the pod exists.
type writers struct {
	mu       sync.Mutex
	traces   map[types.UID]*bytes.Buffer
	stops    map[types.UID]context.CancelFunc
	lost     bool // the group had no majority at some time, once it had one
	founded  bool
	log      bytes.Buffer // the register's
	register *httptest.Server
	tasks    sync.WaitGroup
	cancel   context.CancelFunc
}

// writers watches the group's pods, and its status.
func (g *group) writers() *writers {
	g.t.Helper()
	ctx, cancel := context.WithCancel(g.t.Context())
	w := &writers{traces: map[types.UID]*bytes.Buffer{}, stops: map[types.UID]context.CancelFunc{}, cancel: cancel}
	w.register = httptest.NewServer(register.New(&w.log, nil))
	pods, err := g.Watch(ctx, &corev1.PodList{}, client.InNamespace(g.Namespace))
	g.must(err)
	groups, err := g.Watch(ctx, &v1.ElectionGroupList{}, client.InNamespace(g.Namespace))
	g.must(err)
	w.tasks.Go(func() {
		defer pods.Stop()
		for {
			select {
			case event := <-pods.ResultChan():
				if pod, ok := event.Object.(*corev1.Pod); ok {
					w.see(ctx, g, event.Type, pod)
				}
			case <-ctx.Done():
				return
			}
		}
	})
	w.tasks.Go(func() {
		defer groups.Stop()
		for {
			select {
			case event := <-groups.ResultChan():
				if eg, ok := event.Object.(*v1.ElectionGroup); ok {
					w.judge(eg)
				}
			case <-ctx.Done():
				return
			}
		}
	})
	return w
}

// see starts the app of a pod that has an address, and ends that of one that is gone.
func (w *writers) see(ctx context.Context, g *group, event watch.EventType, pod *corev1.Pod) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if event == watch.Deleted {
		if stop := w.stops[pod.UID]; stop != nil {
			stop()
		}
		return
	}
	if pod.Status.PodIP == "" || w.stops[pod.UID] != nil {
		return
	}
	life, stop := context.WithCancel(ctx)
	trace := &bytes.Buffer{}
	w.stops[pod.UID], w.traces[pod.UID] = stop, trace
	o := writer.Options{
		Agent: "http://" + stage.AppAddress(*pod), Register: w.register.URL, Group: g.Group, Process: pod.Name,
		UID: string(pod.UID), Ask: writer.Session, Trace: &locked{mu: &w.mu, out: trace}, Report: func(string) {},
	}
	w.tasks.Go(func() { _ = writer.Run(life, o) })
}

// judge notes whether the group has a majority.
func (w *writers) judge(eg *v1.ElectionGroup) {
	w.mu.Lock()
	defer w.mu.Unlock()
	voters := len(votersOf(eg))
	w.founded = w.founded || voters > 0
	stalled := slices.ContainsFunc(eg.Status.Conditions, func(c metav1.Condition) bool {
		return c.Type == v1.ConditionStalled && c.Status == metav1.ConditionTrue
	})
	w.lost = w.lost || w.founded && (voters == 0 || stalled)
}

// locked is a trace that is read while it is written.
type locked struct {
	mu  *sync.Mutex
	out *bytes.Buffer
}

func (l *locked) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(text)
}

// lives reads the traces as they are now.
func (w *writers) lives(g *group) (all []history.Life) {
	g.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, trace := range w.traces {
		lives, err := history.ReadTrace(bytes.NewReader(trace.Bytes()))
		g.must(err)
		all = append(all, lives...)
	}
	return all
}

// acting waits until an app was told in the last moments that it may act.
func (w *writers) acting(g *group) {
	g.t.Helper()
	begun := register.Now()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-again.C {
		for _, told := range toldOf(w.lives(g)) {
			if told.Deadline > begun {
				return
			}
		}
	}
	g.t.Fatal("no app may act")
}

type told struct {
	writer.Line

	process, uid string
}

// toldOf is all that apps were told, in order.
func toldOf(lives []history.Life) (all []told) {
	for _, life := range lives {
		for _, line := range life.Lines {
			if line.Kind == writer.Told {
				all = append(all, told{Line: line, process: life.Process, uid: life.UID})
			}
		}
	}
	slices.SortFunc(all, func(a, b told) int { return int(a.At - b.At) })
	return all
}

// cost is what apps were told since an instant.
func (w *writers) cost(g *group, from register.Instant) cost {
	g.t.Helper()
	end := register.Now()
	lives := w.lives(g)
	for i := range lives {
		lives[i].Lines = slices.DeleteFunc(lives[i].Lines, func(l writer.Line) bool {
			return l.Kind == writer.Told && l.Deadline < from // it may have been stopped since
		})
	}
	report := history.History{Lives: lives, End: end}.Guarded(g.Group)
	c := cost{idle: report.Nobody, lost: w.lost}
	for _, v := range report.Violations {
		if v.Rule == history.TwoAct || v.Rule == history.TwoOwners {
			c.violations = append(c.violations, v)
		}
	}
	var who []string
	last := ""
	for _, t := range toldOf(lives) {
		if t.uid == last {
			continue
		}
		if last = t.uid; t.At < from { // it acted when the rollout began, or just before
			who = nil
		}
		who = append(who, t.process)
	}
	c.changes = max(len(who)-1, 0)
	c.who = strings.Join(who, ", ")
	return c
}

func (w *writers) end() {
	w.cancel()
	w.tasks.Wait()
	w.register.Close()
}
