package security

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/controllers"
	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/roster"
)

// checkEvery is how often the managers here check the CA: a new authority may sign within a second.
const checkEvery = 100 * time.Millisecond

// manager is a running manager, with the rights of its ServiceAccount.
type manager struct {
	address string
	ended   chan struct{} // closed when it has ended, with err
	err     error
	cancel  func()
}

// startManager starts a manager in the namespace that serves agents on the address; "" is any.
func startManager(t *testing.T, system, address string) *manager {
	t.Helper()
	if address == "" {
		address = "127.0.0.1:0"
	}
	account := rest.CopyConfig(config)
	account.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:" + system + ":podesta-manager",
		Groups: []string{"system:serviceaccounts", "system:authenticated"}}
	mgr, err := ctrl.NewManager(account, ctrl.Options{
		Scheme: kube.Scheme(), Cache: controllers.CacheOptions(),
		Metrics:        metricsserver.Options{BindAddress: "0"},
		LeaderElection: true, LeaderElectionID: "podesta-manager", LeaderElectionNamespace: system, LeaderElectionReleaseOnCancel: true,
		Controller: ctrlconfig.Controller{SkipNameValidation: new(true)}, // several managers, one after another, in one process
	})
	must(t, err)
	listener, err := net.Listen("tcp", address)
	must(t, err)
	t.Cleanup(func() { listener.Close() })
	m := &manager{address: listener.Addr().String(), ended: make(chan struct{})}
	must(t, controllers.Setup(mgr, controllers.Options{Namespace: system, CheckCAEvery: checkEvery, Registry: prometheus.NewRegistry(),
		Listen: func(context.Context) (net.Listener, error) { return listener, nil }, Logger: slog.New(slog.DiscardHandler)}))
	ctx, cancel := context.WithCancel(bg)
	m.cancel = cancel
	go func() {
		m.err = mgr.Start(ctx)
		close(m.ended)
	}()
	t.Cleanup(func() { m.stop(t) })
	return m
}

// stop ends the manager; it must not have ended by itself with an error.
func (m *manager) stop(t *testing.T) {
	t.Helper()
	m.cancel()
	<-m.ended
	must(t, m.err)
}

// newNamespace makes a namespace with a ServiceAccount for pods, and group scheduler.
func newNamespace(t *testing.T) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "shop-"}}
	must(t, kube.Create(bg, namespace))
	must(t, kube.Create(bg, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: "default"}}))
	newGroup(t, namespace.Name, "scheduler")
	return namespace.Name
}

func newGroup(t *testing.T, namespace, name string) {
	t.Helper()
	must(t, kube.Create(bg, &v1.ElectionGroup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1.ElectionGroupSpec{Safety: v1.Classic}}))
}

// newPod makes a pod of group scheduler, running, with an address.
func newPod(t *testing.T, namespace string, ordinal int, edit ...func(*corev1.Pod)) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("scheduler-%d", ordinal),
			Labels: map[string]string{v1.GroupLabel: "scheduler"}},
		Spec: corev1.PodSpec{ServiceAccountName: "default", Containers: []corev1.Container{{Name: "app", Image: "app"}}},
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

// token is a real token that is bound to the pod.
func token(t *testing.T, pod *corev1.Pod) string {
	t.Helper()
	granted, err := core.CoreV1().ServiceAccounts(pod.Namespace).CreateToken(bg, "default",
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{v1.Audience},
			BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: pod.Name, UID: pod.UID}}},
		metav1.CreateOptions{})
	must(t, err)
	return granted.Status.Token
}

// agent is a pod's real end of the protocol.
type agent struct {
	pod     *corev1.Pod
	keyring *identity.Keyring
	client  *roster.Client

	mu     sync.Mutex
	report roster.Report
	joins  int         // with a token
	kept   [][2]string // certificate (empty if unchanged) and trust, in the order in which they came
	news   []roster.Update
	change chan struct{} // closed and replaced with each change
}

// join starts the agent of a pod. Its trust is what the manager writes into the pod's namespace. Edit fills its keyring, as an
// earlier start of it has.
func join(t *testing.T, m *manager, pod *corev1.Pod, edit ...func(*identity.Keyring)) *agent {
	t.Helper()
	a := &agent{pod: pod, keyring: identity.NewKeyring(time.Now), change: make(chan struct{}),
		report: roster.Report{StateID: "state-" + string(pod.UID)[:8], Incarnation: 1, Electing: true}}
	for _, e := range edit {
		e(a.keyring)
	}
	jwt := token(t, pod)
	a.client = roster.NewClient(roster.ClientConfig{
		Address: m.address,
		Token: func() (string, error) {
			a.note(func() { a.joins++ })
			return jwt, nil
		},
		Trust:   func() ([]byte, error) { return mountedTrust(pod.Namespace) },
		Keyring: a.keyring,
		Keep: func(cert, _, trust []byte) error {
			a.note(func() { a.kept = append(a.kept, [2]string{string(cert), string(trust)}) })
			return nil
		},
		Logger: slog.New(slog.DiscardHandler),
	})
	a.client.Report(a.report)
	ctx, cancel := context.WithCancel(bg)
	updates, done := make(chan roster.Update), make(chan error, 1)
	go func() { done <- a.client.Run(ctx, updates) }()
	go func() {
		for {
			select {
			case u := <-updates:
				a.note(func() { a.hear(u) })
			case <-ctx.Done():
				return
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		must(t, <-done)
	})
	return a
}

// hear acknowledges a roster, as an agent does.
func (a *agent) hear(u roster.Update) {
	a.news = append(a.news, u)
	if u.Roster != nil {
		a.report.Generation = u.Roster.Generation
		a.client.Report(a.report)
	}
}

// newest is the roster that the agent heard last; nil if that was that there is none for it. The caller holds the lock.
func (a *agent) newest() *roster.Roster {
	if len(a.news) == 0 {
		return nil
	}
	return a.news[len(a.news)-1].Roster
}

func (a *agent) note(change func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change()
	close(a.change)
	a.change = make(chan struct{})
}

// awaits waits until something is so of the agent; holds is called with its lock held.
func (a *agent) awaits(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(patience)
	for {
		a.mu.Lock()
		so, change := holds(), a.change
		a.mu.Unlock()
		if so {
			return
		}
		select {
		case <-change:
		case <-deadline:
			t.Fatalf("%s: waited %s for %s", a.pod.Name, patience, what)
		}
	}
}

// trust is the bundle that the manager told it last.
func (a *agent) trust() string {
	if len(a.kept) == 0 {
		return ""
	}
	return a.kept[len(a.kept)-1][1]
}

// follows waits until the agent has heard a roster with itself on it.
func (a *agent) follows(t *testing.T) {
	t.Helper()
	a.awaits(t, "a roster with itself on it", func() bool {
		return a.newest() != nil && a.newest().Has(a.pod.Name, string(a.pod.UID))
	})
}

// mountedTrust reads the ConfigMap as a kubelet would mount it, without its delay.
func mountedTrust(namespace string) ([]byte, error) {
	bundle := &corev1.ConfigMap{}
	if err := kube.Get(bg, types.NamespacedName{Namespace: namespace, Name: v1.TrustConfigMap}, bundle); err != nil {
		return nil, err
	}
	return []byte(bundle.Data[v1.TrustKey]), nil
}

// eventually waits until something holds that no watch tells of.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited %s for %s", patience, what)
		}
	}
}
