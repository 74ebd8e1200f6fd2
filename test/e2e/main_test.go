// Package e2e runs groups end to end on the local cluster of hack/cluster: a real API server, the
// manager, Kubernetes' controllers of Deployments and StatefulSets, and the agents of real pods as
// processes that can be killed. It needs bin/ (make build) and KUBEBUILDER_ASSETS (bin/cluster
// assets).
package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/podesta-dev/podesta/test/stage"
)

// The cluster that all tests use.
var (
	kubeconfig string
	state      string // its directory, with the manager's process id
	supervisor int    // the process that starts again what has ended
)

const root = "../.."

// slowApp is an app that takes 5 s to end.
const slowApp = `#!/bin/sh
trap 'sleep 5; exit 0' TERM
while :; do sleep 1 & wait $!; done
`

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
	slow := filepath.Join(state, "slow")
	if err := os.WriteFile(slow, []byte(slowApp), 0o700); err != nil {
		return 1, err
	}
	cluster, err := stage.Up(context.Background(), root, state, os.Stderr, "--workloads", "--image=slow="+slow)
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, cluster.Close()) }()
	kubeconfig, supervisor = cluster.Kubeconfig, cluster.PID
	return m.Run(), nil
}
