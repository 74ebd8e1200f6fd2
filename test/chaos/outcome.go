package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/podesta-dev/podesta/test/chaos/report"
	"github.com/podesta-dev/podesta/test/quantile"
	"github.com/podesta-dev/podesta/test/register"
)

// outcome is what one fault did to the groups of one safety mode.
type outcome struct {
	fault, safety string
	strikes       int
	acts          []float64 // of strikes that changed something: until the next one may act, in ms
	violations    int       // after it, and before the next strike at the same group
	problems      int       // strikes after which not all was well in time
}

// Names of the table for what is not one fault.
const (
	atOnce  = "two at once"
	noFault = "before the first fault"
)

// outcomes are by fault, Guarded before Classic. Begun is the instant from which strikes are
// counted.
func outcomes(run report.Run, begun register.Instant) []outcome {
	type key struct{ fault, safety string }
	all := map[key]*outcome{}
	of := func(fault, safety string) *outcome {
		k := key{fault, safety}
		if all[k] == nil {
			all[k] = &outcome{fault: fault, safety: safety}
		}
		return all[k]
	}
	for _, g := range run.Groups {
		last := slices.Repeat([]string{noFault}, len(g.Became.Violations))
		for _, s := range run.Strikes {
			if s.Group != g.Name {
				continue
			}
			name := s.Fault
			if s.Overlapping {
				name = atOnce
			}
			o := of(name, g.Safety)
			o.strikes++
			if !s.OK {
				o.problems++
			}
			if s.Changed() && s.Times.Acts != nil {
				o.acts = append(o.acts, *s.Times.Acts)
			}
			for i, v := range g.Became.Violations {
				if v.At.Sub(begun).Seconds() >= s.Second {
					last[i] = name
				}
			}
		}
		for _, fault := range last {
			of(fault, g.Safety).violations++
		}
	}
	return slices.SortedFunc(func(yield func(outcome) bool) {
		for o := range maps.Values(all) {
			if !yield(*o) {
				return
			}
		}
	}, func(a, b outcome) int {
		return cmp.Or(cmp.Compare(a.fault, b.fault), cmp.Compare(b.safety, a.safety))
	})
}

// writeOutcomes writes them as a table in Markdown.
func writeOutcomes(w io.Writer, all []outcome) {
	fmt.Fprintln(w, "| fault | safety | strikes | changes | fault to the next permission: median "+
		"| p99 | max | violations | problems |\n|---|---|--:|--:|--:|--:|--:|--:|--:|")
	for _, o := range all {
		at := func(share float64) string {
			if len(o.acts) == 0 {
				return ""
			}
			return fmt.Sprintf("%.0f ms", quantile.Of(o.acts, share))
		}
		fmt.Fprintf(w, "| %s | %s | %d | %d | %s | %s | %s | %d | %d |\n", o.fault, o.safety, o.strikes,
			len(o.acts), at(0.5), at(0.99), at(1), o.violations, o.problems)
	}
}
