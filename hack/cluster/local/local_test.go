//go:build linux

package local

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/hack/cluster/assets"
	"github.com/podesta-dev/podesta/hack/cluster/podrunner"
	"github.com/podesta-dev/podesta/hack/cluster/process"
)

// TestMain lets this binary play the programs of the pods.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "tether":
			fmt.Fprintln(os.Stderr, process.Tether(os.Args[2:]))
			os.Exit(1)
		case "keep":
			ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
			err := process.Keep(ctx, os.Args[2:])
			stop()
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		case "serve":
			serve(os.Args[2])
		case "stubborn":
			signal.Ignore(syscall.SIGTERM)
			serve(os.Args[2])
		}
	}
	goleak.VerifyTestMain(m)
}

// serve answers every request until SIGTERM.
func serve(address string) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	server := &http.Server{Addr: address, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, os.Getenv("WHO"))
	})}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// cluster starts a cluster for a test. It is slow the first time on a machine, when there are no
// assets yet.
func cluster(t *testing.T) (*Cluster, kubernetes.Interface) { return clusterWith(t, false) }

func clusterWith(t *testing.T, workloads bool) (*Cluster, kubernetes.Interface) {
	t.Helper()
	me, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c, err := Start(t.Context(), Options{
		State:     t.TempDir(),
		Assets:    assets.Options{Log: os.Stderr},
		Workloads: workloads,
		Pods: podrunner.Options{
			Images: map[string]podrunner.Program{
				"serve": {Path: me, Args: []string{"serve"}}, "stubborn": {Path: me, Args: []string{"stubborn"}},
			},
			RestartDelay: 50 * time.Millisecond,
			Resolve:      map[string]string{"who.shop.svc": "somebody"},
		},
		Report: func(text string) { t.Log(text) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		select {
		case err := <-c.Failed():
			t.Error(err)
		default:
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			log, _ := os.ReadFile(filepath.Join(c.options.State, "podrunner.log"))
			t.Logf("podrunner.log:\n%s", log)
		}
	})
	client, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	return c, client
}

// await watches a pod until it is as wanted; a pod that is deleted is told as nil.
func await(t *testing.T, client kubernetes.Interface, name, what string, wanted func(*corev1.Pod) bool) *corev1.Pod {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	watcher, err := client.CoreV1().Pods("default").Watch(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String(),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Stop()
	var last *corev1.Pod
	for event := range watcher.ResultChan() {
		pod, ok := event.Object.(*corev1.Pod)
		if !ok {
			t.Fatalf("waiting until %s is %s: %v", name, what, event.Object)
		}
		if last = pod; event.Type == watch.Deleted {
			pod = nil
		}
		if wanted(pod) {
			return last
		}
	}
	status, _ := json.MarshalIndent(last.Status, "", " ")
	t.Fatalf("%s is not %s:\n%s", name, what, status)
	return nil
}

func ready(pod *corev1.Pod) bool {
	return pod != nil && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func deleted(pod *corev1.Pod) bool { return pod == nil }

func pid(t *testing.T, status corev1.ContainerStatus) (pid int) {
	t.Helper()
	if _, err := fmt.Sscanf(status.ContainerID, "process://%d", &pid); err != nil {
		t.Fatalf("container ID %q: %v", status.ContainerID, err)
	}
	return pid
}

func create(t *testing.T, client kubernetes.Interface, pod *corev1.Pod) {
	t.Helper()
	if _, err := client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// samplePod is an agent-like sidecar with a token and a trust bundle, beside an app.
func samplePod(name string) *corev1.Pod {
	always := corev1.ContainerRestartPolicyAlways
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.GroupLabel: "g"}},
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken:  new(false),
			TerminationGracePeriodSeconds: new(int64(10)),
			InitContainers: []corev1.Container{{
				Name: "sidecar", Image: "example.org/serve:v1", RestartPolicy: &always,
				Args: []string{"$(IP):7400"},
				Env: []corev1.EnvVar{
					{Name: "IP", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}}},
					{Name: "WHO", Value: name + " of who.shop.svc"},
				},
				ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromInt32(7400)}}},
				VolumeMounts:   []corev1.VolumeMount{{Name: "token", MountPath: "/var/token"}, {Name: "trust", MountPath: "/var/trust"}},
			}},
			Containers: []corev1.Container{{
				Name: "app", Image: "example.org/serve", Args: []string{"127.0.0.1:4040"},
				ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromInt32(4040)}}},
			}},
			Volumes: []corev1.Volume{
				{Name: "token", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
					{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Audience: "podesta.dev", Path: "token", ExpirationSeconds: new(int64(3600))}},
				}}}},
				{Name: "trust", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
					LocalObjectReference: corev1.LocalObjectReference{Name: "trust"}, Optional: new(true)}}},
			},
		},
	}
}

// TestPodsLiveAndDieAsOnACluster is one long story, because starting a control plane is what takes
// the time.
func TestPodsLiveAndDieAsOnACluster(t *testing.T) {
	c, client := cluster(t)

	create(t, client, samplePod("p-0"))
	pod := await(t, client, "p-0", "ready", ready)
	t.Run("it runs at an address of its own", func(t *testing.T) { reachable(t, pod) })
	t.Run("it has a token for its audience, bound to it", func(t *testing.T) { holdsToken(t, c, pod) })
	t.Run("a ConfigMap that appears reaches its volume", func(t *testing.T) { seesConfigMap(t, c, client, pod) })
	t.Run("a second pod has another address", func(t *testing.T) {
		create(t, client, samplePod("p-1"))
		if second := await(t, client, "p-1", "ready", ready); second.Status.PodIP == pod.Status.PodIP {
			t.Errorf("both have %s", pod.Status.PodIP)
		}
	})
	t.Run("a killed container is started again, and counted", func(t *testing.T) { survivesKill(t, client, pod) })
	t.Run("a deleted pod ends in order", func(t *testing.T) {
		before := await(t, client, "p-0", "ready", ready)
		remove(t, client, "p-0", metav1.DeleteOptions{})
		last := await(t, client, "p-0", "gone", deleted)
		app, sidecar := last.Status.ContainerStatuses[0].State.Terminated, last.Status.InitContainerStatuses[0].State.Terminated
		if app == nil || sidecar == nil || app.ExitCode != 0 || sidecar.ExitCode != 0 || sidecar.FinishedAt.Before(&app.FinishedAt) {
			t.Errorf("app %+v, sidecar %+v", app, sidecar)
		}
		over(t, before)
	})
	t.Run("force deletion kills what would not end", func(t *testing.T) {
		stubborn := samplePod("p-2")
		stubborn.Spec.Containers[0].Image = "stubborn"
		create(t, client, stubborn)
		before := await(t, client, "p-2", "ready", ready)
		remove(t, client, "p-2", metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))})
		over(t, before)
	})
	t.Run("a pod that asks for too much is told so", func(t *testing.T) { refuses(t, client) })
	t.Run("a readiness gate keeps a pod from being ready", func(t *testing.T) { waitsForItsGate(t, client) })
	t.Run("a pod of no group is left alone", func(t *testing.T) {
		stranger := samplePod("stranger")
		stranger.Labels = nil
		create(t, client, stranger)
		create(t, client, samplePod("p-5"))
		await(t, client, "p-5", "ready", ready)
		if await(t, client, "stranger", "there", func(*corev1.Pod) bool { return true }).Spec.NodeName != "" {
			t.Error("it was bound")
		}
	})
}

func reachable(t *testing.T, pod *corev1.Pod) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get("http://" + net.JoinHostPort(pod.Status.PodIP, "7400"))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text := make([]byte, 100)
	n, _ := response.Body.Read(text)
	if got := strings.TrimSpace(string(text[:n])); got != "p-0 of somebody" {
		t.Errorf("it says %q", got)
	}
	if pod.Spec.NodeName != "local" || pod.Status.HostIP != "127.0.0.1" || pod.Status.Phase != corev1.PodRunning {
		t.Errorf("node %q, host %q, phase %q", pod.Spec.NodeName, pod.Status.HostIP, pod.Status.Phase)
	}
}

func holdsToken(t *testing.T, c *Cluster, pod *corev1.Pod) {
	token, err := os.ReadFile(filepath.Join(c.options.State, "pods", string(pod.UID), "volumes", "token", "token"))
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(token), ".")
	if len(parts) != 3 {
		t.Fatalf("%d parts", len(parts))
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	var claims struct {
		Audience   []string `json:"aud"`
		Issued     int64    `json:"iat"`
		Expires    int64    `json:"exp"`
		Kubernetes struct {
			Pod struct{ Name, UID string } `json:"pod"`
		} `json:"kubernetes.io"`
	}
	if err := json.Unmarshal(payload, &claims); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(claims.Audience, []string{"podesta.dev"}) || claims.Expires-claims.Issued != 3600 ||
		claims.Kubernetes.Pod.Name != pod.Name || claims.Kubernetes.Pod.UID != string(pod.UID) {
		t.Errorf("claims %+v", claims)
	}
}

func seesConfigMap(t *testing.T, c *Cluster, client kubernetes.Interface, pod *corev1.Pod) {
	dir := filepath.Join(c.options.State, "pods", string(pod.UID), "volumes", "trust")
	changes, err := fsnotify.NewWatcher()
	if err != nil {
		t.Fatal(err)
	}
	defer changes.Close()
	if err := changes.Add(dir); err != nil {
		t.Fatal(err)
	}
	late := time.After(time.Minute)
	for _, text := range []string{"first", "second"} {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "trust"}, Data: map[string]string{"ca.crt": text}}
		configMaps := client.CoreV1().ConfigMaps("default")
		_, err := configMaps.Update(t.Context(), object, metav1.UpdateOptions{})
		if apierrors.IsNotFound(err) {
			_, err = configMaps.Create(t.Context(), object, metav1.CreateOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
		for got := ""; got != text; {
			select {
			case <-changes.Events:
			case <-late:
				t.Fatalf("after 10 s the file has %q, want %q", got, text)
			}
			content, _ := os.ReadFile(filepath.Join(dir, "ca.crt"))
			got = string(content)
		}
	}
}

func survivesKill(t *testing.T, client kubernetes.Interface, pod *corev1.Pod) {
	first := pid(t, pod.Status.InitContainerStatuses[0])
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	after := await(t, client, "p-0", "ready after a restart", func(p *corev1.Pod) bool {
		return ready(p) && p.Status.InitContainerStatuses[0].RestartCount == 1
	})
	status := after.Status.InitContainerStatuses[0]
	ended := status.LastTerminationState.Terminated
	if ended == nil || ended.ExitCode != 137 || ended.Signal != 9 || ended.Reason != "Error" || pid(t, status) == first {
		t.Errorf("after the kill: %+v", status)
	}
	if after.Status.ContainerStatuses[0].RestartCount != 0 || after.Status.PodIP != pod.Status.PodIP {
		t.Errorf("the rest of the pod changed: %+v", after.Status)
	}
}

func remove(t *testing.T, client kubernetes.Interface, name string, o metav1.DeleteOptions) {
	t.Helper()
	if err := client.CoreV1().Pods("default").Delete(t.Context(), name, o); err != nil {
		t.Fatal(err)
	}
}

// over waits until the pod's processes have ended.
func over(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	for _, status := range append(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses...) {
		fd, err := unix.PidfdOpen(pid(t, status), 0) // it is not our child to wait for
		if errors.Is(err, unix.ESRCH) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		ended, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 5000)
		for errors.Is(err, unix.EINTR) { // the runtime's own signals
			ended, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 5000)
		}
		if ended != 1 {
			t.Errorf("process %d of %s still runs (%v)", pid(t, status), status.Name, err)
		}
		_ = unix.Close(fd)
	}
}

func refuses(t *testing.T, client kubernetes.Interface) {
	greedy := samplePod("p-3")
	greedy.Spec.HostNetwork = true
	create(t, client, greedy)
	pod := await(t, client, "p-3", "refused", func(p *corev1.Pod) bool {
		return len(p.Status.ContainerStatuses) > 0 && p.Status.ContainerStatuses[0].State.Waiting != nil
	})
	waiting := pod.Status.ContainerStatuses[0].State.Waiting
	if waiting.Reason != "UnsupportedField" || !strings.Contains(waiting.Message, "spec.hostNetwork") {
		t.Errorf("it waits for %+v", waiting)
	}
	remove(t, client, "p-3", metav1.DeleteOptions{})
	await(t, client, "p-3", "gone", deleted)
}

func waitsForItsGate(t *testing.T, client kubernetes.Interface) {
	const gate = "example.org/gate"
	gated := samplePod("p-4")
	gated.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: gate}}
	create(t, client, gated)
	await(t, client, "p-4", "waiting for its gate", func(p *corev1.Pod) bool {
		return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Reason == "ReadinessGatesNotReady"
		})
	})
	for _, step := range []struct {
		status corev1.ConditionStatus
		ready  bool
	}{{corev1.ConditionTrue, true}, {corev1.ConditionFalse, false}} {
		text := fmt.Sprintf(`{"status":{"conditions":[{"type":%q,"status":%q}]}}`, gate, step.status)
		if _, err := client.CoreV1().Pods("default").Patch(t.Context(), "p-4", types.StrategicMergePatchType, []byte(text),
			metav1.PatchOptions{}, "status"); err != nil {
			t.Fatal(err)
		}
		await(t, client, "p-4", "as ready as its gate", func(p *corev1.Pod) bool { return ready(p) == step.ready })
	}
}

func TestTwoClustersNeedTwoDirectories(t *testing.T) {
	first := &Cluster{options: Options{State: t.TempDir()}}
	if err := first.prepare(); err != nil {
		t.Fatal(err)
	}
	second := &Cluster{options: first.options}
	if err := second.prepare(); err == nil || !strings.Contains(err.Error(), "name another directory") {
		t.Errorf("the second: %v", err)
	}
	if err := errors.Join(second.Close(), first.Close()); err != nil {
		t.Error(err)
	}
}
