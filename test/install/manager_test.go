package install

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/test/port"
)

// TestTwoManagers runs the manager's program twice, as the installation says: its arguments, its
// ServiceAccount's token, its rights, its policies. Both get ready; one leads, does a manager's
// work, and is followed by the other when it is told to end.
func TestTwoManagers(t *testing.T) {
	awaitPolicies(t, impersonate(t, account))
	program := buildManager(t)
	t.Cleanup(func() {
		must(t, kube.Delete(context.Background(), &corev1.Secret{ObjectMeta: named(system, "podesta-ca")}))
	})
	credentials := tokenFile(t, "podesta-manager")
	managers := []*managerProcess{startManager(t, program, credentials, "podesta-manager-0"), startManager(t, program, credentials, "podesta-manager-1")}
	for _, m := range managers {
		m.await(t, "ready", func(ctx context.Context) bool { return status(ctx, "http://"+m.health+"/readyz") == http.StatusOK })
	}
	leading := func(ctx context.Context) (pods []string) {
		var marked corev1.PodList
		must(t, kube.List(ctx, &marked, client.InNamespace(system), client.MatchingLabels{v1.LeaderLabel: "true"}))
		for _, pod := range marked.Items {
			pods = append(pods, pod.Name)
		}
		return pods
	}
	var first *managerProcess
	managers[0].await(t, "one that leads", func(ctx context.Context) bool {
		pods := leading(ctx)
		if len(pods) > 1 {
			t.Fatalf("%v lead", pods)
		}
		i := slices.IndexFunc(managers, func(m *managerProcess) bool { return slices.Contains(pods, m.pod) })
		if i < 0 {
			return false
		}
		first = managers[i]
		return true
	})
	managers = slices.DeleteFunc(managers, func(m *managerProcess) bool { return m == first })
	second := managers[0]

	group := &v1.ElectionGroup{ObjectMeta: named(newNamespace(t), "shop")}
	must(t, kube.Create(t.Context(), group))
	first.await(t, "the trust, and the group's status", func(ctx context.Context) bool {
		trust := &corev1.ConfigMap{}
		return kube.Get(ctx, client.ObjectKey{Namespace: group.Namespace, Name: v1.TrustConfigMap}, trust) == nil &&
			kube.Get(ctx, client.ObjectKeyFromObject(group), group) == nil && len(group.Status.Conditions) > 0
	})
	checkMetrics(t, first, second)
	lease := func() coordinationv1.LeaseSpec {
		held := &coordinationv1.Lease{}
		must(t, kube.Get(t.Context(), client.ObjectKey{Namespace: system, Name: "podesta-manager"}, held))
		if held.Spec.LeaseTransitions == nil || held.Spec.HolderIdentity == nil || *held.Spec.HolderIdentity == "" {
			t.Fatalf("nobody holds the lease: %+v", held.Spec)
		}
		return held.Spec
	}
	before := lease()

	must(t, first.process.Process.Signal(syscall.SIGTERM))
	select {
	case err := <-first.ended:
		must(t, err)
	case <-time.After(patience):
		t.Fatalf("told to end, %s runs on:\n%s", first.pod, first.log())
	}
	second.await(t, "leading after the first", func(ctx context.Context) bool { return slices.Equal(leading(ctx), []string{second.pod}) })
	if after := lease(); *after.HolderIdentity == *before.HolderIdentity || *after.LeaseTransitions != *before.LeaseTransitions+1 {
		t.Errorf("the lease is %+v after %+v, want the second to hold it", after, before)
	}
	checkMetrics(t, second)
}

// buildManager builds the program with the flags of the Makefile, so that Go finds most of it
// built.
func buildManager(t *testing.T) string {
	t.Helper()
	must(t, track(filepath.Join("cmd", "manager")))
	program := filepath.Join(t.TempDir(), "manager")
	build := exec.Command("go", "build", "-tags", "grpcnotrace", "-trimpath", "-ldflags", "-s -w", "-o", program,
		filepath.Join(root, "cmd", "manager"))
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	_, err := run(build)
	must(t, err)
	return program
}

// managerProcess is a manager that runs, for a pod that exists in the API only.
type managerProcess struct {
	pod, roster, health, metrics string
	limit                        int64 // of its memory, in bytes
	process                      *exec.Cmd
	ended                        chan error
	logFile                      string
}

func startManager(t *testing.T, program, credentials, pod string) *managerProcess {
	t.Helper()
	object := managerPod(t, pod)
	must(t, kube.Create(t.Context(), object))
	t.Cleanup(func() { must(t, kube.Delete(context.Background(), object, client.GracePeriodSeconds(0))) })
	container := object.Spec.Containers[0]
	m := &managerProcess{
		pod:     pod,
		roster:  port.Of(t),
		health:  port.Of(t),
		metrics: port.Of(t),
		ended:   make(chan error, 1),
		limit:   container.Resources.Limits.Memory().Value(),
		logFile: filepath.Join(t.TempDir(), "log"),
	}
	var arguments []string
	for _, argument := range container.Args {
		arguments = append(arguments, strings.NewReplacer("$(POD_NAMESPACE)", system, ":9443", m.roster,
			":8443", m.metrics, ":8081", m.health).Replace(argument))
	}
	m.process = exec.Command(program, arguments...)
	m.process.Env = []string{"KUBECONFIG=" + credentials, "POD_NAME=" + pod, "POD_NAMESPACE=" + system}
	for _, variable := range container.Env {
		if from := variable.ValueFrom; from != nil && from.ResourceFieldRef != nil && from.ResourceFieldRef.Resource == "limits.memory" {
			m.process.Env = append(m.process.Env, fmt.Sprintf("%s=%d", variable.Name, m.limit))
		}
	}
	log, err := os.Create(m.logFile)
	must(t, err)
	defer func() { must(t, log.Close()) }() // the process has its own
	m.process.Stderr = log
	must(t, m.process.Start())
	go func() { m.ended <- m.process.Wait(); close(m.ended) }()
	t.Cleanup(func() { _ = m.process.Process.Kill(); <-m.ended })
	return m
}

// log is what it has logged so far.
func (m *managerProcess) log() string {
	content, err := os.ReadFile(m.logFile)
	if err != nil {
		return err.Error()
	}
	return string(content)
}

// await waits until something is so, or the manager ends.
func (m *managerProcess) await(t *testing.T, what string, so func(context.Context) bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		select {
		case err := <-m.ended:
			return false, fmt.Errorf("the manager of pod %s has ended: %w\n%s", m.pod, err, m.log())
		default:
			return so(ctx), nil
		}
	})
	if err != nil {
		t.Fatalf("waiting for %s: %v", what, err)
	}
}

// tokenFile writes a kubeconfig with a token of a ServiceAccount of the installation: no more than
// its pod would have.
func tokenFile(t *testing.T, name string) string {
	t.Helper()
	access := clientcmdapi.NewConfig()
	access.Clusters["cluster"] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	access.AuthInfos["account"] = &clientcmdapi.AuthInfo{Token: token(t, &corev1.ServiceAccount{ObjectMeta: named(system, name)})}
	access.Contexts["context"] = &clientcmdapi.Context{Cluster: "cluster", AuthInfo: "account"}
	access.CurrentContext = "context"
	content, err := clientcmd.Write(*access)
	must(t, err)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	must(t, os.WriteFile(file, content, 0o600))
	return file
}

func newAccount(t *testing.T) *corev1.ServiceAccount {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: named(newNamespace(t), "somebody")}
	must(t, kube.Create(t.Context(), account))
	return account
}

func token(t *testing.T, account *corev1.ServiceAccount) string {
	t.Helper()
	request := &authenticationv1.TokenRequest{}
	must(t, kube.SubResource("token").Create(t.Context(), account, request))
	return request.Status.Token
}
