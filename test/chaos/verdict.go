package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/podesta-dev/podesta/test/chaos/report"
	"github.com/podesta-dev/podesta/test/register/history"
	"github.com/podesta-dev/podesta/test/register/writer"
)

// problem notes what must not be.
func (r *runner) problem(what string) {
	r.report.Problems = append(r.report.Problems, what)
}

// untried says what a group's files lack for the check of them to mean anything.
func untried(h history.History, group string, became history.Report) (all []string) {
	if became.Told == 0 {
		all = append(all, "no app was told that it may act: nothing was tried")
	}
	if became.Writes.Accepted == 0 {
		all = append(all, "the register took no write: nothing was tried")
	}
	logged := map[string]bool{}
	for _, l := range h.Leases {
		if l.State == history.Holds {
			logged[l.Process] = true
		}
	}
	for _, life := range h.Lives {
		guarded := slices.ContainsFunc(life.Lines, func(l writer.Line) bool { return l.Epoch != 0 })
		if life.Group == group && guarded && !logged[life.Process] {
			logged[life.Process] = true // once is enough
			all = append(all, "no log of the agent of "+life.Process+
				" tells that it held a lease, though its app was told that it may act")
		}
	}
	return all
}

// impossible says which figure of a strike cannot be.
func impossible(s report.Strike) string {
	for what, ms := range map[string]*float64{"acts": s.Times.Acts, "status": s.Times.Status,
		"service": s.Times.Service} {
		if ms != nil && *ms < 0 {
			return fmt.Sprintf("%s %v ms before the strike", what, -*ms)
		}
	}
	return ""
}

// verdict prints the sum, and returns what must not be as an error.
func (r *runner) verdict() error {
	r.table.sum(r.report, r.begun)
	var errs []error
	for _, p := range r.report.Problems {
		errs = append(errs, errors.New(p))
	}
	if n := len(r.report.Strikes); len(errs) == 0 && (n == 0 || r.report.Missed > n/5) {
		errs = append(errs, fmt.Errorf("%d strikes hit something, and %d nothing: too little was tried",
			n, r.report.Missed))
	}
	return errors.Join(errs...)
}
