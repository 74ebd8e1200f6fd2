package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/bench/peers/account"
)

// Systems are those that are named, or all, and each of Podesta's once for each agent.
func TestChoose(t *testing.T) {
	agent := filepath.Join(t.TempDir(), "agent")
	if err := os.WriteFile(agent, []byte("#!/bin/sh\necho \"agent $1\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string // the systems, or what the error says
	}{
		{
			[]string{"--agent", agent, "--systems", "raft-200ms,podesta-classic"},
			"raft-200ms podesta-classic",
		},
		{
			[]string{"--agent", "old=" + agent, "--agent", "new=" + agent, "--systems", "podesta-fast,raft"},
			"podesta-fast-old podesta-fast-new raft",
		},
		{
			[]string{"--agent", agent},
			"podesta-classic podesta-fast podesta-balanced podesta-patient raft raft-200ms",
		},
		{[]string{"--systems", "zookeeper"}, "podesta-patient, raft, raft-200ms"},
		{[]string{"--agent", "nowhere"}, "make bin/agent"},
		{[]string{"--agent", agent, "--agent", agent}, "a NAME each"},
	} {
		var o options
		systems, results, err := o.parse(o.flagSet("stress"), c.args, undemanding())
		if err != nil {
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q: %v, want %q", c.args, err, c.want)
			}
			continue
		}
		var names []string
		for _, y := range systems {
			names = append(names, y.name)
			if y.meaning == "" {
				t.Errorf("%s has no meaning", y.name)
			}
			if y.podesta && results.Versions[y.name] != "agent --version" {
				t.Errorf("%s: the version is %q", y.name, results.Versions[y.name])
			}
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%q: %q, want %q", c.args, got, c.want)
		}
	}
}

// A cut has nothing to do with the ways that it does not name.
func TestCutIsOfOneMember(t *testing.T) {
	s := &site{names: []string{"p1", "p2", "p3"}}
	if got := s.way(t.Context(), "p1", "p2", "127.0.0.1:1"); got != "127.0.0.1:1" {
		t.Errorf("members that are not proxied reach each other at %s", got)
	}
	s.proxied = true
	for _, from := range s.names {
		for _, to := range s.names {
			s.way(t.Context(), from, to, s.address(to, linkPort))
		}
	}
	defer func() {
		for _, w := range s.ways {
			w.Close()
		}
	}()
	if len(s.ways) != 6 || len(s.waysOf("p2")) != 4 || s.failed != nil {
		t.Errorf("%d ways, %d of p2, %v", len(s.ways), len(s.waysOf("p2")), s.failed)
	}
}

func TestTables(t *testing.T) {
	const ms = time.Millisecond
	r := results{
		Failovers: []failovers{
			{System: "podesta-fast", Fault: "SIGKILL", Took: []time.Duration{90 * ms, 110 * ms, 100 * ms}},
			{System: "raft", Fault: "SIGKILL", Took: []time.Duration{1600 * ms}, None: 1},
		},
		Stress: []stressed{
			{
				System: "raft",
				Figures: account.Figures{
					Span:       100 * time.Second,
					Strikes:    3,
					Spurious:   2,
					Lapses:     4,
					Leaderless: 5 * time.Second,
					Unprovoked: time.Second,
					Two:        12 * ms,
					Failovers:  []time.Duration{1700 * ms, 12 * time.Second},
					Unanswered: 1,
				},
				CPU: 0.0325,
			},
		},
	}
	var text strings.Builder
	r.failoverTable(&text)
	r.stressTable(&text)
	for _, row := range []string{
		"| SIGKILL | podesta-fast | 3 | 100 ms | 110 ms | 110 ms | 110 ms | 0 |",
		"| SIGKILL | raft | 1 | 1600 ms | 1600 ms | 1600 ms | 1600 ms | 1 |",
		"| raft | 1m40s | 2 | 4 | 5.00 % | 1.00 % | 12.0 ms | 3.25 % | 3 | 1700 ms | 12.0 s " +
			"| 12.0 s; 1 without |",
	} {
		if !strings.Contains(text.String(), row+"\n") {
			t.Errorf("no %q in\n%s", row, text.String())
		}
	}
}

// A fault that lasts does so for a time that no system has chosen.
func TestDrawn(t *testing.T) {
	const faults = 10000
	stop := ends[slices.IndexFunc(ends, func(f fault) bool { return f.name == "SIGSTOP" })]
	below := 0
	for range faults {
		d := stop.drawn()
		if d < faultLeast || d > faultMost {
			t.Fatalf("SIGSTOP of %v", d)
		}
		if d < 7746*time.Millisecond { // the geometric mean of both
			below++
		}
	}
	if below < faults*45/100 || below > faults*55/100 {
		t.Errorf("%d of %d are below the middle, want about half", below, faults)
	}
	if d := ends[0].drawn(); d != 0 {
		t.Errorf("SIGKILL lasts for %v", d)
	}
}
