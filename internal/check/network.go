package check

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/display"
)

type (
	egressRule  = networkingv1.NetworkPolicyEgressRule
	ingressRule = networkingv1.NetworkPolicyIngressRule
)

// end is one end of a connection, as a NetworkPolicy sees it.
type end struct {
	namespace string
	labels    labels.Set // of the pod
	// names are the pod's named ports.
	names map[string]int32
}

// connection is from one end to another.
type connection struct {
	from, to end
	port     int32
	protocol corev1.Protocol
}

// network checks that no NetworkPolicy keeps the agents from what they need. What is not known here
// counts as allowed: who has an address of an ipBlock, and which labels a namespace has.
func (b *book) network(f *Facts, n *Namespace) {
	const check = "NetworkPolicies let the agents connect"
	if n.Pods.Err != nil || unread(b, n.Policies, check) {
		return
	}
	manager := end{
		namespace: f.System,
		labels: labels.Set{"app.kubernetes.io/name": "podesta",
			"app.kubernetes.io/component": "manager"},
		names: map[string]int32{"roster": 9443},
	}
	var unlinked, managers, names []string
	live := n.live()
	for _, p := range live {
		if p.Spec.HostNetwork { // most networks apply no policy to it
			continue
		}
		own := n.end(&p)
		if !n.links(&p, live) {
			unlinked = append(unlinked, p.Name)
		}
		if !leaves(n.Policies.Value, connection{own, manager, 9443, corev1.ProtocolTCP}) {
			managers = append(managers, p.Name)
		}
		if !resolves(n.Policies.Value, own) {
			names = append(names, p.Name)
		}
	}
	var found []string
	for _, blocked := range []struct {
		what string
		pods []string
	}{
		{"no links (4041) between pods of the group: ", unlinked},
		{"not the manager (9443): ", managers},
		{"no DNS (53): ", names},
	} {
		if len(blocked.pods) > 0 {
			found = append(found, blocked.what+display.Enumerate(blocked.pods))
		}
	}
	b.judge(check, Failed, strings.Join(found, "; "),
		"Apply config/network-policy/agents.yaml in this "+
			"namespace.")
}

// agentPorts are the named ports of a pod with an agent.
var agentPorts = map[string]int32{"podesta-link": 4041, "podesta-status": 4042}

// end is a pod with an agent as an end of a connection.
func (n *Namespace) end(p *corev1.Pod) end { return end{n.Name, p.Labels, agentPorts} }

// links reports whether the policies let a pod connect to all of these that are of its group,
// itself included: sooner or later there is another one like it.
func (n *Namespace) links(p *corev1.Pod, live []corev1.Pod) bool {
	for _, other := range live {
		if other.Spec.HostNetwork || other.Labels[v1.GroupLabel] != p.Labels[v1.GroupLabel] {
			continue
		}
		link := connection{n.end(p), n.end(&other), 4041, corev1.ProtocolTCP}
		if !leaves(n.Policies.Value, link) || !enters(n.Policies.Value, link) {
			return false
		}
	}
	return true
}

// resolves reports whether the policies let a pod ask some DNS server: which one it asks is not
// known here, and one distribution's listens on port 5353.
func resolves(policies []networkingv1.NetworkPolicy, from end) bool {
	return passes(policies, from, networkingv1.PolicyTypeEgress,
		func(p *networkingv1.NetworkPolicy) bool {
			return slices.ContainsFunc(p.Spec.Egress, func(r egressRule) bool {
				to := end{names: map[string]int32{"dns": 53}}
				return connection{from, to, 53, corev1.ProtocolUDP}.onPort(r.Ports) ||
					connection{from, to, 5353, corev1.ProtocolUDP}.onPort(r.Ports)
			})
		})
}

// leaves reports whether the policies of a connection's first end let it out.
func leaves(policies []networkingv1.NetworkPolicy, c connection) bool {
	return passes(policies, c.from, networkingv1.PolicyTypeEgress,
		func(p *networkingv1.NetworkPolicy) bool {
			return slices.ContainsFunc(p.Spec.Egress, func(r egressRule) bool {
				return c.onPort(r.Ports) && c.with(c.to, p.Namespace, r.To)
			})
		})
}

// enters reports whether the policies of a connection's second end let it in.
func enters(policies []networkingv1.NetworkPolicy, c connection) bool {
	return passes(policies, c.to, networkingv1.PolicyTypeIngress,
		func(p *networkingv1.NetworkPolicy) bool {
			return slices.ContainsFunc(p.Spec.Ingress, func(r ingressRule) bool {
				return c.onPort(r.Ports) && c.with(c.from, p.Namespace, r.From)
			})
		})
}

// passes: a pod that no policy isolates in a direction is open in it; otherwise one policy is
// enough to allow.
func passes(policies []networkingv1.NetworkPolicy, at end, direction networkingv1.PolicyType,
	allows func(*networkingv1.NetworkPolicy) bool) bool {
	isolated := false
	for i := range policies {
		p := &policies[i]
		if p.Namespace != at.namespace || !matches(&p.Spec.PodSelector, at.labels) ||
			!isolates(p, direction) {
			continue
		}
		if isolated = true; allows(p) {
			return true
		}
	}
	return !isolated
}

// isolates reports whether a policy is about a direction. Without types it is about what comes in,
// and about what goes out if it has rules for that.
func isolates(p *networkingv1.NetworkPolicy, direction networkingv1.PolicyType) bool {
	if len(p.Spec.PolicyTypes) > 0 {
		return slices.Contains(p.Spec.PolicyTypes, direction)
	}
	return direction == networkingv1.PolicyTypeIngress || len(p.Spec.Egress) > 0
}

// onPort reports whether a rule is about the connection's port; without ports it is about all.
func (c connection) onPort(ports []networkingv1.NetworkPolicyPort) bool {
	return len(ports) == 0 || slices.ContainsFunc(ports, func(p networkingv1.NetworkPolicyPort) bool {
		switch {
		case ptr.Deref(p.Protocol, corev1.ProtocolTCP) != c.protocol:
			return false
		case p.Port == nil:
			return true
		case p.Port.Type == intstr.String:
			return c.to.names[p.Port.StrVal] == c.port
		case p.EndPort != nil:
			return p.Port.IntVal <= c.port && c.port <= *p.EndPort
		default:
			return p.Port.IntVal == c.port
		}
	})
}

// with reports whether a rule is about an end; without peers it is about everybody.
func (c connection) with(other end, namespace string, peers []networkingv1.NetworkPolicyPeer) bool {
	return len(peers) == 0 || slices.ContainsFunc(peers, func(p networkingv1.NetworkPolicyPeer) bool {
		switch {
		case p.IPBlock != nil:
			return true // perhaps
		case p.NamespaceSelector == nil && other.namespace != namespace:
			return false
		case p.NamespaceSelector != nil && !selects(p.NamespaceSelector, other.namespace):
			return false
		}
		return p.PodSelector == nil || matches(p.PodSelector, other.labels)
	})
}

// selects reports whether a selector may match a namespace, of whose labels only its name is known.
func selects(s *metav1.LabelSelector, namespace string) bool {
	for key := range s.MatchLabels {
		if key != corev1.LabelMetadataName {
			return true // perhaps
		}
	}
	for _, e := range s.MatchExpressions {
		if e.Key != corev1.LabelMetadataName {
			return true // perhaps
		}
	}
	return matches(s, labels.Set{corev1.LabelMetadataName: namespace})
}

// matches reports whether a selector matches labels. The API server refuses invalid selectors.
func matches(s *metav1.LabelSelector, set labels.Set) bool {
	selector, err := metav1.LabelSelectorAsSelector(s)
	return err == nil && selector.Matches(set)
}
