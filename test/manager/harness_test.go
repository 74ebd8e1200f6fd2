package manager

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/controllers"
	"github.com/podesta-dev/podesta/internal/roster"
	"github.com/podesta-dev/podesta/test/envtest"
)

const patience = envtest.Patience

var (
	bg         = context.Background()
	must       = envtest.Must
	eventually = envtest.Eventually
)

// manager is a running manager, and what it wrote.
type manager struct {
	*envtest.Manager

	writes *writes
}

// startManager starts a manager that serves agents on the address; "" is any.
func startManager(t *testing.T, address string, edit ...func(*controllers.Options)) *manager {
	t.Helper()
	w := &writes{}
	return &manager{writes: w, Manager: server.StartManager(t, envtest.ManagerOptions{
		Namespace: system,
		Address:   address,
		Wrap:      w.watch,
		Edit:      edit,
	})}
}

// writes are the requests of a manager that change something, in order. Its lease and its reviews of tokens do not count.
type writes struct {
	mu  sync.Mutex
	all []string
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (w *writes) watch(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodGet || strings.Contains(r.URL.Path, "/leases") || strings.Contains(r.URL.Path,
			"/tokenreviews") {
			return next.RoundTrip(r)
		}
		line := r.Method + " " + r.URL.Path + " " + r.URL.Query().Get("fieldManager")
		if strings.Contains(r.URL.Path, "/events") && r.Body != nil {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			line += " " + reasonIn(body)
		}
		w.mu.Lock()
		w.all = append(w.all, line)
		w.mu.Unlock()
		return next.RoundTrip(r)
	})
}

// reasonIn finds the reason in an event, in whatever encoding it is sent.
func reasonIn(event []byte) string {
	for _, reason := range []string{"CoordinatorElected", "CoordinatorLost", "ProcessCrashed", "ProcessRecovered",
		"RosterChanged", "VotersChanged", "VotersForgotten", "AgentMissing", "MajorityLost", "ServiceNameTaken", "ServiceRefused"} {
		if bytes.Contains(event, []byte(reason)) {
			return reason
		}
	}
	return ""
}

// in returns the writes so far that concern the namespace, without it in their paths.
func (w *writes) in(namespace string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var some []string
	for _, line := range w.all {
		if part := "/namespaces/" + namespace + "/"; strings.Contains(line, part) {
			some = append(some, line[:strings.Index(line, " ")+1]+line[strings.Index(line, part)+len(part):])
		}
	}
	return some
}

func (w *writes) reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = nil
}

func newNamespace(t *testing.T) string {
	t.Helper()
	return server.NewNamespace(t, "shop-")
}

// newGroup makes group scheduler, Classic unless edited.
func newGroup(t *testing.T, namespace string, edit ...func(*v1.ElectionGroup)) *v1.ElectionGroup {
	t.Helper()
	group := &v1.ElectionGroup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "scheduler"},
		Spec: v1.ElectionGroupSpec{Safety: v1.Classic, Priority: v1.PriorityPolicy{From: v1.Ordinal}}}
	for _, e := range edit {
		e(group)
	}
	must(t, kube.Create(bg, group))
	return group
}

func newPod(t *testing.T, namespace string, ordinal int, edit ...func(*corev1.Pod)) *corev1.Pod {
	t.Helper()
	return server.NewPod(t, namespace, ordinal, edit...)
}

// process is the agent of a pod.
type process struct{ *envtest.Agent }

// join starts the agent of a pod. onNews, if there is one, is called with each update before anything
// else happens.
func join(t *testing.T, m *manager, pod *corev1.Pod, onNews func(roster.Update)) *process {
	t.Helper()
	return &process{server.Join(t, m.Address, pod, func(a *envtest.Agent) { a.OnNews = onNews })}
}

// elect has the processes report what they would after an election that the coordinator won; crashed are those that they
// found dead.
func elect(decision string, coordinator *process, followers []*process, crashed ...*process) {
	for _, p := range append([]*process{coordinator}, followers...) {
		p.Change(func() {
			p.Report.Electing, p.Report.Coordinator = false, coordinator.Pod.Name
			p.Report.Table = nil
			for _, c := range crashed {
				p.Report.Table = append(p.Report.Table, roster.Row{Name: c.Pod.Name, State: roster.Crashed})
			}
			reason := "Asked"
			if p != coordinator {
				reason = "CoordinatorUnreachable"
			}
			p.Report.LastElection = &roster.Election{Decision: decision, Initiator: followers[0].Pod.Name, Reason: reason,
				Sent: 2, Duration: 3 * time.Millisecond}
		})
	}
}

// sees waits until the group is as it should be, and returns all the states of it that were seen on the way.
func sees(t *testing.T, namespace, what string, ok func(*v1.ElectionGroup) bool) []*v1.ElectionGroup {
	t.Helper()
	return seesIn(t, watchGroup(t, namespace, ""), what, ok)
}

// watchGroup watches a namespace's group: what comes after that resource version, or if it is empty from about now on: the API
// server's cache may begin with a state that is no more.
func watchGroup(t *testing.T, namespace, version string) watch.Interface {
	t.Helper()
	w, err := kube.Watch(t.Context(), &v1.ElectionGroupList{}, client.InNamespace(namespace),
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: version}})
	must(t, err)
	return w
}

// seesIn is sees with a watch that began before.
func seesIn(t *testing.T, watch watch.Interface, what string, ok func(*v1.ElectionGroup) bool) []*v1.ElectionGroup {
	t.Helper()
	defer watch.Stop()
	var seen []*v1.ElectionGroup
	deadline := time.After(patience)
	for {
		select {
		case e := <-watch.ResultChan():
			group, isGroup := e.Object.(*v1.ElectionGroup)
			if !isGroup {
				t.Fatalf("watch: %v", e.Object)
			}
			seen = append(seen, group)
			if ok(group) {
				return seen
			}
		case <-deadline:
			t.Fatalf("the group was never seen with %s; last: %+v", what, seen[len(seen)-1].Status)
		}
	}
}

func coordinatedBy(name string, ready metav1.ConditionStatus) func(*v1.ElectionGroup) bool {
	return func(g *v1.ElectionGroup) bool {
		return g.Status.Coordinator != nil && g.Status.Coordinator.Name == name && conditionOf(g, v1.ConditionReady) == ready &&
			conditionOf(g, v1.ConditionReconciling) == metav1.ConditionFalse
	}
}

func conditionOf(g *v1.ElectionGroup, kind string) metav1.ConditionStatus {
	for _, c := range g.Status.Conditions {
		if c.Type == kind {
			return c.Status
		}
	}
	return ""
}

// table is the process status table on one line.
func table(g *v1.ElectionGroup) string {
	var rows []string
	for _, row := range g.Status.Processes {
		rows = append(rows, fmt.Sprintf("%s:%s", row.Name, row.State))
	}
	return strings.Join(rows, " ")
}

// labelled waits until exactly that pod carries the role label.
func labelled(t *testing.T, namespace, name string) {
	t.Helper()
	watch, err := kube.Watch(t.Context(), &corev1.PodList{}, client.InNamespace(namespace))
	must(t, err)
	defer watch.Stop()
	holders := map[string]bool{}
	deadline := time.After(patience)
	for {
		select {
		case e := <-watch.ResultChan():
			pod := e.Object.(*corev1.Pod)
			delete(holders, pod.Name)
			if pod.Labels[v1.RoleLabel] == v1.RoleCoordinator {
				holders[pod.Name] = true
			}
			if len(holders) == 1 && holders[name] {
				return
			}
		case <-deadline:
			t.Fatalf("pods with the role label: %v, want %s", holders, name)
		}
	}
}

// passes is how many times this test binary's managers have gone over their groups.
func passes(t *testing.T) (n float64) {
	t.Helper()
	families, err := metrics.Registry.Gather()
	must(t, err)
	for _, family := range families {
		if family.GetName() == "controller_runtime_reconcile_total" {
			for _, metric := range family.GetMetric() {
				n += metric.GetCounter().GetValue()
			}
		}
	}
	return n
}

// rosterOf: this is the group's newest roster.
func rosterOf(g *v1.ElectionGroup) func(roster.Update) bool {
	return func(u roster.Update) bool {
		return u.Roster != nil && u.Roster.Generation == g.Status.Roster.Generation
	}
}

// unlabelled waits until no pod carries the role label.
func unlabelled(t *testing.T, namespace string) {
	t.Helper()
	eventually(t, "the role label gone", func() bool {
		pods := &corev1.PodList{}
		must(t, kube.List(bg, pods, client.InNamespace(namespace), client.HasLabels{v1.RoleLabel}))
		return len(pods.Items) == 0
	})
}
