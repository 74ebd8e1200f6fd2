package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/test/register"
	"github.com/podesta-dev/podesta/test/register/history"
	"github.com/podesta-dev/podesta/test/stage"
)

// registerImage stands for bin/register on the local cluster.
const registerImage = "podesta-dev/register"

// Patience.
const (
	startup  = 90 * time.Second // for pods to run, and a first coordinator
	recovery = 30 * time.Second // after a fault, for somebody to be told that it may act, and for the pods to run again
	ending   = 5 * time.Second  // of the duration, for the calm at the end and the report
)

// runner is one run.
type runner struct {
	options
	begun   register.Instant
	random  *rand.Rand
	view    *view
	journal *journal
	out     *table
	cluster *stage.Cluster
	groups  []*group

	rounds int
	faults map[string]int // how often, by what
	end    register.Instant

	mu    sync.Mutex
	stuck []string // what did not happen in time
}

func (r *runner) traces() string      { return filepath.Join(r.state, "writers") }
func (r *runner) registerLog() string { return filepath.Join(r.state, "register.jsonl") }

// run runs everything and reports. The error says what was violated, or what did not work.
func (r *runner) run(ctx context.Context) error {
	if err := os.MkdirAll(r.traces(), 0o700); err != nil {
		return err
	}
	if err := r.play(ctx); err != nil {
		return err
	}
	h, err := r.history()
	if err != nil {
		return err
	}
	return r.report(h)
}

// play runs the register, the cluster and the chaos, and ends them.
func (r *runner) play(ctx context.Context) (err error) {
	log, err := os.Create(r.registerLog())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	address, stop, err := serve(ctx, register.New(log, r.view.note))
	if err != nil {
		return err
	}
	defer stop()
	says, err := os.Create(filepath.Join(r.state, "cluster.log"))
	if err != nil {
		return err
	}
	defer says.Close() //nolint:errcheck // nothing hangs on it
	r.cluster, err = stage.Up(ctx, r.repository, r.state, says,
		"--image", registerImage+"="+filepath.Join(r.repository, "bin/register"), "--resolve", registerService+"="+address)
	if err != nil {
		return fmt.Errorf("%w (see cluster.log)", err)
	}
	defer func() { err = errors.Join(err, r.cluster.Close()) }()
	if err := r.start(ctx); err != nil {
		return err
	}
	if err := r.chaos(ctx); err != nil { // also when it is interrupted: what there is until now is checked all the same
		r.end = register.Now()
		r.fail(err.Error())
		return nil
	}
	r.calm(ctx)
	return nil
}

// start makes the groups and waits until each has a process that may act.
func (r *runner) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startup, fmt.Errorf("nothing within %v", startup))
	defer cancel()
	for _, safety := range r.safeties {
		g, err := r.create(ctx, v1.Safety(safety), r.cluster)
		if err != nil {
			return err
		}
		r.groups = append(r.groups, g)
	}
	return r.each(func(g *group) error {
		if _, err := g.muster(ctx); err != nil {
			return err
		}
		e, err := r.view.await(ctx, r.view.expect(g.Group, 0))
		r.out.say("%s: %s acts%s", g.safety, e.Process, under(e.Epoch))
		return err
	})
}

// each does something for all groups at once.
func (r *runner) each(do func(*group) error) error {
	errs := make([]error, len(r.groups))
	var all sync.WaitGroup
	for i, g := range r.groups {
		all.Go(func() { errs[i] = do(g) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// chaos plays rounds until it is time to end.
func (r *runner) chaos(ctx context.Context) error {
	r.faults = map[string]int{}
	r.out.head(register.Now().Sub(r.begun))
	next := opening(r.lease)
	for ctx.Err() == nil && register.Now().Sub(r.begun) < r.duration-ending {
		if err := r.round(ctx, next); err != nil {
			return err
		}
		next = draw(r.random, r.lease)
		wait(ctx, time.Duration(r.random.Int64N(int64(2*time.Second)))) // a moment's peace, sometimes
	}
	return ctx.Err()
}

// calm is the end: all pods run, and in each group somebody is told anew that it may act.
func (r *runner) calm(ctx context.Context) {
	ctx, cancel := context.WithTimeoutCause(ctx, recovery, fmt.Errorf("nothing within %v after the last fault", recovery))
	defer cancel()
	err := r.each(func(g *group) error {
		if _, err := g.muster(ctx); err != nil {
			return err
		}
		_, err := r.view.await(ctx, r.view.expect(g.Group, register.Now()))
		return err
	})
	r.end = register.Now()
	if err != nil {
		r.fail(err.Error())
	}
}

// fail notes what did not happen in time; the run goes on.
func (r *runner) fail(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stuck = append(r.stuck, what)
}

// history reads what the run has left.
func (r *runner) history() (h history.History, err error) {
	h.End, h.Signals = r.end, r.journal.sent
	if err := readFile(r.registerLog(), func(f *os.File) (err error) { h.Entries, err = history.ReadEntries(f); return err }); err != nil {
		return h, err
	}
	traces, err := filepath.Glob(filepath.Join(r.traces(), "*.jsonl"))
	if err != nil {
		return h, err
	}
	for _, file := range traces {
		if err := readFile(file, func(f *os.File) error {
			lives, err := history.ReadTrace(f)
			h.Lives = append(h.Lives, lives...)
			return err
		}); err != nil {
			return h, err
		}
	}
	for _, g := range r.groups {
		for i := range g.size {
			pod := g.PodName(i)
			log := filepath.Join(r.state, "logs", g.Namespace+"_"+pod, agentContainer+".log")
			for _, file := range []string{log + ".1", log} { // the earlier one, if it was set aside
				err := readFile(file, func(f *os.File) error {
					leases, err := history.ReadLeases(f, g.Group, pod)
					h.Leases = append(h.Leases, leases...)
					return err
				})
				if err != nil && !errors.Is(err, os.ErrNotExist) {
					return h, err
				}
			}
		}
	}
	return h, nil
}

func readFile(name string, read func(*os.File) error) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // it was only read
	if err := read(f); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func listen(ctx context.Context) (net.Listener, error) {
	var config net.ListenConfig
	return config.Listen(ctx, "tcp", "127.0.0.1:0")
}
