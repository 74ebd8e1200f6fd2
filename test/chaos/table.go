package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

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

const (
	format = "%7s  %-26s %7s  %-26s %-48s %9s %9s %9s  %s\n"
)

func (t *table) say(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(t.out, format+"\n", args...)
}

func (t *table) head(after time.Duration) {
	t.say("all is well after %.0f s; the faults begin. Times in ms, from the strike", after.Seconds())
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(t.out, format, "SECOND", "FAULT", "FOR", "GROUP", "ACTED BEFORE, AND AFTER", "ACTS",
		"STATUS", "SERVICE", "")
}

func (t *table) row(s report.Strike) {
	length, response := "", "ok"
	if s.Milliseconds > 0 {
		length = fmt.Sprintf("%.1f s", s.Milliseconds/1000)
	}
	if !s.OK {
		response = "NOT WELL: " + s.Problem
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(t.out, format, fmt.Sprintf("%.1f", s.Second), s.Fault, length, s.Group, change(s),
		ms(s.Times.Acts), ms(s.Times.Status), ms(s.Times.Service), response)
}

// change is who acted before and who after; the one that was hit has a star.
func change(s report.Strike) string {
	before := who(s.Before, s.Group)
	if s.Coordinator {
		before += "*"
	}
	text := before + " still"
	if s.Changed() {
		text = before + " → " + who(s.First, s.Group)
	}
	if s.After != s.First {
		text += " → " + who(s.After, s.Group)
	}
	return text
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

func ms(t *float64) string {
	if t == nil {
		return ""
	}
	return fmt.Sprintf("%.0f", *t)
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
