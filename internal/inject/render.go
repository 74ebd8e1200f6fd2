package inject

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// asJSON writes a node on one line with its keys in order. The result is YAML in flow style, too.
// The sidecar has no aliases.
func asJSON(n *yaml.Node) string {
	var written []string
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i < len(n.Content); i += 2 {
			written = append(written, strconv.Quote(n.Content[i].Value)+": "+asJSON(n.Content[i+1]))
		}
		return "{" + strings.Join(written, ", ") + "}"
	case yaml.SequenceNode:
		for _, item := range n.Content {
			written = append(written, asJSON(item))
		}
		return "[" + strings.Join(written, ", ") + "]"
	default:
		return scalar(n, strconv.Quote)
	}
}

// dictionaries lists the fields whose keys the user chooses: in CEL they are maps, not objects.
var dictionaries = map[string]bool{"requests": true, "limits": true}

// asCEL writes a node as a CEL expression of type Object.<path> with its keys in order, to follow a
// line that is indented by this number of spaces.
func asCEL(n *yaml.Node, path string, indent int) string {
	margin := "\n" + strings.Repeat(" ", indent)
	var written []string
	switch n.Kind {
	case yaml.MappingNode:
		isDictionary := dictionaries[path[strings.LastIndexByte(path, '.')+1:]]
		for i := 0; i < len(n.Content); i += 2 {
			key, field := n.Content[i].Value, n.Content[i].Value
			if isDictionary {
				key = quoteCEL(key)
			}
			written = append(written, margin+"  "+key+": "+asCEL(n.Content[i+1], path+"."+field,
				indent+2))
		}
		fields := "{}"
		if len(written) > 0 {
			fields = "{" + strings.Join(written, ",") + margin + "}"
		}
		if isDictionary {
			return fields
		}
		return path + fields
	case yaml.SequenceNode: // an item has the type of its list
		for _, item := range n.Content {
			written = append(written, margin+"  "+asCEL(item, path, indent+2))
		}
		return "[" + strings.Join(written, ",") + margin + "]"
	default:
		return scalar(n, quoteCEL)
	}
}

// quoteCEL writes a string in CEL. The placeholders of settings become the policy's variables.
func quoteCEL(text string) string {
	for _, w := range words {
		switch before, found := strings.CutSuffix(text, w.word); {
		case !found:
		case before == "":
			return w.variable
		default:
			return quoteCEL(before) + " + " + w.variable
		}
	}
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
}

// scalar writes numbers and booleans unquoted, which is correct in JSON and in CEL.
func scalar(n *yaml.Node, quote func(string) string) string {
	if n.Tag == "!!int" || n.Tag == "!!bool" {
		return n.Value
	}
	return quote(n.Value)
}
