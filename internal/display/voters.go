package display

import "github.com/podesta-dev/podesta/internal/membership"

// Voters are the voters of a Guarded group's roster.
type Voters struct {
	Total    int `json:"total"`
	Majority int `json:"majority"`
	// Witnesses is how many of Total are witnesses, which never coordinate.
	Witnesses int `json:"witnesses,omitempty"`
	// Reporting is how many are connected to the manager, and Crashed how many are known not to run.
	// What is left of Total may run, or not.
	Reporting int `json:"reporting"`
	Crashed   int `json:"crashed,omitempty"`
	// MayFail is how many of those that report may fail while the others are a majority.
	MayFail int `json:"mayFail"`
	// Missing is how many more would have to report for a majority; 0 if one reports.
	Missing int `json:"missing,omitempty"`
	// Outdated is true while agents use a newer roster than the status holds (StatusSetBack).
	Outdated bool `json:"outdated,omitempty"`
}

// votersOf counts voters. A voter whose pod is missing does not report: a process of its name that
// does is another one.
func votersOf(all []Process) *Voters {
	v := &Voters{}
	for _, p := range all {
		switch {
		case !p.Voter:
			continue
		case p.reportsAsVoter():
			v.Reporting++
		case p.Standing == StandingCrashed:
			v.Crashed++
		}
		v.Total++
		if p.Witness {
			v.Witnesses++
		}
	}
	if v.Total == 0 {
		return v
	}
	v.Majority = membership.Majority(v.Total)
	v.MayFail = max(v.Reporting-v.Majority, 0)
	v.Missing = max(v.Majority-v.Reporting, 0)
	return v
}

func (p *Process) reportsAsVoter() bool { return p.Voter && p.Connected && p.GoneSeconds == 0 }
