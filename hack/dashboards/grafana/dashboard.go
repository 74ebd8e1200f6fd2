// Package grafana is the part of Grafana's dashboard model (schema version 39, of Grafana 10.4 and
// later) that this project's dashboards use, as types: a misspelt field does not compile. It knows
// nothing of Podesta. It does not check what Grafana makes of a dashboard.
package grafana

import (
	"bytes"
	"encoding/json"
)

// SchemaVersion is the version of the model. Newer Grafanas migrate it.
const SchemaVersion = 39

// Dashboard is a dashboard.
type Dashboard struct {
	UID           string     `json:"uid"`
	Title         string     `json:"title"`
	Description   string     `json:"description,omitempty"`
	Tags          []string   `json:"tags"`
	Timezone      string     `json:"timezone"`
	Editable      bool       `json:"editable"`
	GraphTooltip  int        `json:"graphTooltip"` // 1: a crosshair that all panels share
	SchemaVersion int        `json:"schemaVersion"`
	Refresh       string     `json:"refresh,omitempty"`
	Time          Range      `json:"time"`
	Templating    Templating `json:"templating"`
	Annotations   None       `json:"annotations"`
	Links         []Link     `json:"links"`
	Panels        []Panel    `json:"panels"`
}

// Range is the time that is shown at first.
type Range struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// None is a list without entries, which Grafana wants to be there.
type None struct {
	List []struct{} `json:"list"`
}

// Link leads to other dashboards, those with the tags.
type Link struct {
	Type        string   `json:"type"`
	Title       string   `json:"title"`
	Tags        []string `json:"tags"`
	AsDropdown  bool     `json:"asDropdown"`
	IncludeVars bool     `json:"includeVars"`
	KeepTime    bool     `json:"keepTime"`
	TargetBlank bool     `json:"targetBlank"`
	Icon        string   `json:"icon"`
	Tooltip     string   `json:"tooltip"`
	URL         string   `json:"url"`
}

// Templating has the variables.
type Templating struct {
	List []Variable `json:"list"`
}

// Variable is a choice at the top of a dashboard.
type Variable struct {
	Type       string      `json:"type"` // datasource or query
	Name       string      `json:"name"`
	Label      string      `json:"label"`
	Query      string      `json:"query"`
	Datasource *DataSource `json:"datasource,omitempty"`
	Refresh    int         `json:"refresh,omitempty"` // 2: whenever the time changes
	Sort       int         `json:"sort,omitempty"`    // 1: by name
	Multi      bool        `json:"multi,omitempty"`
	IncludeAll bool        `json:"includeAll,omitempty"`
	AllValue   string      `json:"allValue,omitempty"`
}

// DataSource names a data source; UID may be a variable.
type DataSource struct {
	Type string `json:"type"`
	UID  string `json:"uid"`
}

// Chosen is the Prometheus that the variable of DataSourceVariable names.
func Chosen() *DataSource { return &DataSource{Type: "prometheus", UID: "${datasource}"} }

// DataSourceVariable has the user choose a Prometheus.
func DataSourceVariable() Variable {
	return Variable{
		Type:  "datasource",
		Name:  "datasource",
		Label: "Data source",
		Query: "prometheus",
	}
}

// QueryVariable has the user choose a value of what a query returns, such as label_values(…).
func QueryVariable(name, label, query string) Variable {
	return Variable{
		Type:       "query",
		Name:       name,
		Label:      label,
		Query:      query,
		Datasource: Chosen(),
		Refresh:    2,
		Sort:       1,
	}
}

// JSON returns the dashboard as Grafana reads it.
func (d Dashboard) JSON() ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(d)
	return out.Bytes(), err
}
