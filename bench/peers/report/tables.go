package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/podesta-dev/podesta/bench/peers/account"
)

// StressTable writes records of stress as a table.
func StressTable(w io.Writer, all []Record) {
	row(w, "condition", "system", "kills", "spurious changes", "permissions lost", "nobody leads", "of that without a kill",
		"two lead", "kill to the next leader: median", "p99", "max", "CPU", "lease: median", "longest")
	fmt.Fprintln(w, strings.Repeat("|---", 14)+"|")
	for _, r := range all {
		if r.Kind != Stress {
			continue
		}
		lease, longest := "", ""
		if l := account.Milliseconds(r.Leases); len(l) > 0 {
			lease, longest = quantile(l, 0.5), quantile(l, 1)
		}
		took := r.durations()
		most := quantile(took, 1)
		if r.Unanswered > 0 {
			most = fmt.Sprintf("%s; %d without", most, r.Unanswered)
		}
		row(w, r.Under, r.System, fmt.Sprint(r.Kills), fmt.Sprint(r.Spurious), fmt.Sprint(r.Lapses), r.share(r.Leaderless),
			r.share(r.Unprovoked), r.two(), quantile(took, 0.5), quantile(took, 0.99), most, fmt.Sprintf("%.1f %%", r.CPU), lease, longest)
	}
}

// FailoverTable writes records of failovers as a table.
func FailoverTable(w io.Writer, all []Record) {
	row(w, "fault", "system", "N", "median", "p90", "p99", "worst", "no new leader")
	fmt.Fprintln(w, strings.Repeat("|---", 8)+"|")
	for _, r := range all {
		if r.Kind != Failover {
			continue
		}
		took := r.durations()
		none := ""
		if r.Unanswered > 0 {
			none = fmt.Sprint(r.Unanswered)
		}
		row(w, r.Under, r.System, fmt.Sprint(len(r.Took)), quantile(took, 0.5), quantile(took, 0.9), quantile(took, 0.99), quantile(took, 1), none)
	}
}

func row(w io.Writer, cells ...string) { fmt.Fprintln(w, "| "+strings.Join(cells, " | ")+" |") }

// share is a part of the span.
func (r Record) share(milliseconds float64) string {
	if r.Span == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f %%", milliseconds/10/r.Span)
}

func (r Record) two() string {
	if r.Two == 0 {
		return "never"
	}
	return fmt.Sprintf("%.0f ms", r.Two)
}

// quantile is one in milliseconds, or in seconds if it is long.
func quantile(d account.Durations, q float64) string {
	if len(d) == 0 {
		return ""
	}
	ms := float64(d.Quantile(q).Microseconds()) / 1000
	switch {
	case ms < 100:
		return fmt.Sprintf("%.1f ms", ms)
	case ms < 10000:
		return fmt.Sprintf("%.0f ms", ms)
	}
	return fmt.Sprintf("%.1f s", ms/1000)
}
