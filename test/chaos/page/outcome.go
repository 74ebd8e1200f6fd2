package page

import (
	"time"

	"github.com/podesta-dev/podesta/test/chaos/report"
	"github.com/podesta-dev/podesta/test/register/history"
)

// Outcome is what became of all groups of one safety mode.
type Outcome struct {
	Groups          int
	Observed        time.Duration // summed over the groups; 0 if that of one is not known
	Told, Stretches int
	Together        history.Times // two were told at once that they may act
	Nobody          history.Times // nobody was
	EpochsBack      int           // epochs that went back, or had two owners
	Released        int           // promises given back while somebody still relied on them
	Writes          history.Writes
	Held            int // leases in the agents' logs
	Violations      int
}

// outcome sums up the groups of a safety mode.
func outcome(run report.Run, safety string) Outcome {
	var o Outcome
	known := true
	for _, g := range run.Groups {
		if g.Safety == safety {
			o.add(g.Became)
			o.Observed += time.Duration(g.Seconds * float64(time.Second))
			known = known && g.Seconds > 0
		}
	}
	if !known {
		o.Observed = 0
	}
	return o
}

func (o *Outcome) add(r history.Report) {
	o.Groups++
	o.Told += r.Told
	o.Stretches += r.Stretches
	o.Together = together(o.Together, r.Together)
	o.Nobody = together(o.Nobody, r.Nobody)
	o.Held += r.Held
	o.Violations += len(r.Violations)
	taken := 0
	for _, v := range r.Violations {
		switch v.Rule {
		case history.EpochBack, history.TwoOwners:
			o.EpochsBack++
		case history.ReleasedEarly, history.ReleasedFirst:
			o.Released++
		case history.StaleAccepted:
			taken++
		default: // they have no line of their own, and count as violations
		}
	}
	o.Writes.Accepted += r.Writes.Accepted
	o.Writes.Refused += r.Writes.Refused
	o.Writes.RefusedCareful += r.Writes.RefusedCareful
	o.Writes.Late += r.Writes.Late
	// both count the same writes: by beliefs, and by epochs
	o.Writes.Stale += max(r.Writes.Stale, taken)
}

// kept reports whether nothing of what Guarded promises was broken.
func (o Outcome) kept() bool {
	return o.Violations == 0 && o.Together.Count == 0 && o.EpochsBack == 0 && o.Writes.Stale == 0
}

func together(a, b history.Times) history.Times {
	return history.Times{
		Count:   a.Count + b.Count,
		Total:   a.Total + b.Total,
		Longest: max(a.Longest, b.Longest),
	}
}
