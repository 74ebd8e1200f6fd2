package check

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	extensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// bad returns the results that are not OK, a line each.
func bad(results []Result) (lines []string) {
	for _, r := range results {
		if r.State != OK {
			lines = append(lines, string(r.State)+": "+r.Check+": "+r.Found)
		}
	}
	return lines
}

// TestWell: nothing is said against the manifests of this tree, installed and at work.
func TestWell(t *testing.T) {
	results := Installed(well(t))
	if lines := bad(results); len(lines) > 0 {
		t.Errorf("%s", strings.Join(lines, "\n"))
	}
	if len(results) < 18 || Worst(results) != OK {
		t.Errorf("%d checks, the worst is %s", len(results), Worst(results))
	}
	if lines := bad(Before(well(t))); len(lines) > 0 {
		t.Errorf("--pre: %s", strings.Join(lines, "\n"))
	}
}

// TestOneFault: each fault is found by one check, and by no other.
func TestOneFault(t *testing.T) {
	for name, test := range map[string]struct {
		fault func(f *Facts, n *Namespace)
		want  string // the state, the check and what was found begin like that
	}{
		"an old API server": {func(f *Facts, _ *Namespace) { f.Kubernetes.Value = Version{1, 32, "v1.32.9"} },
			"Failed: Kubernetes is 1.33 or newer: the API server is v1.32.9"},
		"the version may not be read": {func(f *Facts, _ *Namespace) { f.Kubernetes.Err = errors.New("no") },
			"Unknown: Kubernetes is 1.33 or newer: no"},
		"nodes of Windows": {func(f *Facts, _ *Namespace) {
			f.Nodes.Value[0].Status.NodeInfo.OperatingSystem = "windows"
		}, "Failed: a node can run the manager and agents: none of the 1 nodes"},
		"a node that is not ready": {func(f *Facts, _ *Namespace) {
			f.Nodes.Value[0].Status.Conditions[0].Status = corev1.ConditionUnknown
		}, "Failed: a node can run the manager and agents"},
		"two architectures": {func(f *Facts, _ *Namespace) {
			other := *f.Nodes.Value[0].DeepCopy()
			other.Name, other.Status.NodeInfo.Architecture = "node-2", "arm64"
			f.Nodes.Value = append(f.Nodes.Value, other)
		}, "Warning: a node can run the manager and agents: of 2 nodes that do"},
		"cordoned": {func(f *Facts, _ *Namespace) { f.Nodes.Value[0].Spec.Unschedulable = true },
			"Failed: a node can run the manager and agents"},
		"a node's clock is ahead": {func(f *Facts, _ *Namespace) {
			f.NodeLeases.Value[0] = lease("node-1", noon.Add(3*time.Minute))
		}, "Warning: the nodes' clocks agree with the API server's: node-1 is at least 3m0s ahead"},
		"a node's clock is behind": {func(f *Facts, _ *Namespace) {
			f.NodeLeases.Value[0] = lease("node-1", noon.Add(-3*time.Minute))
		}, "Warning: the nodes' clocks agree with the API server's: node-1 is about 3m0s behind"},

		"no definition": {func(f *Facts, _ *Namespace) { f.Definition.Value = nil },
			"Failed: electiongroups.podesta.dev is defined: it is not"},
		"a name is taken": {func(f *Facts, _ *Namespace) {
			c := &f.Definition.Value.Status.Conditions[0]
			c.Status, c.Message = extensionsv1.ConditionFalse, `"eg" is in use`
		}, `Failed: electiongroups.podesta.dev is defined: NamesAccepted is False: "eg" is in use`},
		"not looked at": {func(f *Facts, _ *Namespace) { f.Definition.Value.Status.Conditions = nil },
			"Failed: electiongroups.podesta.dev is defined: the API server has not looked"},
		"an older definition": {func(f *Facts, _ *Namespace) {
			properties := schema(f).Properties["status"].Properties
			delete(properties, "elections")
			delete(properties["roster"].Properties["members"].Items.Schema.Properties, "voter")
		}, "Warning: the definition has the fields that this program knows, and no others: it lacks status.elections, " +
			"status.roster.members.voter"},
		"a newer definition": {func(f *Facts, _ *Namespace) {
			schema(f).Properties["spec"].Properties["magic"] = extensionsv1.JSONSchemaProps{}
		}, "Warning: the definition has the fields that this program knows, and no others: this program does not know " +
			"spec.magic"},
		"another version": {func(f *Facts, _ *Namespace) { f.Definition.Value.Spec.Versions[0].Name = "v2" },
			"Warning: the definition has the fields that this program knows, and no others: it lacks version v1"},

		"no manager": {func(f *Facts, _ *Namespace) { f.Manager.Deployments.Value = nil },
			"Failed: the manager's replicas are ready: there is no manager in namespace podesta-system"},
		"half of the managers": {func(f *Facts, _ *Namespace) {
			f.Manager.Deployments.Value[0].Status.ReadyReplicas = 1
			f.Manager.Pods.Value = []corev1.Pod{waits("podesta-manager-2", "manager", "ErrImagePull")}
		}, "Warning: the manager's replicas are ready: 1 of 2 are: podesta-manager-2 (ErrImagePull)"},
		"no replica is ready": {func(f *Facts, _ *Namespace) {
			f.Manager.Deployments.Value[0].Status.ReadyReplicas = 0
		}, "Failed: the manager's replicas are ready: 0 of 2 are"},
		"scaled to nothing": {func(f *Facts, _ *Namespace) {
			d := &f.Manager.Deployments.Value[0]
			d.Spec.Replicas, d.Status.ReadyReplicas = new(int32(0)), 0
		}, "Failed: the manager's replicas are ready: 0 of 0 are"},
		"another version of it": {func(f *Facts, _ *Namespace) { f.Plugin = "v1.3.0" },
			"Warning: this program is of the manager's version: the manager is v1.2.3, this program is v1.3.0"},
		"a version that is not said": {func(f *Facts, _ *Namespace) {
			f.Manager.Deployments.Value[0].Spec.Template.Spec.Containers[0].Image = "a:5000/manager@sha256:0"
		}, "Unknown: this program is of the manager's version"},
		"nobody leads": {func(f *Facts, _ *Namespace) { f.Manager.Lease.Value.Spec.HolderIdentity = new("") },
			"Failed: one replica leads: nobody holds"},
		"the leader is silent": {func(f *Facts, _ *Namespace) {
			l := lease("old", noon.Add(-20*time.Second))
			f.Manager.Lease.Value = &l
		}, "Failed: one replica leads: old did, and has not renewed the Lease podesta-manager for 20s"},
		"no endpoint": {func(f *Facts, _ *Namespace) {
			f.Manager.Slices.Value[0].Endpoints[0].Conditions.Ready = new(false)
		}, "Failed: agents find the leading replica by the Service podesta-roster: it has no endpoint"},
		"no bundle": {func(f *Facts, _ *Namespace) { f.Manager.Trust.Value = nil },
			"Failed: the manager's CA is published and valid: there is no ConfigMap"},
		"a bundle of something else": {func(f *Facts, _ *Namespace) {
			f.Manager.Trust.Value = &corev1.ConfigMap{Data: map[string]string{v1.TrustKey: "hello"}}
		}, "Failed: the manager's CA is published and valid: ConfigMap podesta-trust has no certificate"},
		"an old bundle": {func(f *Facts, _ *Namespace) {
			f.Manager.Trust.Value = bundle(t, noon.Add(-time.Hour), noon.Add(-time.Minute))
		}, "Failed: the manager's CA is published and valid: none of the 1 certificates"},
		"a right is missing": {func(f *Facts, _ *Namespace) {
			f.Manager.Denied.Value = []Right{{Verb: "patch", Group: "podesta.dev", Resource: "electiongroups",
				Subresource: "status"}}
		}, "Failed: the manager has its rights: it lacks: patch electiongroups.podesta.dev/status"},

		"a policy is missing": {func(f *Facts, _ *Namespace) { f.Policies.Value = f.Policies.Value[1:] },
			"Failed: the policies of the installation deny what they should: podesta-manager-creations is missing"},
		"a policy only warns": {func(f *Facts, _ *Namespace) {
			f.Bindings.Value[0].Spec.ValidationActions = []admissionv1.ValidationAction{admissionv1.Warn}
		}, "Failed: the policies of the installation deny what they should: podesta-manager-creations has no " +
			"binding that denies"},
		"a policy has a mistake": {func(f *Facts, _ *Namespace) {
			f.Policies.Value[0].Status.TypeChecking = &admissionv1.TypeChecking{
				ExpressionWarnings: []admissionv1.ExpressionWarning{{Warning: "undefined field"}}}
		}, "Failed: the policies of the installation deny what they should: podesta-manager-creations has a " +
			"mistake: undefined field"},
		"nothing injects": {func(f *Facts, _ *Namespace) { f.Injects.Value = false },
			"Unknown: a policy adds agents to the pods of groups: none does"},

		"no such group": {func(_ *Facts, n *Namespace) { n.Pods.Value[0].Labels[v1.GroupLabel] = "tilll" },
			"Failed: each pod's label names a group: till-0 (tilll)"},
		"an ended pod of no group": {func(_ *Facts, n *Namespace) {
			n.Pods.Value[0].Labels[v1.GroupLabel] = "old"
			n.Pods.Value[0].Status.Phase = corev1.PodSucceeded
		}, ""},
		"groups may not be read": {func(_ *Facts, n *Namespace) { n.Groups = Read[[]v1.ElectionGroup]{Err: errors.New("no")} },
			"Unknown: each pod's label names a group: no"},
		"an agent is silent": {func(_ *Facts, n *Namespace) {
			n.Groups.Value[0].Status.Processes[1].Connected = new(false)
		}, "Warning: the agents of running pods report to the manager: till-1"},
		"a pod that starts": {func(_ *Facts, n *Namespace) {
			n.Groups.Value[0].Status.Processes[1].Connected = new(false)
			n.Pods.Value[1].Status.Phase = corev1.PodPending
		}, ""},
		"an older agent": {func(_ *Facts, n *Namespace) {
			p := &n.Groups.Value[0].Status.Processes[1]
			p.Agent, p.AgentVersion = v1.AgentOutdated, "v1.1.0"
		}, "Warning: agents are of the manager's version: till-1 (v1.1.0)"},
		"no CA here": {func(_ *Facts, n *Namespace) { n.Trust.Value = nil },
			"Failed: the manager's CA is published here: there is no ConfigMap podesta-trust"},
		"no agent": {func(_ *Facts, n *Namespace) { n.Pods.Value[2].Spec.InitContainers = nil },
			"Failed: each pod of a group has an agent that runs: none in till-2"},
		"no image": {func(_ *Facts, n *Namespace) {
			n.Pods.Value[2].Status.InitContainerStatuses = waits("", v1.AgentContainer, "ImagePullBackOff").
				Status.ContainerStatuses
		}, "Failed: each pod of a group has an agent that runs: till-2 (ImagePullBackOff)"},
		"the app has no image": {func(_ *Facts, n *Namespace) {
			n.Pods.Value[2].Status.ContainerStatuses = waits("", "app", "ImagePullBackOff").Status.ContainerStatuses
		}, ""},
		"what prepares the app has no image": {func(_ *Facts, n *Namespace) {
			n.Pods.Value[2].Status.InitContainerStatuses = waits("", "migrate", "ImagePullBackOff").
				Status.ContainerStatuses
		}, ""},
		"a mesh": {func(_ *Facts, n *Namespace) {
			n.Pods.Value[0].Spec.Containers = append(n.Pods.Value[0].Spec.Containers, corev1.Container{Name: "istio-proxy"})
			n.Pods.Value[0].Annotations = map[string]string{
				"traffic.sidecar.istio.io/excludeInboundPorts":  "4041",
				"traffic.sidecar.istio.io/excludeOutboundPorts": "4041,9443",
			}
		}, "Failed: no service mesh intercepts the agents' connections: till-0 (Istio)"},
		"a mesh that passes": {func(_ *Facts, n *Namespace) {
			n.Pods.Value[0].Spec.InitContainers = append(n.Pods.Value[0].Spec.InitContainers, corev1.Container{Name: "linkerd-proxy"})
			n.Pods.Value[0].Annotations = map[string]string{
				"config.linkerd.io/skip-inbound-ports":  "4040-4042",
				"config.linkerd.io/skip-outbound-ports": "9443, 4041",
			}
		}, ""},
		"throttled": {func(_ *Facts, n *Namespace) {
			n.Pods.Value[0].Spec.InitContainers[0].Resources.Limits = cpu("100m")
		}, "Warning: no CPU limit stops the agents: till-0 (100m)"},
		"a limit that does no harm": {func(_ *Facts, n *Namespace) {
			n.Pods.Value[0].Spec.InitContainers[0].Resources.Limits = cpu("1")
		}, ""},
		"a quota": {func(_ *Facts, n *Namespace) { n.Quotas.Value = []corev1.ResourceQuota{quota()} },
			notCreated + "ResourceQuota all counts limits.cpu"},
		"a quota of some pods": {func(_ *Facts, n *Namespace) {
			q := quota()
			q.Spec.Scopes = []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeTerminating}
			n.Quotas.Value = []corev1.ResourceQuota{q}
		}, ""},
		"a quota with a default": {func(_ *Facts, n *Namespace) {
			n.Quotas.Value = []corev1.ResourceQuota{quota()}
			n.Limits.Value = limitRange(corev1.LimitRangeItem{Default: cpu("1")})
		}, ""},
		"a LimitRange that agents fit": {func(_ *Facts, n *Namespace) {
			n.Limits.Value = limitRange(corev1.LimitRangeItem{Default: cpu("1"), Max: cpu("1"), Min: cpu("20m"),
				MaxLimitRequestRatio: cpu("50")})
		}, ""},
		"a LimitRange whose least is more": {func(_ *Facts, n *Namespace) {
			n.Limits.Value = limitRange(corev1.LimitRangeItem{Min: cpu("50m")})
		}, notCreated + "LimitRange all: min cpu is 50m"},
		"a LimitRange whose default is below its least": {func(_ *Facts, n *Namespace) {
			n.Limits.Value = limitRange(corev1.LimitRangeItem{Min: cpu("20m"), Default: cpu("10m")})
		}, notCreated + "LimitRange all: min cpu is 20m"},
		"a LimitRange whose most is less": {func(_ *Facts, n *Namespace) {
			n.Limits.Value = limitRange(corev1.LimitRangeItem{Max: corev1.ResourceList{
				corev1.ResourceMemory: resource.MustParse("64Mi")}})
		}, notCreated + "LimitRange all: max memory is 64Mi"},
		"a LimitRange with a most and no default": {func(_ *Facts, n *Namespace) {
			n.Limits.Value = limitRange(corev1.LimitRangeItem{Max: cpu("1")})
		}, notCreated + "LimitRange all: max cpu is 1"},
		"a LimitRange of what agents do not ask for": {func(_ *Facts, n *Namespace) {
			n.Limits.Value = limitRange(corev1.LimitRangeItem{Min: corev1.ResourceList{
				corev1.ResourceEphemeralStorage: resource.MustParse("1Mi")}})
		}, notCreated + "LimitRange all: min ephemeral-storage is 1Mi"},
		"a LimitRange that gives what it demands": {func(_ *Facts, n *Namespace) {
			storage := corev1.ResourceList{corev1.ResourceEphemeralStorage: resource.MustParse("1Mi")}
			n.Limits.Value = limitRange(corev1.LimitRangeItem{Min: storage, DefaultRequest: storage})
		}, ""},
		"a LimitRange whose ratio is less": {func(_ *Facts, n *Namespace) {
			n.Limits.Value = limitRange(corev1.LimitRangeItem{Default: cpu("1"), MaxLimitRequestRatio: cpu("49")})
		}, notCreated + "LimitRange all: maxLimitRequestRatio cpu is 49"},
		"a LimitRange with a ratio and no limit": {func(_ *Facts, n *Namespace) {
			n.Limits.Value = limitRange(corev1.LimitRangeItem{MaxLimitRequestRatio: cpu("50")})
		}, notCreated + "LimitRange all: maxLimitRequestRatio cpu is 50"},
		"a LimitRange of pods": {func(_ *Facts, n *Namespace) {
			n.Limits.Value = limitRange(corev1.LimitRangeItem{Max: cpu("1m")})
			n.Limits.Value[0].Spec.Limits[0].Type = corev1.LimitTypePod
		}, ""},
		"a witness that may not connect": {func(_ *Facts, n *Namespace) {
			n.Pods.Value[0].Labels["app"], n.Pods.Value[1].Labels["app"] = "till", "till"
			app := metav1.LabelSelector{MatchLabels: map[string]string{"app": "till"}}
			n.Policies.Value = []networkingv1.NetworkPolicy{{
				ObjectMeta: metav1.ObjectMeta{Namespace: "shop"},
				Spec: networkingv1.NetworkPolicySpec{PodSelector: app,
					PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
					Ingress: []networkingv1.NetworkPolicyIngressRule{{
						From: []networkingv1.NetworkPolicyPeer{{PodSelector: &app}}}}},
			}}
		}, "Failed: NetworkPolicies let the agents connect: no links (4041) between pods of the group: till-2"},
		"a default that denies, and the host's network": {func(_ *Facts, n *Namespace) {
			n.Policies.Value = []networkingv1.NetworkPolicy{denial()}
			for i := range n.Pods.Value {
				n.Pods.Value[i].Spec.HostNetwork = true
			}
		}, ""},
		"a default that denies": {func(_ *Facts, n *Namespace) {
			n.Policies.Value = []networkingv1.NetworkPolicy{denial()}
		}, "Failed: NetworkPolicies let the agents connect: no links (4041) between pods of the group: till-0, " +
			"till-1, till-2; not the manager (9443): till-0, till-1, till-2; no DNS (53): till-0, till-1, till-2"},
		"the manager is elsewhere": {func(_ *Facts, n *Namespace) {
			n.Policies.Value[0].Spec.Egress[1].To[0].NamespaceSelector.MatchLabels[corev1.LabelMetadataName] = "other"
		}, "Failed: NetworkPolicies let the agents connect: not the manager (9443): till-0, till-1, till-2"},
		"nothing is there": {func(_ *Facts, n *Namespace) { n.Pods.Value, n.Groups.Value = nil, nil },
			"Unknown: there are groups: there are none"},
		"a name that is no name": {func(_ *Facts, n *Namespace) {
			n.Pods.Value[2].Name = "a\x1b[2J"
			n.Pods.Value[2].Spec.InitContainers = nil
		},
			`Failed: each pod of a group has an agent that runs: none in a\x1b[2J`},
	} {
		t.Run(name, func(t *testing.T) {
			f := well(t)
			test.fault(f, &f.Namespaces.Value[0])
			lines := bad(Installed(f))
			got := strings.Join(lines, "\n")
			if len(lines) > 1 || !strings.HasPrefix(got, test.want) || test.want == "" && got != "" {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

func schema(f *Facts) *extensionsv1.JSONSchemaProps {
	return f.Definition.Value.Spec.Versions[0].Schema.OpenAPIV3Schema
}

func waits(pod, container, reason string) (p corev1.Pod) {
	p.Name = pod
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: container, State: corev1.ContainerState{
		Waiting: &corev1.ContainerStateWaiting{Reason: reason}}}}
	return p
}

func cpu(limit string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(limit)}
}

// denial denies all pods everything.
func denial() (p networkingv1.NetworkPolicy) {
	p.Namespace = "shop"
	p.Spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress,
		networkingv1.PolicyTypeEgress}
	return p
}

func quota() (q corev1.ResourceQuota) {
	q.Name = "all"
	q.Spec.Hard = corev1.ResourceList{corev1.ResourceLimitsCPU: resource.MustParse("8")}
	return q
}

// notCreated begins the line of what refuses the agents' pods.
const notCreated = "Failed: limits of the namespace let the agents' pods be created: "

func limitRange(item corev1.LimitRangeItem) []corev1.LimitRange {
	item.Type = corev1.LimitTypeContainer
	return []corev1.LimitRange{{ObjectMeta: metav1.ObjectMeta{Name: "all"},
		Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{item}}}}
}

// TestResources: what agents are said to have is what is added to pods.
func TestResources(t *testing.T) {
	text, err := os.ReadFile("../inject/sidecar.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var sidecar corev1.PodSpec
	if err := yaml.Unmarshal(text, &sidecar); err != nil {
		t.Fatal(err)
	}
	if got := sidecar.InitContainers[0].Resources; !equality.Semantic.DeepEqual(got, resources) {
		t.Errorf("the sidecar has %v, and this package says %v", got, resources)
	}
}

// TestMayInstall: rights that are missing are named as kubectl auth can-i takes them.
func TestMayInstall(t *testing.T) {
	f := well(t)
	for _, r := range Installing("podesta-system") {
		if r.Verb == "create" && r.Resource == "customresourcedefinitions" || r.Verb == "bind" {
			f.Missing.Value = append(f.Missing.Value, r)
		}
	}
	want := "Failed: you may install Podesta: you lack: " +
		"create customresourcedefinitions.apiextensions.k8s.io; " +
		"bind clusterroles.rbac.authorization.k8s.io; " +
		"bind roles.rbac.authorization.k8s.io -n podesta-system"
	if got := strings.Join(bad(Before(f)), "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestManagersRights: those that are asked for are the rules of config/rbac, right by right.
func TestManagersRights(t *testing.T) {
	want := map[Right]bool{}
	add := func(rules []rbacv1.PolicyRule, namespace string) {
		for _, rule := range rules {
			names := rule.ResourceNames
			if len(names) == 0 {
				names = []string{""}
			}
			for _, group := range rule.APIGroups {
				for _, whole := range rule.Resources {
					resource, subresource, _ := strings.Cut(whole, "/")
					for _, name := range names {
						for _, verb := range rule.Verbs {
							want[Right{verb, group, resource, subresource, name, namespace}] = true
						}
					}
				}
			}
		}
	}
	add(manifests[rbacv1.ClusterRole](t, "rbac/role.yaml", "ClusterRole")[0].Rules, "")
	add(manifests[rbacv1.ClusterRole](t, "rbac/metrics_auth_role.yaml", "ClusterRole")[0].Rules, "")
	add(manifests[rbacv1.Role](t, "rbac/role.yaml", "Role")[0].Rules, "podesta-system")
	for _, r := range Managing("podesta-system") {
		if !want[r] {
			t.Errorf("config/rbac does not give %s", r)
		}
		delete(want, r)
	}
	for r := range want {
		t.Errorf("it is not asked for: %s", r)
	}
}

// TestPolicies: those that are looked for are those of config/admission-policy.
func TestPolicies(t *testing.T) {
	f := well(t)
	if len(f.Policies.Value) != len(Policies) || len(f.Bindings.Value) != len(Policies) {
		t.Errorf("config/admission-policy has %d policies and %d bindings, looked for are %d",
			len(f.Policies.Value), len(f.Bindings.Value), len(Policies))
	}
}

// TestMeshes: the annotations are those that docs/start/install.md names.
func TestMeshes(t *testing.T) {
	page, err := os.ReadFile("../../docs/start/install.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range knownMeshes {
		row := "| " + m.name + " | `" + m.inbound + `: "4041,4042"` + "`, `" + m.outbound + `: "4041,9443"` + "` |"
		if !strings.Contains(string(page), row) {
			t.Errorf("docs/start/install.md has no row\n%s", row)
		}
	}
}
