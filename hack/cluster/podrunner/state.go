package podrunner

import (
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podesta-dev/podesta/hack/cluster/process"
)

// container is what is known of one container. The pod's goroutine owns it.
type container struct {
	spec    corev1.Container
	sidecar bool // an init container with restartPolicy Always: starts in order

	pid     int // of the running process, 0 if none runs
	started time.Time
	last    *process.Exit // how it last ended
	lastPID int

	restarts int32
	retryAt  time.Time // do not start it before
	problem  refusal   // why it could not be started

	startup bool // its startup probe has succeeded, or it runs and has none
	ready   bool // its readiness probe succeeds, or startup is true and it has none
	passed  bool // sidecars: the next container may start; stays true

	unhealthy bool      // its liveness or startup probe failed: end it
	signalled bool      // it was sent SIGTERM
	killAt    time.Time // when an unhealthy one gets SIGKILL
}

func (c *container) running() bool { return c.pid != 0 }

// podState is what is known of one pod. The pod's goroutine owns it.
type podState struct {
	containers []container   // the sidecars in order, then the others
	grace      time.Duration // of the pod's spec

	refused      refusal
	mounted      bool
	mountProblem string // why it is not, or could not be brought up to date
	address      netip.Addr
	admitted     time.Time

	asked    *metav1.Time // the deletionTimestamp that the deadline was last reckoned from
	deadline time.Time    // a deleted pod's: SIGKILL is due; zero if the pod is not deleted
	gone     bool         // its object has vanished
}

func newPodState(pod *corev1.Pod, refused refusal, now time.Time) podState {
	p := podState{
		refused:  refused,
		admitted: now,
		grace:    30 * time.Second,
	}
	if seconds := pod.Spec.TerminationGracePeriodSeconds; seconds != nil {
		p.grace = time.Duration(*seconds) * time.Second
	}
	for _, spec := range pod.Spec.InitContainers {
		p.containers = append(p.containers, container{spec: spec, sidecar: true})
	}
	for _, spec := range pod.Spec.Containers {
		p.containers = append(p.containers, container{spec: spec})
	}
	return p
}

// deleted notes that the pod's deletion was asked for. Asking again may shorten the time left,
// never lengthen it.
func (p *podState) deleted(grace time.Duration, now time.Time) {
	if deadline := now.Add(grace); p.deadline.IsZero() || deadline.Before(p.deadline) {
		p.deadline = deadline
	}
}

func (p *podState) anyRunning(which func(*container) bool) bool {
	for i := range p.containers {
		if c := &p.containers[i]; c.running() && which(c) {
			return true
		}
	}
	return false
}

func every(*container) bool { return true }

func notSidecar(c *container) bool { return !c.sidecar }

// onStart notes that a container's process runs.
func (c *container) onStart(pid int, now time.Time) {
	if c.last != nil {
		c.restarts++
	}
	c.pid, c.started, c.problem = pid, now, refusal{}
	c.unhealthy, c.signalled = false, false
	c.startup = c.spec.StartupProbe == nil
	c.ready = c.startup && c.spec.ReadinessProbe == nil
	c.passed = c.passed || c.sidecar && c.startup
}

// onExit notes that it ended.
func (c *container) onExit(exit process.Exit, delay time.Duration) {
	c.last, c.lastPID = &exit, c.pid
	c.pid, c.ready, c.startup = 0, false, false
	c.retryAt = exit.Finished.Add(delay)
}

// onProblem notes that it could not be started.
func (c *container) onProblem(problem refusal, now time.Time, delay time.Duration) {
	c.problem = problem
	c.retryAt = now.Add(delay)
}

// onProbe notes that a probe of a container has changed its mind. As in a kubelet,
// only readiness probes count once the pod is deleted.
func (p *podState) onProbe(result probeResult, now time.Time) {
	if p.deadline.IsZero() || result.kind == readinessProbe {
		p.containers[result.index].onProbe(result, now, p.grace)
	}
}

// onProbe notes that a probe has changed its mind; grace is what a failed one leaves the container
// to end in.
func (c *container) onProbe(result probeResult, now time.Time, grace time.Duration) {
	switch {
	case result.kind == startupProbe && result.ok:
		c.startup = true
		c.ready = c.spec.ReadinessProbe == nil
		c.passed = c.passed || c.sidecar
	case result.kind == readinessProbe:
		c.ready = result.ok
	case !result.ok && !c.unhealthy:
		c.unhealthy, c.killAt = true, now.Add(grace)
	}
}
