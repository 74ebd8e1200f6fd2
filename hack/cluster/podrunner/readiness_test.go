package podrunner

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// probed tells the pod what a probe of a container now says.
func (s *story) probed(name string, kind probeKind, ok bool) {
	i := slices.IndexFunc(s.containers, func(c container) bool { return c.spec.Name == name })
	s.onProbe(probeResult{index: i, kind: kind, ok: ok}, s.now)
}

// condition is one of the pod's conditions as "True", or "False", its reason and its message.
func (s *story) condition(kind corev1.PodConditionType) string {
	for _, c := range s.status(s.pod, nil, s.now).Conditions {
		if c.Type == kind {
			return strings.TrimSpace(strings.Join([]string{string(c.Status), c.Reason, c.Message}, " "))
		}
	}
	return "none"
}

// The pod has a sidecar and an app, each with a readiness probe. The table has a kubelet's conditions
// after each event. See GenerateContainersReadyCondition and GeneratePodReadyCondition of
// k8s.io/kubernetes/pkg/kubelet/status, and UpdatePodStatus of pkg/kubelet/prober.
func TestReadinessIsAKubelets(t *testing.T) {
	const (
		yes     = "True"
		sidecar = "False ContainersNotReady containers with unready status: [sidecar]"
		app     = "False ContainersNotReady containers with unready status: [app]"
		both    = "False ContainersNotReady containers with unready status: [sidecar app]"
		gates   = "False ReadinessGatesNotReady "
		absent  = `corresponding condition of pod readiness gate "example.org/gate" does not exist.`
	)
	gate := func(s *story, kind corev1.PodConditionType, status corev1.ConditionStatus) {
		s.pod.Spec.ReadinessGates = append(s.pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: kind})
		if status != "" {
			s.pod.Status.Conditions = append(s.pod.Status.Conditions, corev1.PodCondition{Type: kind, Status: status})
		}
	}
	ready := func(s *story) {
		s.probed("sidecar", readinessProbe, true)
		s.probed("app", readinessProbe, true)
	}
	restart := func(s *story, name string) {
		s.exits(name, 1)
		s.after(time.Second)
		s.expect("start " + name)
	}
	deleted := func(s *story) {
		s.deleted(10*time.Second, s.now)
		s.expect("term app, wake +10s")
	}
	for name, test := range map[string]struct {
		happens           func(*story)
		containers, ready string // the pod's if empty: ContainersReady's
	}{
		"both have just started":    {func(*story) {}, both, ""},
		"the app is ready alone":    {func(s *story) { s.probed("app", readinessProbe, true) }, sidecar, ""},
		"the sidecar is alone":      {func(s *story) { s.probed("sidecar", readinessProbe, true) }, app, ""},
		"both are ready":            {ready, yes, ""},
		"the sidecar is not now":    {func(s *story) { ready(s); s.probed("sidecar", readinessProbe, false) }, sidecar, ""},
		"the sidecar has ended":     {func(s *story) { ready(s); s.exits("sidecar", 0) }, sidecar, ""},
		"the sidecar started again": {func(s *story) { ready(s); restart(s, "sidecar") }, sidecar, ""},
		"the app started again":     {func(s *story) { ready(s); restart(s, "app") }, app, ""},
		"and is ready again": {func(s *story) {
			ready(s)
			restart(s, "app")
			s.probed("app", readinessProbe, true)
		}, yes, ""},
		"nobody has set the gate": {func(s *story) { ready(s); gate(s, "example.org/gate", "") }, yes, gates + absent},
		"the gate is shut": {func(s *story) {
			ready(s)
			gate(s, "example.org/gate", corev1.ConditionFalse)
		}, yes, gates + `the status of pod readiness gate "example.org/gate" is not "True", but False`},
		"the gate is open": {func(s *story) { ready(s); gate(s, "example.org/gate", corev1.ConditionTrue) }, yes, yes},
		"one of two gates is open": {func(s *story) {
			ready(s)
			gate(s, "example.org/open", corev1.ConditionTrue)
			gate(s, "example.org/gate", "")
		}, yes, gates + absent},
		"the gate is open before the app is ready": {func(s *story) {
			s.probed("sidecar", readinessProbe, true)
			gate(s, "example.org/gate", corev1.ConditionTrue)
		}, app, ""},
		"a deleted pod stays ready while it runs": {func(s *story) { ready(s); deleted(s) }, yes, ""},
		"a deleted pod's sidecar is still probed": {func(s *story) {
			ready(s)
			deleted(s)
			s.probed("sidecar", readinessProbe, false)
		}, sidecar, ""},
		"a deleted pod's app has ended": {func(s *story) { ready(s); deleted(s); s.exits("app", 0) }, app, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t, "sidecar", "app")
			for i := range s.containers {
				s.containers[i].spec.ReadinessProbe = new(corev1.Probe)
			}
			s.expect("start sidecar, start app")
			test.happens(s)
			if got := s.condition(corev1.ContainersReady); got != test.containers {
				t.Errorf("ContainersReady is %q, want %q", got, test.containers)
			}
			if test.ready == "" {
				test.ready = test.containers
			}
			if got := s.condition(corev1.PodReady); got != test.ready {
				t.Errorf("Ready is %q, want %q", got, test.ready)
			}
		})
	}
}

// A sidecar's startup probe keeps the next container and readiness waiting, in every life of it.
// The pod's other containers need not wait again.
func TestAStartupProbeKeepsReadinessWaiting(t *testing.T) {
	s := newStory(t, "sidecar", "app")
	s.find("sidecar").spec.StartupProbe = new(corev1.Probe)
	s.expect("start sidecar")
	s.shows("Pending sidecar:running app:PodInitializing")
	s.probed("sidecar", startupProbe, true)
	s.expect("start app")
	s.shows("Running sidecar:running+ready app:running+ready Ready")
	s.exits("sidecar", 1)
	s.exits("app", 1)
	s.after(time.Second)
	s.expect("start sidecar, start app")
	s.shows("Running sidecar:runningx1 app:running+readyx1")
	s.probed("sidecar", startupProbe, true)
	s.shows("Running sidecar:running+readyx1 app:running+readyx1 Ready")
}

// A kubelet stops the liveness and startup probes of a deleted pod.
func TestADeletedPodIsProbedForReadinessOnly(t *testing.T) {
	s := newStory(t, "sidecar-1", "sidecar-2", "app")
	s.find("sidecar-2").spec.StartupProbe = new(corev1.Probe)
	s.expect("start sidecar-1, start sidecar-2")
	s.deleted(10*time.Second, s.now)
	s.expect("term sidecar-2, wake +10s")
	s.probed("sidecar-2", startupProbe, true)
	s.probed("sidecar-1", livenessProbe, false)
	s.expect("wake +10s")
	s.shows("Pending sidecar-1:running+ready sidecar-2:running app:PodInitializing")
}
