// Package device is an exclusive device: one process at a time may use it, such as a printer that
// must not mix the pages of two. It is fenced: a process uses it in a turn, and once the device has
// seen a turn, it refuses those before. So a process that was paused in the middle of its use, and
// goes on when another one's has begun, is refused.
//
// A coordinator gives the turns, and its epoch is the first part of each: client/fence compares the
// epochs. Numbers within one epoch the device compares itself.
//
// What is not promised: the device does not know who ought to use it. It takes any turn that is not
// before one that it has seen, from whoever has it.
package device

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"sync"

	"github.com/podesta-dev/podesta/client/fence"
	"github.com/podesta-dev/podesta/examples/internal/message"
)

// Act is one thing that a process does with the device. A use is all acts of one turn.
type Act struct {
	Turn Turn   `json:"turn"`
	By   string `json:"by"`
	What string `json:"what"`
}

// Device is the device. It keeps the last turn and the highest epoch in its folder, so that it
// refuses after a restart what it refused before. (After a crash of its machine it is sure of the
// epoch only.)
type Device struct {
	// Unfenced makes the device take every act. It is there to show what the fence is for.
	Unfenced bool
	// Arrived, if not nil, is called with each act before anything else is done with it. While it does
	// not return, the act is on its way.
	Arrived func(ctx context.Context, act Act)

	dir  string
	gate *fence.Gate

	mu   sync.Mutex
	saw  func(act Act, refused error)
	last Act // of the highest turn
}

// Open opens the device whose folder this is. It calls saw with each act, one after the other and
// in the order in which they happen, before the act is answered; refused is nil if the device has
// taken it.
func Open(dir string, saw func(act Act, refused error)) (*Device, error) {
	d := &Device{dir: dir, saw: saw}
	var err error
	// before the turn is read: from now on nobody else changes it
	if d.gate, err = fence.Open(d.path("epoch")); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(d.path("turn"))
	if err == nil {
		err = json.Unmarshal(text, &d.last)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(fmt.Errorf("the device's last turn, %s: %w", d.path("turn"), err),
			d.gate.Close())
	}
	return d, nil
}

func (d *Device) path(name string) string { return filepath.Join(d.dir, name) }

// Close lets another device open the folder.
func (d *Device) Close() error { return d.gate.Close() }

// Handler serves the device: POST /act.
func (d *Device) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST /act", message.Handler(d.act))
	return mux
}

// act takes an act, or refuses it. While the gate runs take, it admits no higher epoch.
func (d *Device) act(ctx context.Context, a Act) (struct{}, error) {
	if d.Arrived != nil {
		d.Arrived(ctx, a)
	}
	if d.Unfenced {
		d.tell(a, nil)
		return struct{}{}, nil
	}
	err := d.gate.DoContext(ctx, a.Turn.Epoch, func() error { return d.take(a) })
	if errors.Is(err, fence.ErrStale) || errors.Is(err, fence.ErrNoEpoch) {
		err = message.Refuse("%v", err)
	}
	if err != nil {
		d.tell(a, err)
	}
	return struct{}{}, err
}

// take does the act, unless its turn is over. The gate has admitted its epoch, so only turns of the
// same epoch are compared here. A new turn is on disk first.
func (d *Device) take(a Act) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	order := 1
	if a.Turn.Epoch == d.last.Turn.Epoch {
		order = a.Turn.Compare(d.last.Turn)
	}
	switch {
	case order < 0:
		return message.Refuse("turn %v is over: %s has begun %v", a.Turn, d.last.By, d.last.Turn)
	case order == 0 && a.By != d.last.By:
		return message.Refuse("turn %v is that of %s", a.Turn, d.last.By)
	case order > 0:
		if err := d.save(a); err != nil {
			return err
		}
		d.last = a
	}
	d.saw(a, nil)
	return nil
}

func (d *Device) tell(a Act, refused error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.saw(a, refused)
}

func (d *Device) save(a Act) error {
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	if err := os.WriteFile(d.path("turn.tmp"), text, 0o600); err != nil {
		return err
	}
	return os.Rename(d.path("turn.tmp"), d.path("turn"))
}

// Client uses a device for one process.
type Client struct {
	Name   string // of the process
	URL    string // of the device
	Sender message.Sender
}

// Act does one thing in a turn. Over reports whether the device has refused it. After any other
// error it may have been done.
func (c *Client) Act(ctx context.Context, turn Turn, what string) error {
	return c.Sender.Send(ctx, c.URL+"/act", Act{
		Turn: turn,
		By:   c.Name,
		What: what,
	}, nil)
}

// Over reports whether the device has refused an act: its turn is over.
func Over(err error) bool { return message.Refused(err) }
