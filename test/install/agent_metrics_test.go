package install

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/podesta-dev/podesta/test/manifest"
)

// podMonitor is what Prometheus needs to know of one.
type podMonitor struct {
	Spec struct {
		NamespaceSelector   struct{ Any bool }
		Selector            metav1.LabelSelector
		SampleLimit         int
		PodMetricsEndpoints []struct {
			Port, Path  string
			HonorLabels bool
		}
	}
}

// sample is a pod of the samples, with the agent.
func sample(t *testing.T) *corev1.Pod {
	t.Helper()
	pod, err := manifest.Pod(filepath.Join(root, "config", "samples", "pods.yaml"))
	must(t, err)
	return pod
}

func selects(t *testing.T, selector metav1.LabelSelector, of map[string]string) bool {
	t.Helper()
	s, err := metav1.LabelSelectorAsSelector(&selector)
	must(t, err)
	return s.Matches(labels.Set(of))
}

// TestThePodMonitorFindsAgents: it selects pods of groups in any namespace, at the port that an
// agent has, takes no more than an agent exposes, and believes no label of theirs.
func TestThePodMonitorFindsAgents(t *testing.T) {
	content, err := os.ReadFile(filepath.Join(root, "config", "prometheus", "agents.yaml"))
	must(t, err)
	var m podMonitor
	must(t, yaml.Unmarshal(content, &m))
	pod, endpoints := sample(t), m.Spec.PodMetricsEndpoints
	if !m.Spec.NamespaceSelector.Any || !selects(t, m.Spec.Selector, pod.Labels) || selects(t, m.Spec.Selector, nil) {
		t.Errorf("it does not select the pods of groups, in all namespaces, alone:\n%s", content)
	}
	if len(endpoints) != 1 || endpoints[0].Path != "/metrics" || endpoints[0].HonorLabels || m.Spec.SampleLimit == 0 {
		t.Fatalf("endpoints %+v, at most %d series", endpoints, m.Spec.SampleLimit)
	}
	if !slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool {
		return slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.Name == endpoints[0].Port })
	}) {
		t.Errorf("the agent has no port %s", endpoints[0].Port)
	}
}

// TestPrometheusReachesAgents: the policy of config/ and the chart's are one, open the agents' port
// for metrics and nothing else, and the chart has one in each namespace that is named.
func TestPrometheusReachesAgents(t *testing.T) {
	file := filepath.Join(root, "config", "network-policy", "agents-metrics.yaml")
	want := as[networkingv1.NetworkPolicy](t, parseFile(t, file), "NetworkPolicy", "podesta-agents-metrics")
	if ingress := want.Spec.Ingress; len(ingress) != 1 || len(ingress[0].From) != 1 || len(ingress[0].Ports) != 1 ||
		ingress[0].Ports[0].Port.IntValue() != 4042 || !selects(t, want.Spec.PodSelector, sample(t).Labels) ||
		!cmp.Equal(want.Spec.PolicyTypes, []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}) {
		t.Errorf("it opens another port, or for others: %+v", want.Spec)
	}
	for _, helm := range helms {
		all := template(t, helm, set("networkPolicy.agentMetrics.namespaces[0]=shop")...)
		got := as[networkingv1.NetworkPolicy](t, all, "NetworkPolicy", "podesta-agents-metrics")
		if got.Namespace != "shop" || !cmp.Equal(got.Spec, want.Spec) {
			t.Errorf("%s: in %s: - config/, + the chart:\n%s", helm, got.Namespace, cmp.Diff(want.Spec, got.Spec))
		}
		all = template(t, helm, set("networkPolicy.agentMetrics.namespaces[0]=shop",
			"networkPolicy.agentMetrics.from[0].ipBlock.cidr=10.0.0.0/8")...)
		got = as[networkingv1.NetworkPolicy](t, all, "NetworkPolicy", "podesta-agents-metrics")
		if from := got.Spec.Ingress[0].From; len(from) != 1 || from[0].IPBlock == nil || from[0].IPBlock.CIDR != "10.0.0.0/8" {
			t.Errorf("%s: it lets in %v", helm, from)
		}
	}
}
