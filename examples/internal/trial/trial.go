// Package trial plays an example on this machine: a group whose members use a device, and a checker
// that watches the device. Faults strike at an act: the device answers it only when the member that
// acts, or another one, has been killed or paused. So it is certain who was using the device then.
package trial

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/podesta-dev/podesta/client/agent"
	"github.com/podesta-dev/podesta/examples/internal/device"
	"github.com/podesta-dev/podesta/examples/internal/group"
	"github.com/podesta-dev/podesta/examples/internal/message"
)

// Options say what is played.
type Options struct {
	Names    []string  // of the members
	Out      io.Writer // gets the story, and what the apps print
	Unfenced bool      // the device takes everything
	// Args returns the arguments of a member's app, which is the program that plays.
	Args func(t *Trial, m *group.Member) []string
}

// Trial is a group at a device.
type Trial struct {
	Group       *group.Group
	Checker     device.Checker
	DeviceURL   string
	UsersStruck int // how often a member was killed or paused while it used the device

	*group.Story

	dir    string
	device *device.Device
	stop   context.CancelFunc
	served chan error

	mu   sync.Mutex
	last device.Turn
	hold *hold
	hook func(Event) (bool, error)
	done chan error // the hook's end
}

// Event is an act that the device has seen and not yet answered.
type Event struct {
	device.Act
	First   bool  // of its turn, and taken
	Refused error // why the device has refused it, or nil
}

// Start starts device and group.
func Start(ctx context.Context, o Options) (*Trial, error) {
	dir, err := os.MkdirTemp("", "podesta-example")
	if err != nil {
		return nil, err
	}
	t := &Trial{Story: group.NewStory(o.Out), dir: dir}
	err = t.start(ctx, o)
	if err != nil {
		err = errors.Join(err, t.Close())
	}
	return t, err
}

func (t *Trial) start(ctx context.Context, o Options) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	if err := t.serve(ctx, o.Unfenced); err != nil {
		return err
	}
	if t.Group, err = group.New(ctx, t.dir, o.Names...); err != nil {
		return err
	}
	return t.Group.Start(func(m *group.Member) *exec.Cmd {
		//nolint:gosec,noctx // this program; it ends with the member
		app := exec.Command(program, o.Args(t, m)...)
		app.Stdout = t
		return app
	})
}

// serve starts the device.
func (t *Trial) serve(ctx context.Context, unfenced bool) error {
	folder := filepath.Join(t.dir, "device")
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	var err error
	if t.device, err = device.Open(folder, t.saw); err != nil {
		return err
	}
	t.device.Unfenced, t.device.Arrived = unfenced, t.arrived
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	t.DeviceURL = "http://" + listener.Addr().String()
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	t.stop, t.served = stop, make(chan error, 1)
	go func() { t.served <- message.ServeOn(serving, listener, t.device.Handler()) }()
	return nil
}

// Close ends everything.
func (t *Trial) Close() error {
	if t.Group != nil {
		t.Group.Close()
	}
	var err error
	if t.stop != nil {
		t.stop()
		if err = <-t.served; errors.Is(err, context.Canceled) {
			err = nil
		}
	}
	if t.device != nil {
		err = errors.Join(err, t.device.Close())
	}
	return errors.Join(err, os.RemoveAll(t.dir))
}

// saw is called by the device, with one act after the other.
func (t *Trial) saw(a device.Act, refused error) {
	e := Event{Act: a, Refused: refused}
	t.mu.Lock()
	defer t.mu.Unlock()
	if refused == nil {
		t.Checker.Saw(a)
		e.First = a.Turn != t.last
		t.last = a.Turn
	}
	t.tell(e)
	if t.hook == nil {
		return
	}
	if done, err := t.hook(e); done || err != nil {
		t.done <- err
		t.hook = nil
	}
}

func (t *Trial) tell(e Event) {
	switch {
	case e.Refused != nil:
		t.Say("  %s acts too late and is refused: %v", e.By, e.Refused)
	case e.First:
		t.Say("  %s uses the device in turn %v", e.By, e.Turn)
	}
}

// At calls hook with each act that the device sees from now on, before it answers the act, until
// hook returns true or an error.
func (t *Trial) At(ctx context.Context, hook func(Event) (done bool, err error)) error {
	done := make(chan error, 1)
	t.mu.Lock()
	t.hook, t.done = hook, done
	t.mu.Unlock()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		t.mu.Lock()
		defer t.mu.Unlock()
		t.hook = nil
		return context.Cause(ctx)
	}
}

// Everybody waits until each member has begun to use the device, except those that are named.
func (t *Trial) Everybody(ctx context.Context, except ...string) error {
	missing := t.all(except...)
	return t.At(ctx, func(e Event) (bool, error) {
		if e.First {
			delete(missing, e.By)
		}
		return len(missing) == 0, nil
	})
}

// all are the names of the members, except those that are named.
func (t *Trial) all(except ...string) map[string]bool {
	names := map[string]bool{}
	for _, m := range t.Group.Members {
		if !slices.Contains(except, m.Name) {
			names[m.Name] = true
		}
	}
	return names
}

// Coordinator waits until a member follows a coordinator that is not among those that are named,
// and returns that coordinator.
func (t *Trial) Coordinator(ctx context.Context, except ...string) (*group.Member, error) {
	for {
		for _, m := range t.Group.Members {
			if slices.Contains(except, m.Name) {
				continue
			}
			c := agent.Client{URL: m.AgentURL()}
			view, err := c.Coordinator(ctx)
			if err == nil && view.Coordinator != "" && !slices.Contains(except, view.Coordinator) {
				return t.Group.Member(view.Coordinator), nil
			}
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(lookAgain):
		}
	}
}

// lookAgain is how long to wait before the members are asked again who coordinates.
const lookAgain = 50 * time.Millisecond
