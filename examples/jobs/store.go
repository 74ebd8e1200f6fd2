package main

import (
	"context"
	"database/sql"
	_ "embed"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/podesta-dev/podesta/client/agent"
	"github.com/podesta-dev/podesta/client/fence"
)

//go:embed schema.sql
var schema string

// pausedFor is how long a transaction may wait for its client. A coordinator that is paused in a
// transaction has locked the fence's row; after this time PostgreSQL gives up its transaction, so
// that its successor can go on.
const pausedFor = time.Second

// store is the database, for one program.
type store struct{ *sql.DB }

// connect prepares connections to the database. The name is shown in pg_stat_activity.
func connect(url, name string) (store, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return store{}, err
	}
	config.RuntimeParams["application_name"] = name
	config.RuntimeParams["idle_in_transaction_session_timeout"] = pausedFor.String()
	db := stdlib.OpenDB(*config)
	db.SetMaxOpenConns(2)
	return store{db}, nil
}

// add makes the tables if there are none, and adds jobs.
func (s store) add(ctx context.Context, jobs int) error {
	if _, err := s.ExecContext(ctx, schema); err != nil {
		return err
	}
	_, err := s.ExecContext(ctx,
		`INSERT INTO job (input) SELECT 10000 + 100 * i FROM generate_series(1, $1::bigint) i`, jobs)
	return err
}

// job is a question.
type job struct {
	ID    int64
	Input int64
}

// result is its answer.
type result struct {
	Job    int64       `json:"job"`
	Output int64       `json:"output"`
	Runner string      `json:"runner"`
	Epoch  agent.Epoch `json:"epoch"`
}

// fenced runs a transaction that claims the fence first. The row stays locked until the end, so no
// other epoch gets in between. If a higher epoch has claimed it, the error is fence.ErrStale, and
// nothing was done.
func (s store) fenced(ctx context.Context, write func(*sql.Tx, agent.Epoch) error) error {
	epoch, ok := fence.EpochOf(ctx)
	if !ok {
		return fence.ErrNoEpoch
	}
	tx, err := s.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	claimed, err := tx.ExecContext(ctx,
		`UPDATE fence SET epoch = $1 WHERE resource = 'jobs' AND epoch <= $1`, epoch)
	if err == nil {
		err = fence.CheckRows(epoch, claimed)
	}
	if err == nil {
		err = write(tx, epoch)
	}
	if err != nil {
		_ = tx.Rollback() // if it fails, the connection is lost, and the transaction with it
		return err
	}
	return tx.Commit()
}

// claim claims the fence alone. What is read after that is final: no result of a lower epoch is
// under way, and none will be written.
func (s store) claim(ctx context.Context) error {
	return s.fenced(ctx, func(*sql.Tx, agent.Epoch) error { return nil })
}

// next returns the first job that has no result.
func (s store) next(ctx context.Context) (j job, ok bool, err error) {
	err = s.QueryRowContext(ctx,
		`SELECT id, input FROM job WHERE NOT EXISTS (SELECT FROM result WHERE job = job.id)
		ORDER BY id LIMIT 1`).
		Scan(&j.ID, &j.Input)
	if errors.Is(err, sql.ErrNoRows) {
		return j, false, nil
	}
	return j, err == nil, err
}

// finish writes a result, and notifies who listens for results.
func (s store) finish(ctx context.Context, r result) error {
	return s.fenced(ctx, func(tx *sql.Tx, epoch agent.Epoch) error {
		r.Epoch = epoch
		_, err := tx.ExecContext(ctx,
			`INSERT INTO result (job, output, runner, epoch) VALUES ($1, $2, $3, $4)`,
			r.Job, r.Output, r.Runner, r.Epoch)
		if err != nil {
			return err
		}
		text, err := json.Marshal(r)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `SELECT pg_notify('result', $1)`, string(text))
		return err
	})
}
