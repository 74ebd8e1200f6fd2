package display

import (
	"fmt"
	"time"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// StepDown is a request that stands: an operator keeps a process from coordinating.
type StepDown struct {
	Process string `json:"process"`
	// To ranks above all others meanwhile; empty: no process does.
	To string `json:"to,omitempty"`
	// Until is when it ends at the latest; nil: when another process coordinates.
	Until *time.Time `json:"until,omitempty"`
	// Text is that as part of a sentence.
	Text string `json:"text"`
}

// stepDownOf returns the request that stands; nil if none does.
func stepDownOf(g *v1.ElectionGroup) *StepDown {
	if g.Status.Roster == nil || g.Status.Roster.StepDown == nil ||
		g.Status.Roster.StepDown.Outcome != v1.StepDownStanding {
		return nil
	}
	r := g.Status.Roster.StepDown
	shown := &StepDown{Process: name(r.Process), To: name(r.To)}
	until := "until another process coordinates"
	if !r.Until.IsZero() {
		shown.Until = new(r.Until.UTC())
		until = "until " + shown.Until.Format("2006-01-02 15:04:05 UTC")
	}
	shown.Text = fmt.Sprintf("%s stands aside %s", shown.Process, until)
	if shown.To != "" {
		shown.Text += fmt.Sprintf("; %s ranks above all others meanwhile", shown.To)
	}
	return shown
}
