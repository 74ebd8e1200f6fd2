package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/podesta-dev/podesta/examples/internal/group"
)

// patience is how long anything may take, on a machine that is busy.
const patience = 3 * time.Minute

// question is a ConfigMap that the operators answer.
type question struct {
	t      *testing.T
	client client.WithWatch
	last   int
}

// answered is who answered, and under which epoch.
type answered struct {
	by    string
	epoch int64
}

// ask asks the next question, and waits for the answer.
func (q *question) ask() answered {
	q.t.Helper()
	ctx, cancel := context.WithTimeout(q.t.Context(), patience)
	defer cancel()
	q.last++
	question := strconv.Itoa(q.last)
	patch := fmt.Appendf(nil, `{"data": {"question": %q}}`, question)
	asked := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "question"}}
	if err := q.client.Patch(ctx, asked, client.RawPatch("application/merge-patch+json", patch)); err != nil {
		q.t.Fatal(err)
	}
	changes, err := q.client.Watch(ctx, &corev1.ConfigMapList{}, client.InNamespace("default"),
		client.MatchingFields{"metadata.name": "question"})
	if err != nil {
		q.t.Fatal(err)
	}
	defer changes.Stop()
	for change := range changes.ResultChan() {
		now, ok := change.Object.(*corev1.ConfigMap)
		if ok && now.Data["answer"] == question {
			epoch, _ := strconv.ParseInt(now.Data["epoch"], 10, 64)
			return answered{by: now.Data["by"], epoch: epoch}
		}
	}
	q.t.Fatalf("nobody answers question %s", question)
	return answered{}
}

// startAPI starts an API server with a question that operators answer, and returns the kubeconfig
// for them.
func startAPI(t *testing.T) (q *question, kubeconfig string) {
	t.Helper()
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Skip("KUBEBUILDER_ASSETS is not set: make test-envtest")
	}
	api := &envtest.Environment{UseExistingCluster: new(false)}
	config, err := api.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := api.Stop(); err != nil {
			t.Error(err)
		}
	})
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, api.KubeConfig, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := client.NewWithWatch(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	asked := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "question", Labels: map[string]string{"answer": "wanted"}},
		Data:       map[string]string{"question": "0"},
	}
	if err := c.Create(t.Context(), asked); err != nil {
		t.Fatal(err)
	}
	return &question{t: t, client: c}, kubeconfig
}

// The one who leads is killed, and its container is started again; the next one is paused with its
// whole pod. Each time another one leads under a higher epoch, and nobody makes a request to the
// API server for that: it has no Lease.
func TestTheOperatorFailsOver(t *testing.T) {
	q, kubeconfig := startAPI(t)
	replicas := startAgents(t)
	replicas["p1"].begin(t, kubeconfig, byPodesta, "")
	if early := q.ask(); early.by != "p1" { // the others have higher priorities, and have not begun
		t.Errorf("%+v answers, and only p1 has begun", early)
	}
	for _, name := range []string{"p2", "p3"} {
		replicas[name].begin(t, kubeconfig, byPodesta, "")
	}

	first := q.ask()
	leader := replicas[first.by]
	began := time.Now()
	_ = leader.operator.Process.Kill()
	second := q.ask()
	t.Logf("%s answers %v after %s was killed", second.by, time.Since(began).Round(time.Millisecond), first.by)
	if second.by == first.by || second.epoch <= first.epoch {
		t.Errorf("killed: %+v; then %+v", first, second)
	}
	<-leader.ended
	leader.begin(t, kubeconfig, byPodesta, "")

	paused := replicas[second.by]
	began = time.Now()
	for _, p := range []*os.Process{paused.operator.Process, paused.agent.Process} {
		if err := group.Stop(p); err != nil { // or it may still answer
			t.Fatal(err)
		}
	}
	third := q.ask()
	t.Logf("%s answers %v after %s was paused", third.by, time.Since(began).Round(time.Millisecond), second.by)
	if third.by == second.by || third.epoch <= second.epoch {
		t.Errorf("paused: %+v; then %+v", second, third)
	}
	for _, p := range []*os.Process{paused.operator.Process, paused.agent.Process} {
		if err := p.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case err := <-paused.ended: // it has noticed, and is to be started again
		if err == nil {
			t.Error("it ended as if it had been told to")
		}
	case <-time.After(patience):
		t.Error("who was paused goes on")
	}
	if fourth := q.ask(); fourth.by == second.by || fourth.epoch < third.epoch {
		t.Errorf("%+v answers after %+v", fourth, third)
	}
	noLease(t, q.client)
}
