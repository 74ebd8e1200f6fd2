package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/podesta-dev/podesta/examples/internal/device"
	"github.com/podesta-dev/podesta/examples/internal/group"
	"github.com/podesta-dev/podesta/examples/internal/trial"
)

// stage is three processes, of which the coordinator uses a device.
type stage struct{ *trial.Trial }

// begin starts them, and waits until one uses the device.
func begin(ctx context.Context, out io.Writer, unfenced bool, pause string) (stage, error) {
	t, err := trial.Start(ctx, trial.Options{
		Names:    []string{"p1", "p2", "p3"},
		Out:      out,
		Unfenced: unfenced,
		Args: func(t *trial.Trial, m *group.Member) []string {
			return []string{"process", "--name", m.Name, "--device", t.DeviceURL,
				"--agent", m.AgentURL(), "--pause", pause}
		},
	})
	if err != nil {
		return stage{}, err
	}
	s := stage{t}
	if _, _, err := s.user(ctx); err != nil {
		return s, errors.Join(err, t.Close())
	}
	return s, nil
}

// play plays each fault once, and gives the checker's verdict.
func play(ctx context.Context, out io.Writer, unfenced bool) error {
	fmt.Fprintln(out, "three processes, of which the coordinator uses a device")
	s, err := begin(ctx, out, unfenced, "100ms")
	if err != nil {
		return err
	}
	defer s.Close() //nolint:errcheck // the story is over
	for _, strike := range faults() {
		if err := strike(s, ctx); err != nil {
			return err
		}
	}
	if err := s.Checker.Verdict(); err != nil {
		return err
	}
	s.Say("the checker saw %v", &s.Checker)
	return nil
}

// fault strikes the coordinator, and waits until another one uses the device.
type fault func(stage, context.Context) error

func faults() []fault { return []fault{stage.kill, stage.pause} }

// user waits until the device is used, and returns who uses it, and in which turn. It may be over
// when this returns.
func (s stage) user(ctx context.Context) (m *group.Member, turn device.Turn, err error) {
	err = s.At(ctx, func(e trial.Event) (bool, error) {
		m, turn = s.Group.Member(e.By), e.Turn
		return e.Refused == nil, nil
	})
	return m, turn, err
}

// after reports whether another member than m uses the device, in a later turn.
func after(m *group.Member, turn device.Turn, e trial.Event) bool {
	return e.Refused == nil && e.By != m.Name && e.Turn.Compare(turn) > 0
}

// kill kills the coordinator, and starts it again when another one uses the device.
func (s stage) kill(ctx context.Context) error {
	m, turn, err := s.user(ctx)
	if err != nil {
		return err
	}
	s.Say("%s is killed", m.Name)
	m.Kill()
	err = s.At(ctx, func(e trial.Event) (bool, error) { return after(m, turn, e), nil })
	if err != nil {
		return fmt.Errorf("after %s was killed: %w", m.Name, err)
	}
	s.Say("%s is started again", m.Name)
	return m.Start()
}

// pause pauses the coordinator when an act of its is on its way to the device. The act arrives when
// another one has used the device.
func (s stage) pause(ctx context.Context) error {
	act, release, err := s.Hold(ctx)
	if err != nil {
		return err
	}
	m := s.Group.Member(act.By)
	s.Say("%s is paused, with an act on its way to the device", m.Name)
	if err := m.Pause(); err != nil {
		return err
	}
	released := false
	err = s.At(ctx, func(e trial.Event) (bool, error) {
		if after(m, act.Turn, e) && !released {
			s.Say("the act of %s arrives", m.Name)
			release()
			released = true
		}
		return released && e.By == m.Name && e.Turn == act.Turn, nil
	})
	if err != nil {
		return fmt.Errorf("while %s is paused: %w", m.Name, err)
	}
	s.Say("%s goes on", m.Name)
	return m.Resume()
}
