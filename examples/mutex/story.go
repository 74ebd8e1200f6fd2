package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/podesta-dev/podesta/examples/internal/group"
	"github.com/podesta-dev/podesta/examples/internal/trial"
)

// stage is five processes at a device, and a checker of their order.
type stage struct {
	*trial.Trial
	order order
}

// begin starts the processes, and waits until each has used the device.
func begin(ctx context.Context, out io.Writer, unfenced bool, pause string) (*stage, error) {
	s := &stage{}
	var err error
	s.Trial, err = trial.Start(ctx, trial.Options{
		Names:    []string{"p1", "p2", "p3", "p4", "p5"},
		Out:      out,
		Unfenced: unfenced,
		Watch:    s.order.saw,
		Args: func(t *trial.Trial, m *group.Member) []string {
			return []string{"process", "--name", m.Name, "--listen", m.Address(),
				"--processes", t.Group.Addresses(), "--device", t.DeviceURL,
				"--agent", m.AgentURL(), "--pause", pause}
		},
	})
	if err != nil {
		return nil, err
	}
	if err := s.Everybody(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("not everybody gets in: %w", err), s.Close())
	}
	return s, nil
}

// story plays each fault once, and gives the checker's verdict.
func story(ctx context.Context, out io.Writer, unfenced bool) error {
	fmt.Fprintln(out, "five processes want to use a device, "+
		"and a coordinator lets in one after the other")
	s, err := begin(ctx, out, unfenced, "100ms")
	if err != nil {
		return err
	}
	defer s.Close() //nolint:errcheck // the story is over
	for _, strike := range trial.Faults() {
		if err := strike(s.Trial, ctx); err != nil {
			return err
		}
	}
	if err := s.verdict(); err != nil {
		return err
	}
	s.Say("the checker saw %v, in the order of their tickets", &s.Checker)
	return nil
}

// verdict returns an error if two processes used the device at once, or not in their order.
func (s *stage) verdict() error { return errors.Join(s.Checker.Verdict(), s.order.verdict()) }

// order checks that processes use the device in the order of their tickets, also under different
// coordinators. A process that was killed or paused may be overtaken.
type order struct {
	mu    sync.Mutex
	last  Ticket
	by    string // who had it
	wrong error  // the first
}

func (o *order) saw(e trial.Event) {
	if !e.First || e.Struck {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	var ticket Ticket
	err := json.Unmarshal([]byte(e.What), &ticket)
	if err == nil && ticket.Compare(o.last) < 0 {
		err = fmt.Errorf("%s, with ticket %v, was let in after %s, with ticket %v",
			e.By, ticket, o.by, o.last)
	}
	if o.wrong == nil {
		o.wrong = err
	}
	o.last, o.by = ticket, e.By
}

func (o *order) verdict() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.wrong
}
