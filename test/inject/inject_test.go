package inject

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	podestav1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/inject"
	"github.com/podesta-dev/podesta/test/manifest"
)

// TestPolicyAndCommandAgree makes each pod of testdata/pods.yaml twice: as it is, so that the
// policy puts the agent in, and as the command writes it, which the policy leaves alone. In the API
// server they are equal, defaults and all.
func TestPolicyAndCommandAgree(t *testing.T) {
	install, err := inject.NewInstall("", "", "")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("testdata/pods.yaml")
	if err != nil {
		t.Fatal(err)
	}
	written, notes, err := inject.Manifests(text, install)
	if err != nil {
		t.Fatal(err)
	}
	byPolicy, byCommand := mustDecode(t, text), mustDecode(t, written)
	if len(byPolicy) == 0 || len(byPolicy) != len(byCommand) || len(byPolicy) != len(notes) {
		t.Fatalf("%d pods, %d from the command, which speaks of %d", len(byPolicy), len(byCommand), len(notes))
	}
	one, two := namespace(t, nil), namespace(t, nil)
	for i := range byPolicy {
		name := notes[i].Name
		a, b := create(t, byPolicy[i], one), create(t, byCommand[i], two)
		if diff := cmp.Diff(settled(a), settled(b)); diff != "" {
			t.Errorf("%s: policy (-) and command (+) differ:\n%s", name, diff)
		}
		agent := a.Spec.InitContainers[0]
		if agent.Name != podestav1.AgentContainer || agent.Image != install.Image || agent.Args[0] != "--manager="+install.Manager {
			t.Errorf("%s: the first init container is %s, image %s, %v", name, agent.Name, agent.Image, agent.Args)
		}
		if port := agent.Ports[0]; a.Spec.HostNetwork != (port.HostPort == port.ContainerPort) {
			t.Errorf("%s: port %d of the node; want the scheduler to know of the port of pods on the node's network", name, port.HostPort)
		}
	}
}

// Each container of the app gets the variables of nais/elector that it does not set itself, before
// its own, so that these may refer to them.
func TestVariables(t *testing.T) {
	path := corev1.EnvVar{Name: "ELECTOR_PATH", Value: "127.0.0.1:4040"}
	get := corev1.EnvVar{Name: "ELECTOR_GET_URL", Value: "http://127.0.0.1:4040/"}
	sse := corev1.EnvVar{Name: "ELECTOR_SSE_URL", Value: "http://127.0.0.1:4040/sse"}
	host := corev1.EnvVar{Name: "HOST", Value: "$(ELECTOR_PATH)"}
	own := corev1.EnvVar{Name: "ELECTOR_GET_URL", Value: "http://example.com/"}
	here := namespace(t, nil)
	for name, tt := range map[string]struct{ set, want []corev1.EnvVar }{
		"none":          {nil, []corev1.EnvVar{path, get, sse}},
		"another":       {[]corev1.EnvVar{host}, []corev1.EnvVar{path, get, sse, host}},
		"one of them":   {[]corev1.EnvVar{host, own}, []corev1.EnvVar{path, sse, host, own}},
		"all of them":   {[]corev1.EnvVar{sse, own, path}, []corev1.EnvVar{sse, own, path}},
		"in lower case": {[]corev1.EnvVar{{Name: "elector_path"}}, []corev1.EnvVar{path, get, sse, {Name: "elector_path"}}},
	} {
		pod := newPod(here)
		pod.Spec.InitContainers = []corev1.Container{{Name: "migrate", Image: "example.com/app", Env: tt.set}}
		pod.Spec.Containers[0].Env = tt.set
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "plain", Image: "example.com/app"})
		if err := kube.Create(t.Context(), pod, client.DryRunAll); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(tt.want, pod.Spec.Containers[0].Env); diff != "" {
			t.Errorf("%s: want (-), got (+):\n%s", name, diff)
		}
		if diff := cmp.Diff([]corev1.EnvVar{path, get, sse}, pod.Spec.Containers[1].Env); diff != "" {
			t.Errorf("%s: the container beside it: want (-), got (+):\n%s", name, diff)
		}
		if diff := cmp.Diff(tt.set, pod.Spec.InitContainers[1].Env); diff != "" {
			t.Errorf("%s: an init container changes:\n%s", name, diff)
		}
	}
}

// settled is what must be equal: all but what the API server draws by chance.
func settled(pod *corev1.Pod) *corev1.Pod {
	pod = pod.DeepCopy()
	pod.ObjectMeta = metav1.ObjectMeta{GenerateName: pod.GenerateName, Labels: pod.Labels, Annotations: pod.Annotations,
		OwnerReferences: pod.OwnerReferences}
	rename := func(name *string) {
		if strings.HasPrefix(*name, "kube-api-access-") {
			*name = "kube-api-access"
		}
	}
	for i := range pod.Spec.Volumes {
		rename(&pod.Spec.Volumes[i].Name)
	}
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			for j := range containers[i].VolumeMounts {
				rename(&containers[i].VolumeMounts[j].Name)
			}
		}
	}
	return pod
}

// The app may have its API token; the agent does not see it.
func TestTheAppsTokenIsKeptFromTheAgent(t *testing.T) {
	pod := newPod(namespace(t, nil))
	mustCreate(t, pod)
	const tokens = "/var/run/secrets/kubernetes.io/serviceaccount"
	source := func(c corev1.Container) (found *corev1.Volume) {
		for _, m := range c.VolumeMounts {
			for _, v := range pod.Spec.Volumes {
				if m.MountPath == tokens && m.Name == v.Name {
					found = &v
				}
			}
		}
		return found
	}
	if v := source(pod.Spec.Containers[0]); v == nil || v.Projected == nil {
		t.Errorf("the app has %v at %s; want its token, or this test shows nothing", v, tokens)
	}
	if v := source(pod.Spec.InitContainers[0]); v == nil || v.EmptyDir == nil {
		t.Errorf("the agent has %v at %s; want an empty directory", v, tokens)
	}
}

// Pod Security itself judges the agent.
func TestTheAgentIsRestricted(t *testing.T) {
	restricted := namespace(t, map[string]string{"pod-security.kubernetes.io/enforce": "restricted"})
	no, yes := false, true
	pod := newPod(restricted)
	pod.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{ // the app by itself, not the pod
		AllowPrivilegeEscalation: &no, RunAsNonRoot: &yes,
		Capabilities:   &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	mustCreate(t, pod)
	if err := kube.Create(t.Context(), newPod(restricted)); err == nil {
		t.Error("a pod with an app that is not restricted is taken; this test shows nothing")
	}
}

// A pod of a group to which the agent cannot be added, or whose podesta-agent container is not a
// valid agent, is refused with a message that says what to do.
func TestRefusals(t *testing.T) {
	here := namespace(t, nil)
	always := corev1.ContainerRestartPolicyAlways
	agent := func(image string) func(*corev1.PodSpec) {
		return func(s *corev1.PodSpec) {
			s.InitContainers = []corev1.Container{{Name: podestav1.AgentContainer, Image: image, RestartPolicy: &always}}
		}
	}
	volume := func(name string) func(*corev1.PodSpec) {
		return func(s *corev1.PodSpec) {
			s.Volumes = []corev1.Volume{{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
		}
	}
	const image = "must have an image of ghcr.io/podesta-dev/agent: remove the container"
	for name, tt := range map[string]struct {
		pod  func(*corev1.PodSpec)
		want string // "": it is taken
	}{
		"the name among containers": {func(s *corev1.PodSpec) { s.Containers[0].Name = podestav1.AgentContainer }, "rename the container"},
		"lead for nobody": {func(s *corev1.PodSpec) { s.Containers[0].Name = "other" },
			"podesta.dev/lead names a container that the pod does not have"},
		"no sidecar": {func(s *corev1.PodSpec) {
			s.InitContainers = []corev1.Container{{Name: podestav1.AgentContainer, Image: inject.DefaultImage}}
		}, "must have restartPolicy Always: remove the container"},
		"another image":    {agent("example.com/agent"), image},
		"another host":     {agent("example.com/ghcr.io/podesta-dev/agent:latest"), image},
		"a longer name":    {agent("ghcr.io/podesta-dev/agent-x:latest"), image},
		"below the name":   {agent("ghcr.io/podesta-dev/agent/x"), image},
		"the name as host": {agent("ghcr.io/podesta-dev/agent:80/x"), image},
		"no image":         {agent(""), "image"},
		"for Windows": {func(s *corev1.PodSpec) { s.OS = &corev1.PodOS{Name: corev1.Windows} },
			"Podesta's agent runs on Linux only"},
		"for Linux":                 {func(s *corev1.PodSpec) { s.OS = &corev1.PodOS{Name: corev1.Linux} }, ""},
		"the same image":            {agent(inject.DefaultImage), ""},
		"an earlier version":        {agent("ghcr.io/podesta-dev/agent:v0.1.0"), ""},
		"a digest":                  {agent("ghcr.io/podesta-dev/agent:v1@sha256:" + strings.Repeat("0", 64)), ""},
		"a volume of ours":          {volume("podesta-token"), "podesta-token, which is reserved for Podesta's sidecar: rename the volume"},
		"another volume of ours":    {volume("podesta-no-api-token"), "podesta-no-api-token, which is reserved for Podesta's sidecar"},
		"a volume like one of ours": {volume("podesta"), ""},
	} {
		pod := newPod(here)
		pod.Annotations = map[string]string{podestav1.LeadAnnotation: pod.Spec.Containers[0].Name}
		tt.pod(&pod.Spec)
		err := kube.Create(t.Context(), pod, client.DryRunAll)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v; want %q", name, err, tt.want)
		}
	}
}

// What is not asked for does not happen.
func TestLeftAlone(t *testing.T) {
	here := namespace(t, nil)
	for name, pod := range map[string]func(*corev1.Pod){
		"no label":                func(p *corev1.Pod) { p.Labels = nil },
		"kube-system":             func(p *corev1.Pod) { p.Namespace = "kube-system" },
		"our own":                 func(p *corev1.Pod) { p.Namespace = inject.DefaultNamespace },
		"no label, but the names": func(p *corev1.Pod) { p.Labels = nil; p.Spec.Containers[0].Name = podestav1.AgentContainer },
		"the mirror of a static pod": func(p *corev1.Pod) {
			no := false
			p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
			p.Spec.NodeName, p.Spec.AutomountServiceAccountToken = "node", &no
		},
	} {
		p := newPod(here)
		pod(p)
		if err := makeNamespace(t.Context(), p.Namespace, nil); err != nil {
			t.Fatal(err)
		}
		switch err := kube.Create(t.Context(), p, client.DryRunAll); {
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case len(p.Spec.InitContainers) > 0:
			t.Errorf("%s: it has an agent", name)
		}
	}
}

// A pod that runs may get the label; it stays without an agent, and the manager names it.
func TestALabelThatComesLater(t *testing.T) {
	pod := newPod(namespace(t, nil))
	labels := pod.Labels
	pod.Labels = nil
	pod.Spec.Containers[0].Name = podestav1.AgentContainer
	mustCreate(t, pod)
	pod.Labels = labels
	if err := kube.Update(t.Context(), pod); err != nil {
		t.Error(err)
	}
	if len(pod.Labels) != len(labels) || len(pod.Spec.InitContainers) > 0 {
		t.Errorf("labels %v, init containers %v; want the label, and no agent", pod.Labels, pod.Spec.InitContainers)
	}
}

func namespace(t *testing.T, labels map[string]string) string {
	t.Helper()
	name := strings.NewReplacer("/", "-", "_", "-").Replace(strings.ToLower(t.Name()))
	for n := 'a'; ; n++ {
		unique := name + "-" + string(n)
		err := kube.Get(t.Context(), client.ObjectKey{Name: unique}, &corev1.Namespace{})
		if client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
		if err == nil {
			continue
		}
		if err := makeNamespace(t.Context(), unique, labels); err != nil {
			t.Fatal(err)
		}
		return unique
	}
}

// create makes an object in a namespace, and returns the pod that the API server then has.
func create(t *testing.T, object *unstructured.Unstructured, namespace string) *corev1.Pod {
	t.Helper()
	object.SetNamespace(namespace)
	strict := client.WithFieldValidation(kube, metav1.FieldValidationStrict)
	if err := strict.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	var pod corev1.Pod
	if err := kube.Get(t.Context(), client.ObjectKeyFromObject(object), &pod); err != nil {
		t.Fatal(err)
	}
	return &pod
}

func mustCreate(t *testing.T, object client.Object) {
	t.Helper()
	if err := kube.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}

func mustDecode(t *testing.T, text []byte) []*unstructured.Unstructured {
	t.Helper()
	objects, err := manifest.Objects(text)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}
