package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/podesta-dev/podesta/test/quantile"
)

func (r *results) failoverTable(w io.Writer) {
	row(w, "fault", "system", "N", "median", "p90", "p99", "worst", "no new leader")
	fmt.Fprintln(w, strings.Repeat("|---", 8)+"|")
	for _, f := range r.Failovers {
		row(w, f.Fault, f.System, fmt.Sprint(len(f.Took)), share(f.Took, 0.5),
			share(f.Took, 0.9), share(f.Took, 0.99), share(f.Took, 1), fmt.Sprint(f.None))
	}
}

func (r *results) stressTable(w io.Writer) {
	row(w, "system", "for", "spurious changes", "permissions lost", "nobody leads",
		"nobody leads without a fault", "two lead", "CPU", "faults", "fault to the next leader: median",
		"p99", "max")
	fmt.Fprintln(w, strings.Repeat("|---", 12)+"|")
	for _, s := range r.Stress {
		most := share(s.Failovers, 1)
		if s.Unanswered > 0 {
			most += fmt.Sprintf("; %d without", s.Unanswered)
		}
		row(w, s.System, s.Span.Round(time.Second).String(), fmt.Sprint(s.Spurious), fmt.Sprint(s.Lapses),
			percent(s.Leaderless.Seconds()/s.Span.Seconds()),
			percent(s.Unprovoked.Seconds()/s.Span.Seconds()), inMilliseconds(s.Two), percent(s.CPU),
			fmt.Sprint(s.Strikes), share(s.Failovers, 0.5), share(s.Failovers, 0.99), most)
	}
}

// describe says what the systems are.
func describe(w io.Writer, systems []system) {
	fmt.Fprintln(w)
	for _, y := range systems {
		fmt.Fprintf(w, "- %s: %s\n", y.name, y.meaning)
	}
}

func row(w io.Writer, cells ...string) { fmt.Fprintln(w, "| "+strings.Join(cells, " | ")+" |") }

func percent(part float64) string { return fmt.Sprintf("%.2f %%", 100*part) }

// share is a quantile of what was measured; without any it is empty.
func share(of []time.Duration, q float64) string {
	if len(of) == 0 {
		return ""
	}
	return inMilliseconds(quantile.Of(of, q))
}

// inMilliseconds writes a duration, in seconds if it is long.
func inMilliseconds(d time.Duration) string {
	switch ms := float64(d.Microseconds()) / 1000; {
	case ms < 100:
		return fmt.Sprintf("%.1f ms", ms)
	case ms < 10000:
		return fmt.Sprintf("%.0f ms", ms)
	default:
		return fmt.Sprintf("%.1f s", ms/1000)
	}
}
