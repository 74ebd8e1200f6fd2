// Command dashboards writes Grafana's dashboards into config/grafana, as JSON: `make generate` runs
// it. What they show is decided in fleet.go and group.go; config/grafana/kustomization.yaml and the
// chart make a ConfigMap of each.
//
//	go run ./hack/dashboards DIR
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/podesta-dev/podesta/hack/dashboards/grafana"
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
	for name, dashboard := range all() {
		content, err := dashboard.JSON()
		if err != nil {
			return err
		}
		path := filepath.Join(arguments[0], name+".json")
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// all are the dashboards, by the names of their files.
func all() map[string]grafana.Dashboard {
	return map[string]grafana.Dashboard{"podesta-fleet": fleet(), "podesta-group": group()}
}

// tag is on all dashboards, so that each links to the others.
const tag = "podesta"

func dashboard(uid, title, description string, variables []grafana.Variable,
	rows ...grafana.Row) grafana.Dashboard {
	return grafana.Dashboard{
		UID:           uid,
		Title:         title,
		Description:   description,
		Tags:          []string{tag},
		Timezone:      "browser",
		Editable:      true,
		GraphTooltip:  1,
		SchemaVersion: grafana.SchemaVersion,
		Refresh:       "30s",
		Time:          grafana.Range{From: "now-1h", To: "now"},
		Templating: grafana.Templating{
			List: append([]grafana.Variable{grafana.DataSourceVariable()}, variables...),
		},
		Annotations: grafana.None{List: []struct{}{}},
		Links: []grafana.Link{{
			Type:        "dashboards",
			Title:       "Podesta",
			Tags:        []string{tag},
			IncludeVars: true,
			KeepTime:    true,
			Icon:        "external link",
		}},
		Panels: grafana.Layout(rows...),
	}
}

// The colours of states. Each can be told from the others by its brightness, too.
const (
	good    = "green"
	calm    = "light-blue"
	waiting = "orange"
	bad     = "red"
	away    = "text"
)

// yesNo are the words for a gauge that is 1 or 0.
func yesNo(yes, yesColor, no, noColor string) map[string]grafana.Word {
	return map[string]grafana.Word{
		"0": {Text: no, Color: noColor, Index: 0},
		"1": {Text: yes, Color: yesColor, Index: 1},
	}
}
