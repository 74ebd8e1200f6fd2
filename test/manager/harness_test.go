package manager

import (
	"context"
	"fmt"
	"net/http"
	"slices"
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

// writes are the requests of a manager that change something, in order. Its lease and its reviews
// of tokens do not count.
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
		w.mu.Lock()
		w.all = append(w.all, line)
		w.mu.Unlock()
		return next.RoundTrip(r)
	})
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
	t.Cleanup(func() { // the managers of later tests are to have one group each: see passes
		must(t, client.IgnoreNotFound(kube.Delete(bg, &v1.ElectionGroup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: group.Name}})))
		must(t, kube.DeleteAllOf(bg, &corev1.Pod{}, client.InNamespace(namespace), client.GracePeriodSeconds(0)))
	})
	return group
}

func newPod(t *testing.T, namespace string, ordinal int, edit ...func(*corev1.Pod)) *corev1.Pod {
	t.Helper()
	return server.NewPod(t, namespace, ordinal, edit...)
}

// process is the agent of a pod.
type process struct{ *envtest.Agent }

// join starts the agent of a pod. onNews, if there is one, is called with each update before
// anything else happens.
func join(t *testing.T, m *manager, pod *corev1.Pod, onNews func(roster.Update)) *process {
	t.Helper()
	return &process{server.Join(t, m.Address, pod, func(a *envtest.Agent) { a.OnNews = onNews })}
}

// elect has the processes report what they would after an election that the coordinator won;
// crashed are those that they found dead.
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

// sees waits until the group is as it should be, and returns all the states of it that were seen on
// the way, from that of now on.
func sees(t *testing.T, namespace, what string, ok func(*v1.ElectionGroup) bool) []*v1.ElectionGroup {
	t.Helper()
	now := &v1.ElectionGroupList{}
	changes := server.Watch(t, now, client.InNamespace(namespace))
	var seen []*v1.ElectionGroup
	for i := range now.Items {
		if seen = append(seen, &now.Items[i]); ok(&now.Items[i]) {
			changes.Stop()
			return seen
		}
	}
	return seesIn(t, changes, what, ok, seen...)
}

// watchGroup watches a namespace's group: what comes after that resource version.
func watchGroup(t *testing.T, namespace, version string) watch.Interface {
	t.Helper()
	w, err := kube.Watch(t.Context(), &v1.ElectionGroupList{}, client.InNamespace(namespace),
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: version}})
	must(t, err)
	return w
}

// seesIn is sees with a watch that began before, after what was seen already.
func seesIn(t *testing.T, watch watch.Interface, what string, ok func(*v1.ElectionGroup) bool, seen ...*v1.ElectionGroup) []*v1.ElectionGroup {
	t.Helper()
	defer watch.Stop()
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
			if len(seen) == 0 {
				t.Fatalf("the group was never seen, with %s or without", what)
			}
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
	now := &corev1.PodList{}
	changes := server.Watch(t, now, client.InNamespace(namespace))
	defer changes.Stop()
	holders := map[string]bool{}
	note := func(pod *corev1.Pod) {
		delete(holders, pod.Name)
		if pod.Labels[v1.RoleLabel] == v1.RoleCoordinator && pod.DeletionTimestamp == nil {
			holders[pod.Name] = true
		}
	}
	for i := range now.Items {
		note(&now.Items[i])
	}
	for deadline := time.After(patience); len(holders) != 1 || !holders[name]; {
		select {
		case e := <-changes.ResultChan():
			pod, ok := e.Object.(*corev1.Pod)
			if !ok {
				t.Fatalf("watch: %v", e.Object)
			}
			if note(pod); e.Type == watch.Deleted {
				delete(holders, pod.Name)
			}
		case <-deadline:
			t.Fatalf("pods with the role label: %v, want %s", holders, name)
		}
	}
}

// passes is how many times this test binary's managers have gone over their groups: over that of
// the test, as those of the tests before are gone. One pass more may be one that had begun before:
// see shown.
func passes(t *testing.T) (n float64) {
	t.Helper()
	families, err := metrics.Registry.Gather()
	must(t, err)
	for _, family := range families {
		if family.GetName() == "controller_runtime_reconcile_total" {
			for _, metric := range family.GetMetric() {
				for _, label := range metric.GetLabel() {
					if label.GetName() == "controller" && label.GetValue() == "electiongroup" {
						n += metric.GetCounter().GetValue()
					}
				}
			}
		}
	}
	return n
}

// chatter has the processes report again and again what is to be sent, and not to be published;
// each time the manager makes a pass.
func chatter(t *testing.T, processes ...*process) {
	t.Helper()
	for range 5 {
		before := passes(t)
		for _, p := range processes {
			p.Change(func() { p.Report.Incarnation++ })
		}
		eventually(t, "a pass over the group", func() bool { return passes(t) > before })
	}
}

// shown has the coordinator report something that is published, and waits until it is: whatever was
// reported before has been looked at by then. It is more messages of the newest election, and costs
// one write, which is shownBy.
func shown(t *testing.T, namespace string, coordinator *process) *v1.ElectionGroup {
	t.Helper()
	const messages = 4711
	coordinator.Change(func() {
		told := roster.Election{Decision: coordinator.Pod.Name + "/0/0", Initiator: coordinator.Pod.Name, Reason: "Asked"}
		if last := coordinator.Report.LastElection; last != nil {
			told = *last
		}
		told.Sent = messages
		coordinator.Report.LastElection = &told
	})
	seen := sees(t, namespace, "an election with 4711 messages", func(g *v1.ElectionGroup) bool {
		last := g.Status.Elections
		return len(last) > 0 && last[0].Messages != nil && *last[0].Messages >= messages
	})
	return seen[len(seen)-1]
}

const shownBy = "PATCH electiongroups/scheduler/status podesta-status"

// onlyShown fails if a manager has written anything but what shown makes it write.
func onlyShown(t *testing.T, m *manager, namespace string) {
	t.Helper()
	if w := m.writes.in(namespace); !slices.Equal(w, []string{shownBy}) {
		t.Errorf("writes beside %q:\n%s", shownBy, strings.Join(w, "\n"))
	}
}

// rosterOf: this is the group's newest roster.
func rosterOf(g *v1.ElectionGroup) func(roster.Update) bool {
	return func(u roster.Update) bool {
		return u.Roster != nil && u.Roster.Generation == g.Status.Roster.Generation
	}
}
