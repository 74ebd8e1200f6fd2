package manager

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/controllers"
	"github.com/podesta-dev/podesta/internal/roster"
)

// agentless is a pod that was made before Podesta was there to put the agent in.
func agentless(pod *corev1.Pod) { pod.Spec.InitContainers = nil }

func degraded(reason, message string) func(*v1.ElectionGroup) bool {
	return func(g *v1.ElectionGroup) bool {
		c := meta.FindStatusCondition(g.Status.Conditions, v1.ConditionDegraded)
		return c != nil && c.Reason == reason && strings.Contains(c.Message, message)
	}
}

// Pods without an agent are named, in the table and in a condition, and one event says what to do,
// however many they are.
func TestPodsWithoutAnAgentAreNamed(t *testing.T) {
	m := startManager(t, "")
	namespace, p := three(t, m)
	ownedBy := func(pod *corev1.Pod) {
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "scheduler", UID: "u",
			Controller: new(true)}}
	}
	m.writes.reset()
	newPod(t, namespace, 3, agentless, ownedBy)
	const advice = "scheduler-3 has the label podesta.dev/group=scheduler but no agent (container podesta-agent), so " +
		"it takes no part. Restart these workloads (statefulset/scheduler): the agent is injected when their pods are " +
		"created. Where nothing injects it (Kubernetes before 1.36), apply their manifests through kubectl election inject"
	sees(t, namespace, "scheduler-3 without an agent", degraded("AgentMissing", advice))
	eventsIn(t, namespace, "AgentMissing: "+advice)
	newPod(t, namespace, 4, agentless)
	seen := sees(t, namespace, "both", degraded("AgentMissing", "scheduler-3, scheduler-4 have the label"))
	rows := seen[len(seen)-1].Status.Processes
	if len(rows) != 5 {
		t.Errorf("rows %+v, want five", rows)
	}
	for i, row := range rows {
		if want := map[bool]v1.AgentState{true: v1.AgentMissing}[i >= 3]; row.Agent != want {
			t.Errorf("%s: agent %q, want %q", row.Name, row.Agent, want)
		}
	}
	p[0].Stop()
	sees(t, namespace, "also that one is out of sight", degraded("AgentMissing", "; scheduler-0 does not report to the manager"))
	chatter(t, p[1:]...)
	shown(t, namespace, p[2])
	if w := m.writes.events(namespace, "AgentMissing"); len(w) != 1 {
		t.Errorf("events %q, want one:\n%s", w, strings.Join(m.writes.in(namespace), "\n"))
	}
}

// After an upgrade of the manager its agents are outdated until their pods are restarted, at
// whatever pace. That is told, and nothing is made of it: no condition turns, no event comes.
func TestOutdatedAgentsAreShown(t *testing.T) {
	m := startManager(t, "", func(o *controllers.Options) { o.Version = "v2" })
	namespace, p := three(t, m)
	m.writes.reset()
	for i, version := range []string{"v1", "v2", "v1"} {
		p[i].Change(func() { p[i].Report.Version = version })
	}
	seen := sees(t, namespace, "two outdated agents", degraded("AllWell", "outdated agents, of another version than the manager (v2): scheduler-0, scheduler-2. They take part all the same"))
	rows := seen[len(seen)-1].Status.Processes
	if rows[0].Agent != v1.AgentOutdated || rows[0].AgentVersion != "v1" || rows[1].Agent != "" || rows[1].AgentVersion != "" {
		t.Errorf("rows %+v", rows)
	}
	for _, g := range seen {
		for _, c := range g.Status.Conditions {
			if good := c.Type == v1.ConditionReady || c.Type == v1.ConditionCoordinatorElected; good != (c.Status == metav1.ConditionTrue) {
				t.Errorf("condition %s is %s", c.Type, c.Status)
			}
		}
	}
	for _, q := range p {
		q.Change(func() { q.Report.Version = "v2" })
	}
	sees(t, namespace, "no outdated agent", func(g *v1.ElectionGroup) bool {
		return degraded("AllWell", "all 3 processes run and agree")(g) && !degraded("AllWell", "outdated")(g)
	})
	chatter(t, p...)
	shown(t, namespace, p[2])
	if w := strings.Join(m.writes.in(namespace), "\n"); strings.Contains(w, "events") {
		t.Errorf("events:\n%s", w)
	}
}

// That a majority is lost is an event, once: it is said to whoever looks at events only, with what
// can be done.
func TestMajorityLostIsAnEvent(t *testing.T) {
	m := startManager(t, "", func(o *controllers.Options) { o.Version = "v2" })
	namespace, p := voting(t, m, 3)
	m.writes.reset()
	p[0].vanish(t)
	p[1].vanish(t)
	p[2].Change(func() { p[2].Report.LeaseState = roster.LeaseNoMajority })
	sees(t, namespace, "a lost majority", stalledBy("MajorityLost"))
	eventsIn(t, namespace, "MajorityLost: scheduler-0, scheduler-1 are gone, but nothing confirms that they have ended. "+
		"Without them there is no majority of the 3 voters, so no process may act until they are back or their certificates "+
		"have expired (30 hours after their pods were found missing). Make sure that none of them is still running, then run "+
		"kubectl election forget scheduler -n "+namespace)
	chatter(t, p[2])
	p[2].Change(func() { p[2].Report.Version = "v1" }) // its row shows it
	sees(t, namespace, "scheduler-2's version in the table", func(g *v1.ElectionGroup) bool { return g.Status.Processes[2].AgentVersion == "v1" })
	if w := m.writes.events(namespace, "MajorityLost"); len(w) != 1 {
		t.Errorf("events %q, want one:\n%s", w, strings.Join(m.writes.in(namespace), "\n"))
	}
}
