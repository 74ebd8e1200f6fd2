package main

import (
	"errors"
	"fmt"

	"github.com/podesta-dev/podesta/test/chaos/report"
	"github.com/podesta-dev/podesta/test/chaos/timeline"
	"github.com/podesta-dev/podesta/test/register/history"
)

// problem notes what must not be.
func (r *runner) problem(what string) {
	r.report.Problems = append(r.report.Problems, what)
}

// untried says what a group's files lack for the check of them to mean anything.
func untried(
	h history.History, group string, became history.Report, followed []timeline.Followed,
) (all []string) {
	if became.Told == 0 {
		all = append(all, "no app was told that it may act: nothing was tried")
	}
	if became.Writes.Accepted == 0 {
		all = append(all, "the register took no write: nothing was tried")
	}
	logged := map[string]bool{}
	for _, f := range followed {
		logged[f.Agent] = true
	}
	for _, life := range h.Lives {
		if life.Group == group && len(life.Lines) > 0 && !logged[life.Process] {
			logged[life.Process] = true // once is enough
			all = append(all, "no log of the agent of "+life.Process+
				" says whom it follows, though its app was told that it may act")
		}
	}
	return all
}

// impossible says which figure of a strike cannot be.
func impossible(s report.Strike) string {
	for what, ms := range map[string]*float64{"acts": s.Times.Acts, "agreed": s.Times.Agreed,
		"status": s.Times.Status, "service": s.Times.Service} {
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
