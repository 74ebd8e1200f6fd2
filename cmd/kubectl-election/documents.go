package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/podesta-dev/podesta/internal/display"
)

// checkFormat returns an error if -o is none of these. Without -o, the output is for people.
func checkFormat(output string, known ...string) error {
	if output == "" || slices.Contains(known, output) {
		return nil
	}
	most, last := known[:len(known)-1], known[len(known)-1]
	return fmt.Errorf("-o %q: must be %s or %s; kubectl get eg GROUP has other formats, for the "+
		"object itself", output, strings.Join(most, ", "), last)
}

// isDocument reports whether a format is for programs.
func isDocument(format string) bool {
	return format == "json" || format == "yaml" || format == "name" || isJSONPath(format)
}

// items is a list of groups for programs.
type items struct {
	Items []display.Group `json:"items"`
}

// writeDocuments writes groups as one document, or their names.
func writeDocuments(out io.Writer, format string, groups []display.Group) error {
	if format != "name" {
		return writeDocument(out, format, "", items{Items: groups})
	}
	for _, g := range groups {
		if err := writeDocument(out, format, g.Name, g); err != nil {
			return err
		}
	}
	return nil
}

// writeDocument writes something for programs.
func writeDocument(out io.Writer, format, name string, document any) error {
	encoded, err := encode(format, name, document, "  ")
	if err != nil {
		return err
	}
	_, err = out.Write(encoded)
	return err
}

// encode returns a document in a format. Without an indent, JSON is on one line.
func encode(format, name string, document any, indent string) ([]byte, error) {
	switch {
	case isJSONPath(format):
		return findJSONPath(format, document)
	case format == "name":
		return []byte("electiongroup.podesta.dev/" + display.Printable(name, 253) + "\n"), nil
	case format == "yaml":
		return yaml.Marshal(document)
	default:
		var b bytes.Buffer
		encoder := json.NewEncoder(&b)
		encoder.SetIndent("", indent)
		encoder.SetEscapeHTML(false)
		err := encoder.Encode(document)
		return b.Bytes(), err
	}
}
