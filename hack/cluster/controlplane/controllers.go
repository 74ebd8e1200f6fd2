package controlplane

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/podesta-dev/podesta/hack/cluster/assets"
	"github.com/podesta-dev/podesta/hack/cluster/process"
)

// controllers are those that workloads need, and those that collect garbage. The others would need
// a cloud, nodes or a network, or nothing here needs them.
var controllers = []string{
	"daemonset-controller", "deployment-controller", "disruption-controller",
	"garbage-collector-controller", "namespace-controller", "replicaset-controller",
	"statefulset-controller",
}

// Controllers is the kube-controller-manager of this control plane, ready to be run: it has the
// controllers of workloads, of PodDisruptionBudgets and of garbage.
func (c *ControlPlane) Controllers(report func(string)) (process.Supervised, error) {
	kubeconfig := filepath.Join(c.options.State, assets.Controllers+".kubeconfig")
	if err := os.WriteFile(kubeconfig, c.Kubeconfig, 0o600); err != nil {
		return process.Supervised{}, err
	}
	return process.Supervised{
		Path: filepath.Join(c.options.Assets, assets.Controllers),
		Args: []string{
			"--kubeconfig=" + kubeconfig, "--controllers=" + strings.Join(controllers, ","),
			"--leader-elect=false", "--secure-port=0",
			// By default it waits for seconds between its requests when many pods change at once.
			"--kube-api-qps=200", "--kube-api-burst=400",
		},
		Env:     os.Environ(),
		Log:     filepath.Join(c.options.State, assets.Controllers+".log"),
		PIDFile: filepath.Join(c.options.State, assets.Controllers+".pid"),
		Report:  report,
	}, nil
}
