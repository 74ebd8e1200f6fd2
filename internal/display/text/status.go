package text

import (
	"fmt"
	"strings"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/display"
)

// Status returns a group with its process status table.
func Status(g display.Group, o Options) string {
	var b strings.Builder
	headlineOf(g).write(&b, o)
	b.WriteString("\n")
	o.problems(&b, g)
	o.facts(&b, g)
	if len(g.Processes) > 0 {
		b.WriteString("\n")
		o.processes(&b, g)
	}
	if len(g.Elections) > 0 {
		b.WriteString("\n")
		o.elections(&b, g)
	}
	return b.String()
}

// problems writes what is wrong, and what to do about it.
func (o Options) problems(b *strings.Builder, g display.Group) {
	for _, p := range g.Problems {
		said := fmt.Sprintf("%s: %s", p.Reason, strings.TrimRight(p.Message, ". "))
		if p.Means != "" {
			said += ". " + strings.TrimRight(p.Means, ". ")
		}
		o.hang(b, "", "! ", problemStyle(p), said+".")
		if p.Do != "" {
			o.hang(b, "  ", "→ ", bold, p.Do)
		}
	}
	if g.Disagree {
		for _, v := range g.Views {
			o.hang(b, "", "! ", yellow, followers(v))
		}
	}
	if g.Disagree || len(g.Problems) > 0 {
		b.WriteString("\n")
	}
}

// problemStyle is red for what keeps a group from having a coordinator, or waits for a person.
func problemStyle(p display.Problem) style {
	if p.Condition == v1.ConditionStalled || p.Condition == v1.ConditionCoordinatorElected {
		return red
	}
	return yellow
}

func followers(v display.View) string {
	who, verb := v.Coordinator, "follow"
	if who == "" {
		who = "nobody"
	}
	if len(v.Processes) == 1 {
		verb = "follows"
	}
	return fmt.Sprintf("%d %s %s: %s", len(v.Processes), verb, who, display.Enumerate(v.Processes))
}

// facts writes what there is to know besides the table.
func (o Options) facts(b *strings.Builder, g display.Group) {
	fact := func(label, text string) {
		o.hang(b, "  ", fmt.Sprintf("%-10s", label), faint, text)
	}
	if c := g.Current; c != nil && !c.Stale {
		fact("as of", c.Text())
	}
	if c := g.Coordinator; c != nil && c.Since != nil {
		fact("since", c.Since.UTC().Format("2006-01-02 15:04:05 UTC"))
	}
	fact("running", or(g.Running))
	if g.Voters != nil {
		fact("voters", votersText(*g.Voters))
	}
	next := g.Next.Text
	if g.Next.Process != "" {
		next = fmt.Sprintf("%s (priority %d)", g.Next.Process, g.Next.Priority)
	}
	if g.Next.After > 0 {
		if g.Voters == nil { // in a Classic group that is the longest time, as a rule
			next += ", after up to about " + display.Milliseconds(g.Next.After)
		} else {
			next += ", after about " + g.Timing.LeaseRange()
		}
	}
	fact("next", next)
	if g.StepDown != nil {
		fact("asked", g.StepDown.Text)
	}
	if t := g.Timing; t.Lease > 0 {
		fact("lease", fmt.Sprintf("%s; heartbeat %s, timeout %s",
			t.LeaseRange(), display.Milliseconds(t.Heartbeat),
			display.Milliseconds(t.Timeout)))
	} else {
		fact("timing", fmt.Sprintf("heartbeat %s, timeout %s", display.Milliseconds(t.Heartbeat),
			display.Milliseconds(t.Timeout)))
	}
	mode := g.Safety + ", " + g.Algorithm
	if p := g.Preemption; p != nil {
		mode += ", preemption " + p.Policy
		if p.StableSeconds > 0 {
			mode += fmt.Sprintf(" (%ds)", p.StableSeconds)
		}
	}
	fact("mode", mode)
}

func votersText(v display.Voters) string {
	if v.Total == 0 {
		return "none yet"
	}
	report := "all report"
	if v.Reporting < v.Total {
		report = fmt.Sprintf("of which %d report", v.Reporting)
	}
	text := fmt.Sprintf("%d%s, %s; a majority is %d; %s", v.Total, witnesses(v), report, v.Majority,
		mayFail(v))
	if v.Outdated {
		text += "; agents use a newer roster"
	}
	return text
}

func witnesses(v display.Voters) string {
	switch v.Witnesses {
	case 0:
		return ""
	case 1:
		return " with a witness"
	default:
		return fmt.Sprintf(" with %d witnesses", v.Witnesses)
	}
}

// mayFail says how many voters may fail, or are missing.
func mayFail(v display.Voters) string {
	switch {
	case v.Missing == 1:
		return "1 more is needed for a majority"
	case v.Missing > 1:
		return fmt.Sprintf("%d more are needed for a majority", v.Missing)
	case v.MayFail == 0 && v.Reporting < v.Total:
		return "no more may fail"
	case v.MayFail == 0:
		return "no voter may fail"
	case v.Reporting < v.Total:
		return fmt.Sprintf("%d more may fail", v.MayFail)
	default:
		return fmt.Sprintf("%d may fail", v.MayFail)
	}
}
