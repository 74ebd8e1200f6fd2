package alerts

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/podesta-dev/podesta/test/child"
	"github.com/podesta-dev/podesta/test/port"
)

// outsideFile lists the agents outside Kubernetes, for Prometheus.
const outsideFile = "outside.json"

// shortCertificate: nobody renews the certificate of a process outside Kubernetes, and two hours
// are left. (In a cluster, half a day would have to pass without a manager.)
func shortCertificate(t *testing.T) func() {
	folder := t.TempDir()
	addresses := map[string]string{}
	for _, flag := range []string{"listen", "status-address", "app-address"} {
		addresses[flag] = port.Of(t)
	}
	write(t, filepath.Join(folder, "roster.json"), map[string]any{
		"namespace": "shop",
		"group":     "edge",
		"safety":    "Classic",
		"algorithm": "Bully",
		"processes": []any{map[string]any{"name": "edge-0", "address": addresses["listen"], "priority": 1}},
	})
	runs(t, folder, "agent keys --roster roster.json --out keys --valid 2h")
	stop := startOutside(t, folder, addresses)
	write(t, filepath.Join(state, "prometheus", outsideFile), []any{map[string]any{
		"targets": []string{addresses["status-address"]},
		"labels":  map[string]string{"namespace": "shop", "group": "edge", "pod": "edge-0"},
	}})
	return func() {
		runs(t, folder, runbook(t, "PodestaCertificateEndsSoon", "agent keys"))
		stop()
		startOutside(t, folder, addresses)
	}
}

// startOutside starts an agent that has its roster from a file; it ends with the test, or before.
func startOutside(t *testing.T, folder string, addresses map[string]string) (stop func()) {
	t.Helper()
	bin, err := filepath.Abs(filepath.Join(root, "bin", "agent"))
	must(t, err)
	arguments := []string{"--roster", "roster.json", "--certificate", "keys/edge-0.crt", "--key", "keys/edge-0.key",
		"--trust-file", "keys/ca.crt", "--state-dir", "state"}
	for flag, address := range addresses {
		arguments = append(arguments, "--"+flag, address)
	}
	agent := exec.Command(bin, arguments...)
	agent.Dir = folder
	agent.SysProcAttr = child.Attributes(syscall.SIGTERM)
	must(t, agent.Start())
	ended := false
	stop = func() {
		if !ended {
			ended = true
			_ = agent.Process.Signal(syscall.SIGTERM)
			_ = agent.Wait()
		}
	}
	t.Cleanup(stop)
	return stop
}

func write(t *testing.T, path string, content any) {
	t.Helper()
	text, err := json.Marshal(content)
	must(t, err)
	must(t, os.WriteFile(path, text, 0o600))
}
