package inject

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

func defaults(t testing.TB) Install {
	t.Helper()
	i, err := NewInstall("", "", "")
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// TestGolden plays testdata/*.txt. What the sidecar adds is shown as [initContainers] and
// [volumes], at its indentation, and all the variables together as [env]; config/samples/pods.yaml
// shows them in full. Each result is also used as input, which must not change it.
func TestGolden(t *testing.T) {
	i := defaults(t)
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		if !strings.HasSuffix(path, ".txt") {
			return
		}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			text := d.Input + "\n"
			switch {
			case d.HasArg("crlf"):
				text = strings.ReplaceAll(text, "\n", "\r\n")
			case d.HasArg("no-end-of-line"):
				text = d.Input
			}
			out, notes, err := Manifests([]byte(text), i)
			if err != nil {
				return "error: " + err.Error() + "\n"
			}
			again, _, err := Manifests(out, i)
			if err != nil || !bytes.Equal(again, out) {
				t.Errorf("%s: a second run changes something (%v):\n%s", d.Pos, err, again)
			}
			var said strings.Builder
			said.WriteString(strings.ReplaceAll(collapse(t, string(out), i), "\r\n", "␍\n"))
			if !strings.HasSuffix(said.String(), "\n") {
				said.WriteString("␃\n")
			}
			for _, n := range notes {
				fmt.Fprintf(&said, "# %s had its agent: %v\n", n, n.HadAgent)
			}
			return said.String()
		})
	})
}

// collapse replaces what the sidecar adds to a list by [list].
func collapse(t *testing.T, text string, i Install) string {
	t.Helper()
	sidecar, err := parts(i.Image, i.Manager, waits, "")
	if err != nil {
		t.Fatal(err)
	}
	variables, mounts, err := ofApp()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range append(sidecar, variables, mounts) {
		text = strings.ReplaceAll(text, flow(p), "["+p.list+"]")
		for by := range 30 {
			for _, end := range []string{"\n", "\r\n"} {
				block := end + strings.Join(indented(p, by), end)
				text = strings.ReplaceAll(text, block, end+strings.Repeat(" ", by)+"["+p.list+"]")
			}
		}
	}
	return text
}

// The sidecar is valid for Kubernetes and uses the names that the manager looks for.
func TestTheSidecarIsAPodsSpec(t *testing.T) {
	i := defaults(t)
	text := strings.NewReplacer("IMAGE", i.Image, "MANAGER", i.Manager, "READINESS", waits, "LEAD", "").Replace(sidecarFile)
	var spec corev1.PodSpec
	if err := yaml.UnmarshalStrict([]byte(text), &spec); err != nil {
		t.Fatal(err)
	}
	if len(spec.InitContainers) != 1 || len(spec.Volumes) == 0 {
		t.Fatalf("%d init containers and %d volumes; want 1 and some", len(spec.InitContainers),
			len(spec.Volumes))
	}
	agent := spec.InitContainers[0]
	if agent.Name != v1.AgentContainer || agent.Image != i.Image ||
		agent.Args[0] != "--manager="+i.Manager {
		t.Errorf("container %q, image %q, %v", agent.Name, agent.Image, agent.Args)
	}
	if limit := agent.Resources.Limits.Cpu(); !limit.IsZero() {
		t.Errorf("CPU limit %v: throttling stops heartbeats", limit)
	}
	if request := agent.Resources.Requests.Cpu(); request.Cmp(resource.MustParse("0")) <= 0 {
		t.Error("no CPU request")
	}
	mounted := map[string]string{}
	for _, m := range agent.VolumeMounts {
		mounted[m.Name] = m.MountPath
	}
	for _, v := range spec.Volumes {
		if mounted[v.Name] == "" {
			t.Errorf("volume %s is not mounted", v.Name)
		}
		switch {
		case v.Projected != nil && v.Projected.Sources[0].ServiceAccountToken.Audience != v1.Audience:
			t.Errorf("volume %s: %v; want audience %s", v.Name, v.Projected, v1.Audience)
		case v.ConfigMap != nil:
			file := "--trust-file=" + mounted[v.Name] + "/" + v1.TrustKey
			if v.ConfigMap.Name != v1.TrustConfigMap || !*v.ConfigMap.Optional ||
				!slices.Contains(agent.Args, file) {
				t.Errorf("volume %s: %v, %v", v.Name, v.ConfigMap, agent.Args)
			}
		}
	}
	if path := mounted["podesta-no-api-token"]; path != "/var/run/secrets/kubernetes.io/serviceaccount" {
		t.Errorf("the API token is covered at %q", path)
	}
}

// TestGenerated checks the generated files: the policies, and the samples from their short form.
// -rewrite writes them.
func TestGenerated(t *testing.T) {
	i := defaults(t)
	mutating, err := Mutating(i)
	if err != nil {
		t.Fatal(err)
	}
	validating, err := Validating(i)
	if err != nil {
		t.Fatal(err)
	}
	short, err := os.ReadFile("testdata/pods.yaml")
	if err != nil {
		t.Fatal(err)
	}
	samples, notes, err := Manifests(short, i)
	if err != nil || len(notes) != 5 {
		t.Fatalf("%v, %v", notes, err)
	}
	two := twoReplicas(t, i)
	for file, want := range map[string][]byte{
		"../../config/samples/two_replicas.yaml": two,
		"../../config/inject/mutating.yaml":      mutating,
		"../../config/inject/validating.yaml":    validating,
		"../../config/samples/pods.yaml":         samples,
	} {
		if flag.Lookup("rewrite").Value.String() == "true" {
			if err := os.WriteFile(file, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is stale (%v): run go test ./internal/inject -rewrite and review the "+
				"difference", file, err)
		}
	}
}

// twoReplicas is the sample of two replicas and a witness.
func twoReplicas(t *testing.T, i Install) []byte {
	t.Helper()
	short, err := os.ReadFile("testdata/two_replicas.yaml")
	if err != nil {
		t.Fatal(err)
	}
	replicas, notes, err := Manifests(short, i)
	if err != nil || len(notes) != 1 {
		t.Fatalf("%v, %v", notes, err)
	}
	witness, err := Witness(types.NamespacedName{Namespace: "default", Name: "ledger"}, DefaultTopology, i)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Concat(replicas, []byte("---\n"), witness)
}

// A witness is a pod of its group that is marked as one. It has the agent and the security context
// of the agent, keeps away from all other pods of the group, and there is one of it at a time.
func TestWitness(t *testing.T) {
	text, err := Witness(types.NamespacedName{Namespace: "shop", Name: "g"}, "example.com/rack", defaults(t))
	if err != nil {
		t.Fatal(err)
	}
	var d appsv1.Deployment
	if err := yaml.UnmarshalStrict(text, &d); err != nil {
		t.Fatal(err)
	}
	pod := d.Spec.Template
	if d.Namespace != "shop" || d.Name != "g-witness" || *d.Spec.Replicas != 1 ||
		d.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType {
		t.Errorf("%s/%s, %d replicas, strategy %s", d.Namespace, d.Name, *d.Spec.Replicas, d.Spec.Strategy.Type)
	}
	want := map[string]string{v1.GroupLabel: "g", v1.WitnessLabel: v1.WitnessTrue}
	if !maps.Equal(pod.Labels, want) || !maps.Equal(d.Spec.Selector.MatchLabels, want) {
		t.Errorf("labels %v, selector %v", pod.Labels, d.Spec.Selector.MatchLabels)
	}
	apart := pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if len(apart) != 1 || apart[0].TopologyKey != "example.com/rack" ||
		!maps.Equal(apart[0].LabelSelector.MatchLabels, map[string]string{v1.GroupLabel: "g"}) {
		t.Errorf("it keeps away from %+v", apart)
	}
	agent, beside := pod.Spec.InitContainers[0], pod.Spec.Containers[0]
	if agent.Name != v1.AgentContainer || beside.Image != agent.Image ||
		!slices.Equal(beside.Args, []string{"idle"}) {
		t.Errorf("%s with %s, beside it %s %v", agent.Name, agent.Image, beside.Image, beside.Args)
	}
	if !reflect.DeepEqual(beside.SecurityContext, agent.SecurityContext) {
		t.Errorf("the container beside the agent has another security context: %+v", beside.SecurityContext)
	}
}

// What becomes part of the manifest is checked, and no witness is made where no pod gets the agent.
// Groups and namespaces may have names that YAML takes for a number or a boolean.
func TestWitnessOfAGroupWithAnOddName(t *testing.T) {
	for _, name := range []string{"2024", "1e3", "true", "null", "on"} {
		text, err := Witness(types.NamespacedName{Namespace: name, Name: name}, DefaultTopology, defaults(t))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		d := &appsv1.Deployment{}
		if err := yaml.UnmarshalStrict(text, d); err != nil || d.Namespace != name ||
			d.Spec.Template.Labels[v1.GroupLabel] != name {
			t.Errorf("%s: %v; it is of group %q in namespace %q", name, err,
				d.Spec.Template.Labels[v1.GroupLabel], d.Namespace)
		}
	}
}

func TestWitnessRefused(t *testing.T) {
	for _, c := range []struct{ namespace, topology, says string }{
		{"shop", "a b", "topology key"},
		{"shop", "", "topology key"},
		{"shop", "zone: x", "topology key"},
		{DefaultNamespace, DefaultTopology, "no pod there gets the agent"},
		{kubeSystem, DefaultTopology, "no pod there gets the agent"},
	} {
		_, err := Witness(types.NamespacedName{Namespace: c.namespace, Name: "g"}, c.topology, defaults(t))
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s, %q: %v", c.namespace, c.topology, err)
		}
	}
	if _, err := Witness(types.NamespacedName{Namespace: "shop", Name: "g"}, DefaultTopology, Install{}); err == nil {
		t.Error("it takes an installation without an image")
	}
}

// Settings become part of CEL programs, so only images and addresses are accepted.
func TestNewInstall(t *testing.T) {
	for _, tt := range []struct{ image, manager, namespace, want string }{
		{"", "", "", ""},
		{
			"registry.example.com:5000/a/agent:v1@sha256:0123456789abcdef",
			"10.0.0.1:9443",
			"elections",
			"",
		},
		{"agent", "[fd00::1]:9443", "", ""},
		{"agent' + 'x", "", "", "image"},
		{"agent: x", "", "", "image"},
		{"1234", "", "", "image"}, // YAML would read a number
		{"agent\nx", "", "", "image"},
		{"", "podesta-roster", "", "manager"},
		{"", "podesta-roster:", "", "manager"},
		{"", "a'b:9443", "", "manager"},
		{"", "", "Elections", "namespace"},
		{"", "", "a]", "namespace"},
	} {
		i, err := NewInstall(tt.image, tt.manager, tt.namespace)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil ||
			!strings.HasPrefix(err.Error(), tt.want)) {
			t.Errorf("NewInstall(%q, %q, %q): %v; want an error about %q", tt.image, tt.manager,
				tt.namespace, err, tt.want)
		}
		if err != nil {
			if _, refused := Mutating(i); refused == nil {
				t.Errorf("Mutating(%+v) takes it", i)
			}
			if _, _, refused := Manifests(nil, i); refused == nil {
				t.Errorf("Manifests(%+v) takes it", i)
			}
		}
	}
	if i, _ := NewInstall("", "", "elections"); i.Manager != "podesta-roster.elections.svc:9443" {
		t.Errorf("the manager is %s", i.Manager)
	}
}

// FuzzManifests checks that no text causes a panic, and that a second run leaves a result
// unchanged.
func FuzzManifests(f *testing.F) {
	files, err := os.ReadDir("testdata")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile("testdata/" + file.Name())
		if err != nil {
			continue // a folder of failing inputs
		}
		for part := range strings.SplitSeq(string(text), "\n\n") {
			_, input, _ := strings.Cut(part, "inject\n")
			input, _, _ = strings.Cut(input, "\n----")
			f.Add([]byte(input))
		}
	}
	i := defaults(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		out, notes, err := Manifests(text, i)
		if err != nil {
			return
		}
		again, later, err := Manifests(out, i)
		if err != nil || !bytes.Equal(again, out) || len(later) != len(notes) {
			t.Errorf("a second run changes something (%v)\n%q\n%q", err, out, again)
		}
		for _, n := range later {
			if !n.HadAgent {
				t.Errorf("%s got no agent: %q", n, out)
			}
		}
	})
}

// A pod is ready when its process votes. With the annotation it is ready without, and its app starts
// without in any case.
func TestWhatAPodWaitsFor(t *testing.T) {
	for _, c := range []struct{ annotations, path string }{
		{"", "/readyz"},
		{`, annotations: {podesta.dev/wait-for-vote: "false"}`, "/healthz"},
		{`, annotations: {podesta.dev/wait-for-vote: "true"}`, "/readyz"},
		{`, annotations: {podesta.dev/wait-for-vote: no}`, "/readyz"},
	} {
		text := `{kind: Pod, metadata: {name: a, labels: {podesta.dev/group: g}` + c.annotations + `}, spec: {containers: [{name: app}]}}`
		out, _, err := Manifests([]byte(text), defaults(t))
		if err != nil {
			t.Fatal(err)
		}
		var pod corev1.Pod
		if err := yaml.Unmarshal(out, &pod); err != nil {
			t.Fatalf("%v in %s", err, out)
		}
		agent := pod.Spec.InitContainers[0]
		if ready, starts := agent.ReadinessProbe.HTTPGet.Path, agent.StartupProbe.HTTPGet.Path; ready != c.path || starts != "/healthz" {
			t.Errorf("%s: it is ready by %s, and starts by %s", c.annotations, ready, starts)
		}
	}
}
