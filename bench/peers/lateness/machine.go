package lateness

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

	"golang.org/x/sys/unix"

	"github.com/podesta-dev/podesta/test/register"
)

// Machine notes when the machine itself stands still: a virtual CPU runs nothing while its host has
// something else to do. Then no thread runs, whatever its priority. A nil Machine notes nothing.
type Machine struct {
	watchers []*exec.Cmd
	reading  sync.WaitGroup
	late     log
}

// WatchMachine starts a watcher for each CPU that this program may use: this command, with the CPU
// as its last argument. The caller must End it.
func WatchMachine(command []string) (*Machine, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, err
	}
	m := &Machine{}
	for cpu, found := 0, 0; found < set.Count(); cpu++ {
		if !set.IsSet(cpu) {
			continue
		}
		found++
		if err := m.start(slices.Concat(command, []string{strconv.Itoa(cpu)})); err != nil {
			m.End()
			return nil, err
		}
	}
	return m, nil
}

// start starts a watcher, and returns when it watches.
func (m *Machine) start(command []string) error {
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
	m.watchers = append(m.watchers, c)
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != ready {
		said, _ := io.ReadAll(io.LimitReader(failure, 1<<10))
		return errors.New(string(said))
	}
	m.reading.Go(func() {
		for lines.Scan() {
			m.add(lines.Text())
		}
	})
	return nil
}

func (m *Machine) add(line string) {
	var late Late
	if _, err := fmt.Sscan(line, &late.From, &late.To); err != nil {
		return // it was killed while it wrote
	}
	m.late.add(late)
}

// Within returns the standstills that ended within a span, by their begin. What two CPUs had at the
// same time is one.
func (m *Machine) Within(from, to register.Instant) []Late {
	if m == nil {
		return nil
	}
	return m.late.within(from, to)
}

// End ends the watchers.
func (m *Machine) End() {
	if m == nil {
		return
	}
	for _, c := range m.watchers {
		_ = c.Process.Kill()
	}
	m.reading.Wait()
	for _, c := range m.watchers {
		_ = c.Wait() // it was killed
	}
}
