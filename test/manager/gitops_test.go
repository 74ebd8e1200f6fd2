package manager

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/google/cel-go/cel"
	"github.com/google/go-cmp/cmp"
	lua "github.com/yuin/gopher-lua"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/roster"
	"github.com/podesta-dev/podesta/test/envtest"
	"github.com/podesta-dev/podesta/test/manifest"
)

var (
	customization = filepath.Join(envtest.Root, "config", "argocd", "podesta.dev", "ElectionGroup")
	fluxExample   = filepath.Join(envtest.Root, "config", "flux", "groups.yaml")
)

// health is what Argo CD takes a group for.
type health struct {
	Status  string `json:"status"`
	Message string `json:"message"`
}

// argoHealth runs the script as Argo CD does: obj is the object, and the script returns a table.
func argoHealth(t *testing.T, object *unstructured.Unstructured) (h health) {
	t.Helper()
	state := lua.NewState()
	defer state.Close()
	state.SetGlobal("obj", luaValue(state, object.Object))
	must(t, state.DoFile(filepath.Join(customization, "health.lua")))
	result, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		t.Fatalf("the script returns %v, want a table", state.Get(-1))
	}
	return health{Status: result.RawGetString("status").String(), Message: result.RawGetString("message").String()}
}

func luaValue(state *lua.LState, value any) lua.LValue {
	switch v := value.(type) {
	case map[string]any:
		table := state.NewTable()
		for key, inner := range v {
			table.RawSetString(key, luaValue(state, inner))
		}
		return table
	case []any:
		table := state.NewTable()
		for _, inner := range v {
			table.Append(luaValue(state, inner))
		}
		return table
	case string:
		return lua.LString(v)
	case bool:
		return lua.LBool(v)
	case int64:
		return lua.LNumber(v)
	case float64:
		return lua.LNumber(v)
	default:
		return lua.LNil
	}
}

// TestArgoCDsOwnCases plays health_test.yaml, as Argo CD's tests of its resource_customizations do.
func TestArgoCDsOwnCases(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(customization, "health_test.yaml"))
	must(t, err)
	var cases struct {
		Tests []struct {
			InputPath    string `json:"inputPath"`
			HealthStatus health `json:"healthStatus"`
		} `json:"tests"`
	}
	must(t, yaml.UnmarshalStrict(text, &cases))
	files, err := filepath.Glob(filepath.Join(customization, "testdata", "*.yaml"))
	must(t, err)
	if len(files) != len(cases.Tests) || len(files) == 0 {
		t.Errorf("%d files for %d cases", len(files), len(cases.Tests))
	}
	for _, test := range cases.Tests {
		objects, err := manifest.Read(filepath.Join(customization, test.InputPath))
		must(t, err)
		if got := argoHealth(t, objects[0]); got != test.HealthStatus {
			t.Errorf("%s: %v, want %v", test.InputPath, got, test.HealthStatus)
		}
	}
}

// fluxHealth evaluates the expressions of config/flux/groups.yaml in Flux's order. An expression that
// fails, for want of a status, is Unknown: Flux waits.
func fluxHealth(t *testing.T, object *unstructured.Unstructured) status.Status {
	t.Helper()
	objects, err := manifest.Read(fluxExample)
	must(t, err)
	checks, _, err := unstructured.NestedSlice(objects[0].Object, "spec", "healthCheckExprs")
	must(t, err)
	check, ok := checks[0].(map[string]any)
	if !ok || check["kind"] != "ElectionGroup" || check["apiVersion"] != v1.GroupVersion.String() {
		t.Fatalf("the check is for something else: %v", check)
	}
	environment, err := cel.NewEnv(cel.OptionalTypes())
	must(t, err)
	for _, kind := range []struct {
		field  string
		status status.Status
	}{
		{"inProgress", status.InProgressStatus},
		{"failed", status.FailedStatus},
		{"current", status.CurrentStatus},
	} {
		parsed, issues := environment.Parse(fmt.Sprint(check[kind.field])) // Flux does not compile it
		must(t, issues.Err())
		program, err := environment.Program(parsed)
		must(t, err)
		switch result, _, err := program.Eval(object.Object); {
		case err != nil:
			return status.UnknownStatus
		case result.Value() == true:
			return kind.status
		}
	}
	return status.InProgressStatus
}

// TestGroupsUnderGitOps follows a group through its life, and asks what Argo CD and Flux take it
// for: by the script, by kstatus, and by the expressions for Flux.
func TestGroupsUnderGitOps(t *testing.T) {
	namespace := newNamespace(t)
	newGroup(t, namespace, guarded)
	looks := func(when, argo string, byKstatus, flux status.Status) {
		t.Helper()
		object := liveGroup(t, namespace)
		result, err := status.Compute(object)
		must(t, err)
		if got := argoHealth(t, object); got.Status != argo || got.Message == "" {
			t.Errorf("%s, Argo CD takes it for %v, want %s", when, got, argo)
		}
		if result.Status != byKstatus {
			t.Errorf("%s, kstatus says %s (%s), want %s", when, result.Status, result.Message, byKstatus)
		}
		if got := fluxHealth(t, object); got != flux {
			t.Errorf("%s, Flux takes it for %s by the expressions, want %s", when, got, flux)
		}
	}
	// kstatus cannot know that there will be a status.
	looks("before the manager has seen it", "Progressing", status.CurrentStatus, status.UnknownStatus)
	m := startManager(t, "")
	sees(t, namespace, "a status", readyBecause("NoProcesses"))
	looks("without pods", "Healthy", status.InProgressStatus, status.CurrentStatus)

	var processes []*process
	for i := range 3 {
		processes = append(processes, join(t, m, newPod(t, namespace, i, onNode), nil))
	}
	sees(t, namespace, "all as voters", votersAre(processes...))
	sees(t, namespace, "that there is no coordinator", readyBecause("Electing"))
	looks("while it elects", "Progressing", status.InProgressStatus, status.InProgressStatus)

	epoch := int64(lease.NewEpoch(groupIn(t, namespace).Status.Roster.Generation, 1))
	hold(epoch, processes[2], processes[0], processes[1])
	sees(t, namespace, "the coordinator", coordinatedBy(processes[2].Pod.Name, metav1.ConditionTrue))
	looks("with a coordinator", "Healthy", status.CurrentStatus, status.CurrentStatus)

	processes[0].Stop()
	sees(t, namespace, "that one does not report", func(g *v1.ElectionGroup) bool {
		return conditionOf(g, v1.ConditionDegraded) == metav1.ConditionTrue
	})
	looks("with a process that does not report", "Healthy", status.CurrentStatus, status.CurrentStatus)

	ask(t, namespace, func(g *v1.ElectionGroup) { g.Spec.Priority = v1.PriorityPolicy{Default: new(int32(0))} })
	sees(t, namespace, "that nobody may coordinate", stalledBy("NoCandidate"))
	looks("when a person must act", "Degraded", status.FailedStatus, status.FailedStatus)
}

// readyBecause is whether the group is not ready, for that reason.
func readyBecause(reason string) func(*v1.ElectionGroup) bool {
	return func(g *v1.ElectionGroup) bool {
		return slices.ContainsFunc(g.Status.Conditions, func(c metav1.Condition) bool {
			return c.Type == v1.ConditionReady && c.Status == metav1.ConditionFalse && c.Reason == reason
		})
	}
}

func liveGroup(t *testing.T, namespace string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(v1.GroupVersion.WithKind("ElectionGroup"))
	must(t, kube.Get(bg, client.ObjectKey{Namespace: namespace, Name: "scheduler"}, object))
	return object
}

// TestNoDiffNoise applies the group of config/samples as a GitOps tool does, lets the manager work
// on it, and applies it again. Nothing differs: not what Git has, not who owns it.
func TestNoDiffNoise(t *testing.T) {
	namespace := newNamespace(t)
	objects, err := manifest.Read(filepath.Join(envtest.Root, "config", "samples", "podesta_v1_electiongroup.yaml"))
	must(t, err)
	inGit := objects[0]
	inGit.SetNamespace(namespace)
	apply := func(options ...client.ApplyOption) {
		t.Helper()
		options = append(options, client.FieldOwner("argocd-controller"))
		must(t, kube.Apply(bg, client.ApplyConfigurationFromUnstructured(inGit.DeepCopy()), options...))
	}
	apply()
	t.Cleanup(func() { must(t, kube.Delete(bg, groupIn(t, namespace))) })
	first := liveGroup(t, namespace)

	m := startManager(t, "")
	pod := newPod(t, namespace, 0, onNode)
	process := join(t, m, pod, nil)
	sees(t, namespace, "a voter", votersAre(process))
	process.Hears(t, "the roster", func(u roster.Update) bool { return u.Roster != nil })
	m.Stop() // nothing changes any more but what is applied

	before := liveGroup(t, namespace)
	apply()
	after := liveGroup(t, namespace)
	if difference := cmp.Diff(before.Object, after.Object); difference != "" {
		t.Errorf("applied again, it is another:\n%s", difference)
	}
	if difference := cmp.Diff(first.Object["spec"], after.Object["spec"]); difference != "" {
		t.Errorf("its spec is another than when it was applied first:\n%s", difference)
	}
	if other, err := manifest.Other(inGit, after); err != nil || len(other) > 0 {
		t.Errorf("of what Git has, the cluster has something else: %v, %v", other, err)
	}
	owners := map[string]string{}
	for _, entry := range after.GetManagedFields() {
		owners[entry.Manager+" "+entry.Subresource] = string(entry.Operation)
	}
	want := map[string]string{"argocd-controller ": "Apply", "podesta-roster status": "Apply", "podesta-status status": "Apply"}
	if !maps.Equal(owners, want) {
		t.Errorf("its owners are %v, want %v", owners, want)
	}
}
