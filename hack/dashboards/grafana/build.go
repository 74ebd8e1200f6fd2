package grafana

// Query is an expression with the legend of its series.
type Query struct{ Expr, Legend string }

func targets(queries []Query, instant bool) []Target {
	var all []Target
	for i, q := range queries {
		all = append(all, Target{
			RefID:        string(rune('A' + i)),
			Datasource:   Chosen(),
			Expr:         q.Expr,
			LegendFormat: q.Legend,
			Instant:      instant,
			Range:        !instant,
			EditorMode:   "code",
		})
	}
	return all
}

func panel(kind, title, description string, options any, d FieldDefaults, t []Target) Panel {
	if d.Mappings == nil {
		d.Mappings = []Mapping{}
	}
	return Panel{
		Type:        kind,
		Title:       title,
		Description: description,
		Datasource:  Chosen(),
		Targets:     t,
		FieldConfig: FieldConfig{Defaults: d, Overrides: []struct{}{}},
		Options:     options,
	}
}

// What a stat shows.
const (
	Value = "value" // the newest value
	Name  = "name"  // the legend of the series
)

// Stat shows the newest value of a series, or its name.
func Stat(title, description, unit, text string, steps []Step, queries ...Query) Panel {
	options := StatOptions{
		ReduceOptions:          ReduceOptions{Calcs: []string{"lastNotNull"}},
		ColorMode:              "value",
		GraphMode:              "none",
		JustifyMode:            "auto",
		Orientation:            "auto",
		TextMode:               text,
		WideLayout:             true,
		PercentChangeColorMode: "standard",
	}
	return panel(TypeStat, title, description, options, FieldDefaults{
		Unit:       unit,
		NoValue:    "–",
		Color:      Color{Mode: "thresholds"},
		Thresholds: &Thresholds{Mode: "absolute", Steps: steps},
	}, targets(queries, true))
}

func below() Legend {
	return Legend{
		DisplayMode: "list",
		Placement:   "bottom",
		ShowLegend:  true,
		Calcs:       []string{},
	}
}

// TimeSeries draws lines from 0 on.
func TimeSeries(title, description, unit string, queries ...Query) Panel {
	zero := 0.0
	options := TimeSeriesOptions{
		Legend:  below(),
		Tooltip: Tooltip{Mode: "multi", Sort: "desc"},
	}
	return panel(TypeTimeSeries, title, description, options, FieldDefaults{
		Unit:  unit,
		Min:   &zero,
		Color: Color{Mode: "palette-classic"},
		Custom: &Custom{
			DrawStyle:         "line",
			LineInterpolation: "stepAfter",
			LineWidth:         1,
			FillOpacity:       10,
			ShowPoints:        "auto",
		},
	}, targets(queries, false))
}

// StateTimeline draws a row for each series, coloured by its values' words.
func StateTimeline(title, description string, words map[string]Word, queries ...Query) Panel {
	options := StateTimelineOptions{
		Legend:      below(),
		Tooltip:     Tooltip{Mode: "single", Sort: "none"},
		ShowValue:   "never",
		AlignValue:  "left",
		MergeValues: true,
		RowHeight:   0.8,
	}
	return panel(TypeStateTimeline, title, description, options, FieldDefaults{
		Color:    Color{Mode: "thresholds"},
		Mappings: []Mapping{{Type: "value", Options: words}},
		Custom:   &Custom{LineWidth: 0, FillOpacity: 80},
	}, targets(queries, false))
}

// From is a colour from a value on.
func From(value float64, color string) Step { return Step{Color: color, Value: &value} }

// Base is the colour below all others.
func Base(color string) Step { return Step{Color: color} }

// Row is panels side by side, of the same height, which share the width.
type Row struct {
	Height int
	Panels []Panel
}

// columns is the width of a dashboard.
const columns = 24

// Layout numbers the panels and places them, row below row.
func Layout(rows ...Row) []Panel {
	var all []Panel
	y := 0
	for _, row := range rows {
		width := columns / len(row.Panels)
		for i, p := range row.Panels {
			p.ID = len(all) + 1
			p.GridPos = GridPos{
				H: row.Height,
				W: width,
				X: i * width,
				Y: y,
			}
			all = append(all, p)
		}
		y += row.Height
	}
	return all
}
