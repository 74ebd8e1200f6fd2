package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/podesta-dev/podesta/bench/peers/account"
	"github.com/podesta-dev/podesta/bench/peers/condition"
	"github.com/podesta-dev/podesta/bench/peers/network"
	"github.com/podesta-dev/podesta/bench/peers/proxy"
	"github.com/podesta-dev/podesta/bench/peers/said"
	"github.com/podesta-dev/podesta/test/register"
)

// size is how many members a team has.
const size = 5

// team is the members of one system, as processes.
type team struct {
	*site
	system  system
	book    *account.Book
	running *condition.Running

	commands map[string][]string // of each member

	mu        sync.Mutex
	processes map[string]*process
	closing   bool
	crashes   int // of members that nobody killed
	tending   sync.WaitGroup
}

// startTeams starts a team of each system. It returns those that it has started also with an error.
func (o *options) startTeams(
	ctx context.Context, dir string, systems []system, servers *servers, ways *network.Network,
	weather proxy.Weather, running *condition.Running,
) (teams []*team, err error) {
	for i, y := range systems {
		t, err := newTeam(ctx, &site{
			dir:     filepath.Join(dir, y.name),
			index:   i,
			agent:   o.agent,
			servers: servers,
			network: ways,
			weather: weather,
		}, y, running)
		if err != nil {
			return teams, err
		}
		teams = append(teams, t)
	}
	return teams, nil
}

// newTeam starts a team. The caller must close it.
func newTeam(ctx context.Context, s *site, y system, running *condition.Running) (*team, error) {
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		return nil, err
	}
	for i := range size {
		s.names = append(s.names, fmt.Sprintf("p%d", i+1))
	}
	t := &team{
		site:      s,
		system:    y,
		book:      account.NewBook(),
		running:   running,
		commands:  map[string][]string{},
		processes: map[string]*process{},
	}
	members, err := y.plan(ctx, s)
	if err := errors.Join(err, s.failed); err != nil {
		return nil, fmt.Errorf("%s: %w", y.name, err)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	for name, args := range members {
		command := append([]string{self, "member"}, args...)
		if t.commands[name], err = running.Wrap(fmt.Sprintf("%d-%s", s.index, name),
			command); err != nil {
			t.close()
			return nil, err
		}
	}
	for _, name := range s.names {
		if err := t.start(name); err != nil {
			t.close()
			return nil, fmt.Errorf("%s, %s: %w", y.name, name, err)
		}
	}
	return t, nil
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
	t.noteFault(name, word, at, account.Fault{})
}

// noteFault notes what a fault has done to a member.
func (t *team) noteFault(name string, word said.Word, at register.Instant, as account.Fault) {
	t.book.Add(account.Entry{
		Member: name,
		Line:   said.Line{At: at, Word: word},
		Fault:  as,
	})
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
	left := !p.struck && !t.closing
	if left && p.failed {
		t.crashes++
	}
	t.mu.Unlock()
	if !left {
		return
	}
	t.note(name, said.Ceases, register.Now())
	if !p.failed { // as a program does that has lost its Lease
		t.again(name)
		return
	}
	fmt.Fprintf(os.Stderr, "\n%s: %s has ended by itself, and is started again; its log: %s\n",
		t.system.name, name, t.path(name+".log"))
	time.AfterFunc(time.Second, func() { t.again(name) })
}

// again starts a member that has ended.
func (t *team) again(name string) {
	if err := t.start(name); err != nil {
		fmt.Fprintf(os.Stderr, "%s, %s: %v\n", t.system.name, name, err)
	}
}

// strike sends a signal that ends a member, notes it as this fault, and returns the instant.
func (t *team) strike(
	name string, signal syscall.Signal, as account.Fault,
) (register.Instant, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p, at := t.processes[name], register.Now()
	if err := p.signal(signal); err != nil {
		return 0, err
	}
	p.struck = true
	t.noteFault(name, account.Killed, at, as)
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

// signal sends a signal that does not end a member.
func (t *team) signal(name string, signal syscall.Signal) (register.Instant, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := register.Now()
	return at, t.processes[name].signal(signal)
}

// ready waits until all name the same member, that one leads, and nothing has changed for a while.
// It returns that member.
func (t *team) ready(ctx context.Context, while time.Duration) (leader string, err error) {
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
		case <-time.After(while):
			if now, ok := t.book.Leader(); ok && now == leader {
				return leader, nil
			}
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

// groups are the process groups of the members that run.
func (t *team) groups() []int {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []int
	for _, p := range t.processes {
		all = append(all, p.group)
	}
	return all
}

// group is the process group of a member.
func (t *team) group(name string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.processes[name].group
}

// crashed is how often a member has ended that nobody killed.
func (t *team) crashed() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.crashes
}

// survivors are all members but one.
func (t *team) survivors(of string) []string {
	return slices.DeleteFunc(slices.Clone(t.names), func(n string) bool { return n == of })
}

// close kills all members and waits for their end.
func (t *team) close() {
	t.mu.Lock()
	t.closing = true
	for _, p := range t.processes {
		_ = p.signal(syscall.SIGKILL) // it may have ended
	}
	t.mu.Unlock()
	t.tending.Wait()
}

// writeBook leaves what was said and done beside the members' logs, for whoever looks into a change
// of leader, with the span that was judged.
func (t *team) writeBook(from, to register.Instant) error {
	var text strings.Builder
	fmt.Fprintf(&text, "# judged from %d to %d\n", from, to)
	for _, e := range t.book.Entries() {
		fmt.Fprintln(&text, strings.TrimRight(fmt.Sprintf("%s %s %s", e.Member, e.Line, e.Fault), " "))
	}
	return os.WriteFile(t.path("book.txt"), []byte(text.String()), 0o600)
}
