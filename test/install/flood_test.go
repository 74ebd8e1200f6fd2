package install

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/door"
	"github.com/podesta-dev/podesta/test/flood"
)

const (
	join = "/podesta.roster.v1.RosterService/Join"
	// message is just below the longest that the manager takes, and request the longest headers that
	// a server of controller-runtime would.
	message = 250 << 10
	headers = 1<<20 - 8<<10
)

// TestFloodedManager floods the ports of the manager's program from four addresses, one after the
// other until all are: its memory stays below the limit of its container, and meanwhile a pod joins
// and gets its roster, metrics are served, and a probe is answered.
func TestFloodedManager(t *testing.T) {
	t.Cleanup(func() {
		must(t, kube.Delete(context.Background(), &corev1.Secret{ObjectMeta: named(system, "podesta-ca")}))
	})
	reader := newAccount(t)
	_, err := kubectl("create", "clusterrolebinding", reader.Namespace, "--clusterrole=podesta-metrics-reader", "--serviceaccount="+reader.Namespace+":"+reader.Name)
	must(t, err)
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
	scrape := prometheusApart(t, m, token(t, reader))
	m.await(t, "metrics before the flood", scrape)
	flood.Begin(t, m.roster, 4, door.Strangers, flood.Calls(join, 4, message))
	joins(t, m)
	flood.Begin(t, m.metrics, 4, door.Strangers, flood.Headers(headers, true))
	m.await(t, "metrics", scrape)
	flood.Begin(t, m.health, 4, door.Strangers, flood.Headers(headers, false))
	m.await(t, "a probe's answer", func(ctx context.Context) bool { return status(ctx, "http://"+m.health+"/healthz") == http.StatusOK })
}

// prometheusApart returns what scrapes a manager as Prometheus does, and reports whether it got the
// metrics: in a process of its own, because this one has no time to spare while it floods; and with
// the CA as a file, so that the API server need not be asked for it in the flood.
func prometheusApart(t *testing.T, m *managerProcess, bearer string) func(context.Context) bool {
	t.Helper()
	e, trust := monitored(t), filepath.Join(t.TempDir(), "ca.crt")
	m.await(t, "the CA", func(ctx context.Context) bool {
		bundle := &corev1.ConfigMap{}
		err := kube.Get(ctx, client.ObjectKey{Namespace: system, Name: e.configMap}, bundle)
		return err == nil && os.WriteFile(trust, []byte(bundle.Data[e.key]), 0o600) == nil
	})
	return func(ctx context.Context) bool {
		begun := time.Now()
		said, err := exec.CommandContext(ctx, os.Args[0], scrapeCommand, "https://"+m.metrics+"/metrics", trust,
			e.serverName, bearer).CombinedOutput()
		t.Logf("metrics: %s (%v) after %v", said, err, time.Since(begun))
		return err == nil && string(said) == strconv.Itoa(http.StatusOK)
	}
}

// scrapeCommand as the first argument makes this program the scraper of prometheusApart.
const scrapeCommand = "scrape"

// scrapeApart is that scraper: its arguments are the URL, a file with the CA, the manager's name in
// its certificate, and a token. It prints the status of the answer.
func scrapeApart(arguments []string) error {
	url, trust, name, bearer := arguments[0], arguments[1], arguments[2], arguments[3]
	bundle, err := os.ReadFile(trust)
	if err != nil {
		return err
	}
	code, err := get(context.Background(), verifying(bundle, name), url, bearer)
	if err != nil {
		return err
	}
	_, err = fmt.Print(code)
	return err
}

// joins has a pod join, and get its roster.
func joins(t *testing.T, m *managerProcess) {
	t.Helper()
	namespace := server.NewNamespace(t, "honest-")
	must(t, kube.Create(t.Context(), &v1.ElectionGroup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "scheduler"},
		Spec: v1.ElectionGroupSpec{Safety: v1.Classic}}))
	server.Join(t, m.roster, server.NewPod(t, namespace, 0)).Follows(t)
}
