package e2e

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/trace"
)

// plugin runs the plugin as an administrator, or as the user that --as names.
func (g *group) plugin(arguments ...string) (out, notes string, err error) {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), patience)
	defer cancel()
	var stdout, stderr strings.Builder
	arguments = append(arguments, "-n", g.Namespace, "--kubeconfig", filepath.Join(g.state, "kubeconfig"))
	command := exec.CommandContext(ctx, filepath.Join(root, "bin/kubectl-election"), arguments...)
	command.Stdout, command.Stderr = &stdout, &stderr
	err = command.Run()
	return stdout.String(), stderr.String(), err
}

// TestTrace kills a coordinator, and traces the election of the next one: through the real API
// server, from real agents.
func TestTrace(t *testing.T) {
	g := newGroup(t, "trace")
	g.serveKubelet()
	g.guarded()
	g.agree("scheduler-4")
	g.shows("scheduler-4")
	resume := stands(t, supervisor) // scheduler-4 stays away
	defer resume()
	g.kill("scheduler-4")
	g.agree("scheduler-3", "scheduler-4")
	var published v1.ElectionStatus
	g.await("the election with its ID", func(eg *v1.ElectionGroup) bool {
		if e := eg.Status.Elections; len(e) > 0 && e[0].To == "scheduler-3" && e[0].ID != "" {
			published = e[0]
			return true
		}
		return false
	})

	out, notes, err := g.plugin("trace", g.Group, "-o", "json", "--election", published.ID)
	if err != nil {
		t.Fatalf("%v: %s", err, notes)
	}
	var told struct{ Elections []trace.Picture }
	if err := json.Unmarshal([]byte(out), &told); err != nil || len(told.Elections) != 1 {
		t.Fatalf("%v: %s", err, out)
	}
	g.checkTraced(told.Elections[0], published)

	text, notes, err := g.plugin("trace", g.Group)
	if err != nil || !strings.HasPrefix(text, "scheduler-3 was elected in trace/scheduler after scheduler-4, under epoch ") {
		t.Errorf("%v: %s\n%s", err, notes, text)
	}
	t.Log("\n" + text)
	if picture, notes, err := g.plugin("trace", g.Group, "-o", "svg"); err != nil || !strings.HasPrefix(picture, "<svg ") {
		t.Errorf("%v: %s\n%s", err, notes, picture)
	}
	for _, pod := range []string{"scheduler-0", "scheduler-3"} { // to ask for accounts ties nobody's candidacy to anything
		if metrics := g.metrics(pod); !strings.Contains(metrics, "\npodesta_agent_sessions 0\n") {
			t.Errorf("%s has a session:\n%s", pod, metrics)
		}
	}
}

// metrics are those of a pod's agent.
func (g *group) metrics(pod string) string {
	g.t.Helper()
	pods, err := g.Pods(g.t.Context())
	g.must(err)
	request, err := http.NewRequestWithContext(g.t.Context(), http.MethodGet, "http://"+pods[pod].Status.PodIP+":4042/metrics", nil)
	g.must(err)
	response, err := http.DefaultClient.Do(request)
	g.must(err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	g.must(err)
	return string(text)
}

// checkTraced checks what was told of an election that followed a kill.
func (g *group) checkTraced(p trace.Picture, published v1.ElectionStatus) {
	g.t.Helper()
	if p.Coordinator != "scheduler-3" || p.From != "scheduler-4" || p.ID != published.ID || p.Epoch != published.Epoch {
		g.t.Errorf("it traces %s, %s after %s under epoch %d; published was %+v", p.ID, p.Coordinator, p.From, p.Epoch, published)
	}
	if len(p.Contradictions) > 0 {
		g.t.Errorf("honest agents contradict each other: %q", p.Contradictions)
	}
	var tell []string
	for _, q := range p.Processes {
		if q.Account {
			tell = append(tell, q.Name)
		}
	}
	slices.Sort(tell)
	if !slices.Equal(tell, []string{"scheduler-0", "scheduler-1", "scheduler-2", "scheduler-3"}) ||
		!strings.Contains(strings.Join(p.Unknown, "\n"), "scheduler-4 gives no account: ") {
		g.t.Errorf("accounts of %v; of the others it is said %q", tell, p.Unknown)
	}
	receipts, coordinates := 0, false
	for _, e := range p.Events {
		switch {
		case e.What == trace.Receives && e.Pair == 0:
			g.t.Errorf("the sending of what %s received is not known: %+v", e.Process, e)
		case e.What == trace.Receives:
			receipts++
			if s := p.Events[e.Pair-1]; s.Number >= e.Number || s.Inferred && s.Process != "scheduler-4" {
				g.t.Errorf("%+v was received as %+v", s, e)
			}
		case e.What == trace.Follows && e.Peer == e.Process:
			coordinates = e.Process == "scheduler-3"
		}
	}
	if receipts == 0 || !coordinates {
		g.t.Errorf("%d receipts, and that scheduler-3 coordinates: %t", receipts, coordinates)
	}
}
