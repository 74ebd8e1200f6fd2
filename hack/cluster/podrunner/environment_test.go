package podrunner

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func testPod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "p-0", Namespace: "shop", UID: "u-1",
			Labels: map[string]string{"app": "shop", "podesta.dev/group": "g"},
		},
		Spec: corev1.PodSpec{NodeName: "local", ServiceAccountName: "default", RestartPolicy: corev1.RestartPolicyAlways},
	}
}

func field(path string) *corev1.EnvVarSource {
	return new(corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}})
}

func TestACommandIsMadeAsAKubeletMakesIt(t *testing.T) {
	c := corev1.Container{
		Command:      []string{"sh", "--dir=/var/run/token/t:/var/run"},
		Resources:    corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Mi")}},
		VolumeMounts: []corev1.VolumeMount{{Name: "run", MountPath: "/var/run"}, {Name: "token", MountPath: "/var/run/token/"}},
		Args: []string{"--listen=$(IP):1", "--app=127.0.0.1:2", "--status=localhost:3", "--roster=roster.system.svc:9443",
			"--name=roster.system.svc", "--who=$(WHO)", "$$(IP) $(MISSING) 5$"},
		Env: []corev1.EnvVar{
			{Name: "IP", ValueFrom: field("status.podIP")},
			{Name: "GROUP", ValueFrom: field("metadata.labels['podesta.dev/group']")},
			{Name: "WHO", Value: "$(GROUP) at 127.0.0.1"},
			{Name: "LIMIT", ValueFrom: new(corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.memory"}})},
		},
	}
	s := surroundings{
		pod: testPod(), address: "127.64.0.7",
		program: Program{Path: "/bin/agent", Args: []string{"serve"}},
		words: replacer(c, func(volume string) string { return "/real/" + volume }, "127.64.0.7",
			map[string]string{"roster.system.svc:9443": "127.0.0.1:9443"}),
	}
	program, args, env := s.command(c)
	if program != "/bin/agent" {
		t.Errorf("it runs %s, want its image's", program)
	}
	want := []string{"sh", "serve", "--dir=/real/token/t:/real/run", "--listen=127.64.0.7:1", "--app=127.64.0.7:2",
		"--status=127.64.0.7:3", "--roster=127.0.0.1:9443", "--name=roster.system.svc", "--who=g at 127.64.0.7", "$(IP) $(MISSING) 5$"}
	if !slices.Equal(args, want) {
		t.Errorf("args\n%q, want\n%q", args, want)
	}
	for _, want := range []string{"IP=127.64.0.7", "GROUP=g", "WHO=g at 127.64.0.7", "HOSTNAME=p-0", "LIMIT=1048576"} {
		if !slices.Contains(env, want) {
			t.Errorf("env lacks %s: %q", want, env)
		}
	}
}

func TestAProgramInAVolumeIsRun(t *testing.T) {
	c := corev1.Container{
		Command:      []string{"/podesta/bin/lead", "--", "sh"},
		VolumeMounts: []corev1.VolumeMount{{Name: "bin", MountPath: "/podesta/bin"}},
	}
	s := surroundings{
		pod: testPod(), program: Program{Path: "/bin/app", Args: []string{"serve"}},
		words: replacer(c, func(volume string) string { return "/real/" + volume }, "127.64.0.7", nil),
	}
	program, args, _ := s.command(c)
	if want := []string{"/real/bin/lead", "--", "sh"}; program != want[0] || !slices.Equal(args, want) {
		t.Errorf("it runs %s with %q, want %q", program, args, want)
	}
}

func TestAnImageFindsItsProgram(t *testing.T) {
	images := map[string]Program{"pause": {Path: "pause"}, "podesta-dev/agent": {Path: "agent"}, "example.org:5000/agent": {Path: "exact"}}
	for image, want := range map[string]string{
		"pause":                                "pause",
		"example.org/pause:3.10":               "pause",
		"example.org/podesta-dev/agent:latest": "agent",
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

func TestWhatIsRefusedIsNamed(t *testing.T) {
	for want, ask := range map[string]func(*corev1.PodSpec){
		"":                       func(*corev1.PodSpec) {},
		"spec.hostNetwork":       func(s *corev1.PodSpec) { s.HostNetwork = true },
		"restartPolicy Never":    func(s *corev1.PodSpec) { s.RestartPolicy = corev1.RestartPolicyNever },
		"init container migrate": func(s *corev1.PodSpec) { s.InitContainers = []corev1.Container{{Name: "migrate"}} },
		"volume data": func(s *corev1.PodSpec) {
			s.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{}}}}
		},
		"probe": func(s *corev1.PodSpec) {
			s.Containers[0].ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{}}}
		},
		"--image x/nginx=PATH": func(s *corev1.PodSpec) { s.Containers[0].Image = "x/nginx:1" },
	} {
		pod := testPod()
		pod.Spec.Containers = []corev1.Container{{Name: "app", Image: "agent:1"}}
		ask(&pod.Spec)
		got := judge(pod, map[string]Program{"agent": {Path: "/bin/agent"}})
		if (got == refusal{}) != (want == "") || !strings.Contains(got.message, want) {
			t.Errorf("judge: %+v, want %q in it", got, want)
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
