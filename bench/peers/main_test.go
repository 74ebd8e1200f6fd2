package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/bench/peers/account"
	"github.com/podesta-dev/podesta/bench/peers/condition"
	"github.com/podesta-dev/podesta/bench/peers/report"
	"github.com/podesta-dev/podesta/bench/peers/said"
	"github.com/podesta-dev/podesta/test/register"
)

func TestSeries(t *testing.T) {
	got, err := series(strings.NewReader("# HELP a b\n# TYPE a gauge\na 0.1\nb{x=\"y\"} 2\nc 3e+02\nd\n"))
	if err != nil || got["a"] != 0.1 || got["c"] != 300 || len(got) != 3 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestChoose(t *testing.T) {
	all := (&stressOptions{options: options{shortest: 100 * time.Millisecond}}).known()
	o := options{}
	chosen, err := o.choose(all)
	if err != nil || len(chosen) != 8 || chosen[0].name != "podesta-100ms" {
		t.Errorf("%d, %v, want those eight that are not optional", len(chosen), err)
	}
	o.systems = []string{"raft-200ms", "podesta-classic"}
	if chosen, err := o.choose(all); err != nil || len(chosen) != 2 {
		t.Errorf("%d, %v, want the two that were named", len(chosen), err)
	}
	o.systems = []string{"zookeeper"}
	if _, err := o.choose(all); err == nil || !strings.Contains(err.Error(), "podesta-1s, raft, raft-200ms") {
		t.Errorf("%v, want to read which there are", err)
	}
	if _, err := chooseFaults([]string{"SIGKILL", "fire"}, ends); err == nil {
		t.Error("fire is a fault")
	}
}

// Who needs servers runs where they are, and nobody waits an hour to read that.
func TestRunnable(t *testing.T) {
	all := (&stressOptions{options: options{shortest: 100 * time.Millisecond}}).known()
	for _, c := range condition.All {
		some, err := runnable(c, all)
		want := len(all)
		if c.Name != "servers" {
			want -= 4
		}
		if err != nil || len(some) != want {
			t.Errorf("%s: %d systems, %v, want %d", c.Name, len(some), err, want)
		}
	}
	args := []string{"--systems", "etcd-2s", "--conditions", "servers,quiet", "--agent", "/bin/true"}
	if err := stress(t.Context(), args); err == nil || !strings.Contains(err.Error(), "quiet has none") {
		t.Errorf("%v: want to read which condition has no servers", err)
	}
}

// Faults that leave a group no time to settle are refused, now and not in an hour.
func TestApart(t *testing.T) {
	args := []string{"--faults", "short-cut", "--apart", "900ms", "--agent", "/bin/true"}
	if err := stress(t.Context(), args); err == nil || !strings.Contains(err.Error(), "--apart 900ms") {
		t.Errorf("%v: want to read what is wrong with 900ms", err)
	}
}

// What is to be run again names what was measured, and no place on this machine.
func TestCommand(t *testing.T) {
	var o options
	f := o.flagSet("stress")
	agent := filepath.Join(t.TempDir(), "agent")
	script := "#!/bin/sh\necho \"agent $1\"\n"
	if err := os.WriteFile(agent, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	args := []string{
		"--systems", "raft,podesta-1s", "--keep", "/somewhere", "--agent", agent, "--patience", "30s",
	}
	if err := o.parse(f, args); err != nil {
		t.Fatal(err)
	}
	if want := "go run . stress --systems=raft,podesta-1s --patience=30s"; o.command != want {
		t.Errorf("%q, want %q", o.command, want)
	}
	if o.version != "agent --version" {
		t.Errorf("the version is what %q answered", o.version)
	}
	if err := o.parse(f, []string{"--agent", "nowhere"}); err == nil || !strings.Contains(err.Error(), "make bin/agent") {
		t.Errorf("%v: want to read how to make the agent", err)
	}
}

// A cut has nothing to do with those that it does not name.
func TestCutIsOfOneMember(t *testing.T) {
	s := &site{names: []string{"p1", "p2", "p3"}}
	if got := s.way("p1", "p2", "127.0.0.1:1"); got != "127.0.0.1:1" {
		t.Errorf("without a network: %s", got)
	}
	if a, b := s.address("p1", linkPort), s.address("p3", linkPort); a != "127.111.0.1:4041" || b != "127.111.0.3:4041" {
		t.Errorf("%s, %s", a, b)
	}
}

// A record has what has come of each interruption, and how far they were apart, if that is not usual.
func TestRecordOfInterruptions(t *testing.T) {
	book := account.NewBook()
	add := func(at time.Duration, word said.Word, fault account.Fault) {
		book.Add(account.Entry{
			Member: "p1",
			Line:   said.Line{At: register.Instant(at), Word: word},
			Fault:  fault,
		})
	}
	add(time.Second, said.Leads, account.Fault{})
	add(2*time.Second, account.Stopped, account.Fault{Name: "short-SIGSTOP", Lasts: 80 * time.Millisecond})
	add(2080*time.Millisecond, account.Continued, account.Fault{})
	r := &entrant{team: &team{book: book, system: system{name: "raft"}}, to: register.Instant(9 * time.Second)}
	for apart, want := range map[time.Duration]float64{usuallyApart: 0, 30 * time.Second: 30} {
		o := stressOptions{faults: []string{"short-SIGSTOP"}, apart: apart}
		got, err := o.judge(r, condition.All[0], nil, nil)
		if err != nil || got.Apart != want || got.Unanswered != 1 || len(got.Interruptions) != 1 ||
			got.Interruptions[0] != (report.Interruption{For: 80, End: account.Outlasted}) {
			t.Errorf("%v apart: %+v, %v", apart, got, err)
		}
	}
}

// What every system and condition is stands in the report.
func TestMeanings(t *testing.T) {
	o := failoverOptions{options: options{shortest: 100 * time.Millisecond}}
	for _, s := range o.known() {
		if meaning("", s.name) == "" {
			t.Errorf("%s has no meaning", s.name)
		}
	}
	for _, name := range condition.Names() {
		if meaning(report.Stress, name) == "" {
			t.Errorf("%s has no meaning", name)
		}
	}
}

// Who leads for long enough is killed, and nobody else.
func TestReigns(t *testing.T) {
	team := &team{book: account.NewBook()}
	say := func(member string, word said.Word) {
		team.book.Add(account.Entry{Member: member, Line: said.Line{At: register.Now(), Word: word}})
	}
	say("p1", said.Leads)
	if !team.reigns(t.Context(), "p1", time.Millisecond) {
		t.Error("p1 has led all the time")
	}
	if team.reigns(t.Context(), "p2", time.Hour) {
		t.Error("p2 has never led")
	}
	done := make(chan bool)
	go func() { done <- team.reigns(t.Context(), "p1", time.Hour) }()
	say("p1", said.Ceases)
	if <-done {
		t.Error("p1 has ceased")
	}
	say("p1", said.Leads)
	ended, end := context.WithCancel(t.Context())
	end()
	if team.reigns(ended, "p1", time.Hour) {
		t.Error("it was told not to wait")
	}
}

// A fault that lasts does so for a time that no system has chosen.
func TestDrawn(t *testing.T) {
	const faults = 10000
	for _, c := range []struct {
		fault               fault
		least, middle, most time.Duration // the middle: the geometric mean of both ends
	}{
		{ends[1], faultLeast, 7746 * time.Millisecond, faultMost},
		{interruptions[0], shortLeast, 223607 * time.Microsecond, shortMost},
	} {
		below := 0
		for range faults {
			d := c.fault.drawn().Lasts
			if d < c.least || d > c.most {
				t.Fatalf("%s of %v", c.fault.name, d)
			}
			if d < c.middle {
				below++
			}
		}
		if below < faults*45/100 || below > faults*55/100 {
			t.Errorf("%s: %d of %d are below the middle, want about half", c.fault.name, below, faults)
		}
	}
	if d := ends[0].drawn().Lasts; d != 0 {
		t.Errorf("SIGKILL lasts for %v", d)
	}
}
