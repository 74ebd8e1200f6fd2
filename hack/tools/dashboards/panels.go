package main

import (
	"fmt"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/statetimeline"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// classic is the model of a dashboard that every Grafana reads. The SDK prefers the next one, which
// only Grafana 12 and later read.
type classic = dashboard.DashboardBuilder //nolint:staticcheck // see above

var newClassic = dashboard.NewDashboardBuilder //nolint:staticcheck // see above

// tag is on all dashboards, so that each links to the others.
const tag = "podesta"

// The colours of states. Each can be told from the others by its brightness, too.
const (
	good    = "green"
	calm    = "light-blue"
	waiting = "orange"
	bad     = "red"
	away    = "text"
)

// ofGroup are the matchers of the chosen group, ofNamespaces those of the chosen namespaces.
const (
	ofGroup      = `{namespace="$namespace", group="$group"}`
	ofNamespaces = `{namespace=~"$namespace"}`
)

// chosen is the Prometheus that the user of a dashboard chooses.
var chosen = common.DataSourceRef{
	Type: new("prometheus"),
	Uid:  new("${datasource}"),
}

func newDashboard(uid, title, description string) *classic {
	return newClassic(title).
		Uid(uid).
		Description(description).
		Tags([]string{tag}).
		Tooltip(dashboard.DashboardCursorSyncCrosshair).
		Time("now-1h", "now").
		Refresh("30s").
		Link(dashboard.NewDashboardLinkBuilder("Podesta").
			Type(dashboard.DashboardLinkTypeDashboards).
			Tags([]string{tag}).
			IncludeVars(true).
			KeepTime(true)).
		WithVariable(dashboard.NewDatasourceVariableBuilder("datasource").
			Label("Data source").
			Type("prometheus"))
}

// variable lets the user choose a value of what a query returns, such as label_values(…).
func variable(name, label, query string) *dashboard.QueryVariableBuilder {
	return dashboard.NewQueryVariableBuilder(name).
		Label(label).
		Query(dashboard.StringOrMap{String: &query}).
		Datasource(chosen).
		Refresh(dashboard.VariableRefreshOnTimeRangeChanged).
		Sort(dashboard.VariableSortAlphabeticalAsc)
}

// panel is a panel that is built; it is its own builder.
type panel dashboard.Panel

func (p panel) Build() (dashboard.Panel, error) { return dashboard.Panel(p), nil }

// row places panels side by side, below what is there. They share the width.
func row(d *classic, height uint32, panels ...cog.Builder[dashboard.Panel]) {
	const columns = 24
	width := uint32(columns / len(panels)) //nolint:gosec // it is at most 24
	for _, builder := range panels {
		built, err := builder.Build()
		if err != nil {
			d.RecordError("panels", err)
			continue
		}
		built.Datasource = &chosen
		built.GridPos = &dashboard.GridPos{H: height, W: width}
		d.WithPanel(panel(built))
	}
}

// query puts matchers in place of § in an expression.
func query(expr, matchers, legend string) *prometheus.DataqueryBuilder {
	return prometheus.NewDataqueryBuilder().
		Expr(strings.ReplaceAll(expr, "§", matchers)).
		LegendFormat(legend).
		Datasource(chosen)
}

// increase is by how much a counter has grown since the panel's last point.
func increase(aggregate, counter, matchers, legend string) *prometheus.DataqueryBuilder {
	return query(fmt.Sprintf("%s (increase(%s§[$__rate_interval]))", aggregate, counter), matchers,
		legend)
}

// rate is how fast a counter grows, in units a second.
func rate(aggregate, counter, matchers, legend string) *prometheus.DataqueryBuilder {
	return query(fmt.Sprintf("%s (rate(%s§[$__rate_interval]))", aggregate, counter), matchers, legend)
}

// quantiles are the median and the 99th percentile of a histogram.
func quantiles(histogram, matchers string) []*prometheus.DataqueryBuilder {
	const expr = "histogram_quantile(%v, sum by (le) (rate(%s_bucket§[$__rate_interval])))"
	return []*prometheus.DataqueryBuilder{
		query(fmt.Sprintf(expr, 0.99, histogram), matchers, "99th percentile"),
		query(fmt.Sprintf(expr, 0.5, histogram), matchers, "median"),
	}
}

// number shows the newest value of a series.
func number(title, description, unit string, steps []dashboard.Threshold,
	q *prometheus.DataqueryBuilder) *stat.PanelBuilder {
	return stat.NewPanelBuilder().
		Title(title).
		Description(description).
		Unit(unit).
		NoValue("–").
		ColorScheme(dashboard.NewFieldColorBuilder().Mode(dashboard.FieldColorModeIdThresholds)).
		Thresholds(dashboard.NewThresholdsConfigBuilder().
			Mode(dashboard.ThresholdsModeAbsolute).
			Steps(steps)).
		ReduceOptions(common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"})).
		ColorMode(common.BigValueColorModeValue).
		GraphMode(common.BigValueGraphModeNone).
		TextMode(common.BigValueTextModeValue).
		Orientation(common.VizOrientationAuto).
		WithTarget(q.RefId(refID(0)).Instant())
}

// from is a colour from a value on.
func from(value float64, color string) dashboard.Threshold {
	return dashboard.Threshold{Value: &value, Color: color}
}

// base is the colour below all others.
func base(color string) dashboard.Threshold { return dashboard.Threshold{Color: color} }

func legend() *common.VizLegendOptionsBuilder {
	return common.NewVizLegendOptionsBuilder().
		DisplayMode(common.LegendDisplayModeList).
		Placement(common.LegendPlacementBottom).
		ShowLegend(true)
}

// lines draws a line for each series, from 0 on.
func lines(title, description, unit string,
	queries ...*prometheus.DataqueryBuilder) *timeseries.PanelBuilder {
	p := timeseries.NewPanelBuilder().
		Title(title).
		Description(description).
		Unit(unit).
		Min(0).
		ColorScheme(dashboard.NewFieldColorBuilder().
			Mode(dashboard.FieldColorModeIdPaletteClassic)).
		LineInterpolation(common.LineInterpolationStepAfter).
		FillOpacity(10).
		Legend(legend()).
		Tooltip(common.NewVizTooltipOptionsBuilder().
			Mode(common.TooltipDisplayModeMulti).
			Sort(common.SortOrderDescending))
	for i, q := range queries {
		p.WithTarget(q.RefId(refID(i)).Range())
	}
	return p
}

// refID names the queries of a panel: A, B, …
func refID(i int) string { return "ABCDEFGH"[i : i+1] }

// states draws a row for each series, coloured by its values' words.
func states(title, description string, words map[string]dashboard.ValueMappingResult,
	queries ...*prometheus.DataqueryBuilder) *statetimeline.PanelBuilder {
	p := statetimeline.NewPanelBuilder().
		Title(title).
		Description(description).
		ColorScheme(dashboard.NewFieldColorBuilder().Mode(dashboard.FieldColorModeIdThresholds)).
		Mappings([]dashboard.ValueMapping{{
			ValueMap: &dashboard.ValueMap{Type: dashboard.MappingTypeValueToText, Options: words},
		}}).
		LineWidth(0).
		FillOpacity(80).
		ShowValue(common.VisibilityModeNever).
		MergeValues(true).
		RowHeight(0.8).
		Legend(legend()).
		Tooltip(common.NewVizTooltipOptionsBuilder().
			Mode(common.TooltipDisplayModeSingle).
			Sort(common.SortOrderNone))
	for i, q := range queries {
		p.WithTarget(q.RefId(refID(i)).Range())
	}
	return p
}

// word is what is shown for a value; words are in the order of their numbers.
func word(index int32, text, color string) dashboard.ValueMappingResult {
	return dashboard.ValueMappingResult{
		Index: &index,
		Text:  &text,
		Color: &color,
	}
}

// yesNo are the words for a gauge that is 1 or 0.
func yesNo(yes, yesColor, no, noColor string) map[string]dashboard.ValueMappingResult {
	return map[string]dashboard.ValueMappingResult{
		"0": word(0, no, noColor),
		"1": word(1, yes, yesColor),
	}
}
