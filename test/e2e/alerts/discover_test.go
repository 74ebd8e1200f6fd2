package alerts

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
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

// podsFile lists the ports of the pods of groups for Prometheus, and managersFile the managers of a
// cluster elsewhere.
const (
	podsFile     = "pods.json"
	managersFile = "managers.json"
)

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
		var managers forwards
		for ctx.Err() == nil {
			_ = s.Until(ctx, "the end", &corev1.PodList{}, func(runtime.Object) bool {
				if err := list(ctx, s, &managers); err != nil && ctx.Err() == nil {
					fmt.Fprintln(os.Stderr, "alerts: tell Prometheus of the pods:", err)
				}
				return false
			})
		}
	}()
	return nil
}

// list writes the files anew.
func list(ctx context.Context, s *stage.Stage, managers *forwards) error {
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
				agents = append(agents, targetOf(s, &pod, port))
			}
		}
	}
	if err := listIn(podsFile, agents); err != nil || !elsewhere() {
		return err
	}
	found, err := managers.update(ctx, pods.Items)
	if err != nil {
		return err
	}
	return listIn(managersFile, found)
}

func targetOf(s *stage.Stage, pod *corev1.Pod, port corev1.ContainerPort) target {
	at, labels := net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(int(port.ContainerPort))), map[string]string{}
	if elsewhere() {
		at, labels = throughAPI(s.Config, pod, port.ContainerPort)
	}
	maps.Copy(labels, map[string]string{
		"__meta_kubernetes_namespace":                          pod.Namespace,
		"__meta_kubernetes_pod_name":                           pod.Name,
		"__meta_kubernetes_pod_container_port_name":            port.Name,
		"__meta_kubernetes_pod_label_podesta_dev_group":        pod.Labels[v1.GroupLabel],
		"__meta_kubernetes_pod_labelpresent_podesta_dev_group": "true",
	})
	return target{Targets: []string{at}, Labels: labels}
}

// listIn replaces what a file lists.
func listIn(name string, targets []target) error {
	text, err := json.Marshal(targets)
	if err != nil {
		return err
	}
	file := filepath.Join(state, "prometheus", name)
	if err := os.WriteFile(file+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}
