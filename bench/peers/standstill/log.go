package standstill

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/podesta-dev/podesta/test/register"
)

// Standstill is a time in which a CPU did not run.
type Standstill struct{ From, To register.Instant }

// Log has the standstills of all CPUs. It is safe for concurrent use. A nil Log has none.
type Log struct {
	watchers []*exec.Cmd
	reading  sync.WaitGroup
	mu       sync.Mutex
	all      []Standstill
}

// Begin starts a watcher for each CPU that this program may use: this command, with the CPU as its
// last argument. The caller must End it.
func Begin(command []string) (*Log, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, err
	}
	l := &Log{}
	for cpu, found := 0, 0; found < set.Count(); cpu++ {
		if !set.IsSet(cpu) {
			continue
		}
		found++
		if err := l.start(slices.Concat(command, []string{strconv.Itoa(cpu)})); err != nil {
			l.End()
			return nil, err
		}
	}
	return l, nil
}

// start starts a watcher, and returns when it watches.
func (l *Log) start(command []string) error {
	//nolint:gosec,noctx // it is this program, and ends with its input
	c := exec.Command(command[0], command[1:]...)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if _, err := c.StdinPipe(); err != nil {
		return err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	failure, err := c.StderrPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	l.watchers = append(l.watchers, c)
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != ready {
		said, _ := io.ReadAll(io.LimitReader(failure, 1<<10))
		return errors.New(string(said))
	}
	l.reading.Go(func() {
		for lines.Scan() {
			l.add(lines.Text())
		}
	})
	return nil
}

func (l *Log) add(line string) {
	var s Standstill
	if _, err := fmt.Sscan(line, &s.From, &s.To); err != nil {
		return // it was killed while it wrote
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, s)
}

// Within returns the standstills that ended within a span, by their begin. What two CPUs had at the
// same time is one.
func (l *Log) Within(from, to register.Instant) []Standstill {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return merged(slices.DeleteFunc(slices.Clone(l.all), func(s Standstill) bool {
		return s.To < from || s.To > to
	}))
}

// merged makes one of those that overlap.
func merged(all []Standstill) (some []Standstill) {
	slices.SortFunc(all, func(x, y Standstill) int { return int(x.From - y.From) })
	for _, s := range all {
		if n := len(some); n > 0 && s.From <= some[n-1].To {
			some[n-1].To = max(some[n-1].To, s.To)
			continue
		}
		some = append(some, s)
	}
	return some
}

// Length is how long it lasted.
func (s Standstill) Length() time.Duration { return s.To.Sub(s.From) }

// End ends the watchers.
func (l *Log) End() {
	if l == nil {
		return
	}
	for _, c := range l.watchers {
		_ = c.Process.Kill()
	}
	l.reading.Wait()
	for _, c := range l.watchers {
		_ = c.Wait() // it was killed
	}
}
