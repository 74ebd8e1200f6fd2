package main

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/podesta-dev/podesta/client/agent"
	"github.com/podesta-dev/podesta/client/fence"
	"github.com/podesta-dev/podesta/examples/internal/manifest"
	"github.com/podesta-dev/podesta/examples/internal/postgres"
)

// TestMain runs one of the processes if the test has started it as one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "process" {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

// limit is how long a whole test may take, on a machine that is busy.
const limit = 8 * time.Minute

// Coordinators are killed and paused, also in the middle of a transaction, by turns. Each job has
// one result, and no result is written under an epoch below the one before it.
func TestChaos(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts a database and three agents, and takes some seconds a fault")
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	s, err := begin(ctx, t.Output(), "5ms")
	if errors.Is(err, postgres.ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			s.group.Logs(t.Output())
		}
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	all := slices.Repeat(faults(), 3)
	for _, strike := range all {
		if err := strike(s, ctx); err != nil {
			t.Fatal(err)
		}
	}
	found, err := s.verdict(ctx)
	if err != nil || found.epochs <= len(all) {
		t.Errorf("after %d faults: %v, %v", len(all), found, err)
	}
	t.Logf("%d faults: %v", len(all), found)
}

// database starts a server with some jobs.
func database(t *testing.T) store {
	t.Helper()
	if testing.Short() {
		t.Skip("it starts a database")
	}
	server, err := postgres.Start(t.Context())
	if errors.Is(err, postgres.ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	s, err := connect(server.URL(), "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if err := s.add(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	return s
}

// answer is a job's right result.
func answer(t *testing.T, s store, id int64) result {
	t.Helper()
	var input int64
	if err := s.QueryRow(`SELECT input FROM job WHERE id = $1`, id).Scan(&input); err != nil {
		t.Fatal(err)
	}
	return result{Job: id, Output: primes(input), Runner: "test"}
}

// A result that comes after one of a higher epoch is refused, and is not in the table. Without the
// fence it would be, and the checker would find it.
func TestALateResultIsRefused(t *testing.T) {
	s := database(t)
	five, seven := fence.WithEpoch(t.Context(), 5), fence.WithEpoch(t.Context(), 7)
	for _, step := range []struct {
		ctx   context.Context
		job   int64
		stale bool
	}{
		{ctx: five, job: 1},
		{ctx: seven, job: 2},
		{ctx: five, job: 2, stale: true},
		{ctx: five, job: 3, stale: true},
	} {
		if err := s.finish(step.ctx, answer(t, s, step.job)); errors.Is(err, fence.ErrStale) != step.stale || (err != nil) != step.stale {
			t.Errorf("%+v: %v", step, err)
		}
	}
	if err := s.finish(t.Context(), answer(t, s, 3)); !errors.Is(err, fence.ErrNoEpoch) {
		t.Errorf("without an epoch: %v", err)
	}
	if found, err := s.check(t.Context()); err != nil || found.results != 2 {
		t.Errorf("%v, %v", found, err)
	}
	if _, err := s.Exec(`INSERT INTO result (job, output, runner, epoch) VALUES (2, 1, 'late', 5)`); err != nil {
		t.Fatal(err)
	}
	_, err := s.check(t.Context())
	for _, want := range []string{"two results", "after epoch", "want"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the checker does not find %q: %v", want, err)
		}
	}
}

// A result is being written when the next coordinator begins. That one waits until it is written,
// before it looks for jobs: it does not do the job again.
func TestWhatWasBegunIsReadAfterTheClaim(t *testing.T) {
	s := database(t)
	first := answer(t, s, 1)
	written, commit := make(chan struct{}), make(chan struct{})
	former := make(chan error, 1)
	go func() {
		former <- s.fenced(fence.WithEpoch(t.Context(), 5), func(tx *sql.Tx, epoch agent.Epoch) error {
			defer func() { <-commit }()
			defer close(written)
			// else the server ends it when it has waited for what follows, which may take long
			if _, err := tx.Exec(`SET LOCAL idle_in_transaction_session_timeout = 0`); err != nil {
				return err
			}
			_, err := tx.Exec(`INSERT INTO result (job, output, runner, epoch) VALUES (1, $1, 'former', $2)`, first.Output, epoch)
			return err
		})
	}()
	<-written

	var sockets string
	if err := s.QueryRow(`SHOW unix_socket_directories`).Scan(&sockets); err != nil {
		t.Fatal(err)
	}
	its, err := connect(postgres.URL(sockets), "next")
	if err != nil {
		t.Fatal(err)
	}
	defer its.Close()
	r := runner{name: "next", store: its}
	ctx, cancel := context.WithCancel(fence.WithEpoch(t.Context(), 7))
	next := make(chan error, 1)
	go func() { next <- r.work(ctx, 7) }()
	until(t, s, `SELECT count(*) FROM pg_stat_activity WHERE application_name = 'next' AND wait_event_type = 'Lock'`, 1)
	close(commit)
	if err := <-former; err != nil {
		t.Errorf("what was begun: %v", err)
	}
	until(t, s, `SELECT count(DISTINCT job) FROM result`, 3)
	cancel()
	if err := <-next; !errors.Is(err, context.Canceled) {
		t.Errorf("the next coordinator: %v", err)
	}
	if found, err := s.check(t.Context()); err != nil || found.results != 3 {
		t.Errorf("%v, %v", found, err)
	}
}

// until asks the database again and again until it answers with this number.
func until(t *testing.T, s store, query string, want int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	again := time.NewTicker(5 * time.Millisecond) // nobody tells
	defer again.Stop()
	for got := -1; got != want; <-again.C {
		if err := s.QueryRowContext(ctx, query).Scan(&got); err != nil {
			t.Fatal(err)
		}
	}
}

// TestManifest starts both programs with the arguments of the manifest: they get as far as their
// context lets them.
func TestManifest(t *testing.T) {
	commands, err := manifest.Commands("../manifests/jobs.yaml", "/jobs")
	if err != nil || len(commands) != 2 {
		t.Fatal(commands, err)
	}
	t.Setenv("DATABASE_URL", "postgres://postgres@127.0.0.1:1/postgres")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range commands {
		if err := run(ctx, c); !errors.Is(err, context.Canceled) {
			t.Errorf("%v: %v", c, err)
		}
	}
}
