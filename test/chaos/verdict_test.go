package main

import (
	"io"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/test/bubble"
	"github.com/podesta-dev/podesta/test/chaos/backend"
	"github.com/podesta-dev/podesta/test/chaos/report"
	"github.com/podesta-dev/podesta/test/register"
	"github.com/podesta-dev/podesta/test/register/history"
	"github.com/podesta-dev/podesta/test/register/writer"
)

// sceneOf is a group of three of which all is well.
func sceneOf(g *group) *scene {
	s := newScene()
	for i := range g.now {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: g.pod(i), UID: types.UID("uid-" + g.pod(i)), Labels: map[string]string{v1.GroupLabel: g.name}}}
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		for _, c := range []string{v1.AgentContainer, backend.AppContainer} {
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{Name: c, ContainerID: "x://" + g.pod(i) + c,
				State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}})
		}
		s.pods[p.Name] = p
	}
	eg := &v1.ElectionGroup{ObjectMeta: metav1.ObjectMeta{Name: g.name, Generation: 7}}
	eg.Status.ObservedGeneration = 7
	eg.Status.Coordinator = &v1.CoordinatorStatus{Name: g.pod(2), Epoch: 5}
	for kind, status := range wanted {
		eg.Status.Conditions = append(eg.Status.Conditions, metav1.Condition{Type: kind, Status: status})
	}
	s.groups[g.name] = eg
	s.line(g.name).Taken = []register.Entry{{Accepted: true, Write: register.Write{Group: g.name, Process: g.pod(2), Epoch: 5}}}
	s.led[g.name] = []string{g.pod(2)}
	return s
}

// All must be so for a group to be well; whatever is missing is named.
func TestWhatAGroupLacks(t *testing.T) {
	for lacks, spoil := range map[string]func(*group, *scene, map[string]bool){
		"":                       func(*group, *scene, map[string]bool) {},
		"has 2 pods":             func(g *group, s *scene, _ map[string]bool) { delete(s.pods, g.pod(1)) },
		"is not ready":           func(g *group, s *scene, _ map[string]bool) { s.pods[g.pod(1)].Status.Conditions = nil },
		"still seen as it was":   func(g *group, _ *scene, ended map[string]bool) { ended["uid-"+g.pod(0)] = true },
		"is of an earlier spec":  func(g *group, s *scene, _ map[string]bool) { s.groups[g.name].Generation++ },
		"names no coordinator":   func(g *group, s *scene, _ map[string]bool) { s.groups[g.name].Status.Coordinator = nil },
		"does not have the cond": func(g *group, s *scene, _ map[string]bool) { s.groups[g.name].Status.Conditions = nil },
		"Degraded is True": func(g *group, s *scene, _ map[string]bool) {
			for i := range s.groups[g.name].Status.Conditions {
				if c := &s.groups[g.name].Status.Conditions[i]; c.Type == v1.ConditionDegraded {
					c.Status = metav1.ConditionTrue
				}
			}
		},
		"nobody acts": func(g *group, s *scene, _ map[string]bool) { s.line(g.name).Taken = nil },
		"acts, and the status names": func(g *group, s *scene, _ map[string]bool) {
			s.line(g.name).Taken[0].Epoch = 6
		},
		"has the highest priority": func(g *group, _ *scene, _ map[string]bool) { g.first = 0 },
		"the Service leads to []":  func(_ *group, s *scene, _ map[string]bool) { s.led = map[string][]string{} },
	} {
		g := &group{name: "g", size: 3, now: 3, first: -1, safety: v1.Guarded, service: true}
		s, ended := sceneOf(g), map[string]bool{}
		spoil(g, s, ended)
		if got := g.missing(s, ended); (got == "") != (lacks == "") || !strings.Contains(got, lacks) {
			t.Errorf("it lacks %q, want %q", got, lacks)
		}
	}
}

// A set of which one pod after another is made anew has its time for each. One that stands still has
// it once.
func TestPatienceIsForEachPod(t *testing.T) {
	for name, come := range map[string]int{"all are made anew": 3, "the last one is not": 2} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				g := &group{name: "g", size: 3, now: 3, first: -1, safety: v1.Guarded, service: true}
				r := &runner{scene: sceneOf(g)}
				ended := map[string]bool{}
				for i := range g.now {
					ended["uid-"+g.pod(i)] = true
				}
				begun := time.Now()
				for i := range come {
					time.AfterFunc(time.Duration(i+1)*(backend.Settling-time.Second), func() {
						r.scene.mu.Lock()
						defer r.scene.mu.Unlock()
						r.scene.pods[g.pod(i)].UID = "another"
						r.scene.wake()
					})
				}
				err := r.running(t.Context(), g, ended)
				if took := time.Since(begun); come == 3 && (err != nil || took != 3*(backend.Settling-time.Second)) {
					t.Errorf("after %v: %v, want it to run", took, err)
				} else if come == 2 && (err == nil || took != 3*backend.Settling-2*time.Second) {
					t.Errorf("after %v: %v, want it to be given up", took, err)
				}
			})
		})
	}
}

// The process that an edit gave the highest priority counts while it is there.
func TestWhoHasTheHighestPriority(t *testing.T) {
	for want, g := range map[string]group{
		"g-4": {now: 5, first: -1},
		"g-2": {now: 3, first: 3},
		"g-0": {now: 3, first: 0},
	} {
		g.name = "g"
		if got := g.preferred(); got != want {
			t.Errorf("%s of %d, of which an edit preferred %d; want %s", got, g.now, g.first, want)
		}
		if g.never = true; g.preferred() != "" {
			t.Errorf("without preemption it may be anybody, not %s", g.preferred())
		}
	}
}

// A check of files that say nothing is none.
func TestUntried(t *testing.T) {
	told := history.History{Lives: []history.Life{{Group: "g", Process: "g-0", Lines: []writer.Line{{Kind: writer.Told, Epoch: 5}}}}}
	good := history.Report{Told: 1, Writes: history.Writes{Accepted: 1}}
	leases := []history.Lease{{Process: "g-0", State: history.Holds}}
	for want, c := range map[string]struct {
		became history.Report
		leases []history.Lease
	}{
		"":                         {good, leases},
		"no app was told":          {history.Report{Writes: good.Writes}, leases},
		"the register took none":   {history.Report{Told: 1}, leases},
		"no log of the agent of g": {good, nil},
	} {
		want = strings.Replace(want, "took none", "took no write", 1)
		told.Leases = c.leases
		if got := strings.Join(untried(told, "g", c.became), "; "); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("untried: %q, want %q", got, want)
		}
	}
}

// A run that did nothing, missed what it aimed at, or measured what cannot be has not passed.
func TestVerdict(t *testing.T) {
	for want, run := range map[string]report.Run{
		"":                                {Strikes: make([]report.Strike, 10), Missed: 2},
		"0 strikes hit something, and 0":  {},
		"10 strikes hit something, and 3": {Strikes: make([]report.Strike, 10), Missed: 3},
		"two may act at once":             {Strikes: make([]report.Strike, 10), Problems: []string{"two may act at once"}},
	} {
		r := &runner{report: run, table: &table{out: io.Discard}}
		if err := r.verdict(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	before := -1.0
	if got := impossible(report.Strike{Times: report.Times{Status: &before}}); !strings.Contains(got, "status 1 ms before") {
		t.Errorf("a status before the strike: %q", got)
	}
	now := 0.0
	if got := impossible(report.Strike{Times: report.Times{Acts: &now}}); got != "" {
		t.Errorf("at the instant of the strike: %q", got)
	}
}

// A phase without a single round tried nothing.
func TestNoRound(t *testing.T) {
	r := &runner{scene: newScene(), kinds: faultKinds()}
	if err := r.rounds(t.Context(), nil, 0); err == nil || !strings.Contains(err.Error(), "no round was played") {
		t.Errorf("a phase of no time: %v", err)
	}
}

// A Guarded group of two has a witness, whose pod belongs to it, and which a rolling restart leaves
// alone.
func TestWitness(t *testing.T) {
	o := options{backend: onLocal}
	var names []string
	for _, g := range o.groupsOf(v1.Bully, false) {
		names = append(names, g.name)
		for _, set := range g.sets(backend.Cluster{}) {
			pod := &corev1.Pod{ObjectMeta: set.Template.ObjectMeta}
			pod.Name, pod.UID = set.Name+"-0", types.UID(set.Name)
			if got := groupOf(pod.Name); got != g.name || pod.Labels[v1.GroupLabel] != g.name {
				t.Errorf("%s is of group %q", pod.Name, got)
			}
			f := &field{ended: map[string]bool{}}
			f.end(fault{faultKind: faultKind{name: rollingRestart}}, pod)
			if witness := pod.Labels[v1.WitnessLabel] != ""; f.ended[set.Name] == witness || witness && (!g.witness || g.pods() != 3 || g.bears()) {
				t.Errorf("%s, a witness: %t; ended by a rolling restart: %t", pod.Name, witness, f.ended[set.Name])
			}
		}
	}
	if want := "bully-guarded-5 bully-guarded-2 bully-classic-5"; strings.Join(names, " ") != want {
		t.Errorf("the groups are %v, want %s", names, want)
	}
}
