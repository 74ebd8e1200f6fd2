package managerlease

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	dialWithin = time.Second
	// between the end of one connection and the next one
	redialAfter = 100 * time.Millisecond
)

// holderHasEnded reports whether the holder is another manager that is known to have ended. One
// that is not watched yet is watched from now on, until another one holds the Lease, or ctx ends:
// that is for as long as the elector waits.
//
// Who has led judges nobody. If another one holds the Lease, agents and the Service follow that
// one, and this process has to end, even if that one ends first; and it is no earlier process of
// this pod.
func (l *Lock) holderHasEnded(ctx context.Context) bool {
	if l.watched != nil && l.watched.identity != l.holder {
		l.watched.stop()
		l.watched = nil
	}
	if l.holder == "" || l.holder == l.Identity() || !l.renewed.IsZero() {
		return false
	}
	if l.inPod && holderOf(l.holder).Pod == l.self.Pod {
		return true
	}
	if l.watched == nil {
		l.watched = watchHolder(ctx, l.holder)
	}
	return l.watched.ended.Load()
}

// watch keeps a connection to the port for agents of one holder of the Lease. It sends nothing, and
// the holder closes it now and then, as it does with every stranger.
type watch struct {
	identity string
	stop     context.CancelFunc
	ended    atomic.Bool // the holder has ended
}

// watchHolder watches until the holder has ended, or ctx ends, or stop is called.
func watchHolder(ctx context.Context, identity string) *watch {
	ctx, stop := context.WithCancel(ctx)
	w := &watch{identity: identity, stop: stop}
	if address := holderOf(identity).Address; address != "" {
		go w.run(ctx, address)
	}
	return w
}

func (w *watch) run(ctx context.Context, address string) {
	for connected := false; ctx.Err() == nil; {
		err := attend(ctx, address)
		switch {
		case err == nil:
			connected = true
		case connected && errors.Is(err, syscall.ECONNREFUSED) && ctx.Err() == nil:
			w.ended.Store(true)
			return
		}
		select {
		case <-time.After(redialAfter):
		case <-ctx.Done():
		}
	}
}

// attend returns nil when a connection that was made has been closed.
func attend(ctx context.Context, address string) error {
	dialer := net.Dialer{Timeout: dialWithin}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	// however it was closed, the next one tells what became of the holder
	_, _ = io.Copy(io.Discard, conn)
	return nil
}
