package main

import (
	"bytes"
	"strings"
	"testing"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

func TestAdoption(t *testing.T) {
	for name, c := range map[string]struct {
		status  v1.ElectionGroupStatus
		useIt   bool // --status
		want    v1.AdoptRequest
		says    string
		refused string
	}{
		"all is well": {refused: "was not set back"},
		"what agents hold": {
			status: v1.ElectionGroupStatus{
				Roster:  &v1.RosterStatus{Generation: 5},
				SetBack: &v1.SetBackStatus{Newest: 12, Held: 10},
			},
			want: v1.AdoptRequest{Generation: 10, Newest: 12},
			says: "holds the roster of generation 5; agents report generation 12.\nFrom now on the " +
				"roster of generation 10, which an agent has shown, counts.",
		},
		"what is in the status": {
			status: v1.ElectionGroupStatus{
				Roster:  &v1.RosterStatus{Generation: 5},
				SetBack: &v1.SetBackStatus{Newest: 12, Held: 10},
			},
			useIt: true,
			want:  v1.AdoptRequest{Generation: 5, Newest: 12},
			says:  "From now on what is in the status counts.",
		},
		"nothing is in the status": {
			status: v1.ElectionGroupStatus{SetBack: &v1.SetBackStatus{Newest: 12}},
			useIt:  true,
			want:   v1.AdoptRequest{Newest: 12},
			says:   "holds no roster; agents report generation 12.\nFrom now on what is in the status counts.",
		},
		"no agent has shown one": {
			status:  v1.ElectionGroupStatus{SetBack: &v1.SetBackStatus{Newest: 12}},
			refused: "use --status",
		},
	} {
		g := &v1.ElectionGroup{Status: c.status}
		got, err := adoptionOf(g, c.useIt)
		if c.refused != "" {
			if err == nil || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%s: %v, want an error that says %q", name, err, c.refused)
			}
			continue
		}
		var out bytes.Buffer
		explainAdoption(&out, g, got)
		if err != nil || got != c.want || !strings.Contains(out.String(), c.says) {
			t.Errorf("%s: %+v, %v\n%s", name, got, err, &out)
		}
	}
}
