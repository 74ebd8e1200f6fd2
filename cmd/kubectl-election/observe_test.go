package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// groupFiles are the groups that the goldens and docs/guides/observe.md show.
const groupFiles = "../../internal/display/testdata/groups"

func readGroupFiles(t *testing.T) []client.Object {
	t.Helper()
	files, err := filepath.Glob(groupFiles + "/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no groups: %v", err)
	}
	all := []client.Object{large(250)}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		g := &v1.ElectionGroup{}
		if err := yaml.UnmarshalStrict(text, g); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		g.ResourceVersion = "" // the fake API server gives it one
		all = append(all, g)
	}
	return all
}

// large is a group of so many processes, a few of which are not well.
func large(n int) *v1.ElectionGroup {
	const generation = 28002000
	g := &v1.ElectionGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "large"},
		Spec:       v1.ElectionGroupSpec{Safety: v1.Guarded, Algorithm: v1.StatusTableBully},
	}
	leader := fmt.Sprintf("large-%d", n-1)
	g.Status.Coordinator = &v1.CoordinatorStatus{
		Name:     leader,
		Priority: new(int32(n)),
		Epoch:    generation<<20 | 1,
		Since:    metav1.NewMicroTime(noon.Add(-time.Hour)),
	}
	g.Status.Roster = &v1.RosterStatus{Generation: generation}
	for i := range n {
		p := v1.ProcessStatus{
			Name:      fmt.Sprintf("large-%d", i),
			Priority:  new(int32(i + 1)),
			State:     v1.ProcessNormal,
			Connected: new(true),
		}
		switch {
		case i == n-1:
			p.State = v1.ProcessCoordinator
		case i%50 == 7:
			p.State, p.Connected = v1.ProcessCrashed, new(false)
		case i%50 == 8:
			p.NotCandidate = v1.NotCandidateUnhealthy
		}
		g.Status.Processes = append(g.Status.Processes, p)
		g.Status.Roster.Members = append(g.Status.Roster.Members,
			v1.RosterMember{Name: p.Name, UID: "uid", Voter: new(true)})
	}
	g.Status.Conditions = []metav1.Condition{
		{Type: v1.ConditionCoordinatorElected, Status: metav1.ConditionTrue, Reason: "Elected"},
		{Type: v1.ConditionDegraded, Status: metav1.ConditionTrue, Reason: "ProcessesCrashed",
			Message: "large-7, large-57, large-107, large-157, large-207 have crashed; the group can " +
				"lose 124 of its 250 voters, as with 249; with 251 it could lose 125"},
	}
	return g
}

// fakeCluster is an API server with these groups. Funcs, if any, are what it does differently.
func fakeCluster(t *testing.T, funcs interceptor.Funcs, groups ...client.Object) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	byName := func(o client.Object) []string { return []string{o.GetName()} }
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(groups...).
		WithIndex(&v1.ElectionGroup{}, "metadata.name", byName).WithInterceptorFuncs(funcs).Build()
}

// around are surroundings with a cluster, at noon, without a terminal.
func around(kube client.WithWatch) surroundings {
	return surroundings{
		connect: func(c *cluster) (apiClient, string, error) {
			namespace := c.overrides.Context.Namespace
			if namespace == "" {
				namespace = "default"
			}
			if kube == nil {
				return nil, "", errors.New("a test that needs no cluster has none")
			}
			return fakeServer{kube, leading()}, namespace, nil
		},
		views: func(*cluster) (views, error) {
			return func(_ context.Context, _, pod string, _ int) (view, error) {
				if strings.HasSuffix(pod, "-0") {
					return view{}, errNoPod
				}
				return view{Name: "the-agents-own", Self: pod}, nil
			}, nil
		},
		agents: func(*cluster) (agents, error) { return tellingAgents, nil },
		now:    func() time.Time { return noon },
		screen: func(io.Writer) (int, int, bool) { return 0, 0, false },
		id:     func() string { return "ID" },
	}
}

// runIn is what a person sees who types a command line after `kubectl election`: standard output,
// and what is written to standard error.
func runIn(ctx context.Context, in surroundings, line string) (out, notes string, err error) {
	var stdout, stderr bytes.Buffer
	command := newCommand(in)
	command.SetArgs(strings.Fields(line))
	command.SetOut(&stdout)
	command.SetErr(&stderr)
	err = command.ExecuteContext(ctx)
	return stdout.String(), stderr.String(), err
}

// golden runs a command line against a cluster, as a script sees it.
func golden(t *testing.T, in surroundings, line string) string {
	t.Helper()
	out, notes, err := runIn(t.Context(), in, line)
	if notes != "" {
		out += "stderr: " + notes
	}
	if err != nil {
		out += fmt.Sprintf("exit code %d: %v\n", exitCode(err), err)
	}
	return out
}

// TestObserveGolden runs the command lines in testdata/observe. -rewrite writes what they print.
func TestObserveGolden(t *testing.T) {
	in := around(fakeCluster(t, interceptor.Funcs{}, readGroupFiles(t)...))
	datadriven.Walk(t, "testdata/observe", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			return golden(t, in, d.Input)
		})
	})
}

// TestNothingUnprintable: whatever agents and tenants write into a status, no output has a
// character that is not printable, besides line ends.
func TestNothingUnprintable(t *testing.T) {
	in := around(fakeCluster(t, interceptor.Funcs{}, readGroupFiles(t)...))
	for _, line := range []string{"status hostile", "status hostile -o wide", "status hostile -o json",
		"status hostile -o yaml", "status -o name", "status -o wide", "explain hostile",
		"explain hostile -o json", "explain hostile -o yaml", "status no\x1b[2Jne"} {
		said := golden(t, in, line+" -n lab")
		if !strings.Contains(said, `\x1b`) && !strings.Contains(line, "-o name") &&
			!strings.Contains(line, "-o wide") {
			t.Errorf("%s: the hostile text is not there:\n%s", line, said)
		}
		for _, r := range said {
			if r < ' ' && r != '\n' || r >= 0x7f && r < 0xa0 || r == 0x202e || r == 0x301 {
				t.Errorf("%s: prints %U:\n%q", line, r, said)
				break
			}
		}
	}
}
