package page

import (
	"bytes"
	_ "embed"
	"fmt"
	"strings"
	"text/template"

	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/test/chaos/report"
	"github.com/podesta-dev/podesta/test/register/history"
)

// The page lists no more than these; the report has them all.
const (
	mostProblems = 100
	mostSlowest  = 10
)

//go:embed chaos.md.tmpl
var source string

var chaos = template.Must(template.New(document).Funcs(template.FuncMap{
	"cell":   cell,
	"spread": func(times []float64) string { return triple(spread(times)) },
	"sizes":  sizes,
	"fold":   fold,
	"one": func(time *float64) string {
		if time == nil {
			return missing
		}
		return seconds(*time)
	},
}).Parse(source))

// content is what the template is filled with; strings are Markdown unless the template says cell.
type content struct {
	Lead, Promise, Beside string
	Problems              []string
	More                  int // problems that are not listed
	Setting               [][2]string
	Counts                []Count
	Columns               []string
	Outcomes              []line
	Faults, Algorithms    []entry
	Slowest               []slow
	Lease                 string
	Seed                  uint64

	HasFaults, HasAlgorithms, HasMilestones bool
}

// entry is a row, or the heading of those that follow.
type entry struct {
	Heading string
	Row
}

// slow is a strike of the table of the slowest.
type slow struct {
	report.Strike

	At, Safety, Change string
}

// write fills the template. A plot that is not among the files is not shown.
func write(run report.Run, files map[string][]byte) ([]byte, error) {
	g, c := outcome(run, guarded), outcome(run, classic)
	columns, outcomes := outcomes(g, c)
	listed := problems(run)
	var out bytes.Buffer
	err := chaos.Execute(&out, content{
		Lead:          opening(run),
		Promise:       promise(g),
		Beside:        beside(c),
		Problems:      listed[:min(len(listed), mostProblems)],
		More:          max(0, len(listed)-mostProblems),
		Setting:       setting(run),
		Counts:        counts(run),
		Columns:       columns,
		Outcomes:      outcomes,
		Faults:        entries(byFault(run), true),
		Algorithms:    entries(byAlgorithm(run), false),
		Slowest:       slowRows(run),
		Lease:         leases(run),
		Seed:          run.Seed,
		HasFaults:     files[faultsPlot] != nil,
		HasAlgorithms: files[algorithmsPlot] != nil,
		HasMilestones: files[milestonesPlot] != nil,
	})
	return out.Bytes(), err
}

// entries are rows with each name said once, and with a heading before each class if there are
// classes.
func entries(rows []Row, headed bool) []entry {
	var all []entry
	for i, r := range rows {
		if headed && (i == 0 || rows[i-1].Class != r.Class) {
			all = append(all, entry{Heading: string(r.Class)})
		}
		if i > 0 && rows[i-1].Class == r.Class && rows[i-1].Name == r.Name {
			r.Name = ""
		}
		all = append(all, entry{Row: r})
	}
	return all
}

func slowRows(run report.Run) []slow {
	safety := map[string]string{}
	for _, g := range run.Groups {
		safety[g.Name] = g.Safety
	}
	var rows []slow
	for _, s := range slowest(run, mostSlowest) {
		rows = append(rows, slow{
			Strike: s,
			Safety: safety[s.Group],
			At:     fmt.Sprintf("%.1f", s.Second),
			Change: who(s.Before, s.Group) + " → " + who(s.First, s.Group),
		})
	}
	return rows
}

// who is a process of a group without the group's name, and its epoch.
func who(h report.Holder, group string) string {
	name := strings.TrimPrefix(h.Process, group+"-")
	switch {
	case name == "":
		return "nobody"
	case h.Epoch == 0:
		return name
	}
	return fmt.Sprintf("%s (%s)", name, lease.Epoch(h.Epoch))
}

// line is a line of the table of outcomes, with a value for each column.
type line struct {
	What   string
	Values []string
}

// outcomes puts those of both safety modes side by side, of one only if the other had no groups.
func outcomes(g, c Outcome) (columns []string, lines []line) {
	of := []Outcome{}
	if g.Groups > 0 {
		columns = append(columns, "Guarded, "+plural(g.Groups, "group"))
		of = append(of, g)
	}
	if c.Groups > 0 {
		columns = append(columns, "Classic, "+plural(c.Groups, "group"))
		of = append(of, c)
	}
	add := func(what string, value func(Outcome) string) {
		l := line{What: what}
		for _, o := range of {
			l.Values = append(l.Values, value(o))
		}
		lines = append(lines, l)
	}
	add("**two told at once that they may act**", func(o Outcome) string {
		return "**" + often(o.Together) + "**"
	})
	add("epochs that went back, or had two owners", func(o Outcome) string {
		return ifEpochs(o, o.EpochsBack)
	})
	add("promises given back while somebody relied on them", func(o Outcome) string {
		return ifEpochs(o, o.Released)
	})
	add("stale writes refused", func(o Outcome) string {
		if o.Writes.Refused == 0 {
			return "0"
		}
		return fmt.Sprintf("%d, of which %d had looked at the clock right before", o.Writes.Refused,
			o.Writes.RefusedCareful)
	})
	add("**stale writes taken**", func(o Outcome) string {
		return fmt.Sprintf("**%d**", o.Writes.Stale)
	})
	add("other writes taken", func(o Outcome) string {
		return fmt.Sprint(o.Writes.Accepted - o.Writes.Stale)
	})
	add("of these after their deadline, before anybody newer wrote", func(o Outcome) string {
		return ifEpochs(o, o.Writes.Late)
	})
	add("told that it may act", func(o Outcome) string {
		return fmt.Sprintf("%d times, in %d stretches", o.Told, o.Stretches)
	})
	add("nobody told so", func(o Outcome) string { return often(o.Nobody) + share(o) })
	add("leases in the agents' logs", func(o Outcome) string { return ifEpochs(o, o.Held) })
	add("**rules broken**", func(o Outcome) string { return fmt.Sprintf("**%d**", o.Violations) })
	return columns, lines
}

// ifEpochs is a count of what only groups with epochs have. Groups that had a lease, or broke a
// rule, have them.
func ifEpochs(o Outcome, n int) string {
	if o.Held == 0 && n == 0 {
		return missing
	}
	return fmt.Sprint(n)
}

// share is how much of the time there was nobody, if that is known.
func share(o Outcome) string {
	if o.Observed <= 0 || o.Nobody.Count == 0 {
		return ""
	}
	return fmt.Sprintf(" (%.2f %% of the time)", 100*o.Nobody.Total.Seconds()/o.Observed.Seconds())
}

func often(t history.Times) string {
	switch t.Count {
	case 0:
		return "never"
	case 1:
		return "once, for " + span(t.Total)
	}
	return fmt.Sprintf("%d times, %s in all, %s the longest", t.Count, span(t.Total), span(t.Longest))
}

// cell makes text fit for a cell of a table or an item of a list: on one line, and nothing in it is
// Markdown.
func cell(s string) string { return strings.TrimSpace(escape.Replace(s)) }

var escape = strings.NewReplacer("\\", `\\`, "|", `\|`, "<", `\<`, ">", `\>`, "*", `\*`, "_", `\_`,
	"`", "\\`", "[", `\[`, "]", `\]`, "#", `\#`, "\r", " ", "\n", " ")
