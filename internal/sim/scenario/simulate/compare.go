package simulate

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/sim/scenario"
)

// Comparison is all algorithms on one scenario.
type Comparison struct {
	Processes  int   `json:"processes"`
	Initiators []int `json:"initiators"`
	Crashed    []int `json:"crashed"`
	Algorithms []Row `json:"algorithms"`
}

// Row is what one algorithm made of it.
type Row struct {
	Algorithm   string                `json:"algorithm"`
	Coordinator *int                  `json:"coordinator"` // null: the live processes do not agree
	Messages    map[election.Kind]int `json:"messages"`
	Total       int                   `json:"total"`
	Views       int                   `json:"views"`
	TimeUnits   float64               `json:"timeUnits"`
}

// Compare plays the options under every algorithm; the one they name makes no difference.
func Compare(o Options) (Comparison, error) {
	var c Comparison
	for _, algorithm := range election.Algorithms() {
		o.Algorithm = algorithm
		s, err := o.Scenario()
		if err != nil {
			return c, err
		}
		r, err := scenario.Play(s)
		if err != nil {
			return c, fmt.Errorf("%s: %w", algorithm, err)
		}
		report := NewReport(s, r)
		c.Processes, c.Initiators, c.Crashed = report.Processes, report.Initiators, report.Crashed
		c.Algorithms = append(c.Algorithms, Row{algorithm, report.Coordinator, report.Messages, report.Total, report.Views, report.TimeUnits})
	}
	return c, nil
}

// WriteText writes a table.
func (c Comparison) WriteText(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "ALGORITHM\tMESSAGES\tTIME\tCOORDINATOR")
	for _, row := range c.Algorithms {
		coordinator := "no agreement"
		if row.Coordinator != nil {
			coordinator = Name(*row.Coordinator)
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\n", row.Algorithm, row.Total, number(row.TimeUnits), coordinator)
	}
	return w.Flush()
}

// WriteJSON writes one JSON object, and nothing else.
func (c Comparison) WriteJSON(out io.Writer) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(c)
}
