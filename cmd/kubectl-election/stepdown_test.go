package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/test/bubble"
)

// answering is a cluster whose manager answers a request: each word is what the command is shown
// next, when it has made one.
func answering(t *testing.T, answers []string) client.WithWatch {
	t.Helper()
	made := false
	return fakeCluster(t, interceptor.Funcs{
		Patch: func(ctx context.Context, kube client.WithWatch, o client.Object, patch client.Patch,
			options ...client.PatchOption) error {
			made = true
			return kube.Patch(ctx, o, patch, options...)
		},
		Get: func(ctx context.Context, kube client.WithWatch, key client.ObjectKey, into client.Object,
			options ...client.GetOption) error {
			if err := kube.Get(ctx, key, into, options...); err != nil || !made || len(answers) == 0 {
				return err
			}
			settle(into.(*v1.ElectionGroup), answers[0])
			answers = answers[min(1, len(answers)-1):] // the last one stays
			return nil
		},
	}, readGroupFiles(t)...)
}

// settle has a group as a manager writes it that has read the annotation.
func settle(g *v1.ElectionGroup, word string) {
	var asked v1.StepDownRequest
	if json.Unmarshal([]byte(g.Annotations[v1.StepDownAnnotation]), &asked) != nil {
		return
	}
	record := &v1.StepDownStatus{ID: asked.ID, Process: asked.Process.Name,
		Outcome: v1.StepDownOutcome(word)}
	if asked.Seconds > 0 {
		record.Until = metav1.NewTime(noon.Add(time.Duration(asked.Seconds) * time.Second))
	}
	g.Status.Roster.StepDown = record
	switch word {
	case "taken-back":
		g.Status.Roster.StepDown = nil
	case "other": // of an earlier request
		record.ID, record.Outcome = "other", v1.StepDownStanding
	case "replaced":
		g.UID = "another"
	default:
		if name, ok := strings.CutPrefix(word, "by:"); ok {
			record.Outcome = v1.StepDownStanding
			c := g.Status.Coordinator
			c.Name, c.Epoch, c.DisplayEpoch = name, c.Epoch+1<<20, "28002049.1"
			if g.Spec.Safety == v1.Classic {
				c.Epoch, c.DisplayEpoch = 0, ""
			}
		}
	}
}

// TestStepDownGolden runs the command lines in testdata/stepdown.txt. The arguments of "run" are
// what the manager answers. -rewrite writes what the command prints.
func TestStepDownGolden(t *testing.T) {
	datadriven.RunTest(t, "testdata/stepdown.txt", func(t *testing.T, d *datadriven.TestData) string {
		var answers []string
		for _, a := range d.CmdArgs {
			answers = append(answers, a.Key)
		}
		kube := answering(t, answers)
		said := ""
		bubble.Test(t, func(t *testing.T) { said = golden(t, around(kube), d.Input) })
		g := &v1.ElectionGroup{}
		key := types.NamespacedName{Namespace: "shop", Name: "scheduler"}
		for _, key.Name = range []string{"scheduler", "cache"} {
			if err := kube.Get(t.Context(), key, g); err != nil {
				t.Fatal(err)
			}
			if value := g.Annotations[v1.StepDownAnnotation]; value != "" {
				said += "annotation: " + value + "\n"
			}
		}
		return said
	})
}

// A group that cannot be read is read again while the manager has not answered. Whoever interrupts
// the command is not told that the manager was slow.
func TestWaitingGoesOn(t *testing.T) {
	key := types.NamespacedName{Namespace: "shop", Name: "scheduler"}
	refused := apierrors.NewServiceUnavailable("starting")
	for name, c := range map[string]struct {
		readings []error // why each fails; nil: it shows no answer
		answer   bool    // the one after them shows it
		want     error
	}{
		"answered":              {nil, true, nil},
		"after a while":         {[]error{nil, nil}, true, nil},
		"after a refusal":       {[]error{refused, nil}, true, nil},
		"never":                 {nil, false, errNoAnswer},
		"no rights":             {[]error{apierrors.NewForbidden(groupResource, "", nil)}, true, errForbidden},
		"interrupted meanwhile": {[]error{nil, context.Canceled}, true, context.Canceled},
	} {
		bubble.Test(t, func(t *testing.T) {
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			begun := 0
			kube := fakeCluster(t, interceptor.Funcs{
				Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object,
					...client.GetOption) error {
					if begun++; begun > len(c.readings) {
						return nil
					}
					if errors.Is(c.readings[begun-1], context.Canceled) {
						interrupt()
						return nil
					}
					return c.readings[begun-1]
				},
			})
			answered := func(*v1.ElectionGroup) (bool, error) {
				return c.answer && begun > len(c.readings), nil
			}
			r := requested(kube)
			r.key = key
			err := r.await(ctx, time.Minute, answered)
			if c.want == errForbidden { //nolint:errorlint // it stands for a code
				if exitCode(err) != exitForbidden {
					t.Errorf("%s: %v", name, err)
				}
			} else if !errors.Is(err, c.want) {
				t.Errorf("%s: %v, want %v", name, err, c.want)
			}
		})
	}
}

var errForbidden = errors.New("forbidden")

// What becomes of the process that steps down depends on preemption.
func TestStepDownSaysWhoCoordinatesAfterwards(t *testing.T) {
	for name, test := range map[string]struct {
		policy v1.PreemptionPolicy
		stays  time.Duration
		to     string
		says   string
	}{
		"delayed":            {v1.Delayed, 0, "", "takes over again after 9s"},
		"never":              {v1.Never, 0, "", "p-1 goes on coordinating"},
		"never, to somebody": {v1.Never, 0, "p-0", "p-0 goes on coordinating"},
		"always":             {v1.Always, 0, "", "--for 10m"},
		"always, for a time": {v1.Always, time.Hour, "", "takes over again at once"},
		"to a higher one":    {v1.Always, 0, "p-3", "preemption decides as before"},
	} {
		t.Run(name, func(t *testing.T) {
			g := four(test.to == "p-3")
			g.Spec.Preemption = &v1.Preemption{Policy: test.policy, StableSeconds: new(int32(9))}
			plan, err := newStepDownPlan(g, stepDownOptions{to: test.to, stays: test.stays,
				id: func() string { return "ID" }}, noon)
			said := plan.explain()
			if err != nil {
				said = err.Error()
			}
			if !strings.Contains(said, test.says) {
				t.Errorf("no %q in\n%s", test.says, said)
			}
		})
	}
}

// Whom a request that is replaced had raised ranks by its priority again.
func TestStepDownReplacesARequest(t *testing.T) {
	g := four(false)
	g.Status.Roster.StepDown = &v1.StepDownStatus{ID: "before", Process: "p-3", To: "p-0",
		Outcome: v1.StepDownStanding}
	plan, err := newStepDownPlan(g, stepDownOptions{stays: time.Hour,
		id: func() string { return "ID" }}, noon)
	if err != nil || plan.next.Name != "p-1" {
		t.Errorf("%s is expected to take over, want p-1; %v", plan.next.Name, err)
	}
}

// four is a Guarded group of four, in which p-2 coordinates; p-3, which ranks higher, is a
// candidate again, or not.
func four(higher bool) *v1.ElectionGroup {
	g := &v1.ElectionGroup{Spec: v1.ElectionGroupSpec{Safety: v1.Guarded}}
	g.Name, g.Namespace = "scheduler", "shop"
	g.Status.Coordinator = &v1.CoordinatorStatus{Name: "p-2", Priority: new(int32(3)), Epoch: 7}
	g.Status.Roster = &v1.RosterStatus{Generation: 41}
	for i, name := range []string{"p-0", "p-1", "p-2", "p-3"} {
		row := v1.ProcessStatus{
			Name:      name,
			Priority:  new(int32(i + 1)),
			State:     v1.ProcessNormal,
			Connected: new(true),
		}
		if i == 3 && !higher {
			row.NotCandidate = v1.NotCandidateUnhealthy
		}
		g.Status.Processes = append(g.Status.Processes, row)
		g.Status.Roster.Members = append(g.Status.Roster.Members,
			v1.RosterMember{Name: name, UID: types.UID("uid-" + name), Voter: new(true)})
	}
	return g
}
