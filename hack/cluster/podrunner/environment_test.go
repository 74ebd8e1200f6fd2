package podrunner

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// fixedObjects are the ConfigMaps and Secrets of a test, by name.
type fixedObjects struct {
	configMaps map[string]map[string]string
	secrets    map[string]map[string]string
}

func (f fixedObjects) configMap(_, name string) (*corev1.ConfigMap, bool) {
	data, found := f.configMaps[name]
	return &corev1.ConfigMap{Data: data}, found
}

func (f fixedObjects) secret(_, name string) (*corev1.Secret, bool) {
	data, found := f.secrets[name]
	secret := &corev1.Secret{Data: make(map[string][]byte)}
	for key, value := range data {
		secret.Data[key] = []byte(value)
	}
	return secret, found
}

func testPod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "p-0", Namespace: "shop", UID: "u-1",
			Labels: map[string]string{"app": "shop", "podesta.dev/group": "g"},
		},
		Spec: corev1.PodSpec{NodeName: "local", ServiceAccountName: "default"},
	}
}

func field(path string) *corev1.EnvVarSource {
	return new(corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}})
}

func TestACommandIsMadeAsAKubeletMakesIt(t *testing.T) {
	ref := func(name string) corev1.LocalObjectReference { return corev1.LocalObjectReference{Name: name} }
	s := surroundings{
		pod: testPod(), address: "127.64.0.7",
		objects: fixedObjects{
			configMaps: map[string]map[string]string{"settings": {"level": "debug", "COLOUR": "red"}},
			secrets:    map[string]map[string]string{"keys": {"k": "s3cret"}},
		},
		program: Program{Path: "/bin/agent"},
		rules:   []rule{{from: "/data", to: "/real/data", isPath: true}, {from: "127.0.0.1", to: "127.64.0.7"}},
		extra:   map[string]string{"COLOUR": "green", "ROSTER": "127.0.0.1:9443"},
	}
	args, env, err := s.command(corev1.Container{
		Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Mi")}},
		Args:      []string{"--listen=$(IP):1", "--app=127.0.0.1:2", "--dir=/data", "--roster=$(ROSTER)", "--who=$(WHO)"},
		EnvFrom: []corev1.EnvFromSource{
			{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: ref("settings")}, Prefix: ""},
			{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: ref("keys")}, Prefix: "S_"},
		},
		Env: []corev1.EnvVar{
			{Name: "IP", ValueFrom: field("status.podIP")},
			{Name: "GROUP", ValueFrom: field("metadata.labels['podesta.dev/group']")},
			{Name: "WHO", Value: "$(GROUP) at 127.0.0.1"},
			{Name: "KEY", ValueFrom: new(corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: ref("keys"), Key: "k"}})},
			{Name: "LIMIT", ValueFrom: new(corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.memory"}})},
			{Name: "NONE", ValueFrom: new(corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
				LocalObjectReference: ref("absent"), Key: "k", Optional: new(true)}})},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	wantArgs := []string{"/bin/agent", "--listen=127.64.0.7:1", "--app=127.64.0.7:2", "--dir=/real/data",
		"--roster=127.0.0.1:9443", "--who=g at 127.64.0.7"}
	if !slices.Equal(args, wantArgs) {
		t.Errorf("args\n%q, want\n%q", args, wantArgs)
	}
	for _, want := range []string{"IP=127.64.0.7", "GROUP=g", "WHO=g at 127.64.0.7", "KEY=s3cret", "S_k=s3cret",
		"level=debug", "COLOUR=red", "ROSTER=127.0.0.1:9443", "HOSTNAME=p-0", "LIMIT=1048576"} {
		if !slices.Contains(env, want) {
			t.Errorf("env lacks %s: %q", want, env)
		}
	}
	if slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, "NONE=") }) {
		t.Errorf("an optional reference to nothing set a variable: %q", env)
	}
}

func TestTheProgramStandsForTheImage(t *testing.T) {
	s := surroundings{pod: testPod(), program: Program{Path: "/opt/tool", Args: []string{"pause"}}}
	args, _, err := s.command(corev1.Container{Command: []string{"sh", "-c"}, Args: []string{"x"}})
	if want := []string{"sh", "pause", "-c", "x"}; err != nil || !slices.Equal(args, want) {
		t.Errorf("args %q, %v, want %q", args, err, want)
	}
}

func TestAMissingReferenceIsNamed(t *testing.T) {
	s := surroundings{pod: testPod(), objects: fixedObjects{}}
	_, _, err := s.command(corev1.Container{EnvFrom: []corev1.EnvFromSource{{
		ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}},
	}}})
	if err == nil || !strings.Contains(err.Error(), "no ConfigMap settings") {
		t.Errorf("error %v", err)
	}
}

func TestAnImageFindsItsProgram(t *testing.T) {
	images := map[string]Program{"pause": {Path: "pause"}, "podesta-dev/agent": {Path: "agent"}, "example.org:5000/agent": {Path: "exact"}}
	for image, want := range map[string]string{
		"pause":                                           "pause",
		"example.org/pause:3.10":                          "pause",
		"example.org/podesta-dev/agent:latest":            "agent",
		"example.org/podesta-dev/agent@sha256:ab":         "agent",
		"example.org:5000/podesta-dev/agent:v1@sha256:ab": "agent",
		"example.org:5000/agent":                          "exact",
		"example.org/agent":                               "",
		"example.org/bigpause":                            "",
		"":                                                "",
	} {
		if got, found := programFor(image, images); got.Path != want || found != (want != "") {
			t.Errorf("programFor(%q) = %q, %v, want %q", image, got.Path, found, want)
		}
	}
}

func TestEveryPodHasAnAddressOfItsOwn(t *testing.T) {
	first, err := claimAddresses(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer first.close()
	second, err := claimAddresses(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer second.close()
	seen := make(map[string]bool)
	for range 600 {
		for _, pool := range []*addresses{first, second} {
			address, err := pool.take()
			if err != nil {
				t.Fatal(err)
			}
			last := address.As4()[3]
			if seen[address.String()] || !address.IsLoopback() || last == 0 || last == 255 {
				t.Fatalf("address %s", address)
			}
			seen[address.String()] = true
		}
	}
}

func TestAFreedAddressIsNotGivenOutAtOnce(t *testing.T) {
	pool, err := claimAddresses(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer pool.close()
	first, _ := pool.take()
	pool.release(first)
	if second, _ := pool.take(); second == first {
		t.Errorf("%s was given out again while others were free", first)
	}
}
