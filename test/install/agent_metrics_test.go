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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// podMonitor is what Prometheus needs to know of one.
type podMonitor struct {
	Spec struct {
		NamespaceSelector   struct{ Any bool }
		Selector            metav1.LabelSelector
		SampleLimit         int
		PodMetricsEndpoints []struct {
			Port, Path, Interval string
			HonorLabels          bool
		}
	}
}

// sample is a pod of the samples, with the agent.
func sample(t *testing.T) *corev1.Pod {
	t.Helper()
	for _, object := range parseFile(t, filepath.Join(root, "config", "samples", "pods.yaml")) {
		if object.GetKind() == "Pod" {
			pod := &corev1.Pod{}
			must(t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, pod))
			return pod
		}
	}
	t.Fatal("no sample is a pod")
	return nil
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
	rendered, err := tool("kustomize", "build", filepath.Join(root, "config", "prometheus"))
	must(t, err)
	chart := template(t, helms[0], set("metrics.podMonitor.enabled=true", "metrics.podMonitor.interval=7s",
		"metrics.podMonitor.labels.release=mine")...)
	pod := sample(t)
	for from, object := range map[string]*unstructured.Unstructured{
		"config/":   parse(t, rendered)[key("PodMonitor", "podesta-agents")],
		"the chart": chart[key("PodMonitor", "podesta-agents")],
	} {
		content, err := yaml.Marshal(object.Object)
		must(t, err)
		var m podMonitor
		must(t, yaml.Unmarshal(content, &m))
		endpoints := m.Spec.PodMetricsEndpoints
		if !m.Spec.NamespaceSelector.Any || !selects(t, m.Spec.Selector, pod.Labels) || selects(t, m.Spec.Selector, nil) {
			t.Errorf("%s: it does not select the pods of groups, in all namespaces, alone:\n%s", from, content)
		}
		if len(endpoints) != 1 || endpoints[0].Path != "/metrics" || endpoints[0].HonorLabels || m.Spec.SampleLimit == 0 {
			t.Fatalf("%s: endpoints %+v, at most %d series", from, endpoints, m.Spec.SampleLimit)
		}
		if !slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool {
			return slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.Name == endpoints[0].Port })
		}) {
			t.Errorf("%s: the agent has no port %s", from, endpoints[0].Port)
		}
		if from == "the chart" && (endpoints[0].Interval != "7s" || object.GetLabels()["release"] != "mine") {
			t.Errorf("values are not there:\n%s", content)
		}
	}
	if template(t, helms[0])[key("PodMonitor", "podesta-agents")] != nil {
		t.Error("the chart has a PodMonitor though nobody asked for it")
	}
}

// TestPrometheusReachesAgents: the policy of config/ and the chart's are one, open the agents' port
// for metrics and nothing else, and the chart has one in each namespace that is named, and none
// unasked.
func TestPrometheusReachesAgents(t *testing.T) {
	name := key("NetworkPolicy", "podesta-agents-metrics")
	file := filepath.Join(root, "config", "network-policy", "agents-metrics.yaml")
	want := as[networkingv1.NetworkPolicy](t, parseFile(t, file), "NetworkPolicy", "podesta-agents-metrics")
	ingress := want.Spec.Ingress
	if len(ingress) != 1 || len(ingress[0].From) != 1 || len(ingress[0].Ports) != 1 ||
		ingress[0].Ports[0].Port.IntValue() != 4042 || !selects(t, want.Spec.PodSelector, sample(t).Labels) ||
		!cmp.Equal(want.Spec.PolicyTypes, []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}) {
		content, _ := os.ReadFile(file)
		t.Errorf("it opens another port, or for others:\n%s", content)
	}
	for _, helm := range helms {
		if template(t, helm)[name] != nil {
			t.Errorf("%s: the policy isolates pods though nobody asked for it", helm)
		}
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
