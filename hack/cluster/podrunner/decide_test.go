package podrunner

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podesta-dev/podesta/hack/cluster/process"
)

// story plays a pod by hand: what happens goes in, what the pod would do next comes out as text.
type story struct {
	t   *testing.T
	pod *corev1.Pod
	podState
	now  time.Time
	pids int
}

// newStory makes a pod of containers named "sidecar…" and anything else, which is an app.
func newStory(t *testing.T, names ...string) *story {
	pod := testPod()
	always := corev1.ContainerRestartPolicyAlways
	for _, name := range names {
		if strings.HasPrefix(name, "sidecar") {
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, corev1.Container{Name: name, RestartPolicy: &always})
		} else {
			pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: name})
		}
	}
	s := &story{t: t, pod: pod, now: time.Unix(1000, 0)}
	s.podState = newPodState(pod, refusal{}, s.now)
	s.mounted = true
	return s
}

func (s *story) find(name string) *container {
	i := slices.IndexFunc(s.containers, func(c container) bool { return c.spec.Name == name })
	return &s.containers[i]
}

// expect lets the pod do what it wants to, and compares that with what is wanted: "start a, term b,
// kill c, wake +5s, over".
func (s *story) expect(want string) {
	s.t.Helper()
	var did []string
	for {
		plan := s.decide(s.now)
		for _, i := range plan.terminate {
			s.containers[i].signalled = true
			did = append(did, "term "+s.containers[i].spec.Name)
		}
		for _, i := range plan.kill {
			did = append(did, "kill "+s.containers[i].spec.Name)
		}
		for _, i := range plan.start {
			s.pids++
			s.containers[i].onStart(s.pids, s.now)
			did = append(did, "start "+s.containers[i].spec.Name)
		}
		if len(plan.start) > 0 {
			continue
		}
		if !plan.wake.IsZero() {
			did = append(did, fmt.Sprintf("wake +%s", plan.wake.Sub(s.now)))
		}
		if plan.over {
			did = append(did, "over")
		}
		break
	}
	if got := strings.Join(did, ", "); got != want {
		s.t.Errorf("the pod does %q, want %q", got, want)
	}
}

func (s *story) exits(name string, code int) {
	c := s.find(name)
	c.onExit(process.Exit{Code: code, Started: c.started, Finished: s.now}, time.Second)
}

func (s *story) after(d time.Duration) { s.now = s.now.Add(d) }

// shows compares the status that kubectl would print.
func (s *story) shows(want string) {
	s.t.Helper()
	status := s.status(s.pod, nil, s.now)
	words := []string{string(status.Phase)}
	for _, c := range append(status.InitContainerStatuses, status.ContainerStatuses...) {
		word := c.Name + ":"
		switch {
		case c.State.Running != nil:
			word += "running"
		case c.State.Terminated != nil:
			word += fmt.Sprintf("%s(%d)", c.State.Terminated.Reason, c.State.Terminated.ExitCode)
		default:
			word += c.State.Waiting.Reason
		}
		if c.Ready {
			word += "+ready"
		}
		if c.RestartCount > 0 {
			word += fmt.Sprintf("x%d", c.RestartCount)
		}
		words = append(words, word)
	}
	for _, condition := range status.Conditions {
		if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
			words = append(words, "Ready")
		}
	}
	if got := strings.Join(words, " "); got != want {
		s.t.Errorf("the status shows %q, want %q", got, want)
	}
}

func TestContainersStartInOrder(t *testing.T) {
	s := newStory(t, "sidecar", "app")
	s.mounted, s.mountProblem = false, "no ConfigMap trust"
	s.expect("")
	s.shows("Pending sidecar:ContainerCreating app:ContainerCreating")
	s.mounted = true
	s.find("sidecar").spec.StartupProbe = new(corev1.Probe)
	s.expect("start sidecar")
	s.shows("Pending sidecar:running app:PodInitializing")
	s.find("sidecar").onProbe(probeResult{kind: startupProbe, ok: true}, s.now, s.grace)
	s.expect("start app")
	s.shows("Running sidecar:running+ready app:running+ready Ready")
	s.exits("sidecar", 0)
	s.expect("wake +1s")
	s.shows("Running sidecar:CrashLoopBackOff app:running+ready")
}

func TestDeletionEndsAppsFirstAndSidecarsLastToFirst(t *testing.T) {
	s := newStory(t, "sidecar-1", "sidecar-2", "a", "b")
	s.expect("start sidecar-1, start sidecar-2, start a, start b")
	s.deleted(10*time.Second, s.now)
	s.expect("term a, term b, wake +10s")
	s.after(4 * time.Second)
	s.exits("a", 0)
	s.expect("wake +6s")
	s.exits("b", 0)
	s.expect("term sidecar-2, wake +6s")
	s.expect("wake +6s")
	s.exits("sidecar-2", 0)
	s.expect("term sidecar-1, wake +6s")
	s.after(6 * time.Second)
	s.expect("kill sidecar-1")
	s.shows("Running sidecar-1:running+ready sidecar-2:Completed(0) a:Completed(0) b:Completed(0)")
	s.exits("sidecar-1", 137)
	s.expect("over")
	s.shows("Running sidecar-1:Error(137) sidecar-2:Completed(0) a:Completed(0) b:Completed(0)")
}

func TestASecondDeletionOnlyShortensTheFirst(t *testing.T) {
	s := newStory(t, "app")
	s.expect("start app")
	s.deleted(30*time.Second, s.now)
	s.deleted(60*time.Second, s.now)
	s.expect("term app, wake +30s")
	s.deleted(0, s.now)
	s.expect("kill app")
}

func TestAPodThatVanishesIsKilledAtOnce(t *testing.T) {
	s := newStory(t, "sidecar", "app")
	s.expect("start sidecar, start app")
	s.gone = true
	s.expect("kill sidecar, kill app")
	s.exits("sidecar", 137)
	s.exits("app", 137)
	s.expect("over")
}

func TestAnIllContainerIsEndedAndStartedAgain(t *testing.T) {
	s := newStory(t, "app")
	s.grace = 5 * time.Second
	s.find("app").spec.LivenessProbe = new(corev1.Probe)
	s.expect("start app")
	s.find("app").onProbe(probeResult{kind: livenessProbe}, s.now, s.grace)
	s.expect("term app, wake +5s")
	s.after(5 * time.Second)
	s.expect("kill app")
	s.exits("app", 137)
	s.expect("wake +1s")
	s.after(time.Second)
	s.expect("start app")
}

func TestReadinessFollowsItsProbe(t *testing.T) {
	s := newStory(t, "app")
	s.find("app").spec.ReadinessProbe = new(corev1.Probe)
	s.expect("start app")
	s.shows("Running app:running")
	s.find("app").onProbe(probeResult{kind: readinessProbe, ok: true}, s.now, s.grace)
	s.shows("Running app:running+ready Ready")
	s.find("app").onProbe(probeResult{kind: readinessProbe}, s.now, s.grace)
	s.shows("Running app:running")
	s.expect("") // it is not ended for that
}

func TestConditionsKeepTheTimeOfTheirChange(t *testing.T) {
	s := newStory(t, "app")
	s.expect("start app")
	first := s.status(s.pod, nil, s.now)
	s.after(time.Minute)
	second := s.status(s.pod, first.Conditions, s.now)
	s.exits("app", 1)
	third := s.status(s.pod, second.Conditions, s.now)
	for i := range first.Conditions {
		if !second.Conditions[i].LastTransitionTime.Equal(&first.Conditions[i].LastTransitionTime) {
			t.Errorf("%s moved without a change", first.Conditions[i].Type)
		}
	}
	ready := third.Conditions[len(third.Conditions)-1]
	if ready.Type != corev1.PodReady || ready.Status != corev1.ConditionFalse || !ready.LastTransitionTime.Time.Equal(s.now) {
		t.Errorf("after the exit: %+v", ready)
	}
}

func TestAResponseNeedsItsThreshold(t *testing.T) {
	v := tally{successes: 1, failures: 3}
	for i, step := range []struct{ ok, changed bool }{
		{false, false}, {true, true}, {true, false}, {false, false}, {false, false}, {true, false},
		{false, false}, {false, false}, {false, true}, {false, false}, {true, true},
	} {
		if changed := v.add(step.ok); changed != step.changed {
			t.Errorf("result %d (%v): changed %v", i, step.ok, changed)
		}
	}
}
