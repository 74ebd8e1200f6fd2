package inject

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Manifests adds the agent to the pods and pod templates of a text, which is JSON or any number of
// YAML documents, and reports what it did. Everything else stays the same, byte for byte: Manifests
// only inserts lines (in flow style, as in JSON, text within a line). It is deterministic, and
// running it on its own result changes nothing.
//
// An error names the line to change: the agent conflicts with something in the pod, or the pod is
// written in a way that cannot be edited. Manifests parses its result and compares it with the
// input: the result has the same meaning, plus the agent.
func Manifests(text []byte, i Install) ([]byte, []Note, error) {
	if err := i.validate(); err != nil {
		return nil, nil, err
	}
	if !utf8.Valid(text) {
		return nil, nil, errors.New("the manifest must be in UTF-8")
	}
	roots, meant, err := decode(text)
	if err != nil {
		return nil, nil, err
	}
	variables, mounts, err := ofApp()
	if err != nil {
		return nil, nil, err
	}
	editor := newEditor(text)
	var notes []Note
	for n, root := range roots {
		for _, pod := range findPods(meant[n], i.Namespace) {
			notes = append(notes, pod.note)
			if pod.note.HadAgent {
				continue
			}
			sidecar, err := parts(i.Image, i.Manager, pod.readiness, pod.leadDirectory())
			if err != nil {
				return nil, nil, err
			}
			if reason := conflict(pod.spec, sidecar, pod.lead); reason != "" {
				return nil, nil, fmt.Errorf("%s: %s", pod.note, reason)
			}
			spec, err := follow(root, pod.path)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", pod.note, err)
			}
			missing := pod.missing(variables, mounts)
			if err := editor.addTo(spec, sidecar, missing); err != nil {
				return nil, nil, fmt.Errorf("%s: %w", pod.note, err)
			}
			if err := addTo(pod.spec, sidecar, missing); err != nil {
				return nil, nil, err
			}
		}
	}
	out := editor.text()
	return out, notes, compare(out, meant)
}

// addTo applies to a decoded spec what the editor applies to its text.
func addTo(spec map[string]any, sidecar []part, missing [][]part) error {
	containers, _ := spec["containers"].([]any)
	for i, parts := range missing {
		container, _ := containers[i].(map[string]any)
		for _, p := range parts {
			if err := p.addTo(container); err != nil {
				return err
			}
		}
	}
	for _, p := range sidecar {
		if err := p.addTo(spec); err != nil {
			return err
		}
	}
	return nil
}

func (p part) addTo(fields map[string]any) error {
	values, err := p.values()
	if err != nil || len(values) == 0 {
		return err
	}
	old, _ := fields[p.list].([]any)
	fields[p.list] = slices.Concat(values, old)
	return nil
}

// decode returns the documents as they are written, and their values with aliases and merge keys
// resolved.
func decode(text []byte) (written []*yaml.Node, meant []any, err error) {
	documents := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var document yaml.Node
		switch err := documents.Decode(&document); {
		case errors.Is(err, io.EOF):
			return written, meant, nil
		case err != nil:
			return nil, nil, err
		}
		var value any
		if err := document.Decode(&value); err != nil {
			return nil, nil, err
		}
		written, meant = append(written, document.Content[0]), append(meant, value)
	}
}

// compare decodes the result and checks that it has the wanted values.
func compare(out []byte, want []any) error {
	_, got, err := decode(out)
	if err == nil && reflect.DeepEqual(got, want) {
		return nil
	}
	return errors.New("a pod's spec is written in a way that cannot be edited (anchors, merge " +
		"keys or a rare layout): " +
		"rewrite the manifest with `kubectl create --dry-run=client -o yaml -f FILE`, and use " +
		"the output instead")
}
