package stage

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// appPort is where the sample pods' agents serve their apps.
const appPort = "4040"

// Pods returns the group's pods that are not being deleted, by name.
func (s *Stage) Pods(ctx context.Context) (map[string]corev1.Pod, error) {
	var list corev1.PodList
	if err := s.List(ctx, &list, client.InNamespace(s.Namespace),
		client.MatchingLabels{v1.GroupLabel: s.Group}); err != nil {
		return nil, err
	}
	pods := map[string]corev1.Pod{}
	for _, p := range list.Items {
		if p.DeletionTimestamp == nil {
			pods[p.Name] = p
		}
	}
	return pods, nil
}

// AwaitRunning returns the group's pods once there are n that run, each with its agent ready, and
// lets the observer follow them.
func (s *Stage) AwaitRunning(ctx context.Context, n int) (map[string]corev1.Pod, error) {
	pods, err := s.AwaitPods(ctx, fmt.Sprintf("%d running pods", n),
		func(pods map[string]corev1.Pod) bool {
			return len(pods) == n && AllReady(pods)
		})
	if err != nil {
		return nil, err
	}
	s.follow(pods)
	return pods, nil
}

// AwaitPods returns the group's pods once accept holds for them; it is asked whenever one of them
// changes.
func (s *Stage) AwaitPods(
	ctx context.Context, what string, accept func(map[string]corev1.Pod) bool,
) (pods map[string]corev1.Pod, err error) {
	err = s.Until(ctx, what+" of "+s.Group, &corev1.PodList{}, func(runtime.Object) (ok bool) {
		var err error
		pods, err = s.Pods(ctx)
		return err == nil && accept(pods)
	}, client.InNamespace(s.Namespace), client.MatchingLabels{v1.GroupLabel: s.Group})
	return pods, err
}

// AllReady reports whether every pod is ready.
func AllReady(pods map[string]corev1.Pod) bool {
	for _, p := range pods {
		if !Ready(&p) {
			return false
		}
	}
	return true
}

// Ready reports whether a pod is ready.
func Ready(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func (s *Stage) follow(pods map[string]corev1.Pod) {
	for name := range s.followed {
		if _, ok := pods[name]; !ok {
			s.Observer.Forget(name)
			delete(s.followed, name)
		}
	}
	for name, p := range pods {
		if s.followed[name] != p.Status.PodIP {
			s.followed[name] = p.Status.PodIP
			s.Observer.Watch(name, AppAddress(p))
		}
	}
}

// AppAddress is where a pod's agent serves its app.
func AppAddress(p corev1.Pod) string { return net.JoinHostPort(p.Status.PodIP, appPort) }

// Signal sends a signal (SIGKILL, SIGSTOP, SIGCONT) to all processes of a pod and returns the
// instant before. It works on the local cluster only, where a container's ID is its process.
func (s *Stage) Signal(ctx context.Context, name string, signal syscall.Signal) (time.Time, error) {
	var pod corev1.Pod
	if err := s.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: name}, &pod); err != nil {
		return time.Time{}, err
	}
	processes, err := Processes(&pod)
	if err != nil {
		return time.Time{}, err
	}
	at := time.Now()
	for _, pid := range processes {
		if err := syscall.Kill(pid, signal); err != nil {
			return at, fmt.Errorf("%v to process %d of pod %s: %w", signal, pid, name, err)
		}
	}
	return at, nil
}

// Processes returns the process of each running container of a pod of the local cluster, by the
// container's name.
func Processes(pod *corev1.Pod) (map[string]int, error) {
	pids := map[string]int{}
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if c.State.Running == nil {
			continue
		}
		id, ok := strings.CutPrefix(c.ContainerID, "process://")
		pid, err := strconv.Atoi(id)
		if !ok || err != nil || pid <= 1 {
			return nil, fmt.Errorf("pod %s, container %s: %q is not a process of the local cluster",
				pod.Name, c.Name, c.ContainerID)
		}
		pids[c.Name] = pid
	}
	if len(pids) == 0 {
		return nil, fmt.Errorf("pod %s has no running container", pod.Name)
	}
	return pids, nil
}
