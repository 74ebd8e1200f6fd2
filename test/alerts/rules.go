// Package alerts reads the alerts of config/prometheus/rules.yaml, for the tests that fire them.
package alerts

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// File is where the alerts are, below the root of the tree.
const File = "config/prometheus/rules.yaml"

// Rule is an alert.
type Rule struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	For         string            `json:"for,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// group is a group of rules, as Prometheus reads it.
type group struct {
	Name     string `json:"name"`
	Interval string `json:"interval,omitempty"`
	Rules    []Rule `json:"rules"`
}

// Rules are the alerts of a PrometheusRule.
type Rules struct{ groups []group }

// Read reads the alerts below the root of the tree. An unknown field is an error.
func Read(root string) (Rules, error) {
	content, err := os.ReadFile(filepath.Join(root, File))
	if err != nil {
		return Rules{}, err
	}
	var object struct {
		APIVersion string         `json:"apiVersion"`
		Kind       string         `json:"kind"`
		Metadata   map[string]any `json:"metadata"`
		Spec       struct {
			Groups []group `json:"groups"`
		} `json:"spec"`
	}
	if err := yaml.UnmarshalStrict(content, &object); err != nil {
		return Rules{}, fmt.Errorf("%s: %w", File, err)
	}
	return Rules{object.Spec.Groups}, nil
}

// All returns all alerts, in the file's order.
func (r Rules) All() []Rule {
	var all []Rule
	for _, g := range r.groups {
		all = append(all, g.Rules...)
	}
	return all
}

// Edited returns the alerts, each changed by edit.
func (r Rules) Edited(edit func(*Rule)) Rules {
	edited := Rules{slices.Clone(r.groups)}
	for i, g := range edited.groups {
		edited.groups[i].Rules = slices.Clone(g.Rules)
		for j := range edited.groups[i].Rules {
			edit(&edited.groups[i].Rules[j])
		}
	}
	return edited
}

// Hurried returns the same alerts, evaluated as often as given, that fire once they have been
// pending for one evaluation.
func (r Rules) Hurried(every time.Duration) Rules {
	hurried := r.Edited(func(rule *Rule) { rule.For = every.String() })
	for i := range hurried.groups {
		hurried.groups[i].Interval = every.String()
	}
	return hurried
}

// File writes the rules as a file that Prometheus and promtool read.
func (r Rules) File() ([]byte, error) {
	return yaml.Marshal(map[string][]group{"groups": r.groups})
}

var (
	text     = regexp.MustCompile(`"[^"]*"|'[^']*'`)
	matchers = regexp.MustCompile(`\{[^}]*\}`)
	ranges   = regexp.MustCompile(`\[[^\]]*\]`)
	lists    = regexp.MustCompile(`\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)`)
	word     = regexp.MustCompile(`\b[a-zA-Z_:][a-zA-Z0-9_:]*\b(?:\s*\()?`)
	keywords = []string{"and", "or", "unless", "bool", "offset", "inf", "nan", "by", "without", "on",
		"ignoring", "group_left", "group_right"}
)

// Metrics returns the names of the metrics that a PromQL expression asks for, sorted. It knows no
// more of the language than where a name may stand.
func Metrics(expr string) []string {
	for _, other := range []*regexp.Regexp{text, matchers, ranges, lists} {
		expr = other.ReplaceAllString(expr, " ")
	}
	var names []string
	for _, name := range word.FindAllString(expr, -1) {
		if !strings.HasSuffix(name, "(") && !slices.Contains(keywords, strings.ToLower(name)) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
