package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/podesta-dev/podesta/examples/internal/group"
	"github.com/podesta-dev/podesta/examples/internal/trial"
)

// begin starts a ring at a device, and waits until the token has gone round.
func begin(ctx context.Context, out io.Writer, unfenced bool, pause string) (*trial.Trial, error) {
	t, err := trial.Start(ctx, trial.Options{
		Names:    []string{"p1", "p2", "p3", "p4", "p5"},
		Out:      out,
		Unfenced: unfenced,
		Args: func(t *trial.Trial, m *group.Member) []string {
			return []string{"process", "--name", m.Name, "--listen", m.Address(),
				"--ring", t.Group.Addresses(), "--device", t.DeviceURL,
				"--agent", m.AgentURL(), "--pause", pause}
		},
	})
	if err != nil {
		return nil, err
	}
	if err := t.Everybody(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("the token does not go round: %w", err), t.Close())
	}
	return t, nil
}

// story plays each fault once, and gives the checker's verdict.
func story(ctx context.Context, out io.Writer, unfenced bool) error {
	fmt.Fprintln(out, "five processes pass a token round: who has it may use the device")
	t, err := begin(ctx, out, unfenced, "100ms")
	if err != nil {
		return err
	}
	defer t.Close() //nolint:errcheck // the story is over
	for _, strike := range trial.Faults() {
		if err := strike(t, ctx); err != nil {
			return err
		}
	}
	if err := verdict(t); err != nil {
		return err
	}
	t.Say("the checker saw %v; %d tokens were lost, and each was replaced once",
		&t.Checker, t.UsersStruck)
	return nil
}

// verdict returns an error unless no two processes used the device at once, each token that was
// lost was replaced once, and no other one was. A token is lost when the process that has it is
// struck, and that process has it while it uses the device.
func verdict(t *trial.Trial) error {
	if err := t.Checker.Verdict(); err != nil {
		return err
	}
	tokens := t.Checker.Given()
	if len(tokens) != t.UsersStruck+1 {
		return fmt.Errorf("%d tokens were lost, but these were used: %v", t.UsersStruck, tokens)
	}
	return nil
}
