package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/test/chaos/report"
	"github.com/podesta-dev/podesta/test/register"
	"github.com/podesta-dev/podesta/test/register/history"
)

// table prints what happens while it does. It is safe for concurrent use.
type table struct {
	mu  sync.Mutex
	out io.Writer
}

func (t *table) say(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(t.out, format+"\n", args...)
}

// row tells of a strike: what is not in the table at the end is in the report.
func (t *table) row(s report.Strike) {
	became := "ok"
	if !s.OK {
		became = "NOT WELL: " + s.Problem
	}
	t.say("%7.1f s  %s, %s, %s → %s: %s", s.Second, s.Fault, s.Group, who(s.Before, s.Group),
		who(s.First, s.Group), became)
}

func who(h report.Holder, group string) string {
	if h.Process == "" {
		return "nobody"
	}
	name := h.Process[min(len(group)+1, len(h.Process)):]
	if h.Epoch == 0 {
		return name
	}
	return fmt.Sprintf("%s (%s)", name, lease.Epoch(h.Epoch))
}

// became prints what the checker found of a group.
func (t *table) became(g report.Group) {
	b := g.Became
	t.say(`%s:
  told that it may act %d times, in %d stretches; two were told at once %s; nobody was told %s
  writes: %d taken, %d of them late, while nobody newer had written; %d stale ones taken
  stale writes refused: %d, %d of them checked right before
  leases in the agents' logs: %d held, %d stopped, %d released
  violations: %d`, g.Name,
		b.Told, b.Stretches, times(b.Together), times(b.Nobody),
		b.Writes.Accepted, b.Writes.Late, b.Writes.Stale,
		b.Writes.Refused, b.Writes.RefusedCareful,
		b.Held, b.Stopped, b.Released,
		len(b.Violations))
	rules := map[history.Rule]int{}
	for _, v := range b.Violations {
		rules[v.Rule]++
	}
	for _, rule := range slices.Sorted(maps.Keys(rules)) {
		t.say("    %d × %s", rules[rule], rule)
	}
}

func times(t history.Times) string {
	if t.Count == 0 {
		return "never"
	}
	return fmt.Sprintf("%d times, %.2f s in all, %.2f s the longest", t.Count, t.Total.Seconds(),
		t.Longest.Seconds())
}

// sum prints what was done in all, and what came of it.
func (t *table) sum(r report.Run, begun register.Instant) {
	t.say("\n%d rounds, %d strikes in %.0f s; %d problems\n", r.Rounds, len(r.Strikes), r.Seconds,
		len(r.Problems))
	t.mu.Lock()
	defer t.mu.Unlock()
	writeOutcomes(t.out, outcomes(r, begun))
	if len(r.LeftOut) > 0 {
		fmt.Fprintf(t.out, "\nleft out, for the backend cannot do it: %s\n", list(r.LeftOut))
	}
}

func list(all []string) string { return strings.Join(all, "; ") }

func namesOf(kinds []faultKind) (names []string) {
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}
