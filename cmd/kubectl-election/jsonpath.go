package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/client-go/util/jsonpath"
)

// isJSONPath reports whether a format is a template of JSONPath, as kubectl has it.
func isJSONPath(format string) bool { return strings.HasPrefix(format, "jsonpath=") }

// parses returns an error if a format has no template of JSONPath.
func parses(format string) error {
	_, err := templateOf(format)
	return err
}

// templateOf returns the template that a format has. As with kubectl, the braces may be missing.
func templateOf(format string) (*jsonpath.JSONPath, error) {
	template := strings.TrimPrefix(format, "jsonpath=")
	if !strings.Contains(template, "{") {
		template = "{." + strings.TrimPrefix(template, ".") + "}"
	}
	path := jsonpath.New("output").AllowMissingKeys(true)
	if err := path.Parse(template); err != nil {
		return nil, fmt.Errorf("-o %s: %w", format, err)
	}
	return path, nil
}

// findJSONPath returns what a template finds in a document.
func findJSONPath(format string, document any) ([]byte, error) {
	path, err := templateOf(format)
	if err != nil {
		return nil, err
	}
	encoded, err := json.Marshal(document)
	if err != nil {
		return nil, err
	}
	var plain any
	if err := json.Unmarshal(encoded, &plain); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := path.Execute(&b, plain); err != nil {
		return nil, fmt.Errorf("-o %s: %w", format, err)
	}
	return b.Bytes(), nil
}
