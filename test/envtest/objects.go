package envtest

import (
	"fmt"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// NewNamespace makes a namespace of the test's own, with a ServiceAccount for pods. It is not
// deleted: nothing would empty it, and the server ends soon.
func (s *Server) NewNamespace(t *testing.T, prefix string) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix}}
	Must(t, s.Kube.Create(bg, namespace))
	Must(t, s.Kube.Create(bg, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace.Name, Name: "default"}}))
	return namespace.Name
}

// NewPod makes pod scheduler-<ordinal> of group scheduler, with an agent, running, with an address.
func (s *Server) NewPod(
	t *testing.T, namespace string, ordinal int, edit ...func(*corev1.Pod),
) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace,
			Name:      fmt.Sprintf("scheduler-%d", ordinal),
			Labels:    map[string]string{v1.GroupLabel: "scheduler"},
		},
		Spec: corev1.PodSpec{
			ServiceAccountName: "default",
			InitContainers: []corev1.Container{{Name: v1.AgentContainer, Image: "agent",
				RestartPolicy: new(corev1.ContainerRestartPolicyAlways)}},
			Containers: []corev1.Container{{Name: "app", Image: "app"}},
		},
	}
	for _, e := range edit {
		e(pod)
	}
	Must(t, s.Kube.Create(bg, pod))
	pod.Status.Phase, pod.Status.PodIP = corev1.PodRunning, fmt.Sprintf("10.0.0.%d", ordinal+1)
	pod.Status.PodIPs = []corev1.PodIP{{IP: pod.Status.PodIP}}
	Must(t, s.Kube.Status().Update(bg, pod))
	return pod
}

// Token returns a real token of the pod's ServiceAccount, bound to the pod or not.
func (s *Server) Token(t *testing.T, pod *corev1.Pod, audience string, bound bool) string {
	t.Helper()
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		Audiences: []string{audience},
	}}
	if bound {
		request.Spec.BoundObjectRef = &authenticationv1.BoundObjectReference{
			Kind:       "Pod",
			APIVersion: "v1",
			Name:       pod.Name,
			UID:        pod.UID,
		}
	}
	granted, err := s.Core.CoreV1().ServiceAccounts(pod.Namespace).CreateToken(bg, "default", request,
		metav1.CreateOptions{})
	Must(t, err)
	return granted.Status.Token
}

// MountedTrust reads the ConfigMap as a kubelet would mount it, without its delay.
func (s *Server) MountedTrust(namespace string) ([]byte, error) {
	bundle := &corev1.ConfigMap{}
	if err := s.Kube.Get(bg, types.NamespacedName{Namespace: namespace, Name: v1.TrustConfigMap},
		bundle); err != nil {
		return nil, err
	}
	return []byte(bundle.Data[v1.TrustKey]), nil
}
