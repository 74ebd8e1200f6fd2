package page

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/podesta-dev/podesta/test/chaos/report"
)

// missing stands for what was not measured, or cannot be.
const missing = "–"

// triple are the median, p90 and maximum in seconds, or what there is.
func triple(s Spread) string {
	switch s.N {
	case 0:
		return missing
	case 1:
		return fmt.Sprintf("**%s**", seconds(s.Max))
	}
	return fmt.Sprintf("**%s** · %s · %s", seconds(s.Median), seconds(s.P90), seconds(s.Max))
}

// seconds writes milliseconds in seconds, with about as many digits as can mean something.
func seconds(milliseconds float64) string {
	switch s := milliseconds / 1000; {
	case s < 0.0995:
		return fmt.Sprintf("%.3f", s)
	case s < 9.995:
		return fmt.Sprintf("%.2f", s)
	case s < 99.95:
		return fmt.Sprintf("%.1f", s)
	default:
		return fmt.Sprintf("%.0f", s)
	}
}

// leases is how long the leases of the Guarded groups were.
func leases(run report.Run) string {
	longest := span(time.Duration(run.LeaseMilliseconds) * time.Millisecond)
	if shortest := run.LeaseMinimumMilliseconds; shortest > 0 && shortest < run.LeaseMilliseconds {
		return span(time.Duration(shortest)*time.Millisecond) + " to " + longest + ", as its holder needs"
	}
	return longest
}

// span writes a duration for a sentence.
func span(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%d µs", d.Microseconds())
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 5*time.Minute:
		return strings.TrimSuffix(strings.TrimSuffix(fmt.Sprintf("%.2f", d.Seconds()), "0"), ".0") + " s"
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	default:
		d = d.Round(time.Minute)
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func sizes(processes []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(processes), " ", ", "), "[]")
}

// opening says what was done, to a reader who knows nothing yet.
func opening(run report.Run) string {
	return fmt.Sprintf("On %s, %s of processes lived on a Kubernetes cluster of %s for %s, while "+
		"they were killed, cut off, stopped and asked to leave: %s, one after another and several at "+
		"once. In every pod an app wrote to a register whenever its agent said that it may act. The "+
		"register's log, the apps' traces and the agents' logs were then checked against each other.",
		run.Begun.UTC().Format("2 January 2006"), plural(len(run.Groups), "group"),
		plural(run.Nodes, "node"), span(time.Duration(run.Seconds*float64(time.Second))),
		plural(faults(run.Strikes), "fault"))
}

// promise says whether Guarded groups kept theirs.
func promise(o Outcome) string {
	switch {
	case o.Groups == 0:
		return "No group of this run was Guarded: it shows what Classic does, and nothing of what " +
			"Guarded promises."
	case !o.kept():
		return fmt.Sprintf("**Guarded groups broke their promise**: two were told at once that they "+
			"may act %s; %d epochs went back or had two owners; %d stale writes were taken; %s broken in "+
			"all.", often(o.Together), o.EpochsBack, o.Writes.Stale, plural(o.Violations, "rule"))
	case o.Told == 0:
		return "**Nobody in a Guarded group was ever told that it may act**: nothing was broken, and " +
			"nothing was tried."
	case o.Writes.Refused == 0:
		return kept + " No stale write reached the register, so its fence was not tried."
	}
	return fmt.Sprintf("%s The register was sent %s, and refused every one.", kept,
		plural(o.Writes.Refused, "stale write"))
}

const kept = "**In the Guarded groups no two processes were ever told at once that they may act, " +
	"no epoch went back or had two owners, and no stale write was taken.**"

// beside says what happened in Classic groups, which promise less.
func beside(o Outcome) string {
	switch {
	case o.Groups == 0:
		return "No group of this run was Classic, so there is nothing to compare with."
	case o.Together.Count == 0:
		return "In the Classic groups, under the same faults, no two were told so at once either, " +
			"though nothing prevents it."
	}
	return fmt.Sprintf("In the Classic groups, under the same faults, two were told so at once: %s. "+
		"Of their writes, %d came in the midst of those of a newer coordinator, and nothing refused "+
		"them. That is what [Guarded](../reference/lease.md) is for.", often(o.Together), o.Writes.Stale)
}

// setting is what ran, and where.
func setting(run report.Run) [][2]string {
	version := func(v string) string {
		if v == "" {
			return missing
		}
		return v
	}
	rows := [][2]string{
		{"begun", run.Begun.UTC().Format("2006-01-02 15:04 UTC")},
		{"took", span(time.Duration(run.Seconds * float64(time.Second)))},
		{"seed", fmt.Sprint(run.Seed)},
		{"rounds", fmt.Sprint(run.Rounds)},
		{"Podesta", version(run.Podesta)},
		{"agents of an earlier version", earlier(run)},
		{"Kubernetes", version(run.Kubernetes)},
		{"cluster", fmt.Sprintf("%s (the control plane included), all on one machine with %s",
			plural(run.Nodes, "node"), plural(run.Cores, "core"))},
		{"groups", inhabitants(run.Groups)},
		{"lease of the Guarded groups", leases(run)},
	}
	if len(run.LeftOut) > 0 {
		rows = append(rows, [2]string{fmt.Sprintf("left out: the backend %s cannot do it", run.Backend),
			strings.Join(run.LeftOut, "; ")})
	}
	return rows
}

// earlier says which groups began with the agents of an earlier version, beside this version's
// manager.
func earlier(run report.Run) string {
	if run.Previous == "" {
		return "none"
	}
	return fmt.Sprintf("%s, in the groups of seven of every other algorithm, until a rolling restart",
		run.Previous)
}

// inhabitants says which groups there were: how many of each safety mode and size, and of which
// algorithms.
func inhabitants(groups []report.Group) string {
	var algorithms, modes []string
	tally := map[string]int{}
	for _, g := range groups {
		if !slices.Contains(algorithms, g.Algorithm) {
			algorithms = append(algorithms, g.Algorithm)
		}
		mode := fmt.Sprintf("%s of %d", g.Safety, g.Processes)
		if g.Witness {
			mode += " and a witness"
		}
		if tally[mode]++; tally[mode] == 1 {
			modes = append(modes, mode)
		}
	}
	for i, m := range modes {
		modes[i] = fmt.Sprintf("%d %s", tally[m], m)
	}
	return fmt.Sprintf("%d: %s processes; %s", len(groups), strings.Join(modes, ", "),
		strings.Join(algorithms, ", "))
}

// fold breaks text between words, into lines of about 120 bytes.
func fold(text string) string {
	var lines []string
	for _, word := range strings.Fields(text) {
		if n := len(lines); n > 0 && len(lines[n-1])+1+len(word) <= 120 {
			lines[n-1] += " " + word
			continue
		}
		lines = append(lines, word)
	}
	return strings.Join(lines, "\n")
}
