package inject

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// Note describes what Manifests did to a pod or a pod template.
type Note struct {
	Kind, Name string
	// HadAgent is true if the pod was left unchanged because it already had the agent.
	HadAgent bool
}

func (n Note) String() string { return strings.ToLower(n.Kind) + "/" + n.Name }

// pod is a pod or a pod template that has the group's label.
type pod struct {
	path []any // from the document to the spec: keys and indices
	spec map[string]any
	note Note
	// readiness is the path of the agent's readiness probe.
	readiness string
	// lead are the containers that get the program lead.
	lead []string
}

// leadDirectory is where the agent puts lead; empty if no container gets it.
func (p pod) leadDirectory() string {
	if len(p.lead) == 0 {
		return ""
	}
	return v1.LeadDirectory
}

// templates lists the places at which workloads have their pod templates: all of Kubernetes' own,
// and custom resources that follow them.
var templates = [][]any{
	// Deployment, StatefulSet, DaemonSet, ReplicaSet, Job
	{"spec", "template"},
	{"spec", "jobTemplate", "spec", "template"}, // CronJob
	{"template"},                                // PodTemplate
}

// findPods returns the pods of an object, or of a list's objects, that have the group's label,
// except those in the namespaces of Kubernetes and Podesta.
func findPods(object any, own string) []pod {
	fields, _ := object.(map[string]any)
	kind, _ := fields["kind"].(string)
	if items, isList := fields["items"].([]any); isList && strings.HasSuffix(kind, "List") {
		var found []pod
		for i, item := range items {
			for _, p := range findPods(item, own) {
				p.path = append([]any{"items", i}, p.path...)
				found = append(found, p)
			}
		}
		return found
	}
	if namespace := lookUp(fields, "metadata", "namespace"); namespace == kubeSystem ||
		namespace == own {
		return nil
	}
	name, _ := lookUp(fields, "metadata", "name").(string)
	if name == "" {
		name, _ = lookUp(fields, "metadata", "generateName").(string)
	}
	places := templates
	if kind == "Pod" {
		places = [][]any{{}}
	}
	var found []pod
	for _, place := range places {
		template := lookUp(fields, place...)
		spec, _ := lookUp(template, "spec").(map[string]any)
		if _, labelled := lookUp(template, "metadata", "labels",
			v1.GroupLabel).(string); !labelled || spec == nil {
			continue
		}
		note := Note{
			Kind:     kind,
			Name:     name,
			HadAgent: named(spec[initContainers], v1.AgentContainer),
		}
		found = append(found, pod{
			path: append(append([]any{}, place...), "spec"),
			spec: spec,
			note: note,

			readiness: readinessOf(lookUp(template, "metadata", "annotations")),
			lead:      leadOf(lookUp(template, "metadata", "annotations")),
		})
	}
	return found
}

// lookUp follows keys into an object. It returns nil if the object has no such field.
func lookUp(object any, keys ...any) any {
	for _, key := range keys {
		fields, _ := object.(map[string]any)
		name, _ := key.(string)
		object = fields[name]
	}
	return object
}

// follow returns the node at a path, resolving aliases.
func follow(n *yaml.Node, path []any) (*yaml.Node, error) {
	for _, step := range path {
		next := (*yaml.Node)(nil)
		switch step := step.(type) {
		case string:
			next = child(n, step)
		case int:
			if step < len(n.Content) {
				next = n.Content[step]
			}
		}
		if next == nil {
			return nil, fmt.Errorf("line %d: %v comes from a YAML merge key: replace the merge "+
				"key by the fields it adds", n.Line, step)
		}
		if next.Kind == yaml.AliasNode {
			next = next.Alias
		}
		n = next
	}
	return n, nil
}
