// Package inject tests what config/inject does in a real kube-apiserver: which pods get the agent,
// which are refused and in which words, and that `kubectl election inject` makes the same of the
// same pod.
package inject

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	podestav1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/test/envtest"
	"github.com/podesta-dev/podesta/test/manifest"
)

var kube client.Client

func TestMain(m *testing.M) {
	// As in every cluster, the plugin ServiceAccount mounts API tokens.
	envtest.Main(m, envtest.Options{ServiceAccounts: true}, func(s *envtest.Server) error {
		kube = s.Kube
		ctx, cancel := context.WithTimeout(context.Background(), envtest.Patience)
		defer cancel()
		if err := installPolicies(ctx); err != nil {
			return fmt.Errorf("install config/inject: %w", err)
		}
		return nil
	})
}

// installPolicies applies config/inject and returns when both policies act. The API server does not
// say when; so pods that they would act on are tried, without making them, until they do.
func installPolicies(ctx context.Context) error {
	strict := client.WithFieldValidation(kube, metav1.FieldValidationStrict)
	for _, file := range []string{"mutating.yaml", "validating.yaml"} {
		objects, err := manifest.Read(filepath.Join("..", "..", "config", "inject", file))
		if err != nil {
			return err
		}
		for _, object := range objects {
			if err := strict.Create(ctx, object); err != nil {
				return fmt.Errorf("%s: %w", object.GetKind(), err)
			}
		}
	}
	if err := makeNamespace(ctx, "probe", nil); err != nil {
		return err
	}
	for ctx.Err() == nil {
		plain := newPod("probe")
		taken := newPod("probe")
		taken.Spec.Containers[0].Name = podestav1.AgentContainer
		err := kube.Create(ctx, plain, client.DryRunAll)
		if err != nil {
			return fmt.Errorf("a plain pod: %w", err)
		}
		if len(plain.Spec.InitContainers) == 1 && kube.Create(ctx, taken, client.DryRunAll) != nil {
			return nil
		}
	}
	return fmt.Errorf("the policies do nothing: %w", ctx.Err())
}

// makeNamespace makes a namespace with the ServiceAccount that a controller would make.
func makeNamespace(ctx context.Context, name string, labels map[string]string) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	if err := client.IgnoreAlreadyExists(kube.Create(ctx, namespace)); err != nil {
		return err
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "default"}}
	return client.IgnoreAlreadyExists(kube.Create(ctx, account))
}

// newPod is the least pod of a group, not yet made.
func newPod(namespace string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "scheduler-0",
			Labels: map[string]string{podestav1.GroupLabel: "scheduler"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "example.com/app"}}},
	}
}
