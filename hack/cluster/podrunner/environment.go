package podrunner

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// objects are the ConfigMaps and Secrets of the cluster as last seen.
type objects interface {
	configMap(namespace, name string) (*corev1.ConfigMap, bool)
	secret(namespace, name string) (*corev1.Secret, bool)
}

// surroundings are what a container's command is made from, beside its spec.
type surroundings struct {
	pod     *corev1.Pod
	address string
	objects objects
	program Program
	rules   []rule
	extra   map[string]string // variables for every container that does not set them
}

// command is what to run for a container: the program, its arguments and environment.
//
// Substitutions are made in what the pod says literally, before $(NAME) is expanded; so nothing is
// replaced twice, and extra variables stay as they were given.
func (s surroundings) command(c corev1.Container) (args, env []string, err error) {
	set, err := s.environment(c)
	if err != nil {
		return nil, nil, err
	}
	words := append([]string{s.program.Path}, s.program.Args...)
	// the program stands for the image, so the command's first word is but the name it is called by
	if len(c.Command) > 0 {
		words = append([]string{c.Command[0]}, s.program.Args...)
		words = append(words, c.Command[1:]...)
	}
	own := len(words) - max(len(c.Command)-1, 0) // what comes before is not the pod's
	words = append(words, c.Args...)
	for i := own; i < len(words); i++ {
		words[i] = expand(substitute(words[i], s.rules), set)
	}
	for name, value := range set {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return words, env, nil
}

// environment is the container's variables; later sources override earlier ones, as in Kubernetes.
func (s surroundings) environment(c corev1.Container) (map[string]string, error) {
	set := map[string]string{
		"PATH":     "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOSTNAME": s.pod.Name,
	}
	maps.Copy(set, s.extra)
	for _, from := range c.EnvFrom {
		values, err := s.envFrom(from)
		if err != nil {
			return nil, err
		}
		for key, value := range values {
			set[from.Prefix+key] = value
		}
	}
	for _, variable := range c.Env {
		if variable.ValueFrom == nil {
			set[variable.Name] = expand(substitute(variable.Value, s.rules), set)
			continue
		}
		value, found, err := s.envValueFrom(&c, variable.ValueFrom)
		if err != nil {
			return nil, fmt.Errorf("env %s: %w", variable.Name, err)
		}
		if found {
			set[variable.Name] = value
		}
	}
	return set, nil
}

func (s surroundings) envFrom(from corev1.EnvFromSource) (map[string]string, error) {
	switch {
	case from.ConfigMapRef != nil:
		found, ok := s.objects.configMap(s.pod.Namespace, from.ConfigMapRef.Name)
		if !ok {
			return nil, missing("ConfigMap", from.ConfigMapRef.Name, from.ConfigMapRef.Optional)
		}
		return found.Data, nil
	case from.SecretRef != nil:
		found, ok := s.objects.secret(s.pod.Namespace, from.SecretRef.Name)
		if !ok {
			return nil, missing("Secret", from.SecretRef.Name, from.SecretRef.Optional)
		}
		return asText(found.Data), nil
	}
	return nil, nil
}

func (s surroundings) envValueFrom(
	c *corev1.Container, from *corev1.EnvVarSource,
) (value string, found bool, err error) {
	switch {
	case from.FieldRef != nil:
		value, found = fieldValue(s.pod, s.address, from.FieldRef.FieldPath)
		return value, found, nil
	// judge has refused all but the memory limit, which is not enforced
	case from.ResourceFieldRef != nil:
		limit, limited := c.Resources.Limits[corev1.ResourceMemory]
		return strconv.FormatInt(limit.Value(), 10), limited, nil
	case from.ConfigMapKeyRef != nil:
		ref := from.ConfigMapKeyRef
		if object, ok := s.objects.configMap(s.pod.Namespace, ref.Name); ok {
			value, found = object.Data[ref.Key]
		}
		if !found {
			err = missing("ConfigMap", ref.Name+", key "+ref.Key, ref.Optional)
		}
	case from.SecretKeyRef != nil:
		ref := from.SecretKeyRef
		if object, ok := s.objects.secret(s.pod.Namespace, ref.Name); ok {
			value, found = asText(object.Data)[ref.Key]
		}
		if !found {
			err = missing("Secret", ref.Name+", key "+ref.Key, ref.Optional)
		}
	}
	return value, found, err
}

func asText(data map[string][]byte) map[string]string {
	text := make(map[string]string, len(data))
	for key, value := range data {
		text[key] = string(value)
	}
	return text
}

// missing is no error for an optional reference.
func missing(kind, name string, optional *bool) error {
	if optional != nil && *optional {
		return nil
	}
	return fmt.Errorf("there is no %s %s in the pod's namespace", kind, name)
}

// fieldValue is a field of the pod as the downward API gives it; found is false for a field that is
// not supported.
func fieldValue(pod *corev1.Pod, address, path string) (value string, found bool) {
	switch path {
	case "metadata.name":
		return pod.Name, true
	case "metadata.namespace":
		return pod.Namespace, true
	case "metadata.uid":
		return string(pod.UID), true
	case "metadata.labels":
		return formatMap(pod.Labels), true
	case "metadata.annotations":
		return formatMap(pod.Annotations), true
	case "spec.nodeName":
		return pod.Spec.NodeName, true
	case "spec.serviceAccountName":
		return pod.Spec.ServiceAccountName, true
	case "status.podIP", "status.podIPs":
		return address, true
	case "status.hostIP", "status.hostIPs":
		return hostIP, true
	}
	if key, ok := subscript(path, "metadata.labels"); ok {
		return pod.Labels[key], true
	}
	if key, ok := subscript(path, "metadata.annotations"); ok {
		return pod.Annotations[key], true
	}
	return "", false
}

// subscript reads the key of field['key'].
func subscript(path, field string) (key string, ok bool) {
	key, ok = strings.CutPrefix(path, field+"['")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(key, "']")
}

// formatMap writes labels or annotations as the downward API's files have them.
func formatMap(values map[string]string) string {
	lines := make([]string, 0, len(values))
	for key, value := range values {
		lines = append(lines, fmt.Sprintf("%s=%q", key, value))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
