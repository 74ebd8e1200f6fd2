package main

import (
	"strings"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/test/chaos/report"
	"github.com/podesta-dev/podesta/test/register"
	"github.com/podesta-dev/podesta/test/register/history"
)

// A fault has its strikes, the times of those that changed something, and the violations after it.
func TestOutcomes(t *testing.T) {
	begun := register.Instant(time.Hour)
	violation := func(second int) history.Violation {
		return history.Violation{At: begun.Add(time.Duration(second) * time.Second)}
	}
	ms := func(t float64) report.Times { return report.Times{Acts: &t} }
	other := report.Holder{Process: "g-2"}
	run := report.Run{
		Groups: []report.Group{
			{Name: "g", Safety: "Guarded", Became: history.Report{
				Violations: []history.Violation{violation(5), violation(11), violation(12), violation(29)},
			}},
			{Name: "c", Safety: "Classic"},
		},
		Strikes: []report.Strike{
			{Second: 10, Group: "g", Fault: killPod, First: other, Times: ms(100), OK: true},
			{Second: 10, Group: "c", Fault: killPod, First: other, Times: ms(7), OK: true},
			{Second: 20, Group: "g", Fault: killPod, First: other, Times: ms(300)},
			{Second: 25, Group: "g", Fault: pauseServer, Times: ms(1), OK: true},
			{Second: 30, Group: "g", Fault: killPod, Times: ms(1), OK: true, Overlapping: true},
		},
	}
	var text strings.Builder
	writeOutcomes(&text, outcomes(run, begun))
	want := `| before the first fault | Guarded | 0 | 0 |  |  |  | 1 | 0 |
| kill pod | Guarded | 2 | 2 | 100 ms | 300 ms | 300 ms | 2 | 1 |
| kill pod | Classic | 1 | 1 | 7 ms | 7 ms | 7 ms | 0 | 0 |
| pause API server | Guarded | 1 | 0 |  |  |  | 1 | 0 |
| two at once | Guarded | 1 | 0 |  |  |  | 0 | 0 |
`
	if _, rows, _ := strings.Cut(text.String(), "--:|\n"); rows != want {
		t.Errorf("%s\nwant\n%s", text.String(), want)
	}
}
