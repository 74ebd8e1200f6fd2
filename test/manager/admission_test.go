package manager

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/controllers/agentserver"
	"github.com/podesta-dev/podesta/internal/identity"
)

// Who may join, decided by a real API server with real tokens.
func TestAdmission(t *testing.T) {
	namespace := newNamespace(t)
	admission := &agentserver.Admission{Client: kube, Live: kube}
	pod := newPod(t, namespace, 0)
	unlabelled := newPod(t, namespace, 1, func(p *corev1.Pod) { p.Labels = nil })
	ended := newPod(t, namespace, 2)
	ended.Status.Phase = corev1.PodFailed
	must(t, kube.Status().Update(bg, ended))
	replaced := newPod(t, namespace, 3)
	stale := server.Token(t, replaced, v1.Audience, true)
	must(t, kube.Delete(bg, replaced, client.GracePeriodSeconds(0)))
	newPod(t, namespace, 3)

	name, err := admission.Admit(bg, server.Token(t, pod, v1.Audience, true))
	want := identity.Name{Namespace: namespace, Group: "scheduler", Pod: "scheduler-0", UID: string(pod.UID)}
	if err != nil || name != want {
		t.Fatalf("admitted %v (%v), want %v", name, err, want)
	}
	must(t, admission.Readmit(bg, want))
	for _, test := range []struct{ name, token, says string }{
		{"no token at all", "forged", "not valid for audience podesta.dev"},
		{"another audience", server.Token(t, pod, "vault", true), "audience podesta.dev"},
		{"the API server's own audience", server.Token(t, pod, "https://kubernetes.default.svc", true), "audience podesta.dev"},
		{"bound to no pod", server.Token(t, pod, v1.Audience, false), "not bound to a pod"},
		{"a pod without the label", server.Token(t, unlabelled, v1.Audience, true),
			"has no label podesta.dev/group: add it to the pod template"},
		{"a pod that has ended", server.Token(t, ended, v1.Audience, true), "has ended"},
		{"a pod that was replaced", stale, "not valid"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := admission.Admit(bg, test.token); err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want a refusal with %q", err, test.says)
			}
		})
	}
	for says, name := range map[string]identity.Name{
		"was replaced":     {Namespace: namespace, Group: "scheduler", Pod: "scheduler-3", UID: string(replaced.UID)},
		"does not exist":   {Namespace: namespace, Group: "scheduler", Pod: "scheduler-9", UID: "x"},
		"belongs to group": {Namespace: namespace, Group: "other", Pod: "scheduler-0", UID: string(pod.UID)},
	} {
		if err := admission.Readmit(bg, name); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("readmit %v: got %v, want %q", name, err, says)
		}
	}
}
