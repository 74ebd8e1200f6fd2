package alerts

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/test/stage"
)

// podsFile lists the ports of the pods of groups for Prometheus.
const podsFile = "pods.json"

// target is what Prometheus reads from such a file.
type target struct {
	Targets []string          `json:"targets"`
	Labels  map[string]string `json:"labels"`
}

// discover tells Prometheus of the pods of groups, with the labels that its service discovery for
// Kubernetes gives them (role pod), until the context ends.
func discover(ctx context.Context) error {
	s, err := stage.Connect(kubeconfig, "", "")
	if err != nil {
		return err
	}
	go func() {
		defer s.Close()
		for ctx.Err() == nil {
			_ = s.Until(ctx, "the end", &corev1.PodList{}, func(runtime.Object) bool {
				if err := list(ctx, s); err != nil && ctx.Err() == nil {
					fmt.Fprintln(os.Stderr, "alerts: tell Prometheus of the pods:", err)
				}
				return false
			})
		}
	}()
	return nil
}

// list writes the file anew.
func list(ctx context.Context, s *stage.Stage) error {
	var pods corev1.PodList
	if err := s.List(ctx, &pods); err != nil {
		return err
	}
	agents := []target{}
	for _, pod := range pods.Items {
		if pod.Labels[v1.GroupLabel] == "" || pod.Status.PodIP == "" {
			continue
		}
		for _, c := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
			for _, port := range c.Ports {
				agents = append(agents, targetOf(&pod, port))
			}
		}
	}
	text, err := json.Marshal(agents)
	if err != nil {
		return err
	}
	file := filepath.Join(state, "prometheus", podsFile)
	if err := os.WriteFile(file+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

func targetOf(pod *corev1.Pod, port corev1.ContainerPort) target {
	at := net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(int(port.ContainerPort)))
	return target{Targets: []string{at}, Labels: map[string]string{
		"__meta_kubernetes_namespace":                          pod.Namespace,
		"__meta_kubernetes_pod_name":                           pod.Name,
		"__meta_kubernetes_pod_container_port_name":            port.Name,
		"__meta_kubernetes_pod_label_podesta_dev_group":        pod.Labels[v1.GroupLabel],
		"__meta_kubernetes_pod_labelpresent_podesta_dev_group": "true",
	}}
}
