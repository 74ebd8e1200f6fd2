package podrunner

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// surroundings are what a container's command is made from, beside its spec.
type surroundings struct {
	pod     *corev1.Pod
	address string
	program Program
	words   *strings.Replacer
}

// command is what to run for a container: the program with its arguments, the first of which is the
// name that it is called by, and the environment.
//
// Words are replaced in what the pod says literally, before $(NAME) is expanded; so nothing is
// replaced twice.
func (s surroundings) command(c corev1.Container) (program string, args, env []string) {
	set := map[string]string{
		"PATH":     "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOSTNAME": s.pod.Name,
	}
	for _, variable := range c.Env {
		set[variable.Name] = s.value(c, variable, set)
	}
	args = append([]string{s.program.Path}, s.program.Args...)
	// The program stands for the image, so the command's first word is but the name it is called by,
	// unless it is a program in a volume.
	own, program := slices.Clone(c.Args), s.program.Path
	if len(c.Command) > 0 {
		args[0] = c.Command[0]
		if path := s.words.Replace(c.Command[0]); path != c.Command[0] {
			program, args = path, []string{path}
		}
		own = slices.Concat(c.Command[1:], c.Args)
	}
	for _, word := range own {
		args = append(args, expand(s.words.Replace(word), set))
	}
	for name, value := range set {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return program, args, env
}

// value is that of a variable; judge has refused other sources. The memory limit is not enforced.
func (s surroundings) value(
	c corev1.Container, variable corev1.EnvVar, set map[string]string,
) string {
	switch from := variable.ValueFrom; {
	case from == nil:
		return expand(s.words.Replace(variable.Value), set)
	case from.FieldRef != nil:
		return fieldValue(s.pod, s.address, from.FieldRef.FieldPath)
	default:
		return strconv.FormatInt(c.Resources.Limits.Memory().Value(), 10)
	}
}

// fieldValue is a field of the pod as the downward API gives it; one that is not supported is
// empty.
func fieldValue(pod *corev1.Pod, address, field string) string {
	if key, ok := strings.CutPrefix(field, "metadata.labels['"); ok {
		return pod.Labels[strings.TrimSuffix(key, "']")]
	}
	if key, ok := strings.CutPrefix(field, "metadata.annotations['"); ok {
		return pod.Annotations[strings.TrimSuffix(key, "']")]
	}
	return map[string]string{
		"metadata.name":           pod.Name,
		"metadata.namespace":      pod.Namespace,
		"metadata.uid":            string(pod.UID),
		"spec.nodeName":           pod.Spec.NodeName,
		"spec.serviceAccountName": pod.Spec.ServiceAccountName,
		"status.podIP":            address,
		"status.hostIP":           hostIP,
	}[field]
}

// replacer stands for a container's mount namespace, its network namespace and DNS: it replaces
// every mount path by the volume's directory, every name of "this very host" by the pod's address,
// and every host of resolve by the address given for it. Of two that begin alike the longer one is
// taken: /a/b before /a, name:port before name.
func replacer(
	c corev1.Container, volumeDir func(volume string) string, address string,
	resolve map[string]string,
) *strings.Replacer {
	type pair struct{ from, to string }
	pairs := []pair{{"127.0.0.1", address}, {"0.0.0.0", address}, {"localhost", address}}
	for _, mount := range c.VolumeMounts {
		pairs = append(pairs, pair{path.Clean(mount.MountPath), volumeDir(mount.Name)})
	}
	for host, at := range resolve {
		pairs = append(pairs, pair{host, at})
	}
	slices.SortFunc(pairs, func(a, b pair) int {
		return cmp.Or(cmp.Compare(len(b.from), len(a.from)), cmp.Compare(a.from, b.from))
	})
	var all []string
	for _, p := range pairs {
		all = append(all, p.from, p.to)
	}
	return strings.NewReplacer(all...)
}

var reference = regexp.MustCompile(`\$\$|\$\([^)]*\)`)

// expand replaces $(NAME) by the variable's value, as Kubernetes does: $$ is a $, and a name that
// is not set stays.
func expand(text string, env map[string]string) string {
	return reference.ReplaceAllStringFunc(text, func(found string) string {
		if found == "$$" {
			return "$"
		}
		if value, ok := env[strings.Trim(found, "$()")]; ok {
			return value
		}
		return found
	})
}
