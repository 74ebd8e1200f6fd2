package podrunner

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// refusal says why a pod is not run; the zero value means that it is.
type refusal struct{ reason, message string }

// The reasons of refusals, as containers' waiting reasons and events show them.
const (
	reasonUnsupported = "UnsupportedField"
	reasonNoProgram   = "ImageNotMapped"
)

// judge refuses a pod that asks for what the runner does not do. It works by exhaustion: it takes
// away what is supported, and what would only isolate or place the pod; whatever is left is refused
// by name. A field that Kubernetes adds is thus refused until somebody has thought about it.
func judge(pod *corev1.Pod, images map[string]Program) refusal {
	if field := unsupported(pod.Spec.DeepCopy()); field != "" {
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

// unsupported names the first field that is refused. It destroys the spec.
func unsupported(spec *corev1.PodSpec) string {
	for i := range spec.InitContainers {
		c := &spec.InitContainers[i]
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			c.RestartPolicy = nil
		} else if c.StartupProbe != nil || c.LivenessProbe != nil || c.ReadinessProbe != nil {
			return fmt.Sprintf("probes of the init container %s", c.Name)
		}
		if left := unsupportedInContainer(c); left != "" {
			return fmt.Sprintf("spec.initContainers[%d].%s", i, left)
		}
	}
	for i := range spec.Containers {
		if left := unsupportedInContainer(&spec.Containers[i]); left != "" {
			return fmt.Sprintf("spec.containers[%d].%s", i, left)
		}
	}
	for i := range spec.Volumes {
		if left := unsupportedInVolume(&spec.Volumes[i]); left != "" {
			return fmt.Sprintf("spec.volumes[%d].%s", i, left)
		}
	}
	// Done.
	spec.InitContainers, spec.Containers, spec.Volumes = nil, nil, nil
	spec.RestartPolicy, spec.TerminationGracePeriodSeconds, spec.NodeName = "", nil, ""
	spec.ServiceAccountName, spec.DeprecatedServiceAccount = "", ""
	spec.AutomountServiceAccountToken = nil
	spec.EnableServiceLinks = nil // there are no Services to link
	// Not enforced: there is one node, no isolation and no DNS.
	spec.SecurityContext, spec.ImagePullSecrets = nil, nil
	spec.RuntimeClassName, spec.HostUsers = nil, nil
	spec.Affinity, spec.NodeSelector, spec.Tolerations = nil, nil, nil
	spec.TopologySpreadConstraints = nil
	spec.SchedulerName, spec.PriorityClassName, spec.Priority, spec.PreemptionPolicy = "", "", nil, nil
	spec.Resources, spec.Overhead = nil, nil
	spec.Hostname, spec.Subdomain, spec.DNSPolicy = "", "", ""
	if spec.OS != nil && spec.OS.Name == corev1.Linux {
		spec.OS = nil
	}
	return leftover("spec", *spec)
}

func unsupportedInContainer(c *corev1.Container) string {
	for i := range c.Ports {
		if c.Ports[i].HostPort != 0 {
			return fmt.Sprintf("ports[%d].hostPort", i)
		}
	}
	for i := range c.VolumeMounts {
		m := &c.VolumeMounts[i]
		if m.MountPath == "/" {
			return fmt.Sprintf("volumeMounts[%d].mountPath /", i)
		}
		m.Name, m.MountPath, m.ReadOnly, m.RecursiveReadOnly = "", "", false, nil
		if left := leftover(fmt.Sprintf("volumeMounts[%d]", i), *m); left != "" {
			return left
		}
	}
	for i := range c.Env {
		if from := c.Env[i].ValueFrom; from != nil {
			if left := unsupportedInEnv(from); left != "" {
				return fmt.Sprintf("env[%d].valueFrom.%s", i, left)
			}
		}
	}
	for name, probe := range map[string]*corev1.Probe{
		"livenessProbe": c.LivenessProbe, "readinessProbe": c.ReadinessProbe,
		"startupProbe": c.StartupProbe,
	} {
		if probe != nil && probe.HTTPGet == nil && probe.TCPSocket == nil {
			return name + " (other than httpGet and tcpSocket)"
		}
	}
	if len(c.Resources.Claims) > 0 {
		return "resources.claims"
	}
	// Done.
	c.Name, c.Image, c.Command, c.Args, c.WorkingDir = "", "", nil, nil, ""
	c.Env, c.EnvFrom, c.VolumeMounts, c.Ports = nil, nil, nil, nil
	c.LivenessProbe, c.ReadinessProbe, c.StartupProbe = nil, nil, nil
	// Not enforced.
	c.SecurityContext, c.Resources = nil, corev1.ResourceRequirements{}
	c.ResizePolicy, c.ImagePullPolicy = nil, ""
	c.TerminationMessagePath, c.TerminationMessagePolicy = "", ""
	return leftover("", *c)
}

func unsupportedInEnv(from *corev1.EnvVarSource) string {
	if from.FieldRef != nil {
		if _, found := fieldValue(&corev1.Pod{}, "", from.FieldRef.FieldPath); !found {
			return "fieldRef " + from.FieldRef.FieldPath
		}
	}
	if from.ResourceFieldRef != nil && !isMemoryLimit(from.ResourceFieldRef) {
		return "resourceFieldRef " + from.ResourceFieldRef.Resource
	}
	rest := *from
	rest.ResourceFieldRef = nil
	rest.FieldRef, rest.ConfigMapKeyRef, rest.SecretKeyRef = nil, nil, nil
	return leftover("", rest)
}

// isMemoryLimit reports whether a reference is to the container's own memory limit, in bytes.
func isMemoryLimit(ref *corev1.ResourceFieldSelector) bool {
	return ref.Resource == "limits.memory" && ref.ContainerName == "" &&
		(ref.Divisor.IsZero() || ref.Divisor.Value() == 1)
}

func unsupportedInVolume(v *corev1.Volume) string {
	if v.DownwardAPI != nil {
		if left := unsupportedInDownward(v.DownwardAPI.Items); left != "" {
			return "downwardAPI." + left
		}
	}
	if v.Projected != nil {
		for i := range v.Projected.Sources {
			source := &v.Projected.Sources[i]
			if source.DownwardAPI != nil {
				if left := unsupportedInDownward(source.DownwardAPI.Items); left != "" {
					return fmt.Sprintf("projected.sources[%d].downwardAPI.%s", i, left)
				}
			}
			source.ServiceAccountToken, source.DownwardAPI = nil, nil
			source.ConfigMap, source.Secret = nil, nil
			if left := leftover(fmt.Sprintf("projected.sources[%d]", i), *source); left != "" {
				return left
			}
		}
	}
	v.Name, v.EmptyDir, v.ConfigMap, v.Secret, v.DownwardAPI, v.Projected = "", nil, nil, nil, nil, nil
	return leftover("", *v)
}

func unsupportedInDownward(items []corev1.DownwardAPIVolumeFile) string {
	for i, item := range items {
		if item.FieldRef == nil {
			return fmt.Sprintf("items[%d].resourceFieldRef", i)
		}
		if _, found := fieldValue(&corev1.Pod{}, "", item.FieldRef.FieldPath); !found {
			return fmt.Sprintf("items[%d].fieldRef %s", i, item.FieldRef.FieldPath)
		}
	}
	return ""
}

// leftover names, as JSON does, the first field of a struct that is set.
func leftover(path string, object any) string {
	value := reflect.ValueOf(object)
	for i := range value.NumField() {
		if unset(value.Field(i)) {
			continue
		}
		field := value.Type().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" { // an embedded struct, such as VolumeSource
			return leftover(path, value.Field(i).Interface())
		}
		if path == "" {
			return name
		}
		return path + "." + name
	}
	return ""
}

// unset takes a pointer to false or 0, and an empty list, for what they mean.
func unset(value reflect.Value) bool {
	switch value.Kind() {
	case reflect.Pointer:
		return value.IsNil() || value.Elem().Kind() != reflect.Struct && value.Elem().IsZero()
	case reflect.Slice, reflect.Map:
		return value.Len() == 0
	default:
		return value.IsZero()
	}
}
