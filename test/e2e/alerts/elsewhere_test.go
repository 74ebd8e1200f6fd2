package alerts

import (
	"context"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/podesta-dev/podesta/test/port"
	"github.com/podesta-dev/podesta/test/stage"
)

// The faults that need nothing but kubectl also happen on a cluster with an installation, such as
// kind. Prometheus runs on this machine all the same: it reaches agents through the API server, and
// each manager through kubectl port-forward.
var (
	clusterFlag = flag.String("cluster", "", "kubeconfig of a cluster with Podesta and its injection; without it, the local cluster is started")
	appFlag     = flag.String("app", "", "image of an app for the pods there; it is run with the argument serve")
)

const systemNamespace = "podesta-system"

// elsewhere reports whether the groups are on a cluster that was there already.
func elsewhere() bool { return *clusterFlag != "" }

// enter prepares that cluster, and returns what Prometheus is to scrape there.
func enter(ctx context.Context) ([]any, error) {
	s, err := stage.Connect(kubeconfig, "", "")
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if _, err := runLine(ctx, "", "kubectl delete namespace shop --ignore-not-found"); err != nil {
		return nil, err
	}
	if err := writeCredentials(ctx, s.Config); err != nil {
		return nil, err
	}
	agents, err := documentedScrape("podesta-agents", podsFile)
	if err != nil {
		return nil, err
	}
	agents["tls_config"] = map[string]any{"ca_file": "api-ca.crt", "cert_file": "api.crt", "key_file": "api.key"}
	managers, err := documentedScrape("podesta-manager", managersFile)
	if err != nil {
		return nil, err
	}
	managers["authorization"] = map[string]any{"credentials_file": "token"}
	managers["tls_config"].(map[string]any)["ca_file"] = "manager-ca.crt"
	return []any{agents, managers}, nil
}

// writeCredentials writes what Prometheus shows to the API server and to the managers, beside its
// configuration.
func writeCredentials(ctx context.Context, api *rest.Config) error {
	const account, binding = "prometheus", "prometheus-podesta"
	for _, line := range []string{
		"kubectl delete serviceaccount " + account + " -n default --ignore-not-found",
		"kubectl delete clusterrolebinding " + binding + " --ignore-not-found",
		"kubectl create serviceaccount " + account + " -n default",
		"kubectl create clusterrolebinding " + binding + " --clusterrole=podesta-metrics-reader --serviceaccount=default:" + account,
	} {
		if _, err := runLine(ctx, "", line); err != nil {
			return err
		}
	}
	token, err := runLine(ctx, "", "kubectl create token "+account+" -n default")
	if err != nil {
		return err
	}
	ca, err := runLine(ctx, "", `kubectl get configmap podesta-trust -n `+systemNamespace+` -o jsonpath={.data.ca\.crt}`)
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		"token":          []byte(strings.TrimSpace(token)),
		"manager-ca.crt": []byte(ca),
		"api-ca.crt":     api.CAData,
		"api.crt":        api.CertData,
		"api.key":        api.KeyData,
	} {
		if len(content) == 0 {
			return fmt.Errorf("%s is empty: the kubeconfig must hold a client certificate, as kind's does", name)
		}
		if err := os.WriteFile(filepath.Join(state, "prometheus", name), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// throughAPI is the target of an agent's port behind the API server's proxy.
func throughAPI(api *rest.Config, pod *corev1.Pod, port int32) (host string, labels map[string]string) {
	server, err := url.Parse(api.Host)
	if err != nil {
		panic(err) // client-go has used it
	}
	return server.Host, map[string]string{
		"__scheme__":       "https",
		"__metrics_path__": fmt.Sprintf("/api/v1/namespaces/%s/pods/%s:%d/proxy/metrics", pod.Namespace, pod.Name, port),
	}
}

// forwards are the ports of this machine that lead to the managers.
type forwards struct{ all map[types.UID]*forwarded }

type forwarded struct {
	pod, address string
	end          context.CancelFunc
}

// update has a port lead to each manager that runs, and none to others. It returns the targets.
func (f *forwards) update(ctx context.Context, pods []corev1.Pod) ([]target, error) {
	if f.all == nil {
		f.all = map[types.UID]*forwarded{}
	}
	runs := map[types.UID]bool{}
	for _, pod := range pods {
		if pod.Namespace != systemNamespace || pod.Labels["app.kubernetes.io/component"] != "manager" || !stage.Ready(&pod) {
			continue
		}
		runs[pod.UID] = true
		if f.all[pod.UID] == nil {
			one, err := forward(ctx, pod.Name)
			if err != nil {
				return nil, err
			}
			f.all[pod.UID] = one
		}
	}
	targets := []target{}
	for uid, one := range f.all {
		if !runs[uid] {
			one.end()
			delete(f.all, uid)
			continue
		}
		targets = append(targets, target{
			Targets: []string{one.address},
			Labels: map[string]string{
				"__meta_kubernetes_service_name":            "podesta-metrics",
				"__meta_kubernetes_endpointslice_port_name": "metrics",
				"pod": one.pod,
			},
		})
	}
	return targets, nil
}

// forward runs kubectl port-forward to a manager's metrics, again and again, until it is to end.
func forward(ctx context.Context, pod string) (*forwarded, error) {
	kept, err := port.Keep()
	if err != nil {
		return nil, err
	}
	_, number, _ := strings.Cut(kept.Address, ":")
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer kept.Close()
		again := time.NewTicker(200 * time.Millisecond) // a pod that does not listen ends it at once
		defer again.Stop()
		for {
			command := exec.CommandContext(ctx, filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl"),
				"port-forward", "-n", systemNamespace, "pod/"+pod, number+":8443")
			command.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
			command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
			_ = command.Run() // Prometheus says that the manager is down
			select {
			case <-again.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	return &forwarded{pod: pod, address: kept.Address, end: cancel}, nil
}
