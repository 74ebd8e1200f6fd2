// Command dashboards writes Grafana's dashboards into config/grafana, as JSON: `make generate` runs
// it. What they show is decided in fleet.go and group.go; config/grafana/kustomization.yaml and the
// chart make a ConfigMap of each.
//
//	go run -C hack/tools ./dashboards DIR
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "dashboards:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) != 1 {
		return errors.New("usage: dashboards DIR")
	}
	return errors.Join(
		write(filepath.Join(arguments[0], "podesta-fleet.json"), fleet()),
		write(filepath.Join(arguments[0], "podesta-group.json"), group()),
	)
}

func write(path string, builder *classic) error {
	d, err := builder.Build()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for i := range d.Panels {
		d.Panels[i].Panel.Id = new(uint32(i + 1))
	}
	var content bytes.Buffer
	encoder := json.NewEncoder(&content)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(d); err != nil {
		return err
	}
	return os.WriteFile(path, content.Bytes(), 0o644)
}
