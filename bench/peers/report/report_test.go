package report

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/bench/peers/account"
)

var made = []Record{
	{Kind: Failover, System: "podesta-100ms", Under: "SIGKILL", Took: []float64{90, 110, 100}, Command: "go run . failover"},
	{Kind: Failover, System: "raft", Under: "SIGKILL", Took: []float64{1600}, Unanswered: 1, Command: "go run . failover"},
	{
		Kind: Stress, System: "raft", Under: "quiet", Took: []float64{1700, 12000}, Span: 100, Faults: []string{"SIGKILL"}, Strikes: 3, Spurious: []float64{1000, 40000, 90000}, Lapses: 4,
		Leaderless: 5000, Unprovoked: 1000, Two: 12, CPU: 3.25, Unanswered: 1, Command: "go run . stress --faults=SIGKILL",
		Watched: true, Standstills: []Late{{At: 500, For: 74}, {At: 39500, For: 25}},
		WaysWatched: true, Late: []Late{{At: 88000, For: 61}, {At: 89500, For: 31}}, Crashes: 2,
	},
	{
		Kind: Stress, System: "podesta-100ms", Under: "quiet", Span: 90, Faults: []string{"SIGKILL", "SIGSTOP", "SIGTERM", "cut"}, Strikes: 2, Took: []float64{90, 120},
		Minutes: []float64{600, 1200}, Spurious: []float64{70000}, Command: "go run . stress --faults=SIGKILL,cut",
		ByFault: map[string][]float64{"SIGKILL": {90}, "cut": {120}},
	},
	{
		Kind: Stress, System: "podesta-100ms", Under: "quiet", Span: 60,
		Faults: []string{"short-SIGSTOP", "short-cut"}, Command: "go run . stress --faults=short-SIGSTOP,short-cut",
		Apart: 30, Strikes: 4, Unanswered: 1, Took: []float64{70, 91, 95},
		Interruptions: []Interruption{{50, "outlasted"}, {99.9, "again"}, {100, "another"}, {999.9, "another"}},
	},
	{Kind: Stress, System: "podesta-100ms", Under: "quiet", Span: 100, Leases: []float64{100, 100, 200}, Command: "go run . stress"},
}

func TestRecords(t *testing.T) {
	file := filepath.Join(t.TempDir(), "records.jsonl")
	for _, r := range made {
		if err := Append(file, r); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Read(file)
	if err != nil || !reflect.DeepEqual(got, made) {
		t.Errorf("%+v, %v, want %+v", got, err, made)
	}
	for _, bad := range []string{"{", `{"kind":"stress"}`, `{"kind":"other","system":"raft","under":"quiet"}`} {
		if err := os.WriteFile(file, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(file); err == nil || !strings.Contains(err.Error(), "line 1") {
			t.Errorf("%s: %v, want an error that names the line", bad, err)
		}
	}
}

func TestTables(t *testing.T) {
	var stress, failover, byFault, interruptions strings.Builder
	InterruptionsTable(&interruptions, made[4:5])
	ByFaultTable(&byFault, made)
	StressTable(&stress, made)
	FailoverTable(&failover, made)
	for text, want := range map[string][]string{
		stress.String(): {
			"| quiet | raft | 100 s | 3, 1 after a standstill," +
				" 1 after late messages | 4; 2 members crashed | 5.00 % | 12 ms | 3.2 % |  |  " +
				"| 2 times, up to 74 ms | 2 times, up to 61 ms | 1.00 % | 3 | 1700 ms | 12.0 s | 12.0 s; 1 without |",
			"| quiet | podesta-100ms | 100 s | 0 | 0 | 0.00 % | never | 0.0 % | 100 ms | 200 ms |  |  " +
				"| 0.00 % | 0 |  |  |  |",
		},
		byFault.String(): {
			"| condition | system | SIGKILL: N | median | p99 | max | SIGSTOP: N | median | p99 | max " +
				"| SIGTERM: N | median | p99 | max | cut: N | median | p99 | max |",
			"| quiet | podesta-100ms | 1 | 90.0 ms | 90.0 ms | 90.0 ms | 0 |  |  |  " +
				"| 0 |  |  |  | 1 | 120 ms | 120 ms | 120 ms |",
		},
		interruptions.String(): {
			"| condition | system | 50 to 100 ms: N | had it back | another leads | 100 to 200 ms: N | had it back " +
				"| another leads | 200 to 400 ms: N | had it back | another leads " +
				"| 400 to 1000 ms: N | had it back | another leads |",
			"| quiet (30 to 90 s apart) | podesta-100ms | 2 | 1 | 0 | 1 | 0 | 1 | 0 | 0 | 0 | 1 | 0 | 1 |",
		},
		failover.String(): {
			"| SIGKILL | podesta-100ms | 3 | 100 ms | 110 ms | 110 ms | 110 ms |  |",
			"| SIGKILL | raft | 1 | 1600 ms | 1600 ms | 1600 ms | 1600 ms | 1 |",
		},
	} {
		for _, row := range want {
			if !strings.Contains(text, row+"\n") {
				t.Errorf("no %q in\n%s", row, text)
			}
		}
	}
}

// What is measured again replaces what was measured before, whichever file comes first.
func TestNewest(t *testing.T) {
	monday := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	quiet := Record{Kind: Stress, System: "raft", Under: "quiet", Begun: monday, Span: 80}
	killed, lossy, again := quiet, quiet, quiet
	killed.Faults, lossy.Under = []string{"SIGKILL"}, "lossy"
	again.Begun, again.Span = monday.Add(time.Hour), 3600
	seldom := killed
	seldom.Apart = 30
	want := []Record{again, killed, lossy, seldom}
	for _, all := range [][]Record{
		{quiet, killed, lossy, seldom, again}, {again, killed, lossy, seldom, quiet},
	} {
		if got := Newest(all); !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

// The page has its tables and pictures, and the pictures are XML.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	if err := Write(dir, made, "It rained.", func(_, name string) string { return "meaning of " + name }); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "performance.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"It rained.", ": a leader ends, quiet", "meaning of quiet",
		"meaning of raft", "## A leader ends", "### No faults", "### Leaders are killed",
		"    go run . stress --faults=SIGKILL\n", "### Leaders end in four ways",
		"### Leaders are interrupted for a moment",
		"quiet (30 to 90 s apart) with interruptions of a moment",
		"| quiet (30 to 90 s apart) | podesta-100ms | 2 | 1 | 0 |", "performance/failover.svg",
		"performance/calm.svg", "performance/kills.svg", "performance/faults.svg",
		"performance/availability.svg", "performance/short.svg"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in the page:\n%s", want, text)
		}
	}
	for _, name := range []string{"failover", "calm", "kills", "faults", "availability", "short"} {
		f, err := os.Open(filepath.Join(dir, "performance", name+".svg"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for d := xml.NewDecoder(f); err == nil; {
			_, err = d.Token()
		}
		if !errors.Is(err, io.EOF) {
			t.Errorf("%s.svg: %v", name, err)
		}
	}
	if err := Write(dir, nil, "", nil); err == nil {
		t.Error("a page of nothing")
	}
	if err := Write(dir, []Record{{Kind: Stress, Faults: []string{"cut"}}}, "", nil); err == nil {
		t.Error("a page of faults that it has no section for")
	}
}

// Without kills there is nothing to say of them.
func TestCalmTable(t *testing.T) {
	var calm strings.Builder
	StressTable(&calm, made[5:])
	if strings.Contains(calm.String(), "kill") {
		t.Error(calm.String())
	}
}

func TestThin(t *testing.T) {
	var d account.Durations
	for i := range 1000 {
		d = append(d, time.Duration(1000-i))
	}
	few := thin(d)
	if len(few) != most || few[0] != 1 || few[most-1] != 1000 {
		t.Errorf("%d from %d to %d, want %d from 1 to 1000", len(few), few[0], few[len(few)-1], most)
	}
	if few := thin(d[:3]); len(few) != 3 {
		t.Errorf("%v, want all three", few)
	}
}

func TestScale(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		d    account.Durations
		want scale
	}{
		{nil, scale{0, 1}},
		{account.Durations{0}, scale{0, 1}},
		{account.Durations{100 * ms}, scale{2, 3}},
		{account.Durations{3 * ms, 450 * ms}, scale{0, 3}},
		{account.Durations{30 * ms, 15000 * ms}, scale{1, 5}},
	} {
		s := newScale(c.d)
		if s != c.want {
			t.Errorf("%v: %+v, want %+v", c.d, s, c.want)
		}
		for _, d := range c.d {
			if x := s.x(d); x < border+names || x > width-border {
				t.Errorf("%v of %v is drawn at %v, beside the plot", d, c.d, x)
			}
		}
	}
}
