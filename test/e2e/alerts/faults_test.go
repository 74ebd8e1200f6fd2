package alerts

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// noCandidate: somebody gave every process priority 0.
func noCandidate(t *testing.T) func() {
	g := newGroup(t, "shop", "billing", 3, v1.Guarded)
	prioritise := func(priorities ...int32) func() {
		return func() {
			g.edit(func(s *v1.ElectionGroupSpec) {
				for i := range s.Processes {
					s.Processes[i].Priority = new(priorities[i])
				}
			})
		}
	}
	prioritise(0, 0, 0)()
	return prioritise(1, 2, 3)
}

// cutOff: the highest process of a Classic group is cut off from the others, and not from the
// manager.
func cutOff(t *testing.T) func() {
	g, cuts := newCutGroup(t, "shop", "ledger", 3, v1.Classic)
	cuts.isolate(g.pod(2))
	return cuts.heal
}

// flaps: the coordinator crashes each time that it coordinates again.
func flaps(t *testing.T) func() {
	g := newGroup(t, "shop", "mailer", 3, v1.Classic)
	eventually(t, "PodestaFlapping of mailer", func() (bool, error) {
		g.restarted(g.pod(2))
		g.coordinates(g.pod(2))
		_, ok, err := firing(t.Context(), "PodestaFlapping", "mailer")
		return ok, err
	})
	return nil
}

// oneStandsStill: a voter's machine hangs.
func oneStandsStill(group string) func(t *testing.T) func() {
	return func(t *testing.T) func() {
		g := newGroup(t, "shop", group, 3, v1.Guarded)
		g.signal(g.pod(0), syscall.SIGSTOP)
		return func() { g.signal(g.pod(0), syscall.SIGCONT) }
	}
}

// twoAreLost: two of three machines hang, and somebody deletes their pods by force. The operator
// then makes sure that they have ended, and says so.
func twoAreLost(t *testing.T) func() {
	g := newGroup(t, "shop", "orders", 3, v1.Guarded)
	for _, pod := range []string{g.pod(1), g.pod(2)} {
		g.signal(pod, syscall.SIGSTOP)
	}
	runs(t, "", "kubectl delete pod orders-1 orders-2 -n shop --force --grace-period=0")
	return func() {
		runs(t, "", runbook(t, "PodestaMajorityLost", "kubectl election forget")+" --yes")
		g.coordinates(g.pod(0))
	}
}

// podIsGone: a pod that the spec names is deleted, and nobody makes it again.
func podIsGone(t *testing.T) func() {
	g := newGroup(t, "shop", "router", 3, v1.Guarded)
	runs(t, "", "kubectl delete pod router-0 -n shop")
	return func() {
		g.edit(func(s *v1.ElectionGroupSpec) { s.Processes = s.Processes[1:] })
	}
}

// podWithoutAgent: a pod gets the label when it runs already, so nothing has given it an agent.
func podWithoutAgent(t *testing.T) func() {
	g := newGroup(t, "shop", "search", 2, v1.Guarded)
	g.start("search-5", func(pod *corev1.Pod) { pod.Labels, pod.Spec.InitContainers = nil, nil })
	runs(t, "", "kubectl label pod search-5 -n shop podesta.dev/group=search")
	return func() {
		runs(t, "", runbook(t, "PodestaAgentMissing", "kubectl label pod", "router-5", "search-5"))
	}
}

// trustIsKept: somebody makes the ConfigMap with the CA bundle immutable, with another content, and
// a finalizer keeps the manager from replacing it. The admission policy lets nobody but the manager
// do that.
func trustIsKept(t *testing.T) func() {
	newGroup(t, "warehouse", "cache", 2, v1.Guarded)
	const kept = `{"metadata":{"finalizers":["example.com/keep"]},"data":{"ca.crt":"forged"},"immutable":true}`
	runs(t, "", "kubectl patch configmap podesta-trust -n warehouse --as-group=system:masters "+
		"--as=system:serviceaccount:podesta-system:podesta-manager --type=merge -p "+kept)
	return func() {
		runs(t, "", strings.ReplaceAll(runbook(t, "PodestaTrustNotRestored", "kubectl patch configmap",
			"-n lab", "-n warehouse"), "'", ""))
	}
}

// managerIsAway: the manager hangs, and then goes on.
func managerIsAway(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(state, "manager.pid"))
	must(t, err)
	manager, err := strconv.Atoi(strings.TrimSpace(string(text)))
	must(t, err)
	resume := func() { _ = syscall.Kill(manager, syscall.SIGCONT) } // it may have ended meanwhile
	t.Cleanup(resume)
	must(t, syscall.Kill(manager, syscall.SIGSTOP))
	fires(t, "PodestaManagerAbsent", "")
	resume()
	ended(t, "PodestaManagerAbsent", "")
	if _, still, err := firing(context.Background(), "PodestaManagerAbsent", ""); still || err != nil {
		t.Errorf("it fires again, %v", err)
	}
}
