package trial

import (
	"context"
	"fmt"

	"github.com/podesta-dev/podesta/examples/internal/group"
)

// Fault strikes one member, and waits until everybody uses the device again.
type Fault func(*Trial, context.Context) error

// Faults are all of them.
func Faults() []Fault {
	return []Fault{(*Trial).KillUser, (*Trial).PauseUser, (*Trial).KillCoordinator,
		(*Trial).PauseCoordinator, (*Trial).KillBoth}
}

// KillUser kills the member that uses the device, and starts it again when all others have used it.
func (t *Trial) KillUser(ctx context.Context) error {
	user, err := t.killUser(ctx, "", " is killed")
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
	if _, err := t.killUser(ctx, coordinator.Name, ", the coordinator, is killed"); err != nil {
		return err
	}
	return t.restartLater(ctx, coordinator)
}

// PauseUser pauses the member that uses the device, with an act on its way there. The act arrives
// when all others have used the device; then the member goes on.
func (t *Trial) PauseUser(ctx context.Context) error {
	act, release, err := t.Hold(ctx)
	if err != nil {
		return err
	}
	user := t.Group.Member(act.By)
	t.Say("%s is paused while it uses the device in turn %v", user.Name, act.Turn)
	t.mu.Lock()
	t.UsersStruck++
	t.mu.Unlock()
	if err := user.Pause(); err != nil {
		return err
	}
	missing, released := t.all(user.Name), false
	err = t.At(ctx, func(e Event) (bool, error) {
		if e.First {
			delete(missing, e.By)
		}
		if len(missing) == 0 && !released {
			t.Say("the act of %s arrives, in turn %v", user.Name, act.Turn)
			release()
			released = true
		}
		return released && e.By == user.Name && e.Turn == act.Turn, nil
	})
	if err != nil {
		return fmt.Errorf("while %s is paused at the device: %w", user.Name, err)
	}
	t.Say("%s goes on", user.Name)
	if err := user.Resume(); err != nil {
		return err
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

// killUser kills the next member that uses the device, at the first act of its turn; only the
// member of this name, unless that is empty.
func (t *Trial) killUser(ctx context.Context, name, how string) (user *group.Member, err error) {
	err = t.At(ctx, func(e Event) (bool, error) {
		if !e.First || (name != "" && e.By != name) {
			return false, nil
		}
		user = t.Group.Member(e.By)
		t.Say("%s%s while it uses the device in turn %v", e.By, how, e.Turn)
		t.UsersStruck++
		user.Kill()
		return true, nil
	})
	return user, err
}

// strikeCoordinator strikes the coordinator at the first act of another member's turn.
func (t *Trial) strikeCoordinator(ctx context.Context, how string,
	strike func(*group.Member) error) (*group.Member, error) {
	coordinator, err := t.Coordinator(ctx)
	if err != nil {
		return nil, err
	}
	err = t.At(ctx, func(e Event) (bool, error) {
		if !e.First || e.By == coordinator.Name {
			return false, nil
		}
		t.Say("%s, the coordinator,%s while %s uses the device", coordinator.Name, how, e.By)
		return true, strike(coordinator)
	})
	return coordinator, err
}

// restartLater starts a member that was killed again when all others have used the device, and
// waits until it uses the device, too.
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
