package roster

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/podesta-dev/podesta/internal/roster/rosterpb"
)

func TestFileWithDefaults(t *testing.T) {
	path := filepath.Join(t.TempDir(), "roster.json")
	must(t, os.WriteFile(path, []byte(`{"group":"lab","processes":[{"name":"p1","address":"127.0.0.1:4041"},{"name":"p2","priority":0,"voter":false}]}`), 0o600))
	got, err := ReadFile(path)
	must(t, err)
	want := Roster{Namespace: "default", Group: "lab", Generation: 1, Algorithm: "Bully", Safety: "Classic",
		Heartbeat: 100 * time.Millisecond, Timeout: 500 * time.Millisecond, Processes: []Process{
			{Name: "p1", UID: "p1", Address: "127.0.0.1:4041", Priority: 1, Voter: true}, {Name: "p2", UID: "p2"}}}
	if !got.Equal(want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	if again, err := Parse(got.Encode()); err != nil || !again.Equal(got) {
		t.Errorf("encoded and parsed: %+v, %v", again, err)
	}
}

func TestFilesThatAreRefused(t *testing.T) {
	for name, test := range map[string]struct{ json, says string }{
		"no JSON":            {`group: lab`, "invalid character"},
		"unknown field":      {`{"group":"lab","quorum":3}`, "quorum"},
		"two objects":        {`{"group":"lab"}{}`, "more after the roster"},
		"no group":           {`{}`, "group"},
		"a group in capital": {`{"group":"Lab"}`, "lower case"},
		"generation 0":       {`{"group":"lab","generation":0}`, "generation"},
		"short timeout":      {`{"group":"lab","heartbeatMilliseconds":300}`, "two heartbeats"},
		"overflow":           {`{"group":"lab","timeoutMilliseconds":9223372036854775807}`, "at most"},
		"twice":              {`{"group":"lab","processes":[{"name":"a"},{"name":"a"}]}`, "twice"},
		"priority":           {`{"group":"lab","processes":[{"name":"a","priority":1000001}]}`, "between 0 and 1000000"},
		"address":            {`{"group":"lab","processes":[{"name":"a","address":"localhost"}]}`, "host:port"},
		"uid":                {`{"group":"lab","processes":[{"name":"a","uid":"a/b"}]}`, "uid"},
		"too many": {`{"group":"lab","processes":[` + strings.Repeat(`{"name":"a"},`, 256) + `{"name":"a"}]}`,
			"at most 256"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Parse([]byte(test.json)); err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want an error with %q", err, test.says)
			}
		})
	}
}

func TestRosterSurvivesTheWire(t *testing.T) {
	got, err := rosterFromWire(rosterToWire(sample(3)))
	must(t, err)
	if !got.Equal(sample(3)) {
		t.Errorf("got %+v, want %+v", got, sample(3))
	}
}

func TestLongTranscriptIsCutToItsNewestLines(t *testing.T) {
	lines := make([]string, 0, MaxTranscript+1)
	for range MaxTranscript {
		lines = append(lines, "old")
	}
	lines = append(lines, strings.Repeat("é", MaxTranscriptLine))
	r, err := reportFromWire(reportToWire(Report{LastElection: &Election{Transcript: lines}}))
	must(t, err)
	got := r.LastElection.Transcript
	if len(got) != MaxTranscript || got[len(got)-1] != strings.Repeat("é", MaxTranscriptLine/2) {
		t.Errorf("%d lines, the last %q", len(got), got[len(got)-1])
	}
}

func FuzzReport(f *testing.F) {
	seed, err := proto.Marshal(reportToWire(Report{Memory: "m", Table: []Row{{"a", Normal}},
		LastElection: &Election{Sent: 1, Transcript: []string{"x"}}}))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Fuzz(func(t *testing.T, data []byte) {
		var wire rosterpb.Report
		if proto.Unmarshal(data, &wire) != nil {
			return
		}
		r, err := reportFromWire(&wire)
		if err != nil {
			return
		}
		again, err := reportFromWire(reportToWire(r))
		if err != nil || !reportsEqual(r, again) {
			t.Errorf("accepted %+v, but read back %+v (%v)", r, again, err)
		}
	})
}

func reportsEqual(r, s Report) bool {
	if r.LastElection != nil && len(r.LastElection.Transcript) == 0 {
		r.LastElection.Transcript = []string{}
	}
	if s.LastElection != nil && len(s.LastElection.Transcript) == 0 {
		s.LastElection.Transcript = []string{}
	}
	return reflect.DeepEqual(r, s)
}

func FuzzRosterFile(f *testing.F) {
	f.Add(sample(1).Encode())
	f.Add([]byte(`{"group":"lab"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Parse(data)
		if err != nil {
			return
		}
		again, err := Parse(r.Encode())
		if err != nil || !again.Equal(r) {
			t.Errorf("accepted %+v, but read back %+v (%v)", r, again, err)
		}
	})
}
