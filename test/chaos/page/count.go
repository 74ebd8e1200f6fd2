package page

import (
	"slices"

	"github.com/podesta-dev/podesta/test/chaos/report"
)

// Count is how often something was done.
type Count struct {
	Name, What string
	// Faults counts what was done, and Strikes how often a group was hit by it: a node that is paused
	// is one fault, and a strike at each group.
	Faults, Strikes int
	// Goal is how many faults a run needs to be worth reading (docs: figures to beat); 0 if there is
	// none.
	Goal int
}

// Missed reports whether there were too few.
func (c Count) Missed() bool { return c.Faults < c.Goal }

// counts has a line for each class that occurred or has a goal.
func counts(run report.Run) []Count {
	var lines []Count
	for _, class := range known(run) {
		of := slices.DeleteFunc(slices.Clone(run.Strikes), func(s report.Strike) bool {
			return s.Class != class.class
		})
		if len(of) > 0 || class.goal > 0 {
			lines = append(lines, Count{
				Name:    class.plural,
				What:    class.what,
				Faults:  faults(of),
				Strikes: len(of),
				Goal:    class.goal,
			})
		}
		if class.class == report.Pause {
			long := slices.DeleteFunc(of, func(s report.Strike) bool {
				return s.Milliseconds <= leaseOf(run)
			})
			lines = append(lines, Count{
				Name:    "… longer than the lease",
				What:    "of these pauses",
				Faults:  faults(long),
				Strikes: len(long),
				Goal:    100,
			})
		}
	}
	return lines
}

// kind is a class in words.
type kind struct {
	class        report.Class
	plural, what string
	goal         int
}

var kinds = []kind{
	{report.Kill, "kills", "of a container, an agent, an app, a pod or a node, without notice", 200},
	{report.Cut, "cuts", "of links, one-way or both ways", 100},
	{report.Pause, "pauses", "of a process, a pod or a node, which then goes on as if nothing had " +
		"been", 0},
	{report.Leave, "leaves", "a pod or node is asked to go: deletion, drain, scaling, rolling restart",
		0},
	{report.Edit, "edits", "of the group", 0},
	{report.Outage, "outages", "of what is around the pods: API server, etcd, manager", 0},
	{report.Starve, "starvations", "of CPU", 0},
	{report.Renewal, "renewals", "of the certificate authority", 0},
}

// known are the kinds of the page, and after them classes of the report that the page has no words
// for.
func known(run report.Run) []kind {
	all := slices.Clone(kinds)
	for _, s := range run.Strikes {
		if !slices.ContainsFunc(all, func(k kind) bool { return k.class == s.Class }) {
			all = append(all, kind{class: s.Class, plural: string(s.Class)})
		}
	}
	return all
}

// faults counts what was done, however many groups felt it. Strikes of different groups are of one
// fault if round, fault and victim are the same. Without a victim, what is done to a group (it is
// edited, scaled, restarted) is done to that group only.
func faults(strikes []report.Strike) (n int) {
	type key struct {
		round         int
		fault, victim string
		group         string // of what is done to a group
	}
	felt := map[key]map[string]int{} // by group, how often
	for _, s := range strikes {
		k := key{
			round:  s.Round,
			fault:  s.Fault,
			victim: s.Victim,
		}
		if s.Victim == "" && (s.Class == report.Edit || s.Class == report.Leave) {
			k.group = s.Group
		}
		if felt[k] == nil {
			felt[k] = map[string]int{}
		}
		felt[k][s.Group]++
	}
	for _, groups := range felt {
		most := 0
		for _, times := range groups {
			most = max(most, times)
		}
		n += most
	}
	return n
}
