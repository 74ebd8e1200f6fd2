package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/podesta-dev/podesta/examples/internal/group"
	"github.com/podesta-dev/podesta/examples/internal/postgres"
)

// stage is three processes and a database.
type stage struct {
	*group.Story
	dir    string
	server *postgres.Server
	group  *group.Group
	store  store
	news   *pgx.Conn // hears of each result
}

// batch is how many jobs are added before each fault.
const batch = 6

// begin starts a database and three processes, and waits for the first result.
func begin(ctx context.Context, out io.Writer, takes string) (*stage, error) {
	dir, err := os.MkdirTemp("", "podesta-example")
	if err != nil {
		return nil, err
	}
	s := &stage{Story: group.NewStory(out), dir: dir}
	if err := s.start(ctx, takes); err != nil {
		return nil, errors.Join(err, s.Close(ctx))
	}
	return s, nil
}

func (s *stage) start(ctx context.Context, takes string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	if s.server, err = postgres.Start(ctx); err != nil {
		return err
	}
	if s.store, err = connect(s.server.URL(), "checker"); err != nil {
		return err
	}
	if err := s.store.add(ctx, batch); err != nil {
		return err
	}
	if s.news, err = pgx.Connect(ctx, s.server.URL()); err != nil {
		return err
	}
	if _, err := s.news.Exec(ctx, `LISTEN result`); err != nil {
		return err
	}
	if s.group, err = group.New(ctx, s.dir, "p1", "p2", "p3"); err != nil {
		return err
	}
	err = s.group.Start(func(m *group.Member) *exec.Cmd {
		//nolint:gosec,noctx // this program; it ends with the member
		app := exec.Command(program, "process", "--name", m.Name, "--database", s.server.URL(),
			"--agent", m.AgentURL(), "--takes", takes)
		app.Stdout = s
		return app
	})
	if err != nil {
		return err
	}
	_, err = s.await(ctx, 0)
	return err
}

// Close ends everything, also when ctx has ended.
func (s *stage) Close(ctx context.Context) error {
	var failed []error
	if s.group != nil {
		s.group.Close()
	}
	if s.news != nil {
		failed = append(failed, s.news.Close(context.WithoutCancel(ctx)))
	}
	if s.store.DB != nil {
		failed = append(failed, s.store.Close())
	}
	if s.server != nil {
		failed = append(failed, s.server.Stop())
	}
	return errors.Join(append(failed, os.RemoveAll(s.dir))...)
}

// await waits for the next result under an epoch that is higher than this one.
func (s *stage) await(ctx context.Context, above int64) (r result, err error) {
	for int64(r.Epoch) <= above {
		told, err := s.news.WaitForNotification(ctx)
		if err != nil {
			return r, err
		}
		if err := json.Unmarshal([]byte(told.Payload), &r); err != nil {
			return r, err
		}
		s.Say("  %s has done job %d under epoch %v", r.Runner, r.Job, r.Epoch)
	}
	return r, nil
}

// play plays each fault once, and gives the checker's verdict.
func play(ctx context.Context, out io.Writer) error {
	fmt.Fprintln(out, "three processes, of which the coordinator does the jobs in a PostgreSQL table")
	s, err := begin(ctx, out, "100ms")
	if err != nil {
		return err
	}
	defer s.Close(ctx) //nolint:errcheck // the story is over
	for _, strike := range faults() {
		if err := strike(s, ctx); err != nil {
			return err
		}
	}
	found, err := s.verdict(ctx)
	if err != nil {
		return err
	}
	s.Say("the checker found %v: each job has one result, and no epoch comes after a higher one",
		found)
	return nil
}

// verdict waits until every job has a result, and returns an error if the checker finds one.
func (s *stage) verdict(ctx context.Context) (found summary, err error) {
	for {
		found, err = s.store.check(ctx)
		if err != nil || found.results >= found.jobs {
			return found, err
		}
		if _, err := s.await(ctx, 0); err != nil {
			return found, fmt.Errorf("%v: %w", found, err)
		}
	}
}

// fault strikes the coordinator, and waits until another one has written a result.
type fault func(*stage, context.Context) error

func faults() []fault {
	return []fault{(*stage).kill, (*stage).pause, (*stage).pauseInTransaction}
}

// kill kills the coordinator, and starts it again when another one has done a job.
func (s *stage) kill(ctx context.Context) error {
	m, epoch, err := s.busy(ctx)
	if err != nil {
		return err
	}
	s.Say("%s is killed", m.Name)
	m.Kill()
	if _, err := s.await(ctx, epoch); err != nil {
		return fmt.Errorf("after %s was killed: %w", m.Name, err)
	}
	s.Say("%s is started again", m.Name)
	return m.Start()
}

// pause pauses the coordinator until another one has done a job.
func (s *stage) pause(ctx context.Context) error {
	m, epoch, err := s.busy(ctx)
	if err != nil {
		return err
	}
	s.Say("%s is paused", m.Name)
	if err := m.Pause(); err != nil {
		return err
	}
	return s.resume(ctx, m, epoch)
}

func (s *stage) resume(ctx context.Context, m *group.Member, epoch int64) error {
	if _, err := s.await(ctx, epoch); err != nil {
		return fmt.Errorf("while %s is paused: %w", m.Name, err)
	}
	s.Say("%s goes on", m.Name)
	if err := m.Resume(); err != nil {
		return err
	}
	_, err := s.await(ctx, 0)
	return err
}

// pauseInTransaction pauses the coordinator in the middle of a transaction, when it has claimed the
// fence: nobody else can claim it as long as that transaction is open.
func (s *stage) pauseInTransaction(ctx context.Context) error {
	_, epoch, err := s.busy(ctx)
	if err != nil {
		return err
	}
	locker, err := pgx.Connect(ctx, s.server.URL())
	if err != nil {
		return err
	}
	defer locker.Close(context.WithoutCancel(ctx)) //nolint:errcheck // the end
	lock, err := locker.Begin(ctx)
	if err != nil {
		return err
	}
	// nothing is written to it
	if _, err := lock.Exec(ctx, `LOCK TABLE result IN SHARE MODE`); err != nil {
		return err
	}
	name, err := s.writer(ctx)
	if err != nil {
		return err
	}
	m := s.group.Member(name)
	s.Say("%s is paused in the middle of a transaction", name)
	if err := m.Pause(); err != nil {
		return err
	}
	if err := lock.Commit(ctx); err != nil { // now the server waits for the rest of the transaction
		return err
	}
	return s.resume(ctx, m, epoch)
}

// writer waits until a process waits for the lock on the results, and returns its name.
func (s *stage) writer(ctx context.Context) (name string, err error) {
	for {
		err := s.store.QueryRowContext(ctx,
			`SELECT coalesce(max(application_name), '') FROM pg_stat_activity
			WHERE wait_event_type = 'Lock' AND query LIKE 'INSERT INTO result%'`).Scan(&name)
		if err != nil || name != "" {
			return name, err
		}
		select {
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case <-time.After(10 * time.Millisecond): // the server tells nobody
		}
	}
}

// busy adds jobs, and returns the coordinator that does them, and its epoch.
func (s *stage) busy(ctx context.Context) (*group.Member, int64, error) {
	if err := s.store.add(ctx, batch); err != nil {
		return nil, 0, err
	}
	r, err := s.await(ctx, 0)
	return s.group.Member(r.Runner), int64(r.Epoch), err
}
