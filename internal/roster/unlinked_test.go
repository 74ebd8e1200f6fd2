package roster

import (
	"strings"
	"testing"
)

// A cause goes into the group's status and from there to terminals.
func TestCausesThatAreShown(t *testing.T) {
	told := func(cause string) (Report, error) {
		return reportFromWire(reportToWire(Report{Table: []Row{{Name: "p1", State: Normal, Unlinked: cause}}}))
	}
	for _, cause := range []string{"", "no answer from [::1]:4041", strings.Repeat("c", maxCause)} {
		got, err := told(cause)
		if err != nil || got.Table[0].Unlinked != cause {
			t.Errorf("cause %q: %+v (%v)", cause, got.Table, err)
		}
	}
	for _, cause := range []string{"\x1b[2J", "no\nanswer", "réponse", "\u202e", strings.Repeat("c", maxCause+1)} {
		if _, err := told(cause); err == nil || !strings.Contains(err.Error(), "must be printable ASCII") {
			t.Errorf("cause %q: %v, want it refused", cause, err)
		}
	}
}
