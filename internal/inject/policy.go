package inject

import (
	"bytes"
	"embed"
	"fmt"
	"strings"
	"text/template"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

//go:embed *.yaml.tmpl
var policyFiles embed.FS

var policies = template.Must(template.ParseFS(policyFiles, "*.yaml.tmpl"))

// Mutating returns the manifest of the admission policy that adds the agent to pods, with its
// binding. The settings are in its variables and nowhere else.
func Mutating(i Install) ([]byte, error) { return policy("mutating.yaml.tmpl", i) }

// Validating returns the manifest of the admission policy that refuses pods to which the agent
// cannot be added, or whose podesta-agent container is not a valid agent, with its binding.
func Validating(i Install) ([]byte, error) { return policy("validating.yaml.tmpl", i) }

func policy(file string, i Install) ([]byte, error) {
	if err := i.validate(); err != nil {
		return nil, err
	}
	// asCEL puts variables in the place of these words
	sidecar, err := parts(wordImage, wordManager, wordReadiness, wordLead)
	if err != nil {
		return nil, err
	}
	variables, mounts, err := ofApp()
	if err != nil {
		return nil, err
	}
	type mutation struct {
		List   string
		Values []string
	}
	type message struct{ Volume, Text string }
	var mutations []mutation
	var messages []message
	for _, p := range sidecar {
		m := mutation{List: p.list}
		for _, item := range p.items {
			m.Values = append(m.Values, asCEL(item, "Object.spec."+p.list, 10))
		}
		mutations = append(mutations, m)
		if p.list == volumes {
			for _, name := range p.names() {
				messages = append(messages, message{name, fmt.Sprintf(messageVolume, name)})
			}
		}
	}
	quoted := make([]string, 0, len(messages))
	for _, m := range messages {
		quoted = append(quoted, quoteCEL(m.Volume))
	}
	var out bytes.Buffer
	err = policies.ExecuteTemplate(&out, file, map[string]any{
		"Image": i.Image, "Manager": i.Manager, "Namespace": i.Namespace, "KubeSystem": kubeSystem,
		"WaitForVote": v1.WaitForVoteAnnotation, "Waits": waits, "WaitsNo": waitsNo,
		"Label": v1.GroupLabel, "Agent": v1.AgentContainer, "Volumes": "[" + strings.Join(quoted,
			", ") + "]",
		"Mutations": mutations, "Messages": messages, "Variables": variables.inCEL(),
		"Lead": v1.LeadAnnotation, "LeadDirectory": v1.LeadDirectory, "MessageLead": messageLead,
		"LeadMount":        asCEL(mounts.items[0], "Object.spec.containers.volumeMounts", 12),
		"MessageWindows":   messageWindows,
		"MessageContainer": fmt.Sprintf(messageContainer, v1.AgentContainer),
	})
	return out.Bytes(), err
}
