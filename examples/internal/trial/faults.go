package trial

import (
	"context"
	"fmt"

	"github.com/podesta-dev/podesta/examples/internal/device"
	"github.com/podesta-dev/podesta/examples/internal/group"
)

// Fault strikes one member, and waits until everybody uses the device again.
type Fault func(*Trial, context.Context) error

// Faults are all of them.
func Faults() []Fault {
	return []Fault{(*Trial).KillUser, (*Trial).PauseUser, (*Trial).KillCoordinator, (*Trial).PauseCoordinator, (*Trial).KillBoth}
}

// KillUser kills the member that uses the device, and starts it again when all others have used it.
func (t *Trial) KillUser(ctx context.Context) error {
	user, _, err := t.strikeUser(ctx, "", " is killed", kill)
	if err != nil {
		return err
	}
	return t.restartLater(ctx, user)
}

// KillBoth kills the coordinator while it uses the device itself.
func (t *Trial) KillBoth(ctx context.Context) error {
	coordinator, err := t.Coordinator(ctx)
	if err != nil {
		return err
	}
	if _, _, err := t.strikeUser(ctx, coordinator.Name, ", the coordinator, is killed", kill); err != nil {
		return err
	}
	return t.restartLater(ctx, coordinator)
}

// PauseUser pauses the member that uses the device, until all others have used it. Then it goes on in
// its old turn.
func (t *Trial) PauseUser(ctx context.Context) error {
	user, turn, err := t.strikeUser(ctx, "", " is paused", (*group.Member).Pause)
	if err != nil {
		return err
	}
	if err := t.Everybody(ctx, user.Name); err != nil {
		return fmt.Errorf("while %s is paused at the device: %w", user.Name, err)
	}
	t.Say("%s goes on, in turn %v", user.Name, turn)
	if err := user.Resume(); err != nil {
		return err
	}
	err = t.At(ctx, func(e Event) (bool, error) { return e.By == user.Name && e.Turn == turn, nil })
	if err != nil {
		return fmt.Errorf("%s does not act in its old turn: %w", user.Name, err)
	}
	return t.Everybody(ctx)
}

// KillCoordinator kills the coordinator while another member uses the device.
func (t *Trial) KillCoordinator(ctx context.Context) error {
	coordinator, err := t.strikeCoordinator(ctx, " is killed", kill)
	if err != nil {
		return err
	}
	return t.restartLater(ctx, coordinator)
}

// PauseCoordinator pauses the coordinator while another member uses the device, until there is
// another coordinator and all others have used the device.
func (t *Trial) PauseCoordinator(ctx context.Context) error {
	coordinator, err := t.strikeCoordinator(ctx, " is paused", (*group.Member).Pause)
	if err != nil {
		return err
	}
	if _, err := t.Coordinator(ctx, coordinator.Name); err != nil {
		return err
	}
	if err := t.Everybody(ctx, coordinator.Name); err != nil {
		return fmt.Errorf("while %s is paused: %w", coordinator.Name, err)
	}
	t.Say("%s goes on", coordinator.Name)
	if err := coordinator.Resume(); err != nil {
		return err
	}
	return t.Everybody(ctx)
}

func kill(m *group.Member) error {
	m.Kill()
	return nil
}

// strikeUser strikes the next member that uses the device, at the first act of its turn; only the
// member of this name, unless that is empty.
func (t *Trial) strikeUser(ctx context.Context, name, how string, strike func(*group.Member) error) (user *group.Member,
	turn device.Turn, err error) {
	err = t.At(ctx, func(e Event) (bool, error) {
		if !e.First || (name != "" && e.By != name) {
			return false, nil
		}
		user, turn = t.Group.Member(e.By), e.Turn
		t.Say("%s%s while it uses the device in turn %v", e.By, how, e.Turn)
		t.struck[user.Name] = true
		t.UsersStruck++
		return true, strike(user)
	})
	return user, turn, err
}

// strikeCoordinator strikes the coordinator at the first act of another member's turn.
func (t *Trial) strikeCoordinator(ctx context.Context, how string, strike func(*group.Member) error) (*group.Member,
	error) {
	coordinator, err := t.Coordinator(ctx)
	if err != nil {
		return nil, err
	}
	err = t.At(ctx, func(e Event) (bool, error) {
		if !e.First || e.By == coordinator.Name {
			return false, nil
		}
		t.Say("%s, the coordinator,%s while %s uses the device", coordinator.Name, how, e.By)
		t.struck[coordinator.Name] = true
		return true, strike(coordinator)
	})
	return coordinator, err
}

// restartLater starts a member that was killed again when all others have used the device, and waits
// until it uses the device, too.
func (t *Trial) restartLater(ctx context.Context, m *group.Member) error {
	if err := t.Everybody(ctx, m.Name); err != nil {
		return fmt.Errorf("after %s was killed: %w", m.Name, err)
	}
	t.Say("%s is started again", m.Name)
	if err := m.Start(); err != nil {
		return err
	}
	if err := t.Everybody(ctx); err != nil {
		return fmt.Errorf("after %s was started again: %w", m.Name, err)
	}
	return nil
}
