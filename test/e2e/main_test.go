// Package e2e runs groups end to end on the local cluster of hack/cluster: a real API server, the
// manager, and the agents of real pods as processes that can be killed. It needs bin/ (make build)
// and KUBEBUILDER_ASSETS (bin/cluster assets).
package e2e

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/podesta-dev/podesta/test/port"
)

// The cluster that all tests use.
var (
	kubeconfig string
	state      string // its directory, with the manager's process id
	supervisor int    // the process that starts again what has ended
)

const root = "../.."

func TestMain(m *testing.M) {
	code, err := onCluster(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = 1
	}
	os.Exit(code)
}

// onCluster runs the tests between a cluster's start and its end.
func onCluster(m *testing.M) (code int, err error) {
	state, err = os.MkdirTemp("", "podesta-e2e-")
	if err != nil {
		return 1, err
	}
	defer func() {
		if code == 0 {
			_ = os.RemoveAll(state)
		} else {
			fmt.Fprintln(os.Stderr, "e2e: the cluster's logs are in", state)
		}
	}()
	roster, err := port.Keep()
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, roster.Close()) }()
	cluster, err := start(roster.Address)
	if err != nil {
		return 1, err
	}
	supervisor = cluster.Process.Pid
	defer func() {
		_ = cluster.Process.Signal(syscall.SIGTERM)
		if waitErr := cluster.Wait(); waitErr != nil && err == nil {
			err = fmt.Errorf("the cluster ended badly: %w", waitErr)
		}
	}()
	return m.Run(), nil
}

// start starts `cluster up` and returns when it says that it is ready.
func start(address string) (*exec.Cmd, error) {
	cluster := exec.Command(filepath.Join(root, "bin/cluster"), "up", "--dir", state,
		"--crds", filepath.Join(root, "config/crd/bases"),
		"--apply", filepath.Join(root, "config/manager/namespace.yaml"), "--apply", filepath.Join(root, "config/rbac"),
		"--manager", filepath.Join(root, "bin/manager"), "--manager-user", "system:serviceaccount:podesta-system:podesta-manager",
		"--manager-arg=--roster-address="+address, "--manager-arg=--health-address=0", "--manager-arg=--leader-elect=false",
		"--agent", filepath.Join(root, "bin/agent"), "--resolve", "podesta-roster.podesta-system.svc:9443="+address,
		"--restart-delay=1s", "--restart-delay-max=1s")
	cluster.Stderr = os.Stderr
	cluster.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	out, err := cluster.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cluster.Start(); err != nil {
		return nil, fmt.Errorf("%w: run `make build` first", err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if _, file, ok := strings.Cut(strings.TrimSpace(line), "KUBECONFIG="); ok {
		kubeconfig = file
		go func() { _, _ = io.Copy(io.Discard, out) }()
		return cluster, nil
	}
	return nil, errors.Join(fmt.Errorf("the cluster did not start; it said %q", line), err, cluster.Wait())
}
