package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/podesta-dev/podesta/internal/election"
)

// run is what a person sees who types a command line after `kubectl election`.
func run(line string) (string, error) {
	var out bytes.Buffer
	command := newCommand(around(nil))
	command.SetArgs(strings.Fields(line))
	command.SetOut(&out)
	command.SetErr(&out)
	err := command.Execute()
	return out.String(), err
}

// TestGolden runs the command lines in testdata/simulate.txt. -rewrite writes what they print now.
func TestGolden(t *testing.T) {
	datadriven.Walk(t, "testdata/simulate.txt", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(_ *testing.T, d *datadriven.TestData) string {
			said, err := run(d.Input)
			if err != nil {
				said += "error: " + err.Error() + "\n"
			}
			return said
		})
	})
}

// Seed 004, section 6.1: "10 messages. Whereas, in the same scenario the bully algorithm would take
// 43".
func TestJSONIsOneObject(t *testing.T) {
	for algorithm, want := range map[string]int{"Bully": 43, "StatusTableBully": 10} {
		out, err := run("simulate --processes 10 --crashed 10 --initiator 4 -o json --algorithm " + algorithm)
		if err != nil {
			t.Fatal(err)
		}
		var report struct {
			Algorithm                     string
			Processes, Coordinator, Total int
			Initiators, Crashed           []int
			Messages                      map[string]int
			TimeUnits                     float64
			Events                        []map[string]any
		}
		decoder := json.NewDecoder(strings.NewReader(out))
		if err := decoder.Decode(&report); err != nil {
			t.Fatal(err)
		}
		if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
			t.Errorf("%s: something follows the object: %v", algorithm, err)
		}
		sum := 0
		for _, n := range report.Messages {
			sum += n
		}
		sent := 0
		for _, e := range report.Events {
			if e["event"] == "Sent" {
				sent++
			}
		}
		if report.Algorithm != algorithm || report.Processes != 10 || report.Coordinator != 9 || report.Total != want || sum != want || sent != want {
			t.Errorf("%s: %+v, messages add up to %d, events to %d, want %d", algorithm, report, sum, sent, want)
		}
		if len(report.Initiators) != 1 || report.Initiators[0] != 4 || len(report.Crashed) != 1 || report.Crashed[0] != 10 || report.TimeUnits <= 0 {
			t.Errorf("%s: %+v", algorithm, report)
		}
	}
}

// Every algorithm, in every output, with chance and faults: the same seed prints the same bytes.
func TestSameSeedSameBytes(t *testing.T) {
	for _, algorithm := range election.Algorithms() {
		for _, output := range []string{"text", "json", "svg"} {
			line := "simulate --processes 7 --seed 5 --crash 7@2.5 --recover 7@40 --partition 1,2,3|4,5,6,7@60-90 --algorithm " + algorithm + " -o " + output
			first, err := run(line)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			if second, _ := run(line); first != second || first == "" {
				t.Errorf("%s: printed twice it differs", line)
			}
			if other, _ := run(strings.Replace(line, "--seed 5", "--seed 6", 1)); other == first {
				t.Errorf("%s: another seed makes no difference", line)
			}
		}
	}
}

func TestSVGIsWellFormed(t *testing.T) {
	out, err := run("simulate --processes 10 -o svg")
	if err != nil {
		t.Fatal(err)
	}
	decoder := xml.NewDecoder(strings.NewReader(out))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// A wrong flag gets a message that says what would be right.
func TestBadFlags(t *testing.T) {
	for line, want := range map[string]string{
		"--algorithm Coin":                                "there are ActiveListRing, Bully, ChangRoberts, LeLann, RingList, StatusTableBully",
		"--processes 0":                                   "must be 1 to 100",
		"--processes 101":                                 "must be 1 to 100",
		"--processes 5 --crashed 6":                       "--crashed 6: there is no such process; they are numbered 1 to 5",
		"--processes 5 --initiator 0":                     "--initiator 0: there is no such process; they are numbered 1 to 5",
		"--processes 5 --crashed 4 --initiator 4":         "process 4 has crashed (--crashed), so it cannot call an election; name a live one",
		"--processes 2 --crashed 1,2":                     "leave one alive",
		"--processes 3 --priorities 1,2":                  "2 given for 3 processes; give one for each, in the order 1 to 3",
		"--processes 2 --priorities -1,2":                 "must be 0 to 1000000",
		"--crash 5":                                       `--crash "5": must be P@T, as in --crash 5@3`,
		"--crash five@3":                                  `"five" is no process: write its number, 1 to 5`,
		"--crash 9@3":                                     "there is no process 9; they are numbered 1 to 5",
		"--crash 5@soon":                                  `"soon" is no time: write a number of link delays`,
		"--crash 5@-1":                                    `"-1" is no time`,
		"--crash 5@3 --crash 5@4":                         "--crash 5@4: process 5 is down already",
		"--recover 5@3":                                   "process 5 is not down then; let it crash first",
		"--partition 1,2@3":                               "has two sides or more, with | between them",
		"--partition 1,2|3,4,5":                           "must be SIDE|SIDE@T or SIDE|SIDE@T-T2",
		"--partition 1,2|3,4@3":                           "process 5 is on no side; name all of 1 to 5",
		"--partition 1,2|2,3,4,5@3":                       "process 2 is named twice",
		"--partition 1,2|3,4,5@3-2":                       "ends at 2, before it begins at 3",
		"--until -1":                                      "--until -1: must be a time in link delays",
		"--until 2 --crash 5@3":                           "--crash 5@3: that is after --until 2",
		"--seed 0":                                        "--seed 0: must be 1 or more",
		"--priorities 0,0,0,0,0":                          "--priorities: every one is 0, so nobody can coordinate; give a process 1 or more",
		"--priorities 0,0,0,0,1":                          "nobody is left who can coordinate",
		"--unhealthy 6":                                   `--unhealthy "6": must be P or P@T, as in --unhealthy 5 or --unhealthy 5@3 (there is no process 6`,
		"--unhealthy 2 --crashed 2":                       "--unhealthy 2: process 2 is down (--crashed)",
		"--unhealthy 2@3 --unhealthy 2@4":                 "--unhealthy 2@4: process 2 is down or unhealthy already",
		"--healthy 2@3":                                   "--healthy 2@3: process 2 is healthy then; let it become unhealthy first",
		"--unhealthy 2 --crash 2@3 --healthy 2@4":         "--healthy 2@4: process 2 is healthy then",
		"--unhealthy 1,2":                                 "must be P or P@T",
		"--processes 2 --unhealthy 1 --unhealthy 2":       "nobody is left who can coordinate",
		"--coordinator 6":                                 "--coordinator 6: there is no such process",
		"--coordinator 1 --cold":                          "with --cold nobody coordinates before time 0",
		"--priorities 0,1,1,1,1 --coordinator 1":          "its priority is 0, so it never coordinates",
		"-o yaml":                                         `-o "yaml": must be text, json or svg`,
		"--compare -o svg":                                "say -o text or -o json",
		"now":                                             `unexpected argument "now": simulate takes flags only`,
		"--processes many":                                "--processes",
		"--algorithm Coin --crash x --until -1":           "--algorithm", // all problems are told at once
		"--algorithm Coin --crash x --until -1 --crash y": `--crash "y"`,
	} {
		out, err := run("simulate " + line)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("simulate %s: %v, want %q", line, err, want)
		}
		if out != "" {
			t.Errorf("simulate %s: printed %q besides its error", line, out)
		}
	}
}
