package display

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// A request to step down is shown while it stands, and to the end of nobody's terminal.
func TestStepDownShown(t *testing.T) {
	for name, test := range map[string]struct {
		record *v1.StepDownStatus
		want   string
	}{
		"none": {nil, ""},
		"until another process coordinates": {
			&v1.StepDownStatus{Process: "p-2", Outcome: v1.StepDownStanding},
			"p-2 stands aside until another process coordinates",
		},
		"for a time, for a successor": {
			&v1.StepDownStatus{Process: "p-2", To: "p-0", Outcome: v1.StepDownStanding,
				Until: metav1.NewTime(noon.Add(time.Hour))},
			"p-2 stands aside until 2026-06-01 13:00:00 UTC; p-0 ranks above all others meanwhile",
		},
		"over":    {&v1.StepDownStatus{Process: "p-2", Outcome: v1.StepDownHandedOver}, ""},
		"refused": {&v1.StepDownStatus{Process: "p-2", Outcome: v1.StepDownOutdated}, ""},
		"a name that is none": {
			&v1.StepDownStatus{Process: "p\x1b[2J", Outcome: v1.StepDownStanding},
			`p\x1b[2J stands aside until another process coordinates`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := healthy(3)
			g.Status.Roster.StepDown = test.record
			shown, why := Of(g, noon).StepDown, strings.Join(Explain(g, noon).Why, "\n")
			got := ""
			if shown != nil {
				got = shown.Text
			}
			if got != test.want || strings.Contains(why, "step-down") != (test.want != "") ||
				!strings.Contains(why, test.want) {
				t.Errorf("%q, want %q\n%s", got, test.want, why)
			}
		})
	}
}

// While a request names a successor, that process is the next one, whatever its priority, and it is
// told why it does not coordinate if another one does.
func TestTheSuccessorOfAStepDownIsNext(t *testing.T) {
	for priority, want := range map[int32]string{10: "p-0", 0: "p-2"} {
		g := healthy(4)
		g.Status.Processes[0].Priority = &priority
		g.Status.Roster.StepDown = &v1.StepDownStatus{Process: "p-3", To: "p-0",
			Outcome: v1.StepDownStanding, Until: metav1.NewTime(noon.Add(time.Hour))}
		e := Explain(g, noon)
		if e.Next.Process != want {
			t.Errorf("priority %d: %s is next, want %s", priority, e.Next.Process, want)
		}
		if raised := strings.Contains(e.Next.Text, "step down"); raised != (want == "p-0") {
			t.Errorf("priority %d: %s", priority, e.Next.Text)
		}
		if higher := len(e.Higher) > 0; higher != (want == "p-0") {
			t.Errorf("priority %d: of those that rank higher it says %q", priority, e.Higher)
		}
	}
}
