package check

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/display"
)

func (b *book) namespaces(f *Facts) {
	b.section = "groups"
	const check = "there are groups"
	if unread(b, f.Namespaces, check) {
		return
	}
	if len(f.Namespaces.Value) == 0 {
		b.unknown(check, "there are none, and no pods with a group's label",
			"docs/start/first-group.md creates one.")
	}
	for i := range f.Namespaces.Value {
		b.namespace(f, &f.Namespaces.Value[i])
	}
}

// namespace checks the pods of groups in one namespace, and what restricts them there.
func (b *book) namespace(f *Facts, n *Namespace) {
	b.section = "namespace " + display.Printable(n.Name, 63)
	if n.Groups.Err == nil && n.Pods.Err == nil && len(n.Groups.Value)+len(n.Pods.Value) == 0 {
		b.unknown("there are groups", "there are none, and no pods with a group's label",
			"Choose another namespace with -n, or all with -A.")
		return
	}
	b.groups(n)
	b.agents(n)
	b.meshes(n)
	b.limits(n)
	b.network(f, n)
}

// live are the pods that have not ended.
func (n *Namespace) live() []corev1.Pod {
	return slices.DeleteFunc(slices.Clone(n.Pods.Value), func(p corev1.Pod) bool {
		return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
	})
}

// groups checks that each labelled pod names a group, and that the groups' agents report.
func (b *book) groups(n *Namespace) {
	const named = "each pod's label names a group"
	if unread(b, n.Groups, named) {
		return
	}
	if !unread(b, n.Pods, named) {
		var lost []string
		for _, p := range n.live() {
			group := p.Labels[v1.GroupLabel]
			there := func(g v1.ElectionGroup) bool { return g.Name == group }
			if !slices.ContainsFunc(n.Groups.Value, there) {
				lost = append(lost, fmt.Sprintf("%s (%s)", p.Name, group))
			}
		}
		b.judge(named, Failed, display.Enumerate(lost),
			"Create the group, or mend the label "+v1.GroupLabel+".")
	}
	b.report(n)
	const trusted = "the manager's CA is published here"
	if !unread(b, n.Trust, trusted) {
		found := ""
		if n.Trust.Value == nil {
			found = "there is no ConfigMap " + v1.TrustConfigMap
		}
		b.judge(trusted, Failed, found,
			"The manager creates it within seconds: see its log, and the "+
				"groups' events.")
	}
}

// report checks that the agents are connected to the manager, and of its version.
func (b *book) report(n *Namespace) {
	const reports = "the agents of running pods report to the manager"
	var silent, outdated []string
	for _, g := range n.Groups.Value {
		for _, p := range g.Status.Processes {
			switch {
			case p.Agent == v1.AgentOutdated:
				outdated = append(outdated, fmt.Sprintf("%s (%s)", p.Name, p.AgentVersion))
			case p.Connected != nil && !*p.Connected && running(n, p.Name):
				silent = append(silent, p.Name)
			}
		}
	}
	if !unread(b, n.Pods, reports) {
		b.judge(reports, Warning, display.Enumerate(silent),
			"See their logs: kubectl logs POD -c "+v1.AgentContainer+
				". They need DNS, and port 9443 of the manager.")
	}
	b.judge("agents are of the manager's version", Warning, display.Enumerate(outdated),
		"Restart their pods after the "+
			"agent's image was changed: docs/guides/upgrade.md.")
}

// running reports whether a pod runs; false if that could not be read.
func running(n *Namespace, pod string) bool {
	return slices.ContainsFunc(n.Pods.Value, func(p corev1.Pod) bool {
		return p.Name == pod && p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil
	})
}

// agent returns the agent's container of a pod; nil if it has none.
func agent(p *corev1.Pod) *corev1.Container {
	for i, c := range p.Spec.InitContainers {
		if c.Name == v1.AgentContainer {
			return &p.Spec.InitContainers[i]
		}
	}
	return nil
}

// agents checks that each pod has an agent whose container starts.
func (b *book) agents(n *Namespace) {
	const check = "each pod of a group has an agent that runs"
	if unread(b, n.Pods, check) {
		return
	}
	var without, waits []string
	for _, p := range n.live() {
		if agent(&p) == nil {
			without = append(without, p.Name)
			continue
		}
		for _, c := range p.Status.InitContainerStatuses {
			if reason := stuck(c); c.Name == v1.AgentContainer && reason != "" {
				waits = append(waits, fmt.Sprintf("%s (%s)", p.Name, reason))
			}
		}
	}
	switch {
	case len(without) > 0:
		b.judge(check, Failed, "none in "+display.Enumerate(without),
			"Agents are added when a pod is created: restart "+
				"the workload, or use kubectl election inject (docs/guides/inject.md).")
	default:
		b.judge(check, Failed, display.Enumerate(waits),
			"See kubectl describe pod. The pods' own imagePullSecrets pull "+
				"the agent's image.")
	}
}

// mesh is how a service mesh is told to leave ports alone.
type mesh struct {
	name, container, inbound, outbound string
}

var knownMeshes = []mesh{
	{"Istio", "istio-proxy", "traffic.sidecar.istio.io/excludeInboundPorts",
		"traffic.sidecar.istio.io/excludeOutboundPorts"},
	{"Linkerd", "linkerd-proxy", "config.linkerd.io/skip-inbound-ports",
		"config.linkerd.io/skip-outbound-ports"},
}

// meshes checks that a mesh passes on the agents' connections unchanged: they are mTLS already.
func (b *book) meshes(n *Namespace) {
	const check = "no service mesh intercepts the agents' connections"
	if n.Pods.Err != nil {
		return // said above
	}
	var wrong []string
	do := ""
	for _, p := range n.live() {
		for _, m := range knownMeshes {
			if m.intercepts(&p) {
				wrong = append(wrong, fmt.Sprintf("%s (%s)", p.Name, m.name))
				do = fmt.Sprintf(`Annotate the pods' template: %s: "4041,4042" and %s: "4041,9443".`,
					m.inbound, m.outbound)
			}
		}
	}
	b.judge(check, Failed, display.Enumerate(wrong), do)
}

func (m mesh) intercepts(p *corev1.Pod) bool {
	for _, c := range slices.Concat(p.Spec.Containers, p.Spec.InitContainers) {
		if c.Name == m.container {
			return !lists(p.Annotations[m.inbound], 4041, 4042) ||
				!lists(p.Annotations[m.outbound], 4041, 9443)
		}
	}
	return false
}

// lists reports whether a list of ports and ranges of ports has all of some.
func lists(text string, ports ...int) bool {
	for _, want := range ports {
		found := false
		for item := range strings.SplitSeq(text, ",") {
			from, to, isRange := strings.Cut(strings.TrimSpace(item), "-")
			if !isRange {
				to = from
			}
			first, err := strconv.Atoi(from)
			last, err2 := strconv.Atoi(to)
			found = found || strings.TrimSpace(item) == "*" ||
				err == nil && err2 == nil && first <= want && want <= last
		}
		if !found {
			return false
		}
	}
	return true
}
