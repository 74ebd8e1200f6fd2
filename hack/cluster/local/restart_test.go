//go:build linux

package local

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// TestAKilledControlPlaneIsStartedAgain kills etcd and the API server under a pod. What was there
// is there again, and pods go on.
func TestAKilledControlPlaneIsStartedAgain(t *testing.T) {
	c, client := cluster(t)
	create(t, client, samplePod("p-0"))
	before := await(t, client, "p-0", "ready", ready)
	for _, name := range []string{"etcd", "kube-apiserver"} {
		kill(t, c, name)
		reachable(t, before)
		write(t, client, name)
	}
	survivesKill(t, client, before) // its first restart, and one that the API server hears of: what it says is of now
	after := await(t, client, "p-0", "ready", ready)
	if after.UID != before.UID || after.Status.ContainerStatuses[0].ContainerID != before.Status.ContainerStatuses[0].ContainerID {
		t.Errorf("the pod was %s and is %s: want the same, with the same process", before.Status.ContainerStatuses[0].ContainerID,
			after.Status.ContainerStatuses[0].ContainerID)
	}
}

// kill kills a program of the control plane.
func kill(t *testing.T, c *Cluster, name string) {
	t.Helper()
	pid := 0
	text, err := os.ReadFile(filepath.Join(c.options.State, name+".pid"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscan(string(text), &pid); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatalf("%s, process %d: %v", name, pid, err)
	}
}

// write writes something as soon as the control plane takes it.
func write(t *testing.T, client kubernetes.Interface, killed string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"killed":%q}}}`, killed)
	for again := time.NewTicker(100 * time.Millisecond); ; {
		_, err := client.CoreV1().ConfigMaps("default").Patch(ctx, "kube-root-ca.crt", types.MergePatchType, patch, metav1.PatchOptions{})
		if err == nil {
			return
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatalf("%s was killed and is not back: %v", killed, err)
		}
	}
}
