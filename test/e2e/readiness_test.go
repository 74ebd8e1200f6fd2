package e2e

import (
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/test/stage"
)

// statusPort is where agents answer probes.
const statusPort = "4042"

// deployed makes a group, and a Deployment of n pods that all vote.
func (g *group) deployed(r rollout) (pods map[string]corev1.Pod) {
	g.t.Helper()
	eg := &v1.ElectionGroup{}
	eg.Namespace, eg.Name = g.Namespace, g.Group
	g.must(g.Create(g.t.Context(), eg))
	g.must(g.Create(g.t.Context(), r.workload(g)))
	g.rolled(r.replicas, nil)
	pods, err := g.Pods(g.t.Context())
	g.must(err)
	return pods
}

// pods waits until all pods of the group, those that are being deleted included, are as wanted.
func (g *group) pods(what string, wanted func([]corev1.Pod) bool) (pods []corev1.Pod) {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), patience)
	defer cancel()
	g.must(g.Until(ctx, what, &corev1.PodList{}, func(runtime.Object) bool {
		var list corev1.PodList
		err := g.List(ctx, &list, client.InNamespace(g.Namespace))
		pods = list.Items
		return err == nil && wanted(pods)
	}, client.InNamespace(g.Namespace)))
	return pods
}

func newOf(pods []corev1.Pod, old map[string]corev1.Pod) (fresh []corev1.Pod) {
	return slices.DeleteFunc(slices.Clone(pods), func(p corev1.Pod) bool {
		_, known := old[p.Name]
		return known
	})
}

// started reports whether the app of a pod runs.
func started(p corev1.Pod) bool {
	return len(p.Status.ContainerStatuses) > 0 && p.Status.ContainerStatuses[0].State.Running != nil
}

// readyz is what the agent of a pod answers to a readiness probe.
func (g *group) readyz(p corev1.Pod) string {
	g.t.Helper()
	url := "http://" + net.JoinHostPort(p.Status.PodIP, statusPort) + "/readyz"
	request, err := http.NewRequestWithContext(g.t.Context(), http.MethodGet, url, nil)
	g.must(err)
	response, err := http.DefaultClient.Do(request)
	g.must(err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	g.must(err)
	return response.Status + ": " + strings.TrimSpace(string(body))
}

var three = rollout{kind: "deployment", replicas: 3, surge: "1", deed: "restart"}

// Without a manager a rollout stops at its first pod, whose app runs all the same. The pods of before
// stay ready and go on acting. When the manager is back the rollout completes.
func TestWithoutAManagerARolloutStops(t *testing.T) {
	g := newGroup(t, "no-manager")
	old := g.deployed(three)
	resume := stands(t, managerPID(t))
	three.do(g, old)
	fresh := func(pods []corev1.Pod) bool {
		added := newOf(pods, old)
		return len(added) == 1 && started(added[0])
	}
	added := newOf(g.pods("a new pod whose app runs", fresh), old)
	pass(t, time.Now().Add(2*settling))
	pods := g.pods("the pods of now", func([]corev1.Pod) bool { return true })
	ready := 0
	for _, p := range pods {
		if stage.Ready(&p) {
			ready++
		}
	}
	if now := newOf(pods, old); len(pods) != 4 || ready != 3 || len(now) != 1 || stage.Ready(&now[0]) {
		t.Errorf("%d pods, %d ready, %d of them new", len(pods), ready, len(now))
	}
	if said := g.readyz(added[0]); !strings.HasPrefix(said, "503") || !strings.Contains(said, "manager") {
		t.Errorf("the new pod says %q", said)
	}
	resume()
	g.rolled(3, old)
}

// When all agents are killed while no manager is there, their pods become ready again, and one of them
// acts. So they do after an uninstall, when their group is gone.
func TestAgentsThatStartAgainWithoutAManagerAreReady(t *testing.T) {
	g := newGroup(t, "restarted")
	old := g.deployed(three)
	resume := stands(t, managerPID(t))
	restarts := int32(0)
	again := func() {
		t.Helper()
		restarts++
		for name := range old {
			g.kill(name)
		}
		g.pods("pods that are ready after a restart", func(pods []corev1.Pod) bool {
			return !slices.ContainsFunc(pods, func(p corev1.Pod) bool {
				return !stage.Ready(&p) || len(p.Status.InitContainerStatuses) == 0 ||
					p.Status.InitContainerStatuses[0].RestartCount < restarts
			})
		})
	}
	again()
	g.agreed(old)
	resume()
	g.await("the manager back", reconciled)
	eg := g.read()
	g.must(g.DeleteAndAwait(t.Context(), eg))
	pass(t, time.Now().Add(settling))
	g.pods("three ready pods without their group", func(pods []corev1.Pod) bool {
		return len(pods) == 3 && !slices.ContainsFunc(pods, func(p corev1.Pod) bool { return !stage.Ready(&p) })
	})
}

// agreed waits until one of the pods may act.
func (g *group) agreed(pods map[string]corev1.Pod) {
	g.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		for name := range pods {
			if g.mayAct(name) {
				return
			}
		}
		pass(g.t, time.Now().Add(50*time.Millisecond))
	}
	g.t.Fatal("nobody may act")
}

// A group of one pod changes it, with a pod more and with one less.
func TestASinglePodIsReplaced(t *testing.T) {
	for _, surge := range []string{"1", "0"} {
		t.Run("surge "+surge, func(t *testing.T) {
			g := newGroup(t, "single-"+surge)
			r := rollout{kind: "deployment", replicas: 1, surge: surge, deed: "restart"}
			old := g.deployed(r)
			r.do(g, old)
			g.rolled(1, old)
		})
	}
}

// Evictions under a budget wait for the group: the next one is allowed when the new pod votes.
func TestEvictionsWaitForTheGroup(t *testing.T) {
	g := newGroup(t, "evicted")
	old := g.deployed(three)
	budget := &policyv1.PodDisruptionBudget{Spec: policyv1.PodDisruptionBudgetSpec{
		MinAvailable: new(intstr.FromInt32(2)),
		Selector:     &metav1.LabelSelector{MatchLabels: map[string]string{v1.GroupLabel: g.Group}},
	}}
	budget.Namespace, budget.Name = g.Namespace, g.Group
	g.must(g.Create(t.Context(), budget))
	refused := 0
	for name, pod := range old {
		for deadline := time.Now().Add(patience); ; pass(t, time.Now().Add(50*time.Millisecond)) {
			err := g.SubResource("eviction").Create(t.Context(), &pod, &policyv1.Eviction{})
			if err == nil {
				break
			}
			if !apierrors.IsTooManyRequests(err) || time.Now().After(deadline) {
				t.Fatalf("evict %s: %v", name, err)
			}
			refused++
			if voters := len(votersOf(g.read())); voters < 2 {
				t.Fatalf("%d voters", voters)
			}
		}
	}
	if refused == 0 {
		t.Error("the budget held nothing up")
	}
	g.rolled(3, old)
}

// Of three pods two are taken away with nobody saying that they have ended: the majority is lost until an
// operator says so. The pods that come instead are ready, because the group cannot take them.
func TestPodsOfALostMajorityAreReady(t *testing.T) {
	g := newGroup(t, "lost")
	old := g.deployed(three)
	left := 2
	for name := range old {
		if left > 0 {
			left--
			g.signal(name, syscall.SIGSTOP)
			g.must(g.forceDeletePod(t.Context(), name))
		}
	}
	g.pods("new pods that are ready", func(pods []corev1.Pod) bool {
		now := newOf(pods, old)
		return len(now) == 2 && !slices.ContainsFunc(now, func(p corev1.Pod) bool { return !stage.Ready(&p) })
	})
	if voters := votersOf(g.read()); len(voters) != 3 || slices.ContainsFunc(voters, func(m v1.RosterMember) bool { return old[m.Name].Name == "" }) {
		t.Errorf("the voters are %+v", voters)
	}
}
