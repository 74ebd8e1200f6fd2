package text

import (
	"slices"
	"strings"

	"github.com/podesta-dev/podesta/internal/display"
)

// Explain returns an explanation of who coordinates a group.
func Explain(e display.Explanation, o Options) string {
	var b strings.Builder
	h := headlineFrom(e.Namespace, e.Name, e.State, e.LastState, e.Reason, e.Coordinator, e.Current)
	h.write(&b, o)
	if e.Current != nil && !e.Current.Stale {
		o.hang(&b, "", "As of ", faint, e.Current.Text())
	}
	section := func(title string, lines []string) {
		if len(lines) == 0 {
			return
		}
		b.WriteString("\n" + o.paint(bold, title) + "\n")
		for _, line := range lines {
			o.hang(&b, "  ", "- ", faint, line)
		}
	}
	why, then := "Why nobody coordinates", "Who would be next"
	switch {
	case e.Coordinator != nil:
		why, then = "Why "+e.Coordinator.Name, "If "+e.Coordinator.Name+" died now"
	case h.state == display.Unknown:
		why = "Why it is not known"
	case h.mayBeUnseen():
		why = "Why nobody is known to coordinate"
	}
	reasons := e.Why
	for _, s := range e.Higher {
		reasons = append(reasons, s.Text)
	}
	section(why, reasons)

	next := []string{e.Next.Text + "."}
	if e.Next.Wait != "" {
		next = append(next, "Nobody would coordinate for "+e.Next.Wait+".")
	}
	for _, but := range e.Next.NotCertain {
		next = append(next, "Not certain: "+but+".")
	}
	section(then, next)

	var wrong, todo []string
	for _, p := range e.Problems {
		said := strings.TrimRight(p.Message, ". ") + "."
		if !slices.Contains(e.Why, said) {
			wrong = append(wrong, p.Reason+": "+said)
		}
		if p.Do != "" {
			todo = append(todo, p.Reason+": "+p.Do)
		}
	}
	section("What is wrong", wrong)
	section("What to do", todo)
	section("What the status does not show", e.NotShown)
	return b.String()
}
