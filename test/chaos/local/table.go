package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/test/register"
	"github.com/podesta-dev/podesta/test/register/history"
)

// table prints what happens while it does. It is safe for concurrent use.
type table struct {
	mu  sync.Mutex
	out io.Writer
}

// row is what a fault did to a group.
type row struct {
	at            time.Duration // since the run began
	fault         fault
	group         string
	victim        string // pod; empty if none was hit
	before, after register.Entry
	took          time.Duration // until somebody was told that it may act
	ok            bool
}

const format = "%7s  %-36s %-8s %-10s  %-42s  %8s  %s\n"

func (t *table) say(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(t.out, format+"\n", args...)
}

func (t *table) head(after time.Duration) {
	t.say("the faults begin after %.1f s\n", after.Seconds())
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(t.out, format, "SECOND", "FAULT", "GROUP", "POD", "ACTS BEFORE AND AFTER", "TOLD IN", "")
}

func (t *table) row(r row) {
	took, response := fmt.Sprintf("%.0f ms", r.took.Seconds()*1000), "ok"
	if !r.ok {
		took, response = "", "NOBODY MAY ACT"
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(t.out, format, fmt.Sprintf("%.1f", r.at.Seconds()), r.fault, r.group, r.victim, change(r.before, r.after), took, response)
}

// change is who acted before and who after, without the group's name, which the row has already.
func change(before, after register.Entry) string {
	if after.Process == "" {
		return who(before)
	}
	if before.Process == after.Process && before.Epoch == after.Epoch {
		return who(after) + " still"
	}
	return who(before) + " → " + who(after)
}

func who(e register.Entry) string {
	if e.Process == "" {
		return "nobody"
	}
	_, ordinal, _ := strings.Cut(e.Process, e.Group)
	if e.Epoch == 0 {
		return ordinal[min(1, len(ordinal)):]
	}
	return fmt.Sprintf("%s (%d)", ordinal[min(1, len(ordinal)):], e.Epoch)
}

func under(epoch int64) string {
	if epoch == 0 {
		return ""
	}
	return fmt.Sprintf(" under epoch %d", epoch)
}

// report prints what the checker found. The error says what must not be.
func (r *runner) report(h history.History) error {
	fmt.Fprintf(r.out.out, "\n%d rounds in %.0f s:", r.rounds, register.Now().Sub(r.begun).Seconds())
	for _, what := range slices.Sorted(maps.Keys(r.faults)) {
		fmt.Fprintf(r.out.out, " %d × %s;", r.faults[what], strings.TrimSpace(what))
	}
	fmt.Fprintln(r.out.out, " in each group")
	var errs []error
	for _, what := range r.stuck {
		errs = append(errs, errors.New(what))
	}
	columns := make([]history.Report, len(r.groups))
	for i, g := range r.groups {
		if g.safety == v1.Guarded {
			columns[i] = h.Guarded(g.Group)
			errs = append(errs, toothless(columns[i])...)
		} else {
			columns[i] = h.Classic(g.Group)
		}
		for _, v := range columns[i].Violations {
			errs = append(errs, fmt.Errorf("%s: %s: %s", g.Group, v.Rule, v.Text))
		}
	}
	r.compare(columns)
	return errors.Join(errs...)
}

// toothless says what a run of a Guarded group must have seen for its check to mean anything.
func toothless(r history.Report) (errs []error) {
	if r.Writes.Refused == 0 {
		errs = append(errs, errors.New("no stale write was refused: this run has not tried what it is for"))
	}
	if r.Held == 0 {
		errs = append(errs, errors.New("the agents' logs tell of no lease: lines with msg=lease, state, epoch and boottime"))
	}
	return errs
}

// compare prints the reports side by side.
func (r *runner) compare(columns []history.Report) {
	line := func(what string, value func(history.Report) string) {
		fmt.Fprintf(r.out.out, "  %-46s", what)
		for _, c := range columns {
			fmt.Fprintf(r.out.out, "  %-44s", value(c))
		}
		fmt.Fprintln(r.out.out)
	}
	fmt.Fprintf(r.out.out, "\n  %-46s", "")
	for _, g := range r.groups {
		fmt.Fprintf(r.out.out, "  %-44s", g.safety)
	}
	fmt.Fprintln(r.out.out)
	count := func(rules ...history.Rule) func(history.Report) string {
		return func(c history.Report) string {
			n := 0
			for _, v := range c.Violations {
				if slices.Contains(rules, v.Rule) {
					n++
				}
			}
			return fmt.Sprint(n)
		}
	}
	line("told that it may act", func(c history.Report) string { return fmt.Sprintf("%d times, in %d stretches", c.Told, c.Stretches) })
	line("two were told at once", func(c history.Report) string { return times(c.Together) })
	line("epochs that went back, or had two owners", count(history.EpochBack, history.TwoOwners))
	line("writes taken", func(c history.Report) string { return fmt.Sprint(c.Writes.Accepted) })
	line("stale writes refused", func(c history.Report) string {
		return fmt.Sprintf("%d, %d of them checked right before", c.Writes.Refused, c.Writes.RefusedCareful)
	})
	line("stale writes taken", func(c history.Report) string { return fmt.Sprint(c.Writes.Stale) })
	line("writes after the deadline, nobody newer yet", func(c history.Report) string { return fmt.Sprint(c.Writes.Late) })
	line("nobody was told", func(c history.Report) string { return times(c.Nobody) })
	line("leases in the agents' logs", func(c history.Report) string {
		return fmt.Sprintf("%d held, %d stopped, %d released", c.Held, c.Stopped, c.Released)
	})
	line("violations", func(c history.Report) string { return fmt.Sprint(len(c.Violations)) })
	fmt.Fprintln(r.out.out)
}

func times(t history.Times) string {
	switch t.Count {
	case 0:
		return "never"
	case 1:
		return fmt.Sprintf("once, %.2f s", t.Total.Seconds())
	}
	return fmt.Sprintf("%d times, %.2f s in all, %.2f s the longest", t.Count, t.Total.Seconds(), t.Longest.Seconds())
}
