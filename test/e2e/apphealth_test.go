package e2e

import (
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// appPort is where the pods' apps say how they are; on the local cluster a pod is a loopback
// address of this machine, so they are served from here.
const appPort = "8080"

// app is the app of a pod.
type app struct {
	ill   atomic.Bool
	asked chan struct{} // capacity 1: it was asked how it is
}

// serveApp has the app of a pod say how it is.
func (g *group) serveApp(pod string) *app {
	g.t.Helper()
	pods, err := g.Pods(g.t.Context())
	g.must(err)
	l, err := net.Listen("tcp", net.JoinHostPort(pods[pod].Status.PodIP, appPort))
	g.must(err)
	a := &app{asked: make(chan struct{}, 1)}
	server := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a.ill.Load() || r.URL.Path != "/healthz" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		select {
		case a.asked <- struct{}{}:
		default:
		}
	})}
	go func() { _ = server.Serve(l) }()
	g.t.Cleanup(func() { _ = server.Close() })
	return a
}

// asked waits until every app was asked.
func (g *group) asked(apps []*app) {
	g.t.Helper()
	late := time.After(patience)
	for i, a := range apps {
		select {
		case <-a.asked:
		case <-late:
			g.t.Fatalf("the app of %s is not asked how it is", g.podName(i))
		}
	}
}

// An app that serves its health goes ill while its agent lives: its process hands over, under
// another epoch, and takes over again when the app is well. The question is put by the group, on
// the live group, and none of its edits changes the coordinator.
func appGoesIll(t *testing.T) {
	g := newGroup(t, "app-health")
	g.guarded()
	g.edit(steady)
	apps := make([]*app, 5)
	for i := range apps {
		apps[i] = g.serveApp(g.podName(i))
	}
	highest := apps[4]
	g.agree("scheduler-4")
	g.await("every process to use the roster", reconciled)
	g.holdsByRoster("scheduler-4")
	before := g.shows("scheduler-4")
	said := g.chronicle()
	said.agree("scheduler-4")

	const period, failures = time.Second, 3
	g.edit(func(s *v1.ElectionGroupSpec) {
		s.AppHealth = &v1.AppHealth{HTTPGet: &v1.HTTPGetAction{Path: "/healthz", Port: 8080}, PeriodSeconds: 1, FailureThreshold: failures, SuccessThreshold: 2}
	})
	g.asked(apps)
	g.await("the edit to be observed", reconciled)
	if now := g.shows("scheduler-4").Status; now.Coordinator.Epoch != before.Status.Coordinator.Epoch || now.Roster.Generation != before.Status.Roster.Generation {
		t.Errorf("an edit of the apps' health made epoch %d of %d, generation %d of %d", now.Coordinator.Epoch, before.Status.Coordinator.Epoch,
			now.Roster.Generation, before.Status.Roster.Generation)
	}
	fell := time.Now()
	highest.ill.Store(true)
	took := g.took(fell, g.agree("scheduler-3"))
	t.Logf("agreed %v after the app fell ill", took)
	if took < (failures-1)*period {
		t.Errorf("the process was withdrawn after %v, want it after %d bad answers in a row, %v apart", took, failures, period)
	}
	for _, what := range said.since(time.Time{}) { // also what came some heartbeats after the edit
		if what.coordinator == "scheduler-4" && what.epoch != before.Status.Coordinator.Epoch {
			t.Errorf("an edit of the apps' health changed the epoch %d: %v", before.Status.Coordinator.Epoch, what)
		}
	}
	handed := g.holds("scheduler-3", before.Status.Coordinator.Epoch)
	g.shows("scheduler-3") // the ill one is Normal: its agent goes on
	recovered := time.Now()
	highest.ill.Store(false)
	t.Logf("agreed %v after the app was well", g.took(recovered, g.agree("scheduler-4")))
	back := g.holds("scheduler-4", handed.Status.Coordinator.Epoch)

	highest.ill.Store(true)
	g.agree("scheduler-3")
	withdrawn := g.holds("scheduler-3", back.Status.Coordinator.Epoch)
	g.edit(func(s *v1.ElectionGroupSpec) { s.AppHealth = nil }) // nobody asks: it is a candidate, ill or not
	g.agree("scheduler-4")
	g.holds("scheduler-4", withdrawn.Status.Coordinator.Epoch)
}
