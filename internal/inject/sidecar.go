package inject

import (
	_ "embed"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

//go:embed sidecar.yaml
var sidecarFile string

//go:embed elector.yaml
var electorFile string

// The placeholders in sidecarFile: for the settings of the installation, for the path of the
// readiness probe, and for the directory of the program lead.
const (
	wordImage     = "IMAGE"
	wordManager   = "MANAGER"
	wordReadiness = "READINESS"
	wordLead      = "LEAD"
)

// words are the placeholders, with the variables of the policy that replace them.
var words = []struct{ word, variable string }{
	{wordImage, "variables.image"},
	{wordManager, "variables.manager"},
	{wordReadiness, "variables.readiness"},
	{wordLead, "variables.lead"},
}

// The paths of the readiness probe: of a pod that is ready when its process votes, and of one whose
// annotation says that it does not wait for that.
const (
	waits   = "/readyz"
	waitsNo = "/healthz"
)

// readinessOf returns the path of the readiness probe of a pod with these annotations.
func readinessOf(annotations any) string {
	if lookUp(annotations, v1.WaitForVoteAnnotation) == "false" {
		return waitsNo
	}
	return waits
}

// leadOf returns the containers that a pod's annotation names.
func leadOf(annotations any) (containers []string) {
	names, _ := lookUp(annotations, v1.LeadAnnotation).(string)
	for name := range strings.SplitSeq(names, ",") {
		if name = strings.TrimSpace(name); name != "" {
			containers = append(containers, name)
		}
	}
	return containers
}

// The lists of a pod's spec to which the sidecar adds items, and that of a container.
const (
	initContainers = "initContainers"
	volumes        = "volumes"
	env            = "env"
	volumeMounts   = "volumeMounts"
)

// part is what is added to the front of one list of a pod's spec or of a container.
type part struct {
	list  string
	text  []string     // lines of YAML in block style, not indented
	items []*yaml.Node // the same items, parsed
}

// parts returns the parts of the sidecar with the placeholders replaced. The directory lead is
// empty, or where the agent puts that program.
func parts(image, manager, readiness, lead string) ([]part, error) {
	return parse(sidecarFile, strings.NewReplacer(wordImage, image, wordManager, manager,
		wordReadiness, readiness, wordLead, lead), initContainers, volumes)
}

// parse reads a file of lists.
func parse(file string, settings *strings.Replacer, lists ...string) ([]part, error) {
	found := make(map[string]*part)
	var at *part
	for line := range strings.Lines(file) {
		line = strings.TrimSuffix(line, "\n")
		switch key, isKey := strings.CutSuffix(line, ":"); {
		case strings.HasPrefix(strings.TrimLeft(line, " "), "#"):
		case isKey && !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "-"):
			at = &part{list: key}
			found[key] = at
		default:
			at.text = append(at.text, settings.Replace(line))
		}
	}
	ordered := make([]part, 0, len(found))
	for _, list := range lists {
		p := *found[list]
		var document yaml.Node
		if err := yaml.Unmarshal([]byte(strings.Join(p.text, "\n")), &document); err != nil {
			return nil, fmt.Errorf("what is added to %s: %w", list, err)
		}
		p.items = document.Content[0].Content
		ordered = append(ordered, p)
	}
	return ordered, nil
}

// names returns the names of the part's items. A pod must not use them for anything else.
func (p part) names() []string {
	names := make([]string, 0, len(p.items))
	for _, item := range p.items {
		names = append(names, child(item, "name").Value)
	}
	return names
}

// values returns the part's items as decoded YAML.
func (p part) values() ([]any, error) {
	values := make([]any, len(p.items))
	for i, item := range p.items {
		if err := item.Decode(&values[i]); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// child returns the node of a mapping's value; nil if the key does not exist.
func child(mapping *yaml.Node, key string) *yaml.Node {
	_, value := entry(mapping, key)
	return value
}

// entry returns the nodes of a mapping's key and value; nil if the key does not exist.
func entry(mapping *yaml.Node, name string) (key, value *yaml.Node) {
	for i := 0; mapping.Kind == yaml.MappingNode && i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == name {
			return mapping.Content[i], mapping.Content[i+1]
		}
	}
	return nil, nil
}

// conflict returns why the agent cannot be added to a pod's spec, or "" if it can. The validating
// policy checks the same in CEL.
func conflict(spec map[string]any, sidecar []part, lead []string) string {
	for field, key := range map[string]string{"os": "name", "nodeSelector": "kubernetes.io/os"} {
		if asked, _ := spec[field].(map[string]any); asked[key] != nil && asked[key] != "linux" {
			return messageWindows
		}
	}
	if named(spec["containers"], v1.AgentContainer) {
		return fmt.Sprintf(messageContainer, v1.AgentContainer)
	}
	for _, name := range lead {
		if !named(spec["containers"], name) {
			return messageLead
		}
	}
	for _, p := range sidecar {
		for _, name := range p.names() {
			if p.list == volumes && named(spec[volumes], name) {
				return fmt.Sprintf(messageVolume, name)
			}
		}
	}
	return ""
}

// The messages that the policy and the command share.
const (
	messageContainer = "a container is named %[1]s, which is reserved for Podesta's sidecar: " +
		"rename the container, or move the sidecar to initContainers"
	messageVolume = "a volume is named %[1]s, which is reserved for Podesta's sidecar: rename " +
		"the volume"
	messageLead = "the annotation podesta.dev/lead names a container that the pod does not have: it " +
		"is a list of containers, with commas between them"
	messageWindows = "spec.os.name, or kubernetes.io/os in spec.nodeSelector, is not linux, and " +
		"Podesta's agent runs on Linux only: remove the label podesta.dev/group, or run the pod on Linux"
)

// named reports whether an item of the list has that name.
func named(list any, name string) bool {
	items, _ := list.([]any)
	for _, item := range items {
		if fields, ok := item.(map[string]any); ok && fields["name"] == name {
			return true
		}
	}
	return false
}
