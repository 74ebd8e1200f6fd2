package text

import (
	"fmt"
	"strings"

	"github.com/podesta-dev/podesta/internal/check"
)

// marks are what stands before a result.
var marks = map[check.State]struct {
	text  string
	style style
}{
	check.OK:      {"√ ", green},
	check.Unknown: {"? ", faint},
	check.Warning: {"! ", yellow},
	check.Failed:  {"× ", red},
}

// Check returns the results of checks, section by section, and how they ended.
func Check(results []check.Result, o Options) string {
	var b strings.Builder
	section := ""
	count := map[check.State]int{}
	for _, r := range results {
		if r.Section != section {
			if section != "" {
				b.WriteString("\n")
			}
			section = r.Section
			b.WriteString(o.paint(bold, section) + "\n")
		}
		count[r.State]++
		line := r.Check
		if r.Found != "" {
			line += ": " + r.Found
		}
		mark := marks[r.State]
		o.hang(&b, "  ", mark.text, mark.style, line)
		if r.Do != "" {
			o.hang(&b, "    ", "→ ", faint, r.Do)
		}
	}
	b.WriteString("\n" + o.paint(bold, verdict(len(results), count)) + "\n")
	return b.String()
}

// verdict says how checks ended.
func verdict(all int, count map[check.State]int) string {
	parts := []string{fmt.Sprintf("%d checks: %d OK", all, count[check.OK])}
	for _, kind := range []struct {
		state check.State
		word  string
	}{{check.Unknown, "not known"}, {check.Warning, "with a warning"}, {check.Failed, "failed"}} {
		if n := count[kind.state]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, kind.word))
		}
	}
	return strings.Join(parts, ", ")
}
