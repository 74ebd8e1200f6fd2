package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

var noon = time.Date(2026, time.June, 1, 12, 0, 0, 0, time.UTC)

// lost is a group of five voters of which three are out of sight: the pod of one of them is gone,
// and another pod has its name.
func lost() *v1.ElectionGroup {
	g := &v1.ElectionGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "scheduler"},
		Spec:       v1.ElectionGroupSpec{Safety: v1.Guarded},
		Status: v1.ElectionGroupStatus{Roster: &v1.RosterStatus{Generation: 41},
			Conditions: []metav1.Condition{{
				Type:   v1.ConditionStalled,
				Status: metav1.ConditionTrue,
				Reason: "MajorityLost",
			}}},
	}
	for i, state := range []v1.ProcessState{
		v1.ProcessNormal,
		v1.ProcessNormal,
		v1.ProcessNormal,
		v1.ProcessUnknown,
		v1.ProcessCrashed,
		v1.ProcessNormal,
	} {
		name := "p-" + string(rune('0'+i))
		g.Status.Processes = append(g.Status.Processes, v1.ProcessStatus{Name: name, State: state})
		g.Status.Roster.Members = append(g.Status.Roster.Members, v1.RosterMember{
			Name:  name,
			UID:   types.UID("uid-" + name),
			Voter: new(i < 5),
		})
	}
	g.Status.Roster.Members[2].GoneSince = metav1.NewTime(noon.Add(-time.Hour))
	return g
}

// Who decides by a table reads all of it: no name in a status moves the cursor.
func TestForgetPrintsNothingUnprintable(t *testing.T) {
	const name = "p-3\x1b[1A\x1b[2K"
	g := lost()
	g.Status.Processes[3].Name, g.Status.Roster.Members[3].Name = name, name
	g.Status.Roster.Members[0].Name = name + "0"
	g.Status.Processes[0].Name = name + "0"
	g.Status.Roster.Members[4].UID = "uid\n"
	plan, err := newForgetPlan(g, nil)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := plan.explain(&out, noon); err != nil {
		t.Fatal(err)
	}
	if said := out.String(); strings.Contains(said, "\x1b") || strings.Contains(said, "uid\n") ||
		!strings.Contains(said, `p-3\x1b[1A\x1b[2K `) {
		t.Errorf("%q", said)
	}
}

func TestForgetPlan(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*v1.ElectionGroup)
		named  string
		want   string // the voters to be forgotten, or the error
	}{
		{"all that are out of sight", nil, "", "p-2 p-3 p-4"},
		{"those that are named", nil, "p-4 p-2", "p-2 p-4"},
		{"one that runs", nil, "p-0 p-3", "p-0 reports to the manager"},
		{
			"one whose pod runs with another state directory",
			func(g *v1.ElectionGroup) { g.Status.Roster.Members[1].Replaced = new(true) },
			"",
			"p-1 p-2 p-3 p-4",
		},
		{"one that never voted", nil, "p-5", "p-5 is not a voter of group scheduler"},
		{"one that does not exist", nil, "p-9", "p-9 is not a voter"},
		{
			"a Classic group",
			func(g *v1.ElectionGroup) { g.Spec.Safety = v1.Classic },
			"",
			"has safety Classic, which needs no majority",
		},
		{
			"a group that is not stalled",
			func(g *v1.ElectionGroup) { g.Status.Conditions[0].Status = metav1.ConditionFalse },
			"",
			"has not lost its majority",
		},
		{
			"a group that is stalled by something else",
			func(g *v1.ElectionGroup) { g.Status.Conditions[0].Reason = "NoCandidate" },
			"",
			"has not lost its majority",
		},
		{"all are back", func(g *v1.ElectionGroup) {
			g.Status.Roster.Members[2].GoneSince = metav1.Time{}
			g.Status.Processes[3].State, g.Status.Processes[4].State = v1.ProcessNormal,
				v1.ProcessNormal
		}, "", "every voter of group scheduler reports"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := lost()
			if test.change != nil {
				test.change(g)
			}
			plan, err := newForgetPlan(g, strings.Fields(test.named))
			var names []string
			for _, m := range plan.forgotten {
				names = append(names, m.Name)
			}
			got := strings.Join(names, " ")
			if err != nil {
				got = err.Error()
			}
			if err == nil && got != test.want || err != nil && !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// Who runs on a node that is Ready is not forgotten, unless that is said twice: deleting the pod is
// the safe way.
func TestForgetRefusesWhatRuns(t *testing.T) {
	pod := func(name, node string, phase corev1.PodPhase) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "shop",
				Name:      name,
				UID:       types.UID("uid-" + name),
				Labels:    map[string]string{v1.GroupLabel: "scheduler"},
			},
			Spec:   corev1.PodSpec{NodeName: node},
			Status: corev1.PodStatus{Phase: phase},
		}
	}
	node := func(name string, ready corev1.ConditionStatus) *corev1.Node {
		return &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Status: corev1.NodeStatus{
				Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}},
			},
		}
	}
	another := pod("p-3", "up", corev1.PodRunning)
	another.UID = "another"
	replaced := lost()
	replaced.Status.Roster.Members[3].Replaced = new(true)
	for _, test := range []struct {
		name    string
		group   *v1.ElectionGroup
		pods    []client.Object
		refused string // its last word; empty: it is not
		shown   string
	}{
		{"no pods", lost(), nil, "", "exists"},
		{"it runs", lost(), []client.Object{pod("p-3", "up", corev1.PodRunning)},
			"kubectl delete pod p-3 -n shop", "on up, which is Ready"},
		{"its app has yet to start", lost(), []client.Object{pod("p-3", "up", corev1.PodPending)},
			"kubectl delete pod p-3 -n shop", "on up, which is Ready"},
		{"two run", lost(), []client.Object{pod("p-4", "up", corev1.PodRunning),
			pod("p-3", "up", corev1.PodRunning)}, "kubectl delete pod p-3 p-4 -n shop", "on up, which is Ready"},
		{"its node is unknown", lost(), []client.Object{pod("p-3", "none", corev1.PodRunning)},
			"kubectl delete pod p-3 -n shop", "on none, which could not be read"},
		{"its node is off", lost(), []client.Object{pod("p-3", "off", corev1.PodRunning)}, "",
			"on off, which is not Ready"},
		{"it has ended", lost(), []client.Object{pod("p-3", "up", corev1.PodFailed)}, "", "exists"},
		{"another pod has its name", lost(), []client.Object{another}, "", "exists"},
		{"it is back with another state directory", replaced,
			[]client.Object{pod("p-3", "up", corev1.PodRunning)}, "", "came back with another state directory"},
	} {
		objects := append([]client.Object{test.group, node("up", corev1.ConditionTrue),
			node("off", corev1.ConditionUnknown)}, test.pods...)
		o := func(out io.Writer) operation {
			return operation{
				surroundings: surroundings{now: func() time.Time { return noon }},
				kube:         fakeServer{fakeCluster(t, interceptor.Funcs{}, objects...), leading()},
				at:           &cluster{},
				key:          keyOf(test.group),
				out:          out,
				notes:        io.Discard,
				confirm:      func(string) error { return errors.New("it asks") },
			}
		}
		var out bytes.Buffer
		err := forget(t.Context(), o(&out), nil, false)
		if want := cmp.Or(test.refused, "it asks"); !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", test.name, err, want)
		}
		if test.refused != "" && out.Len() > 0 {
			t.Errorf("%s: it is refused, and shows what it would do: %s", test.name, out.String())
		}
		out.Reset()
		if err := forget(t.Context(), o(&out), nil, true); err.Error() != "it asks" ||
			!strings.Contains(out.String(), test.shown) {
			t.Errorf("%s, said twice: %v; %s", test.name, err, out.String())
		}
	}
}

func TestForgetAnswer(t *testing.T) {
	plan, err := newForgetPlan(lost(), []string{"p-3", "p-4"})
	if err != nil {
		t.Fatal(err)
	}
	recorded := lost()
	recorded.Status.Roster.Generation = 42
	half := recorded.DeepCopy()
	half.Status.Roster.Members[3].Forgotten = new(true)
	recorded.Status.Roster.Members[3].Forgotten, recorded.Status.Roster.Members[4].Forgotten = new(
		true,
	), new(
		true,
	)
	removed := recorded.DeepCopy()
	removed.Status.Roster.Members = removed.Status.Roster.Members[:3]
	for _, test := range []struct {
		name  string
		state *v1.ElectionGroup
		done  bool
		fails bool
	}{
		{"nothing yet", lost(), false, false},
		{"recorded", recorded, true, false},
		{"removed already", removed, true, false},
		{"one is back", half, false, true},
	} {
		if done, err := plan.answer(test.state); done != test.done || (err != nil) != test.fails {
			t.Errorf("%s: done %v, %v", test.name, done, err)
		}
	}
}

func TestForgetAsks(t *testing.T) {
	for typed, ok := range map[string]bool{
		"scheduler\n":   true,
		"scheduler":     true,
		" scheduler \n": true,
		"yes\n":         false,
		"\n":            false,
		"":              false,
	} {
		if err := confirm(t.Context(), strings.NewReader(typed), io.Discard, "scheduler"); (err == nil) != ok {
			t.Errorf("%q: %v", typed, err)
		}
	}
}

// Ctrl-C at the question ends the command, and not only the second one.
func TestAQuestionCanBeInterrupted(t *testing.T) {
	in, terminal := io.Pipe()
	defer terminal.Close()
	time.AfterFunc(10*time.Second, func() { terminal.Close() }) // if nothing interrupts it
	ctx, cancel := context.WithCancel(t.Context())
	asked := writerFunc(func(b []byte) (int, error) {
		cancel()
		return len(b), nil
	})
	if err := confirm(ctx, in, asked, "scheduler"); !errors.Is(err, context.Canceled) {
		t.Errorf("it ends with %v", err)
	}
}

type writerFunc func([]byte) (int, error)

func (w writerFunc) Write(b []byte) (int, error) { return w(b) }
