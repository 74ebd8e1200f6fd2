package inject

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// variables returns what is added to the environment of each container of the app.
func variables() (part, error) {
	lists, err := parse(electorFile, strings.NewReplacer(), env)
	if err != nil {
		return part{}, err
	}
	return lists[0], nil
}

// missing returns for each container of a decoded spec the variables that it does not set.
func (p part) missing(spec map[string]any) []part {
	containers, _ := spec["containers"].([]any)
	missing := make([]part, len(containers))
	for i, c := range containers {
		container, _ := c.(map[string]any)
		if _, isContainer := container["name"].(string); isContainer {
			missing[i] = p.without(container[env])
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

// addVariables adds to the text of each container the variables that it misses.
func (e *editor) addVariables(spec *yaml.Node, missing []part) error {
	for i, p := range missing {
		if len(p.items) == 0 {
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
		if err := e.addPart(container, p, step(spec), place{value.Line + 1, name.Column}); err != nil {
			return err
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
