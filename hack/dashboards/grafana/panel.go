package grafana

// The types of panels.
const (
	TypeStat          = "stat"
	TypeTimeSeries    = "timeseries"
	TypeStateTimeline = "state-timeline"
)

// Panel is a panel with its place. The options are those of its type.
type Panel struct {
	ID          int         `json:"id"`
	Type        string      `json:"type"`
	Title       string      `json:"title"`
	Description string      `json:"description,omitempty"`
	GridPos     GridPos     `json:"gridPos"`
	Datasource  *DataSource `json:"datasource"`
	Targets     []Target    `json:"targets"`
	FieldConfig FieldConfig `json:"fieldConfig"`
	Options     any         `json:"options"`
}

// GridPos is a place on a grid of 24 columns; a row is 30 pixels high.
type GridPos struct {
	H int `json:"h"`
	W int `json:"w"`
	X int `json:"x"`
	Y int `json:"y"`
}

// Target is a query.
type Target struct {
	RefID        string      `json:"refId"`
	Datasource   *DataSource `json:"datasource"`
	Expr         string      `json:"expr"`
	LegendFormat string      `json:"legendFormat"`
	Instant      bool        `json:"instant"`
	Range        bool        `json:"range"`
	EditorMode   string      `json:"editorMode"`
}

// FieldConfig says how values look.
type FieldConfig struct {
	Defaults  FieldDefaults `json:"defaults"`
	Overrides []struct{}    `json:"overrides"`
}

// FieldDefaults are those of all series of a panel.
type FieldDefaults struct {
	Unit       string      `json:"unit,omitempty"`
	Decimals   *int        `json:"decimals,omitempty"`
	Min        *float64    `json:"min,omitempty"`
	NoValue    string      `json:"noValue,omitempty"`
	Color      Color       `json:"color"`
	Mappings   []Mapping   `json:"mappings"`
	Thresholds *Thresholds `json:"thresholds,omitempty"`
	Custom     *Custom     `json:"custom,omitempty"`
}

// Color is how a series gets its colour.
type Color struct {
	Mode string `json:"mode"`
}

// Mapping shows values as words. Type is value; the options are by value.
type Mapping struct {
	Type    string          `json:"type"`
	Options map[string]Word `json:"options"`
}

// Word is what is shown for a value.
type Word struct {
	Text  string `json:"text"`
	Color string `json:"color"`
	Index int    `json:"index"`
}

// Thresholds colour values.
type Thresholds struct {
	Mode  string `json:"mode"`
	Steps []Step `json:"steps"`
}

// Step is a colour from a value on; the first one has none.
type Step struct {
	Color string   `json:"color"`
	Value *float64 `json:"value"`
}

// Custom is what a type of panel adds.
type Custom struct {
	DrawStyle         string `json:"drawStyle,omitempty"`
	LineInterpolation string `json:"lineInterpolation,omitempty"`
	LineWidth         int    `json:"lineWidth"`
	FillOpacity       int    `json:"fillOpacity"`
	ShowPoints        string `json:"showPoints,omitempty"`
	SpanNulls         bool   `json:"spanNulls"`
}

// ReduceOptions is which value of a series a stat shows.
type ReduceOptions struct {
	Calcs  []string `json:"calcs"`
	Fields string   `json:"fields"`
	Values bool     `json:"values"`
}

// StatOptions are those of a stat.
type StatOptions struct {
	ReduceOptions          ReduceOptions `json:"reduceOptions"`
	ColorMode              string        `json:"colorMode"`
	GraphMode              string        `json:"graphMode"`
	JustifyMode            string        `json:"justifyMode"`
	Orientation            string        `json:"orientation"`
	TextMode               string        `json:"textMode"`
	WideLayout             bool          `json:"wideLayout"`
	ShowPercentChange      bool          `json:"showPercentChange"`
	PercentChangeColorMode string        `json:"percentChangeColorMode"`
}

// Legend is below a chart.
type Legend struct {
	DisplayMode string   `json:"displayMode"`
	Placement   string   `json:"placement"`
	ShowLegend  bool     `json:"showLegend"`
	Calcs       []string `json:"calcs"`
}

// Tooltip is what the pointer shows.
type Tooltip struct {
	Mode string `json:"mode"`
	Sort string `json:"sort"`
}

// TimeSeriesOptions are those of a time series.
type TimeSeriesOptions struct {
	Legend  Legend  `json:"legend"`
	Tooltip Tooltip `json:"tooltip"`
}

// StateTimelineOptions are those of a state timeline.
type StateTimelineOptions struct {
	Legend      Legend  `json:"legend"`
	Tooltip     Tooltip `json:"tooltip"`
	ShowValue   string  `json:"showValue"`
	AlignValue  string  `json:"alignValue"`
	MergeValues bool    `json:"mergeValues"`
	RowHeight   float64 `json:"rowHeight"`
}
