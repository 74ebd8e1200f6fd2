package trial

import (
	"context"

	"github.com/podesta-dev/podesta/examples/internal/device"
)

// hold is an act that is to be long on its way to the device.
type hold struct {
	by       string
	held     chan struct{} // closed when there is one
	released chan struct{} // closed when it may arrive
}

// Hold waits until the next act of the member of this name is on its way to the device, and keeps it
// there until it is released.
func (t *Trial) Hold(ctx context.Context, by string) (release func(), err error) {
	h := &hold{
		by:       by,
		held:     make(chan struct{}),
		released: make(chan struct{}),
	}
	t.mu.Lock()
	t.hold = h
	t.mu.Unlock()
	select {
	case <-h.held:
		return func() { close(h.released) }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// arrived is called by the device for each act, before it does anything with it.
func (t *Trial) arrived(ctx context.Context, a device.Act) {
	t.mu.Lock()
	h := t.hold
	if h == nil || h.by != a.By {
		t.mu.Unlock()
		return
	}
	t.hold = nil
	t.mu.Unlock()
	close(h.held)
	select {
	case <-h.released:
	case <-ctx.Done():
	}
}
