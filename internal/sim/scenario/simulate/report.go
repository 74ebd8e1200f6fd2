package simulate

import (
	"encoding/json"
	"io"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/sim/scenario"
)

// Report is what `-o json` prints. Processes are numbers, times are in link delays.
type Report struct {
	Algorithm  string `json:"algorithm"`
	Processes  int    `json:"processes"`
	Initiators []int  `json:"initiators"`
	Crashed    []int  `json:"crashed"` // from the beginning
	// whose apps are unhealthy from the beginning
	Unhealthy []int `json:"unhealthy"`
	// whom all live processes follow in the end; null: they do not agree
	Coordinator *int                  `json:"coordinator"`
	Messages    map[election.Kind]int `json:"messages"` // of the election itself
	Total       int                   `json:"total"`    // of Messages
	// VIEWs, by which processes hear of two coordinators
	Views     int           `json:"views"`
	TimeUnits float64       `json:"timeUnits"` // when the last process found its coordinator
	Events    []EventReport `json:"events"`
}

// EventReport is one event. The fields that its kind does not name are absent.
type EventReport struct {
	At      float64       `json:"at"`
	Event   string        `json:"event"`
	Process int           `json:"process,omitempty"`
	Peer    int           `json:"peer,omitempty"`
	Message election.Kind `json:"message,omitempty"`
	About   int           `json:"about,omitempty"` // whom the message is about
	// the processes that a ring message has collected
	List  []int       `json:"list,omitempty"`
	Table []RowReport `json:"table,omitempty"` // a process status table
	// the same where a message is sent and where it arrives or is lost
	Sequence    int    `json:"sequence,omitempty"`
	Description string `json:"description,omitempty"` // of what the other fields do not say
}

// RowReport is a row of a process status table.
type RowReport struct {
	Process int             `json:"process"`
	Status  election.Status `json:"status"`
}

// NewReport tells what came of a scenario.
func NewReport(s scenario.Scenario, r scenario.Result) Report {
	report := Report{
		Algorithm:  s.Algorithm,
		Processes:  len(s.Processes),
		Initiators: numbersOf(s.Initiators),
		Crashed:    numbersOf(s.Crashed),
		Unhealthy:  numbersOf(s.Unhealthy),
		Messages:   r.Messages,
		Total:      r.Total,
		Views:      r.Views,
		TimeUnits:  units(r.Finished),
		Events:     make([]EventReport, 0, len(r.Events)),
	}
	if r.Coordinator != "" {
		i := Number(r.Coordinator)
		report.Coordinator = &i
	}
	for _, e := range r.Events {
		report.Events = append(report.Events, newEventReport(e))
	}
	return report
}

func newEventReport(e scenario.Event) EventReport {
	report := EventReport{
		At:          units(e.At),
		Event:       string(e.Kind),
		Process:     Number(e.Process),
		Peer:        Number(e.Peer),
		Sequence:    e.Sequence,
		Description: e.Note,
		Message:     e.Message.Kind,
		About:       Number(e.Message.Process),
	}
	for _, name := range e.Message.List {
		report.List = append(report.List, Number(name))
	}
	for _, row := range e.Message.Table {
		report.Table = append(report.Table, RowReport{Number(row.Name), row.Status})
	}
	return report
}

// WriteJSON writes one JSON object, and nothing else.
func (r Report) WriteJSON(out io.Writer) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}
