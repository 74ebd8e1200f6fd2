package podrunner

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// plainPod has what the samples have, and what admission adds to it.
func plainPod() *corev1.Pod {
	always := corev1.ContainerRestartPolicyAlways
	probe := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: intstr.FromInt32(1)}}}
	secure := &corev1.SecurityContext{ReadOnlyRootFilesystem: new(true)}
	return &corev1.Pod{Spec: corev1.PodSpec{
		InitContainers: []corev1.Container{{
			Name: "agent", Image: "agent:1", RestartPolicy: &always, SecurityContext: secure,
			StartupProbe: probe, ReadinessProbe: probe, LivenessProbe: probe,
			TerminationMessagePath: "/dev/termination-log", TerminationMessagePolicy: "File", ImagePullPolicy: "Always",
			VolumeMounts: []corev1.VolumeMount{{Name: "token", MountPath: "/var/token", ReadOnly: true}},
			Ports:        []corev1.ContainerPort{{ContainerPort: 7400}},
			Env:          []corev1.EnvVar{{Name: "IP", ValueFrom: field("status.podIP")}},
		}},
		Containers: []corev1.Container{{Name: "app", Image: "agent:1"}},
		Volumes: []corev1.Volume{
			{Name: "state", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			{Name: "token", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
				{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}},
			}}}},
		},
		RestartPolicy: "Always", DNSPolicy: "ClusterFirst", SchedulerName: "default-scheduler",
		ServiceAccountName: "default", DeprecatedServiceAccount: "default", NodeName: "local", EnableServiceLinks: new(true),
		SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: new(true)}, ShareProcessNamespace: new(false),
		Tolerations: []corev1.Toleration{{Key: "k"}}, Priority: new(int32(0)), PreemptionPolicy: new(corev1.PreemptLowerPriority),
		TerminationGracePeriodSeconds: new(int64(30)),
	}}
}

func TestWhatIsRefusedIsNamed(t *testing.T) {
	for name, tc := range map[string]struct {
		ask  func(*corev1.PodSpec)
		want string // in the message; empty: it runs
	}{
		"a pod of the samples": {func(*corev1.PodSpec) {}, ""},
		"isolation that is only wished for": {func(s *corev1.PodSpec) {
			s.RuntimeClassName, s.HostUsers = new("gvisor"), new(false)
		}, ""},
		"the host's network":     {func(s *corev1.PodSpec) { s.HostNetwork = true }, "spec.hostNetwork"},
		"one process namespace":  {func(s *corev1.PodSpec) { s.ShareProcessNamespace = new(true) }, "spec.shareProcessNamespace"},
		"host aliases":           {func(s *corev1.PodSpec) { s.HostAliases = []corev1.HostAlias{{IP: "1.1.1.1"}} }, "spec.hostAliases"},
		"readiness gates":        {func(s *corev1.PodSpec) { s.ReadinessGates = []corev1.PodReadinessGate{{}} }, "spec.readinessGates"},
		"Windows":                {func(s *corev1.PodSpec) { s.OS = &corev1.PodOS{Name: corev1.Windows} }, "spec.os"},
		"a deadline":             {func(s *corev1.PodSpec) { s.ActiveDeadlineSeconds = new(int64(1)) }, "spec.activeDeadlineSeconds"},
		"a lifecycle hook":       {func(s *corev1.PodSpec) { s.Containers[0].Lifecycle = &corev1.Lifecycle{} }, "spec.containers[0].lifecycle"},
		"a sidecar with a tty":   {func(s *corev1.PodSpec) { s.InitContainers[0].TTY = true }, "spec.initContainers[0].tty"},
		"a port of the host":     {func(s *corev1.PodSpec) { s.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 1}} }, "ports[0].hostPort"},
		"a device":               {func(s *corev1.PodSpec) { s.Containers[0].VolumeDevices = []corev1.VolumeDevice{{}} }, "volumeDevices"},
		"a path inside a volume": {func(s *corev1.PodSpec) { s.InitContainers[0].VolumeMounts[0].SubPath = "x" }, "volumeMounts[0].subPath"},
		"a directory of the host": {func(s *corev1.PodSpec) {
			s.Volumes[0].VolumeSource = corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{}}
		}, "spec.volumes[0].hostPath"},
		"a claim": {func(s *corev1.PodSpec) {
			s.Volumes[0].VolumeSource = corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "c"}}
		}, "spec.volumes[0].persistentVolumeClaim"},
		"a pod certificate": {func(s *corev1.PodSpec) {
			s.Volumes[1].Projected.Sources[0] = corev1.VolumeProjection{PodCertificate: &corev1.PodCertificateProjection{}}
		}, "projected.sources[0].podCertificate"},
		"a probe that runs a command": {func(s *corev1.PodSpec) {
			s.Containers[0].ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{}}}
		}, "readinessProbe"},
		"resources as variables": {func(s *corev1.PodSpec) {
			s.Containers[0].Env = []corev1.EnvVar{{ValueFrom: new(corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.cpu"}})}}
		}, "env[0].valueFrom.resourceFieldRef limits.cpu"},
		"the memory limit as a variable": {func(s *corev1.PodSpec) {
			s.Containers[0].Env = []corev1.EnvVar{{ValueFrom: new(corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.memory"}})}}
		}, ""},
		"an unknown field as a variable": {func(s *corev1.PodSpec) {
			s.InitContainers[0].Env[0].ValueFrom = field("spec.priority")
		}, "fieldRef spec.priority"},
		"a debugger":          {func(s *corev1.PodSpec) { s.EphemeralContainers = []corev1.EphemeralContainer{{}} }, "spec.ephemeralContainers"},
		"an image of no ours": {func(s *corev1.PodSpec) { s.Containers[0].Image = "x/nginx:1" }, "--image x/nginx=PATH"},
	} {
		t.Run(name, func(t *testing.T) {
			pod := plainPod()
			tc.ask(&pod.Spec)
			got := judge(pod, map[string]Program{"agent": {Path: "/bin/agent"}})
			if (got == refusal{}) != (tc.want == "") || !strings.Contains(got.message, tc.want) {
				t.Errorf("judge: %+v, want %q in it", got, tc.want)
			}
		})
	}
}
