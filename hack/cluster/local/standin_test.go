//go:build linux

package local

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// listening returns the addresses at which a process listens, as the kernel writes them.
func listening(t *testing.T, pid string) (addresses []string) {
	t.Helper()
	sockets := map[string]bool{}
	files, err := filepath.Glob("/proc/" + pid + "/fd/*")
	if err != nil || len(files) == 0 {
		t.Fatalf("process %s has no files: %v", pid, err)
	}
	for _, file := range files {
		target, _ := os.Readlink(file)
		if inode, ok := strings.CutPrefix(target, "socket:["); ok {
			sockets[strings.TrimSuffix(inode, "]")] = true
		}
	}
	for _, table := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile("/proc/net/" + table)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if f := strings.Fields(line); len(f) > 9 && f[3] == "0A" && sockets[f[9]] {
				addresses = append(addresses, f[1])
			}
		}
	}
	return addresses
}

// Nothing of a cluster can be reached from another machine, and whoever looks for an installation
// finds a manager that is ready and has an address.
func TestLoopbackOnlyAndInstalled(t *testing.T) {
	c, kube := cluster(t)
	for _, name := range []string{"etcd", "kube-apiserver"} {
		pid, err := os.ReadFile(filepath.Join(c.options.State, name+".pid"))
		if err != nil {
			t.Fatal(err)
		}
		all := listening(t, strings.TrimSpace(string(pid)))
		if len(all) == 0 {
			t.Errorf("%s listens nowhere", name)
		}
		for _, address := range all {
			// 127.0.0.0/8, of which the last byte of the hexadecimal number is the first; or ::1
			if host, _, _ := strings.Cut(address, ":"); !strings.HasSuffix(host, "7F") &&
				host != fmt.Sprintf("%024d01000000", 0) {
				t.Errorf("%s listens at %s", name, address)
			}
		}
	}
	full, err := client.New(c.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: managerNamespace}}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
		Namespace: managerNamespace,
		Name:      "podesta-manager",
	}}
	for _, object := range []client.Object{namespace, account} {
		if err := full.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	if err := standIn(t.Context(), full, Manager{Path: "/bin/manager", Roster: "127.0.0.1:9443"}); err != nil {
		t.Fatal(err)
	}
	d, err := kube.AppsV1().Deployments(managerNamespace).List(t.Context(), metav1.ListOptions{
		LabelSelector: "app.kubernetes.io/name=podesta,app.kubernetes.io/component=manager"})
	if err != nil || len(d.Items) != 1 || d.Items[0].Status.ReadyReplicas != 1 {
		t.Errorf("%+v, %v", d, err)
	}
	slices, err := kube.DiscoveryV1().EndpointSlices(managerNamespace).List(t.Context(),
		metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=podesta-roster"})
	if err != nil || len(slices.Items) != 1 || len(slices.Items[0].Endpoints) != 1 {
		t.Errorf("%+v, %v", slices, err)
	}
}

// What is to be typed names only what is there.
func TestShell(t *testing.T) {
	plugins, bin := filepath.Join(t.TempDir(), "with space"), t.TempDir()
	if err := os.Mkdir(plugins, 0o700); err != nil {
		t.Fatal(err)
	}
	c := &Cluster{Kubeconfig: "/state/kubeconfig", Bin: bin}
	t.Setenv("PATH", "")
	if got := c.Shell(plugins); strings.Contains(got, "export KUBECONFIG=/state/kubeconfig PATH") ||
		!strings.Contains(got, "not built: make build") || !strings.Contains(got, "There is no kubectl") {
		t.Error(got)
	}
	for _, program := range []string{filepath.Join(plugins, "kubectl-election"),
		filepath.Join(bin, "kubectl")} {
		if err := os.WriteFile(program, nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	want := fmt.Sprintf("export KUBECONFIG=/state/kubeconfig PATH='%s':%s:$PATH\n", plugins, bin)
	if got := c.Shell(plugins); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
