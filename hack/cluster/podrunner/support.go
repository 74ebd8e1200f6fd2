package podrunner

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// refusal says why a pod is not run; the zero value means that it is.
type refusal struct{ reason, message string }

// The reasons of refusals, as containers' waiting reasons show them.
const (
	reasonUnsupported = "UnsupportedField"
	reasonNoProgram   = "ImageNotMapped"
)

// judge refuses a pod that would not do its work here. Fields that only isolate, place or limit a
// pod are not looked at, and have no effect.
func judge(pod *corev1.Pod, images map[string]Program) refusal {
	if field := unsupported(pod.Spec); field != "" {
		return refusal{reasonUnsupported, fmt.Sprintf(
			"the local cluster does not support %s: leave it out here, or use kind", field)}
	}
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		if _, found := programFor(c.Image, images); !found {
			return refusal{reasonNoProgram, fmt.Sprintf(
				"no program stands for the image %s: start the cluster with --image %s=PATH", c.Image,
				repositoryOf(c.Image))}
		}
	}
	return refusal{}
}

// unsupported names what a pod needs and does not get here.
func unsupported(spec corev1.PodSpec) string {
	if spec.HostNetwork {
		return "spec.hostNetwork"
	}
	if spec.RestartPolicy != corev1.RestartPolicyAlways {
		return "spec.restartPolicy " + string(spec.RestartPolicy)
	}
	for _, c := range spec.InitContainers {
		if c.RestartPolicy == nil || *c.RestartPolicy != corev1.ContainerRestartPolicyAlways {
			return fmt.Sprintf("init container %s, which is no sidecar", c.Name)
		}
	}
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		if field := unsupportedInContainer(c); field != "" {
			return fmt.Sprintf("%s of container %s", field, c.Name)
		}
	}
	for _, v := range spec.Volumes {
		if v.EmptyDir == nil && v.ConfigMap == nil && v.Projected == nil {
			return "the type of volume " + v.Name
		}
	}
	return ""
}

func unsupportedInContainer(c corev1.Container) string {
	for _, probe := range []*corev1.Probe{c.StartupProbe, c.ReadinessProbe, c.LivenessProbe} {
		if probe != nil && (probe.HTTPGet == nil || probe.HTTPGet.Port.IntValue() == 0) {
			return "a probe other than httpGet at a port's number"
		}
	}
	for _, v := range c.Env {
		from := v.ValueFrom
		if from != nil && from.FieldRef == nil && from.ResourceFieldRef == nil {
			return "env " + v.Name + " from a ConfigMap or Secret"
		}
	}
	switch {
	case c.Lifecycle != nil:
		return "lifecycle"
	case c.WorkingDir != "":
		return "workingDir"
	case len(c.EnvFrom) > 0:
		return "envFrom"
	}
	return ""
}
