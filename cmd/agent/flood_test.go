//go:build alone

package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/connlimit"
	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/memlimit"
	"github.com/podesta-dev/podesta/test/flood"
	"github.com/podesta-dev/podesta/test/port"
)

// TestFloodedAgent floods both ports of an agent that the cluster can reach, from four addresses, in
// every way that costs a server more memory or time than it costs the strangers: its memory stays
// below the limit that it is injected with, and meanwhile a process of its group links to it, is
// elected and announces it, and a probe is answered.
func TestFloodedAgent(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "roster.json")
	links, status := []string{port.Of(t), port.Of(t)}, port.Of(t)
	apps := []string{port.Of(t), port.Of(t)}
	text := fmt.Sprintf(`{"group": "g", "safety": "Classic", "processes": [
		{"name": "a", "address": %q, "priority": 1},
		{"name": "b", "address": %q, "priority": 2}]}`, links[0], links[1])
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{"keys", "--roster", file, "--out", dir}); err != nil {
		t.Fatal(err)
	}
	limit, program := injectedLimit(t), filepath.Join(dir, "agent")
	// as it is shipped: the test's own program may be one with the race detector, which needs more
	build := exec.Command("go", "build", "-tags", "grpcnotrace", "-trimpath", "-ldflags", "-s -w",
		"-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	start := func(i int, name, status string) (pid int) {
		agent := exec.Command(program, "--roster", file, "--trust-file", filepath.Join(dir, "ca.crt"),
			"--certificate", filepath.Join(dir, name+".crt"), "--key", filepath.Join(dir, name+".key"),
			"--state-dir", filepath.Join(dir, "state-"+name), "--listen", links[i],
			"--app-address", apps[i], "--status-address", status)
		agent.Env = []string{memlimit.Variable + "=" + strconv.FormatInt(limit, 10)}
		if err := agent.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = agent.Process.Kill(); _ = agent.Wait() })
		return agent.Process.Pid
	}
	pid := start(0, "a", status)
	coordinators := follow(t, apps[0])
	awaitName(t, coordinators, "a")
	before := flood.PeakMemory(t, pid)
	defer func() {
		peak := flood.PeakMemory(t, pid)
		t.Logf("%d → %d MiB (limit %d)", before>>20, peak>>20, limit>>20)
		if peak > limit {
			t.Errorf("%d → %d MiB, above the limit of %d MiB", before>>20, peak>>20, limit>>20)
		}
	}()
	for _, attack := range []flood.Attack{{How: "handshake", Bytes: 250 << 10, Protocol: identity.LinkProtocol},
		{How: "hello", Bytes: 30 << 10, Protocol: identity.LinkProtocol}, {How: "chain", Bytes: 7 << 10, Protocol: identity.LinkProtocol}} {
		flood.Begin(t, links[0], 4, connlimit.Strangers/2, attack)
	}
	start(1, "b", "127.0.0.1:0")
	awaitName(t, coordinators, "b")
	flood.Begin(t, status, 4, connlimit.Strangers, flood.Attack{How: "headers", Bytes: 1 << 20})
	flood.Begin(t, status, 4, connlimit.Strangers, flood.Attack{How: "lines", Bytes: 15 << 10})
	for begun := time.Now(); !healthy(t.Context(), status); {
		if time.Since(begun) > patience {
			t.Fatal("no probe is answered")
		}
	}
}

// healthy is one probe.
func healthy(ctx context.Context, address string) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	transport := &http.Transport{DialContext: new(net.Dialer).DialContext}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/healthz", nil)
	if err != nil {
		return false
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// injectedLimit is the memory limit of the agent's container, in bytes.
func injectedLimit(t *testing.T) int64 {
	t.Helper()
	sidecar, err := os.ReadFile(filepath.Join("..", "..", "internal", "inject", "sidecar.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`limits:\n +memory: (\d+)Mi\n`).FindSubmatch(sidecar)
	if found == nil {
		t.Fatal("sidecar.yaml shows no limits.memory in Mi")
	}
	mebibytes, err := strconv.ParseInt(string(found[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return mebibytes << 20
}
