package page

import (
	"cmp"
	"slices"

	"github.com/podesta-dev/podesta/test/chaos/report"
)

// Row is what strikes of one kind did to groups of one safety mode.
type Row struct {
	Class  report.Class // empty where the rows are not by fault
	Name   string
	Safety string
	order  int // among those of its class; by name if it is the same
	// Processes are the sizes of the groups, each once.
	Processes []int

	Strikes, Coordinator, Changed int
	// Changes is how often the status named another process, at most, after one strike and until all
	// was well again.
	Changes int

	// What was measured where a strike changed something, in milliseconds, in the strikes' order. A
	// strike that changed nothing has a time, too: until who acted before was seen to be still
	// permitted. It is no failover.
	Acts, Agreed, Status, Service []float64
	// Whole are the strikes in which all four were.
	Whole []Whole
}

// Whole are the times of one strike, of which none is missing.
type Whole struct{ Acts, Agreed, Status, Service float64 }

// classes are in the order of the page.
var classes = []report.Class{
	report.Kill, report.Cut, report.Pause, report.Leave, report.Edit, report.Outage, report.Starve,
	report.Renewal, several,
}

// several is a class of the page's own: of strikes that were not alone. Which of their faults took
// how long, nobody can say.
const several report.Class = "several at once"

// byFault has a row for each fault and safety mode: class by class, Guarded before Classic. Strikes
// that were not alone are at the end, in rows of their own.
func byFault(run report.Run) []Row {
	return rows(run, func(s report.Strike, _ report.Group) Row {
		if s.Overlapping {
			return Row{Class: several, Name: "two faults at once"}
		}
		return Row{Class: s.Class, Name: s.Fault}
	})
}

// byClass has a row for each class and safety mode.
func byClass(run report.Run) []Row {
	return rows(run, func(s report.Strike, _ report.Group) Row {
		if s.Overlapping {
			return Row{Class: several, Name: string(several)}
		}
		return Row{Class: s.Class, Name: string(s.Class)}
	})
}

// byAlgorithm has a row for each algorithm and safety mode, in the order of the groups.
func byAlgorithm(run report.Run) []Row {
	order := map[string]int{}
	for _, g := range run.Groups {
		if _, ok := order[g.Algorithm]; !ok {
			order[g.Algorithm] = len(order)
		}
	}
	return rows(run, func(_ report.Strike, g report.Group) Row {
		return Row{Name: g.Algorithm, order: order[g.Algorithm]}
	})
}

// rows joins strikes that have the same class, name and safety. What name gives them is where they
// go; the safety is the group's.
func rows(run report.Run, name func(report.Strike, report.Group) Row) []Row {
	type key struct {
		class        report.Class
		name, safety string
	}
	groups := map[string]report.Group{}
	for _, g := range run.Groups {
		groups[g.Name] = g
	}
	at := map[key]int{}
	var all []Row
	for _, s := range run.Strikes {
		g := groups[s.Group]
		row := name(s, g)
		row.Safety = g.Safety
		k := key{row.Class, row.Name, row.Safety}
		if _, ok := at[k]; !ok {
			at[k] = len(all)
			all = append(all, row)
		}
		all[at[k]].add(s, g)
	}
	slices.SortFunc(all, func(a, b Row) int {
		return cmp.Or(cmp.Compare(rank(a.Class), rank(b.Class)), cmp.Compare(a.Class, b.Class),
			cmp.Compare(a.order, b.order), cmp.Compare(a.Name, b.Name),
			cmp.Compare(b.Safety, a.Safety)) // Guarded comes first
	})
	return all
}

// rank is a class's place on the page; a class that the page does not know yet comes last.
func rank(c report.Class) int {
	if i := slices.Index(classes, c); i >= 0 {
		return i
	}
	return len(classes)
}

func (r *Row) add(s report.Strike, g report.Group) {
	r.Strikes++
	r.Changes = max(r.Changes, s.Changes)
	if s.Coordinator {
		r.Coordinator++
	}
	if !slices.Contains(r.Processes, g.Processes) {
		r.Processes = append(r.Processes, g.Processes)
		slices.Sort(r.Processes)
	}
	if !s.Changed() {
		return
	}
	r.Changed++
	t := s.Times
	for _, m := range []struct {
		to   *[]float64
		time *float64
	}{{&r.Acts, t.Acts}, {&r.Agreed, t.Agreed}, {&r.Status, t.Status}, {&r.Service, t.Service}} {
		if m.time != nil {
			*m.to = append(*m.to, *m.time)
		}
	}
	if t.Acts != nil && t.Agreed != nil && t.Status != nil && t.Service != nil {
		r.Whole = append(r.Whole, Whole{*t.Acts, *t.Agreed, *t.Status, *t.Service})
	}
}

// Milestones are the medians of a row's whole strikes, in milliseconds, each its own; N is how many
// strikes they are of.
type Milestones struct {
	Whole

	N int
}

func (r Row) milestones() Milestones {
	median := func(of func(Whole) float64) float64 {
		times := make([]float64, 0, len(r.Whole))
		for _, w := range r.Whole {
			times = append(times, of(w))
		}
		return spread(times).Median
	}
	return Milestones{N: len(r.Whole), Whole: Whole{
		Acts:    median(func(w Whole) float64 { return w.Acts }),
		Agreed:  median(func(w Whole) float64 { return w.Agreed }),
		Status:  median(func(w Whole) float64 { return w.Status }),
		Service: median(func(w Whole) float64 { return w.Service }),
	}}
}

// pairs puts rows of the same class and name side by side. Neither safety mode needs to be there.
func pairs(all []Row) []Pair {
	var pairs []Pair
	for _, r := range all {
		if n := len(pairs); n == 0 || pairs[n-1].Class != r.Class || pairs[n-1].Name != r.Name {
			pairs = append(pairs, Pair{Class: r.Class, Name: r.Name})
		}
		last := &pairs[len(pairs)-1]
		if r.Safety == guarded {
			last.Guarded = r
		} else {
			last.Classic = r
		}
	}
	return pairs
}

// Pair is what the same strikes did to groups of both safety modes. A row of no strikes is a mode
// that was not there.
type Pair struct {
	Class            report.Class
	Name             string
	Guarded, Classic Row
}

// slowest are the strikes after which it took longest until an app may act, the slowest first.
func slowest(run report.Run, most int) []report.Strike {
	var timed []report.Strike
	for _, s := range run.Strikes {
		if s.Changed() && s.Times.Acts != nil {
			timed = append(timed, s)
		}
	}
	slices.SortStableFunc(timed, func(a, b report.Strike) int {
		return cmp.Compare(*b.Times.Acts, *a.Times.Acts)
	})
	return timed[:min(most, len(timed))]
}
