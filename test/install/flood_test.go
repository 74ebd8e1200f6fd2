//go:build alone

package install

import (
	"context"
	"crypto/tls"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/connlimit"
	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/test/flood"
)

const (
	// message is just below the longest that the manager takes, and request the longest headers that
	// a server of controller-runtime would.
	message = 250 << 10
	headers = 1<<20 - 8<<10
	// hello, chain and lines are what the manager takes for a hello, a certificate and headers, in the
	// forms that cost it most.
	hello = 30 << 10
	chain = 50 << 10
	lines = 15 << 10
)

// TestFloodedManager floods the ports of the manager's program from four addresses, one after the
// other until all are, in every way that costs it more than it costs the strangers: its memory stays
// below the limit of its container, and meanwhile a pod joins and gets its roster, metrics are
// served, and a probe is answered.
func TestFloodedManager(t *testing.T) {
	t.Cleanup(func() {
		must(t, kube.Delete(context.Background(), &corev1.Secret{ObjectMeta: named(system, "podesta-ca")}))
	})
	reader := newAccount(t)
	maySeeMetrics(t, reader)
	m := startManager(t, buildManager(t), tokenFile(t, "podesta-manager"), "podesta-manager-flooded")
	m.await(t, "ready", func(ctx context.Context) bool { return status(ctx, "http://"+m.health+"/readyz") == http.StatusOK })
	m.await(t, "the leader", func(ctx context.Context) bool {
		var pod corev1.Pod
		return kube.Get(ctx, client.ObjectKey{Namespace: system, Name: m.pod}, &pod) == nil && pod.Labels[v1.LeaderLabel] != ""
	})
	before := flood.PeakMemory(t, m.process.Process.Pid)
	defer func() { // also when the honest did not get in
		peak := flood.PeakMemory(t, m.process.Process.Pid)
		t.Logf("%d → %d MiB (limit %d)", before>>20, peak>>20, m.limit>>20)
		if peak > m.limit {
			t.Errorf("%d → %d MiB, above the limit of %d MiB", before>>20, peak>>20, m.limit>>20)
		}
	}()
	scrape := prometheus(t, m, token(t, reader))
	m.await(t, "metrics before the flood", scrape)
	for _, attack := range []flood.Attack{{How: "message", Bytes: message, Protocol: identity.RosterProtocol},
		{How: "hello", Bytes: hello, Protocol: identity.RosterProtocol}, {How: "chain", Bytes: chain, Protocol: identity.RosterProtocol}} {
		flood.Begin(t, m.roster, 4, connlimit.Strangers/2, attack)
	}
	joins(t, m)
	for _, attack := range []flood.Attack{{How: "headers", Bytes: headers, Secure: true}, {How: "lines", Bytes: lines, Secure: true}} {
		flood.Begin(t, m.metrics, 4, connlimit.Strangers/2, attack)
	}
	m.await(t, "metrics", scrape)
	for _, attack := range []flood.Attack{{How: "headers", Bytes: headers}, {How: "lines", Bytes: lines}} {
		flood.Begin(t, m.health, 4, connlimit.Strangers/2, attack)
	}
	m.await(t, "a probe's answer", func(ctx context.Context) bool { return status(ctx, "http://"+m.health+"/healthz") == http.StatusOK })
}

// prometheus returns what scrapes a manager as Prometheus does, and reports whether it got the
// metrics. It keeps the CA of the first that it got: the API server is not asked for it in a flood.
func prometheus(t *testing.T, m *managerProcess, bearer string) func(context.Context) bool {
	t.Helper()
	e := monitored(t)
	var kept *tls.Config
	return func(ctx context.Context) bool {
		begun, trust := time.Now(), kept
		if trust == nil {
			trust = e.config(ctx, t)
		}
		code, err := get(ctx, trust, "https://"+m.metrics+"/metrics", bearer)
		t.Logf("metrics: %d (%v) after %v", code, err, time.Since(begun))
		if err != nil || code != http.StatusOK {
			return false
		}
		kept = trust
		return true
	}
}

// joins has a pod join, and get its roster.
func joins(t *testing.T, m *managerProcess) {
	t.Helper()
	namespace := server.NewNamespace(t, "honest-")
	must(t, kube.Create(t.Context(), &v1.ElectionGroup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "scheduler"},
		Spec: v1.ElectionGroupSpec{Safety: v1.Classic}}))
	server.Join(t, m.roster, server.NewPod(t, namespace, 0)).Follows(t)
}
