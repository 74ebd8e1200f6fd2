package check

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	extensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// manifests returns the objects of a kind in the files of config that match a pattern.
func manifests[T any](t *testing.T, pattern, kind string) (objects []T) {
	t.Helper()
	files, err := filepath.Glob("../../config/" + pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v", pattern, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for document := range strings.SplitSeq(string(text), "\n---\n") {
			var meta metav1.TypeMeta
			if err := yaml.Unmarshal([]byte(document), &meta); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if meta.Kind != kind {
				continue
			}
			var object T
			if err := yaml.UnmarshalStrict([]byte(document), &object); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			objects = append(objects, object)
		}
	}
	if len(objects) == 0 {
		t.Fatalf("%s has no %s", pattern, kind)
	}
	return objects
}

// well are the facts of an installation of this tree's manifests that works, with a group of three.
func well(t *testing.T) *Facts {
	t.Helper()
	f := &Facts{Plugin: "v1.2.3", System: "podesta-system"}
	f.Kubernetes.Value = Version{Major: 1, Minor: 36, Text: "v1.36.1"}
	f.Clock.Value = Clock{Server: noon, Within: time.Second}
	f.Nodes.Value = []corev1.Node{{
		ObjectMeta: metav1.ObjectMeta{Name: "node-1"},
		Status: corev1.NodeStatus{
			NodeInfo:   corev1.NodeSystemInfo{OperatingSystem: "linux", Architecture: "amd64"},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}}
	f.NodeLeases.Value = []coordinationv1.Lease{lease("node-1", noon.Add(-9*time.Second))}
	crd := manifests[extensionsv1.CustomResourceDefinition](t, "crd/bases/*.yaml",
		"CustomResourceDefinition")[0]
	for _, kind := range []extensionsv1.CustomResourceDefinitionConditionType{
		extensionsv1.NamesAccepted, extensionsv1.Established} {
		crd.Status.Conditions = append(crd.Status.Conditions,
			extensionsv1.CustomResourceDefinitionCondition{Type: kind, Status: extensionsv1.ConditionTrue})
	}
	f.Definition.Value = &crd
	f.Manager = wellManager(t)
	f.Policies.Value = manifests[admissionv1.ValidatingAdmissionPolicy](t, "admission-policy/*.yaml",
		"ValidatingAdmissionPolicy")
	f.Bindings.Value = manifests[admissionv1.ValidatingAdmissionPolicyBinding](t,
		"admission-policy/*.yaml", "ValidatingAdmissionPolicyBinding")
	f.Injects.Value = true
	f.Namespaces.Value = []Namespace{wellNamespace(t)}
	return f
}

func lease(name string, renewed time.Time) coordinationv1.Lease {
	at := metav1.NewMicroTime(renewed)
	return coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity:       new(name),
			LeaseDurationSeconds: new(int32(15)),
			RenewTime:            &at,
		},
	}
}

func wellManager(t *testing.T) (m Manager) {
	t.Helper()
	m.Deployments.Value = manifests[appsv1.Deployment](t, "manager/*.yaml", "Deployment")
	d := &m.Deployments.Value[0]
	d.Status.ReadyReplicas = *d.Spec.Replicas
	d.Spec.Template.Spec.Containers[0].Image = "registry.example.com:5000/podesta/manager:v1.2.3"
	l := lease("podesta-manager-1", noon.Add(-2*time.Second))
	m.Lease.Value = &l
	m.Slices.Value = []discoveryv1.EndpointSlice{{Endpoints: []discoveryv1.Endpoint{{}}}}
	m.Trust.Value = bundle(t, noon.Add(-time.Hour), noon.Add(time.Hour))
	return m
}

// bundle is a ConfigMap with one certificate.
func bundle(t *testing.T, from, to time.Time) *corev1.ConfigMap {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: from, NotAfter: to}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return &corev1.ConfigMap{Data: map[string]string{v1.TrustKey: string(text)}}
}

func wellNamespace(t *testing.T) Namespace {
	t.Helper()
	n := Namespace{Name: "shop"}
	group := v1.ElectionGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "till"}}
	for _, name := range []string{"till-0", "till-1", "till-2"} {
		n.Pods.Value = append(n.Pods.Value, corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name,
				Labels: map[string]string{v1.GroupLabel: "till"}},
			Spec: corev1.PodSpec{
				InitContainers: []corev1.Container{{Name: v1.AgentContainer}},
				Containers:     []corev1.Container{{Name: "app"}},
			},
			Status: corev1.PodStatus{Phase: corev1.PodRunning},
		})
		group.Status.Processes = append(group.Status.Processes,
			v1.ProcessStatus{Name: name, Connected: new(true)})
	}
	n.Groups.Value = []v1.ElectionGroup{group}
	n.Trust.Value = &corev1.ConfigMap{}
	n.Policies.Value = manifests[networkingv1.NetworkPolicy](t, "network-policy/agents.yaml",
		"NetworkPolicy")
	n.Policies.Value[0].Namespace = "shop"
	return n
}
