package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/podesta-dev/podesta/bench/peers/account"
	"github.com/podesta-dev/podesta/bench/peers/said"
	"github.com/podesta-dev/podesta/test/register"
)

// settled is for how long nothing must have changed before a fault. A fault comes a little later, at
// any instant, or it would always strike at the same moment between two renewals.
const settled = 2 * time.Second

// team is the members of one system, as processes.
type team struct {
	*site
	system system
	book   *account.Book

	commands map[string][]string // of each member
	begun    time.Time

	mu        sync.Mutex
	processes map[string]*process
	closing   bool
	used      time.Duration // CPU time of the processes that have ended
	tending   sync.WaitGroup
}

// startTeams starts a team of each system. It returns those that it has started also with an error.
func startTeams(
	ctx context.Context, dir string, systems []system, servers *servers, proxied bool,
) (teams []*team, err error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	for i, y := range systems {
		t, err := newTeam(ctx, &site{
			dir:     filepath.Join(dir, y.name),
			index:   i,
			names:   []string{"p1", "p2", "p3", "p4", "p5"},
			servers: servers,
			proxied: proxied,
		}, y)
		if err != nil {
			return teams, err
		}
		teams = append(teams, t)
	}
	return teams, nil
}

// newTeam starts a team. The caller must close it.
func newTeam(ctx context.Context, s *site, y system) (_ *team, err error) {
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		return nil, err
	}
	t := &team{
		site:      s,
		system:    y,
		book:      account.NewBook(),
		commands:  map[string][]string{},
		processes: map[string]*process{},
		begun:     time.Now(),
	}
	defer func() {
		if err != nil {
			t.close()
		}
	}()
	members, err := y.plan(ctx, s, y.agent)
	if err := errors.Join(err, s.failed); err != nil {
		return nil, fmt.Errorf("%s: %w", y.name, err)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	for name, args := range members {
		t.commands[name] = append([]string{self, "member"}, args...)
	}
	for _, name := range s.names {
		err = errors.Join(err, t.start(name))
	}
	return t, err
}

// start starts a member, and starts it again if it ends by itself.
func (t *team) start(name string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closing {
		return nil
	}
	p, err := startProcess(t.commands[name], t.path(name+".log"))
	if err != nil {
		return err
	}
	t.processes[name] = p
	t.note(name, account.Started, register.Now())
	t.tending.Go(func() { t.tend(name, p) })
	return nil
}

// note tells the book what was done to a member.
func (t *team) note(name string, word said.Word, at register.Instant) {
	t.book.Add(account.Entry{Member: name, Line: said.Line{At: at, Word: word}})
}

// tend reads what a member says until it has ended.
func (t *team) tend(name string, p *process) {
	lines := bufio.NewScanner(p.says)
	for lines.Scan() {
		l, err := said.Parse(lines.Text())
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s, %s: %v\n", t.system.name, name, err)
			continue
		}
		t.book.Add(account.Entry{Member: name, Line: l})
	}
	_, _ = io.Copy(io.Discard, p.says)
	p.wait()
	t.mu.Lock()
	t.used += p.used
	left := !p.struck && !t.closing
	t.mu.Unlock()
	if !left {
		return
	}
	t.note(name, said.Ceases, register.Now())
	if p.failed { // otherwise it is a program that has lost its Lease
		fmt.Fprintf(os.Stderr, "%s: %s has crashed; its log: %s\n", t.system.name, name,
			t.path(name+".log"))
		<-time.After(time.Second)
	}
	if err := t.start(name); err != nil {
		fmt.Fprintf(os.Stderr, "%s, %s: %v\n", t.system.name, name, err)
	}
}

// signal sends a signal to a member, notes what that does to it, and returns the instant.
func (t *team) signal(name string, s syscall.Signal, does said.Word) (register.Instant, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p, at := t.processes[name], register.Now()
	if err := p.signal(s); err != nil {
		return 0, err
	}
	p.struck = p.struck || does == account.Killed
	t.note(name, does, at)
	return at, nil
}

// restart starts a member that was struck, as soon as it has ended.
func (t *team) restart(ctx context.Context, name string) error {
	t.mu.Lock()
	p := t.processes[name]
	t.mu.Unlock()
	select {
	case <-p.ended:
		return t.start(name)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ready waits until all name the same member, that one leads, and nothing has changed for a while.
// It returns that member.
func (t *team) ready(ctx context.Context) (leader string, err error) {
	for {
		leader, _, err := t.book.Await(ctx, t.names, func(l string) bool {
			leads, ok := t.book.Leader()
			return ok && leads == l
		})
		if err != nil {
			return "", fmt.Errorf("%s: %w", t.system.name, err)
		}
		select {
		case <-t.book.Changed():
		case <-time.After(settled + rand.N(settled/20)):
			if now, ok := t.book.Leader(); ok && now == leader {
				return leader, nil
			}
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

// survivors are all members but one.
func (t *team) survivors(of string) []string {
	return slices.DeleteFunc(slices.Clone(t.names), func(n string) bool { return n == of })
}

// close kills all members and waits for their end. It writes what they said and what was done to
// them into a file beside their logs, which explains a change of leader.
func (t *team) close() {
	t.mu.Lock()
	t.closing = true
	for _, p := range t.processes {
		_ = p.signal(syscall.SIGKILL) // it may have ended
	}
	t.mu.Unlock()
	t.tending.Wait()
	for _, w := range t.ways {
		w.Close()
	}
	var text strings.Builder
	for _, e := range t.book.Entries() {
		fmt.Fprintln(&text, e.Member, e.Line)
	}
	//nolint:gosec // it is in this program's folder
	if err := os.WriteFile(t.path("book.txt"), []byte(text.String()), 0o600); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err) // it is no part of the result
	}
}

func closeAll(teams []*team) {
	for _, t := range teams {
		t.close()
	}
}
