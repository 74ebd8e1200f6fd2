package conformance

import (
	"fmt"
	"slices"
	"strings"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/sim/scenario"
	"github.com/podesta-dev/podesta/internal/sim/scenario/simulate"
)

// Counterexample is a run in which an algorithm does what the book promises it does not, because an
// assumption of the book does not hold.
type Counterexample struct {
	ID      string // of the hazard
	Title   string
	Assumes string // the assumption that breaks
	Story   string // in plain words
	Lesson  string
	Play    scenario.Scenario
	Calm    scenario.Time // when the last fault has ended
	Shows   func(scenario.Result) (string, error)
	Ends    string // whom all follow in the end
}

// Run is what came of a counterexample.
type Run struct {
	Counterexample
	Result scenario.Result
	Seen   string // what it shows, in words
}

// Try plays a counterexample. It fails if that does not show what it claims, or if the group does
// not agree in the end.
func (c Counterexample) Try() (Run, error) {
	r, err := scenario.Play(c.Play)
	if err != nil {
		return Run{}, fmt.Errorf("%s: %w", c.ID, err)
	}
	seen, err := c.Shows(r)
	if err != nil {
		return Run{}, fmt.Errorf("%s does not show what it claims: %w", c.ID, err)
	}
	if r.Coordinator != c.Ends {
		return Run{}, fmt.Errorf("%s does not end well: they follow %v, not %s", c.ID, r.Coordinators, c.Ends)
	}
	return Run{c, r, seen}, nil
}

// reign is a time in which a process took itself for the coordinator and was not down.
type reign struct {
	process  string
	from, to scenario.Time
}

// reigns are all reigns of a run, in the order of their beginning. One that lasts ends with the
// last event.
func reigns(s scenario.Scenario, r scenario.Result) []reign {
	var all []reign
	begun := map[string]scenario.Time{}
	end := func(process string, at scenario.Time) {
		if from, ok := begun[process]; ok {
			all = append(all, reign{process, from, at})
			delete(begun, process)
		}
	}
	if s.Coordinator != "" && !slices.Contains(s.Crashed, s.Coordinator) {
		begun[s.Coordinator] = 0
	}
	last := scenario.Time(0)
	for _, e := range r.Events {
		last = e.At
		switch {
		case e.Kind == scenario.HasFailed, e.Kind == scenario.Follows && e.Peer != e.Process:
			end(e.Process, e.At)
		case e.Kind == scenario.Follows:
			if _, ok := begun[e.Process]; !ok {
				begun[e.Process] = e.At
			}
		}
	}
	for _, p := range s.Processes {
		end(p.Name, last)
	}
	slices.SortStableFunc(all, func(a, b reign) int { return int(a.from - b.from) })
	return all
}

// twoCoordinators checks that two given processes coordinate at once, for a time of some length
// before the calm, and not in the end.
func twoCoordinators(c scenario.Scenario, a, b string, calm scenario.Time) func(scenario.Result) (string, error) {
	return func(r scenario.Result) (string, error) {
		all := reigns(c, r)
		for _, p := range all {
			for _, q := range all {
				from, to := max(p.from, q.from), min(p.to, q.to)
				if p.process == a && q.process == b && from < to && from < calm {
					return fmt.Sprintf("%s and %s both coordinate from %s to %s.", a, b, units(from), units(to)), nil
				}
			}
		}
		return "", fmt.Errorf("%s and %s never coordinate at once: %v", a, b, all)
	}
}

const counterPreface = `# What classic elections cannot do

The books assume that messages arrive in time, that a process that is silent has failed, and that everybody can reach everybody. On a
real network each of these breaks sooner or later. Here is what the textbook algorithms do then: not a bug of this code, but of the
assumption. Every run below is played on the real algorithms by a test, which fails if it shows anything else, or if the group does
not agree again when calm returns.

How to read the diagrams: a line is a process, time runs to the right in link delays, an arrow is a message, dashed if it is lost; a line is
thick while the process takes itself for the coordinator. **Two thick lines at one time are two coordinators.** T, how long a
process waits for an answer, is two link delays. Each process asks its coordinator all the time (not drawn) and misses it T
after it went silent.

`

// Counterexamples writes docs/evidence/counterexamples.md, and the diagrams that it shows by file
// name.
func Counterexamples() (page string, diagrams map[string][]byte, err error) {
	var index, body strings.Builder
	diagrams = map[string][]byte{}
	index.WriteString("| hazard | algorithm | what it shows |\n|---|---|---|\n")
	for _, c := range counterexamples() {
		run, err := c.Try()
		if err != nil {
			return "", nil, err
		}
		file := strings.ToLower(c.ID) + ".svg"
		diagrams[file] = simulate.DrawTitled(c.ID+": "+c.Title, c.Play, run.Result).SVG()
		fmt.Fprintf(&index, "| [%s](#%s) | %s | %s |\n", c.ID, anchor(c), c.Play.Algorithm, c.Title)
		run.write(&body, file)
	}
	return generated + counterPreface + index.String() + "\n" + body.String(), diagrams, nil
}

// anchor is how a page refers to a heading.
func anchor(c Counterexample) string {
	var b strings.Builder
	for _, r := range strings.ToLower(c.ID + " " + c.Title) {
		switch {
		case r == ' ':
			b.WriteRune('-')
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-':
			b.WriteRune(r)
		}
	}
	return b.String()
}

func (r Run) write(b *strings.Builder, file string) {
	fmt.Fprintf(b, "## %s %s\n\n%s, %d processes. The book assumes: %s\n\n%s\n\n**%s** %s\n\n", r.ID, r.Title,
		r.Play.Algorithm, len(r.Play.Processes), r.Assumes, r.Story, r.Seen, r.Lesson)
	fmt.Fprintf(b, "![%s](counterexamples/%s)\n\n<details><summary>The transcript</summary>\n\n```\n", r.Title, file)
	for _, line := range simulate.Transcript(r.Result.Events) {
		b.WriteString(line + "\n")
	}
	fmt.Fprintf(b, "```\n\n</details>\n\nIn the end: %s.\n\n", simulate.Summary(r.Result))
}

// slow lets the messages that a condition holds for take longer.
func slow(takes scenario.Time, which func(from, to string, m election.Message) bool) scenario.Carry {
	return func(from, to string, m election.Message, _ int) (scenario.Time, bool) {
		if which(from, to, m) {
			return takes, false
		}
		return unit, false
	}
}

// losing loses the messages that a condition holds for.
func losing(which func(from, to string, m election.Message) bool) scenario.Carry {
	return func(from, to string, m election.Message, _ int) (scenario.Time, bool) {
		return unit, which(from, to, m)
	}
}

// fault says what happens to whom.
func fault(at scenario.Time, kind scenario.FaultKind, processes ...int) scenario.Fault {
	return scenario.Fault{At: at * unit, Kind: kind, Processes: names(processes...)}
}

// cut parts the network.
func cut(at scenario.Time, kind scenario.FaultKind, sides ...[]int) scenario.Fault {
	f := scenario.Fault{At: at * unit, Kind: kind}
	for _, side := range sides {
		f.Sides = append(f.Sides, names(side...))
	}
	return f
}
