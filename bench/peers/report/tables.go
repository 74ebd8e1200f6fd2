package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/podesta-dev/podesta/bench/peers/account"
)

// StressTable writes records of stress as a table. What is about faults has columns only if there
// were some.
func StressTable(w io.Writer, all []Record) {
	all = slices.DeleteFunc(slices.Clone(all), func(r Record) bool { return r.Kind != Stress })
	struck := slices.ContainsFunc(all, func(r Record) bool { return len(r.Faults) > 0 })
	names := []string{"condition", "system", "for", "spurious changes", "permissions lost",
		"nobody leads", "two lead", "CPU", "lease: median", "longest", "the machine stood still",
		"messages were late"}
	if struck {
		names = append(names, "nobody leads without a fault", "faults",
			"fault to the next leader: median", "p99", "max")
	}
	row(w, names...)
	fmt.Fprintln(w, strings.Repeat("|---", len(names))+"|")
	for _, r := range all {
		leases := account.Milliseconds(r.Leases)
		cells := []string{r.under(), r.System, r.span(), r.spurious(), r.lapses(),
			r.share(r.Leaderless), r.two(),
			fmt.Sprintf("%.1f %%", r.CPU), quantile(leases, 0.5), quantile(leases, 1),
			times(r.Watched, r.Standstills), times(r.WaysWatched, r.Late)}
		if struck {
			took := r.durations()
			most := quantile(took, 1)
			if r.Unanswered > 0 {
				most = fmt.Sprintf("%s; %d without", most, r.Unanswered)
			}
			cells = append(cells, r.share(r.Unprovoked), fmt.Sprint(r.Strikes), quantile(took, 0.5),
				quantile(took, 0.99), most)
		}
		row(w, cells...)
	}
}

// ByFaultTable writes how long it took after each kind of fault until a member led, of those
// records of stress that tell.
func ByFaultTable(w io.Writer, all []Record) {
	all = slices.DeleteFunc(slices.Clone(all), func(r Record) bool { return len(r.ByFault) == 0 })
	if len(all) == 0 {
		return
	}
	names := []string{"condition", "system"}
	for _, fault := range all[0].Faults {
		names = append(names, fault+": N", "median", "p99", "max")
	}
	row(w, names...)
	fmt.Fprintln(w, strings.Repeat("|---", len(names))+"|")
	for _, r := range all {
		cells := []string{r.under(), r.System}
		for _, fault := range all[0].Faults {
			took := account.Milliseconds(r.ByFault[fault])
			cells = append(cells, fmt.Sprint(len(took)), quantile(took, 0.5), quantile(took, 0.99),
				quantile(took, 1))
		}
		row(w, cells...)
	}
}

// lengths are those that interruptions are told apart by, in milliseconds: from one to the next.
var lengths = []float64{50, 100, 200, 400, 1000}

// InterruptionsTable writes what interruptions of each length came to.
func InterruptionsTable(w io.Writer, all []Record) {
	names := []string{"condition", "system"}
	for i, from := range lengths[:len(lengths)-1] {
		names = append(names, fmt.Sprintf("%.0f to %.0f ms: N", from, lengths[i+1]), "had it back",
			"another leads")
	}
	row(w, names...)
	fmt.Fprintln(w, strings.Repeat("|---", len(names))+"|")
	for _, r := range all {
		cells := []string{r.under(), r.System}
		for i, from := range lengths[:len(lengths)-1] {
			n, by := 0, map[account.End]int{}
			for _, one := range r.Interruptions {
				if from <= one.For && one.For < lengths[i+1] {
					n++
					by[one.End]++
				}
			}
			cells = append(cells, fmt.Sprint(n), fmt.Sprint(by[account.Again]),
				fmt.Sprint(by[account.Another]))
		}
		row(w, cells...)
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
		row(w, r.Under, r.System, fmt.Sprint(len(r.Took)), quantile(took, 0.5), quantile(took, 0.9),
			quantile(took, 0.99), quantile(took, 1), none)
	}
}

func row(w io.Writer, cells ...string) { fmt.Fprintln(w, "| "+strings.Join(cells, " | ")+" |") }

// span is for how long it was measured.
func (r Record) span() string {
	if r.Span < 300 {
		return fmt.Sprintf("%.0f s", r.Span)
	}
	return fmt.Sprintf("%.0f min", r.Span/60)
}

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
