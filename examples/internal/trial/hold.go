package trial

import (
	"context"

	"github.com/podesta-dev/podesta/examples/internal/device"
)

// hold is an act that is to be long on its way to the device.
type hold struct {
	held     chan device.Act // gets it; capacity 1
	released chan struct{}   // closed when it may arrive
}

// Hold waits until the next act is on its way to the device that the device would take, and keeps
// it there until it is released.
func (t *Trial) Hold(ctx context.Context) (act device.Act, release func(), err error) {
	h := &hold{
		held:     make(chan device.Act, 1),
		released: make(chan struct{}),
	}
	t.mu.Lock()
	t.hold = h
	t.mu.Unlock()
	select {
	case act := <-h.held:
		return act, func() { close(h.released) }, nil
	case <-ctx.Done():
		return device.Act{}, nil, context.Cause(ctx)
	}
}

// arrived is called by the device for each act, before it does anything with it.
func (t *Trial) arrived(ctx context.Context, a device.Act) {
	t.mu.Lock()
	h := t.hold
	if h == nil || a.Turn.Compare(t.last) < 0 {
		t.mu.Unlock()
		return
	}
	t.hold = nil
	t.mu.Unlock()
	h.held <- a
	select {
	case <-h.released:
	case <-ctx.Done():
	}
}
