package e2e

import (
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// theWitness is the pod that stands for the one of the witness's Deployment: this cluster has no
// controllers of workloads.
const theWitness = "scheduler-witness"

// addWitness has kubectl election print a witness, and makes its pod.
func (g *group) addWitness() {
	g.t.Helper()
	printed, _, err := g.plugin("witness", g.Group)
	g.must(err)
	var deployment appsv1.Deployment
	g.must(yaml.UnmarshalStrict([]byte(printed), &deployment))
	template := deployment.Spec.Template
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Namespace, pod.Name = deployment.Namespace, theWitness
	g.must(g.Create(g.t.Context(), pod))
}

// degraded waits until condition Degraded has that reason.
func (g *group) degraded(reason string) {
	g.t.Helper()
	g.await("condition Degraded with reason "+reason, func(eg *v1.ElectionGroup) bool {
		c := meta.FindStatusCondition(eg.Status.Conditions, v1.ConditionDegraded)
		return c != nil && c.Reason == reason
	})
}

// A group of two replicas says that it wants a witness. It gets the one that the command prints,
// and survives a kill and a pause of the coordinator from then on, and the loss of the witness
// without noticing it. The witness never coordinates, also when its label is taken off.
func TestTwoReplicasAndAWitness(t *testing.T) {
	g := newGroup(t, "two-replicas")
	g.found(v1.Guarded, 2)
	g.edit(steady)
	g.agree("scheduler-1")
	g.voting(2)
	g.degraded("WitnessWanted")

	g.addWitness()
	g.running(3)
	g.voting(3)
	g.degraded("AllWell")
	eg := g.shows("scheduler-1")
	if tolerates := eg.Status.ToleratedFailures; *tolerates != 1 || eg.Status.Running != "3/3" {
		t.Errorf("it tolerates %d failures, %s run", *tolerates, eg.Status.Running)
	}

	epoch := g.holdsByRoster("scheduler-1")
	resume := stands(t, supervisor)
	killed := g.kill("scheduler-1")
	next := g.holds("", epoch).Status.Coordinator
	if next.Name != "scheduler-0" {
		t.Fatalf("%s coordinates after the kill", next.Name)
	}
	t.Logf("after the kill, scheduler-0 holds in the status after %v", g.took(killed, next.Since.Time))
	resume()
	epoch = g.holds("scheduler-1", next.Epoch).Status.Coordinator.Epoch
	g.agree("scheduler-1")

	paused := g.signal("scheduler-1", syscall.SIGSTOP)
	next = g.holds("scheduler-0", epoch).Status.Coordinator
	t.Logf("after the pause, scheduler-0 holds in the status after %v", g.took(paused, next.Since.Time))
	g.signal("scheduler-1", syscall.SIGCONT)
	epoch = g.holds("scheduler-1", next.Epoch).Status.Coordinator.Epoch
	g.agree("scheduler-1")

	g.witnessIsLost(epoch)
	g.witnessStaysOne()
}

// witnessIsLost kills the witness: the coordinator goes on under its epoch.
func (g *group) witnessIsLost(epoch int64) {
	g.t.Helper()
	resume := stands(g.t, supervisor)
	g.kill(theWitness)
	eg := g.shows("scheduler-1", theWitness)
	if c := eg.Status.Coordinator; c.Epoch != epoch || !g.mayAct("scheduler-1") {
		g.t.Errorf("without the witness, %s coordinates under epoch %d, and before under %d", c.Name, c.Epoch, epoch)
	}
	resume()
	g.shows("scheduler-1")
}

// witnessStaysOne tries to take the witness's label off and to give it a priority.
func (g *group) witnessStaysOne() {
	g.t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: g.Namespace, Name: theWitness}}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"podesta.dev/witness":null}}}`))
	if err := g.Patch(g.t.Context(), pod, patch); !apierrors.IsInvalid(err) { // by the policy
		g.t.Errorf("its label is taken off: %v", err)
	}
	g.edit(func(s *v1.ElectionGroupSpec) {
		s.Processes = []v1.Process{{Name: theWitness, Priority: new(int32(100))}}
		s.Timing.TimeoutMilliseconds = 6000
	})
	g.await("every process to use the edited roster", reconciled)
	pass(g.t, time.Now().Add(settling))
	eg := g.shows("scheduler-1")
	for _, row := range eg.Status.Processes {
		if row.Name == theWitness && (*row.Priority != 0 || row.NotCandidate != v1.NotCandidateWitness) {
			g.t.Errorf("it has priority %d, notCandidate %q", *row.Priority, row.NotCandidate)
		}
	}
}
