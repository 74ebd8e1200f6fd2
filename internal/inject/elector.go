package inject

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// ofApp returns what is added to each container of the app, the variables of its environment, and
// to those that get lead.
func ofApp() (variables, mounts part, err error) {
	lists, err := parse(electorFile, strings.NewReplacer(), env, volumeMounts)
	if err != nil {
		return part{}, part{}, err
	}
	return lists[0], lists[1], nil
}

// missing returns for each container of a pod what it lacks: variables that it does not set, and
// the mounts if it gets lead.
func (p pod) missing(variables, mounts part) [][]part {
	containers, _ := p.spec["containers"].([]any)
	missing := make([][]part, len(containers))
	for i, c := range containers {
		container, _ := c.(map[string]any)
		name, isContainer := container["name"].(string)
		if !isContainer {
			continue
		}
		if left := variables.without(container[env]); len(left.items) > 0 {
			missing[i] = append(missing[i], left)
		}
		if slices.Contains(p.lead, name) {
			missing[i] = append(missing[i], mounts)
		}
	}
	return missing
}

// without returns the part without the items whose names a list has.
func (p part) without(list any) part {
	left := part{list: p.list}
	next := 0 // item
	keep := false
	for _, line := range p.text {
		if strings.HasPrefix(line, "- ") {
			item := p.items[next]
			next++
			if keep = !named(list, child(item, "name").Value); keep {
				left.items = append(left.items, item)
			}
		}
		if keep {
			left.text = append(left.text, line)
		}
	}
	return left
}

// addMissing adds to the text of each container what it lacks.
func (e *editor) addMissing(spec *yaml.Node, missing [][]part) error {
	for i, parts := range missing {
		if len(parts) == 0 {
			continue
		}
		container, err := follow(spec, []any{"containers", i})
		if err != nil {
			return err
		}
		name, value := entry(container, "name")
		if name == nil {
			return fmt.Errorf("line %d: the container's name comes from a YAML merge key: replace the "+
				"merge key by the fields it adds", container.Line)
		}
		if e.edited[container] {
			continue
		}
		e.edited[container] = true
		for _, p := range parts {
			at := place{value.Line + 1, name.Column}
			if err := e.addPart(container, p, step(spec), at); err != nil {
				return err
			}
		}
	}
	return nil
}

// inCEL writes the variables as a list of names and values, the last one first: each is put before
// those that are there.
func (p part) inCEL() string {
	pairs := make([]string, 0, len(p.items))
	for _, item := range slices.Backward(p.items) {
		pairs = append(pairs, fmt.Sprintf("[%s, %s]", quoteCEL(child(item, "name").Value),
			quoteCEL(child(item, "value").Value)))
	}
	return "[" + strings.Join(pairs, ", ") + "]"
}
