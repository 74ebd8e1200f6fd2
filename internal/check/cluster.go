package check

import (
	"fmt"
	"github.com/podesta-dev/podesta/internal/display"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
)

// needed is the oldest version of Kubernetes that Podesta runs on (1.33), injecting the oldest that
// can add agents to pods by a policy.
const (
	needed    = 33
	injecting = 36
)

// cluster checks what Podesta needs of a cluster.
func (b *book) cluster(f *Facts) {
	b.section = "cluster"
	b.version(f)
	b.nodes(f)
	b.clocks(f)
}

func (b *book) version(f *Facts) {
	check := fmt.Sprintf("Kubernetes is 1.%d or newer", needed)
	if unread(b, f.Kubernetes, check) {
		return
	}
	v := f.Kubernetes.Value
	old := v.Major < 1 || v.Major == 1 && v.Minor < needed
	switch {
	case old:
		b.judge(check, Failed, "the API server is "+v.Text,
			"Upgrade the cluster, or choose another one "+
				"with --context.")
		return
	case v.Major == 1 && v.Minor < injecting:
		b.note(check, fmt.Sprintf("%s; a policy can add agents to pods from 1.%d on: until then use "+
			"kubectl election inject", v.Text, injecting))
		return
	}
	b.note(check, v.Text)
}

// nodes: the images are for Linux, on two architectures.
func (b *book) nodes(f *Facts) {
	const check = "a node can run the manager and agents"
	if unread(b, f.Nodes, check) {
		return
	}
	fit, architectures := 0, map[string]bool{}
	for _, n := range f.Nodes.Value {
		info := n.Status.NodeInfo
		arch := info.Architecture == "amd64" || info.Architecture == "arm64"
		if info.OperatingSystem == "linux" && arch && !n.Spec.Unschedulable && ready(n) {
			fit++
			architectures[info.Architecture] = true
		}
	}
	all := len(f.Nodes.Value)
	switch {
	case len(architectures) > 1:
		b.judge(check, Warning, fmt.Sprintf("of %d nodes that do, some are of amd64 and some of arm64, "+
			"and make docker-build builds images of one architecture", fit),
			"Keep the manager and the pods of groups to the nodes of that one (nodeSelector "+
				"kubernetes.io/arch), or build images of both.")
		return
	case fit > 0:
		b.note(check, fmt.Sprintf("%d of %d are ready, run Linux on amd64 or arm64, and take pods",
			fit, all))
		return
	}
	b.judge(check, Failed, fmt.Sprintf("none of the %d nodes is ready, runs Linux on amd64 or "+
		"arm64, and takes pods", all), "Add such a node, or mend one: kubectl get nodes -o wide.")
}

func ready(n corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// apart is how far two clocks may be apart. The promise of a Guarded group needs only their rates;
// but while the manager's clock and the API server's differ by more, the manager does not take a
// process for ended because its certificates have expired (docs/guides/operations.md).
const apart = 2 * time.Minute

// renewed is how old the renewal of a node's Lease can be while the node is well: the kubelet
// renews it every 10 s, and a node counts as lost after 40 s without.
const renewed = 40 * time.Second

func (b *book) clocks(f *Facts) {
	const check = "the nodes' clocks agree with the API server's"
	if unread(b, f.Clock, check) || unread(b, f.NodeLeases, check) || unread(b, f.Nodes, check) {
		return
	}
	running := map[string]bool{}
	for _, n := range f.Nodes.Value {
		running[n.Name] = ready(n)
	}
	var off []string
	for _, l := range f.NodeLeases.Value {
		if text := clockOff(l, f.Clock.Value); text != "" && running[l.Name] {
			off = append(off, text)
		}
	}
	b.judge(check, Warning, display.Enumerate(off),
		"Let NTP set the clocks. Whether two may act at once does not "+
			"depend on it, only when a process that is gone for good may be taken off its group's roster.")
}

// clockOff says that the clock of a node is wrong, as far as its Lease shows.
func clockOff(l coordinationv1.Lease, c Clock) string {
	if l.Spec.RenewTime == nil {
		return ""
	}
	since := c.Server.Sub(l.Spec.RenewTime.Time) // less if the node's clock is ahead, more if behind
	switch {
	case since < -(apart + c.Within):
		return fmt.Sprintf("%s is at least %v ahead", l.Name, (-since).Round(time.Second))
	case since > renewed+apart+c.Within:
		return fmt.Sprintf("%s is about %v behind", l.Name, since.Round(time.Second))
	}
	return ""
}
