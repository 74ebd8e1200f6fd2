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
	Unhealthy  []int `json:"unhealthy"`
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
	NotPlayed   string                `json:"notPlayed,omitempty"` // why it was not played to its end
}

// Compare plays the options under every algorithm; the one they name makes no difference. An
// algorithm that would not end, or whose messages are too many, keeps the others from nothing.
func Compare(o Options) (Comparison, error) {
	var c Comparison
	for _, algorithm := range election.Algorithms() {
		o.Algorithm = algorithm
		s, err := o.Scenario()
		if err != nil {
			return c, err
		}
		r, err := scenario.Play(s)
		report := NewReport(s, r)
		c.Processes, c.Initiators = report.Processes, report.Initiators
		c.Crashed, c.Unhealthy = report.Crashed, report.Unhealthy
		row := Row{Algorithm: algorithm}
		if err != nil {
			row.NotPlayed = err.Error()
		} else {
			row.Coordinator, row.Messages, row.Total = report.Coordinator, report.Messages, report.Total
			row.Views, row.TimeUnits = report.Views, report.TimeUnits
		}
		c.Algorithms = append(c.Algorithms, row)
	}
	return c, nil
}

// WriteText writes a table.
func (c Comparison) WriteText(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "ALGORITHM\tMESSAGES\tTIME\tCOORDINATOR")
	for _, row := range c.Algorithms {
		if row.NotPlayed != "" {
			fmt.Fprintf(w, "%s\t–\t–\tnot played: %s\n", row.Algorithm, row.NotPlayed)
			continue
		}
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
