package podrunner

import (
	"context"
	"fmt"
	"runtime"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// node is the name of the node that pods are bound to.
const node = "local"

// registerNode makes the Node that pods are bound to, Ready and without the taint that admission
// gives a new one.
func registerNode(ctx context.Context, client kubernetes.Interface, name string) error {
	nodes := client.CoreV1().Nodes()
	made, err := nodes.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: name,
		Labels: map[string]string{
			corev1.LabelHostname: name, corev1.LabelOSStable: runtime.GOOS,
			corev1.LabelArchStable: runtime.GOARCH,
		},
	}}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		made, err = nodes.Get(ctx, name, metav1.GetOptions{})
	}
	if err != nil {
		return fmt.Errorf("registering the node: %w", err)
	}
	made.Spec.Taints = nil
	if made, err = nodes.Update(ctx, made, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("registering the node: %w", err)
	}
	now := metav1.Now()
	made.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "PodRunnerReady",
		Message:           "pods run as processes of this machine",
		LastHeartbeatTime: now, LastTransitionTime: now,
	}}
	made.Status.Addresses = []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: hostIP}, {Type: corev1.NodeHostName, Address: name},
	}
	made.Status.NodeInfo.OperatingSystem = runtime.GOOS
	made.Status.NodeInfo.Architecture = runtime.GOARCH
	made.Status.NodeInfo.KubeletVersion = "podrunner"
	if _, err = nodes.UpdateStatus(ctx, made, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("registering the node: %w", err)
	}
	return nil
}

// bind does the scheduler's work: there is one node.
func bind(ctx context.Context, client kubernetes.Interface, pod *corev1.Pod, node string) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return client.CoreV1().Pods(pod.Namespace).Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{
			Name:      pod.Name,
			Namespace: pod.Namespace,
			UID:       pod.UID,
		},
		Target: corev1.ObjectReference{Kind: "Node", Name: node},
	}, metav1.CreateOptions{})
}
