package manager

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/controllers"
	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/roster"
)

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

var bg = context.Background()

// manager is a running manager, with the rights of its ServiceAccount, and what it wrote.
type manager struct {
	address string
	writes  *writes
	stop    func()
}

// startManager starts a manager that serves agents on the address; "" is any.
func startManager(t *testing.T, address string, edit ...func(*controllers.Options)) *manager {
	t.Helper()
	if address == "" {
		address = "127.0.0.1:0"
	}
	m := &manager{writes: &writes{}}
	account := rest.CopyConfig(config)
	account.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:" + system + ":podesta-manager",
		Groups: []string{"system:serviceaccounts", "system:authenticated"}}
	account.Wrap(m.writes.watch)
	mgr, err := ctrl.NewManager(account, ctrl.Options{
		Scheme: kube.Scheme(), Cache: controllers.CacheOptions(),
		Metrics:        metricsserver.Options{BindAddress: "0"},
		LeaderElection: true, LeaderElectionID: "podesta-manager", LeaderElectionNamespace: system, LeaderElectionReleaseOnCancel: true,
		Controller: ctrlconfig.Controller{SkipNameValidation: new(true)}, // several managers, one after another, in one process
	})
	must(t, err)
	listener, err := net.Listen("tcp", address)
	must(t, err)
	m.address = listener.Addr().String()
	options := controllers.Options{Namespace: system, Registry: prometheus.NewRegistry(),
		Listen: func(context.Context) (net.Listener, error) { return listener, nil }, Logger: slog.New(slog.DiscardHandler)}
	for _, e := range edit {
		e(&options)
	}
	must(t, controllers.Setup(mgr, options))
	ctx, cancel := context.WithCancel(bg)
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	m.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the manager ended with %v", err)
		}
	})
	t.Cleanup(m.stop)
	return m
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

// newNamespace makes a namespace with a ServiceAccount for pods.
func newNamespace(t *testing.T) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "shop-"}}
	must(t, kube.Create(bg, namespace))
	must(t, kube.Create(bg, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name,
		Name: "default"}}))
	return namespace.Name
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

// newPod makes pod scheduler-<ordinal> of the group, running, with an address.
func newPod(t *testing.T, namespace string, ordinal int, edit ...func(*corev1.Pod)) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("scheduler-%d", ordinal),
			Labels: map[string]string{v1.GroupLabel: "scheduler"}},
		Spec: corev1.PodSpec{ServiceAccountName: "default",
			InitContainers: []corev1.Container{{Name: v1.AgentContainer, Image: "agent",
				RestartPolicy: new(corev1.ContainerRestartPolicyAlways)}},
			Containers: []corev1.Container{{Name: "app", Image: "app"}}},
	}
	for _, e := range edit {
		e(pod)
	}
	must(t, kube.Create(bg, pod))
	pod.Status.Phase, pod.Status.PodIP = corev1.PodRunning, fmt.Sprintf("10.0.0.%d", ordinal+1)
	pod.Status.PodIPs = []corev1.PodIP{{IP: pod.Status.PodIP}}
	must(t, kube.Status().Update(bg, pod))
	return pod
}

// token is a real token of the pod.
func token(t *testing.T, pod *corev1.Pod, audience string, bound bool) string {
	t.Helper()
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{audience}}}
	if bound {
		request.Spec.BoundObjectRef = &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1",
			Name: pod.Name, UID: pod.UID}
	}
	granted, err := core.CoreV1().ServiceAccounts(pod.Namespace).CreateToken(bg, "default", request, metav1.CreateOptions{})
	must(t, err)
	return granted.Status.Token
}

// process is the agent of a pod: a real client; what it reports is scripted.
type process struct {
	pod    *corev1.Pod
	client *roster.Client
	stop   func()

	mu      sync.Mutex
	report  roster.Report
	updates []roster.Update
	heard   chan struct{} // closed and replaced with each update
	onNews  func(roster.Update)
}

// join starts the agent of a pod. onNews, if there is one, is called with each update before anything else happens.
func join(t *testing.T, m *manager, pod *corev1.Pod, onNews func(roster.Update)) *process {
	t.Helper()
	p := &process{pod: pod, heard: make(chan struct{}), onNews: onNews,
		report: roster.Report{StateID: "state-" + string(pod.UID)[:8], Incarnation: 1, Electing: true}}
	jwt := token(t, pod, v1.Audience, true)
	p.client = roster.NewClient(roster.ClientConfig{
		Address: m.address,
		Token:   func() (string, error) { return jwt, nil },
		Trust:   func() ([]byte, error) { return mountedTrust(pod.Namespace) },
		Keyring: identity.NewKeyring(time.Now),
		Keep:    func(_, _, _ []byte) error { return nil },
		Logger:  slog.New(slog.DiscardHandler),
	})
	p.client.Report(p.report)
	ctx, cancel := context.WithCancel(bg)
	updates, done := make(chan roster.Update), make(chan error, 1)
	go func() { done <- p.client.Run(ctx, updates) }()
	go p.listen(ctx, updates)
	p.stop = sync.OnceFunc(func() {
		cancel()
		must(t, <-done)
	})
	t.Cleanup(p.stop)
	return p
}

// mountedTrust reads the ConfigMap as a kubelet would mount it.
func mountedTrust(namespace string) ([]byte, error) {
	bundle := &corev1.ConfigMap{}
	if err := kube.Get(bg, types.NamespacedName{Namespace: namespace, Name: v1.TrustConfigMap}, bundle); err != nil {
		return nil, err
	}
	return []byte(bundle.Data[v1.TrustKey]), nil
}

func (p *process) listen(ctx context.Context, updates <-chan roster.Update) {
	for {
		select {
		case u := <-updates:
			if p.onNews != nil {
				p.onNews(u)
			}
			p.change(func() {
				p.updates = append(p.updates, u)
				if u.Roster != nil {
					p.report.Generation = u.Roster.Generation
				}
				close(p.heard)
				p.heard = make(chan struct{})
			})
		case <-ctx.Done():
			return
		}
	}
}

// change changes the report and sends it.
func (p *process) change(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	p.client.Report(p.report)
}

// hears waits for an update.
func (p *process) hears(t *testing.T, what string, ok func(roster.Update) bool) {
	t.Helper()
	deadline := time.After(patience)
	for {
		p.mu.Lock()
		found, heard := slices.ContainsFunc(p.updates, ok), p.heard
		p.mu.Unlock()
		if found {
			return
		}
		select {
		case <-heard:
		case <-deadline:
			t.Fatalf("%s never heard %s", p.pod.Name, what)
		}
	}
}

// elect has the processes report what they would after an election that the coordinator won; crashed are those that they
// found dead.
func elect(decision string, coordinator *process, followers []*process, crashed ...*process) {
	for _, p := range append([]*process{coordinator}, followers...) {
		p.change(func() {
			p.report.Electing, p.report.Coordinator = false, coordinator.pod.Name
			p.report.Table = nil
			for _, c := range crashed {
				p.report.Table = append(p.report.Table, roster.Row{Name: c.pod.Name, State: roster.Crashed})
			}
			reason := "Asked"
			if p != coordinator {
				reason = "CoordinatorUnreachable"
			}
			p.report.LastElection = &roster.Election{Decision: decision, Initiator: followers[0].pod.Name, Reason: reason,
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

func applyFile(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	for {
		u := &unstructured.Unstructured{}
		if err := decoder.Decode(u); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if len(u.Object) == 0 {
			continue
		}
		if namespaced := u.GetKind() == "Role" || u.GetKind() == "RoleBinding" || u.GetKind() == "ServiceAccount"; namespaced && u.GetNamespace() == "" {
			u.SetNamespace(system)
		}
		if err := kube.Create(bg, u); err != nil {
			return err
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
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

// eventually waits until something holds that no watch tells of.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited %v for %s", patience, what)
		}
	}
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
