package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/podesta-dev/podesta/client/agent"
)

// summary is what is in the table.
type summary struct {
	jobs    int
	results int
	epochs  int // under so many were results written
}

func (s summary) String() string {
	return fmt.Sprintf("%d jobs, %d results, %d epochs", s.jobs, s.results, s.epochs)
}

// check reads the table, and returns an error if a job has two results or a wrong one, or if a
// result was written under a lower epoch than the one before it.
func (s store) check(ctx context.Context) (found summary, err error) {
	if err := s.QueryRowContext(ctx, `SELECT count(*) FROM job`).Scan(&found.jobs); err != nil {
		return found, err
	}
	rows, err := s.QueryContext(ctx,
		`SELECT job, output, runner, epoch, input FROM result JOIN job ON job.id = job ORDER BY n`)
	if err != nil {
		return found, err
	}
	defer rows.Close() //nolint:errcheck // they were only read
	var wrong []error
	seen := map[int64]result{}
	var last agent.Epoch
	for rows.Next() {
		var r result
		var input int64
		if err := rows.Scan(&r.Job, &r.Output, &r.Runner, &r.Epoch, &input); err != nil {
			return found, err
		}
		if first, ok := seen[r.Job]; ok {
			wrong = append(wrong, fmt.Errorf("job %d has two results: "+
				"of %s under epoch %v, and of %s under epoch %v",
				r.Job, first.Runner, first.Epoch, r.Runner, r.Epoch))
		}
		if r.Epoch < last {
			wrong = append(wrong,
				fmt.Errorf("job %d was written under epoch %v, after epoch %v", r.Job, r.Epoch, last))
		}
		if want := primes(input); r.Output != want {
			wrong = append(wrong, fmt.Errorf("job %d has the result %d, want %d", r.Job, r.Output, want))
		}
		if r.Epoch != last {
			found.epochs++
		}
		seen[r.Job], last = r, r.Epoch
		found.results++
	}
	return found, errors.Join(append(wrong, rows.Err())...)
}
