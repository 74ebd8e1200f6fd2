package lateness

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/podesta-dev/podesta/bench/peers/proxy"
	"github.com/podesta-dev/podesta/test/register"
)

// probe is how often a message is sent over the way that is watched. A heartbeat of a short lease
// comes every 25 ms.
const probe = 10 * time.Millisecond

// Ways notes when messages are late on the ways between members, whatever the reason: threads of
// this program that wait for a CPU, its scheduler, or its garbage collector. It sends messages over
// a way of its own, which is as the others but has no weather, and is never cut.
type Ways struct {
	proxy    *proxy.Proxy
	from, to net.Conn
	both     sync.WaitGroup
	late     log
}

// WatchWays begins to send, until the context ends. The caller must End it.
func WatchWays(ctx context.Context) (_ *Ways, err error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("watch the ways between members: %w", err)
	}
	defer func() { _ = listener.Close() }()
	w := &Ways{}
	if w.proxy, err = proxy.Listen(ctx, "127.0.0.1:0", listener.Addr().String(),
		proxy.Weather{}); err != nil {
		return nil, err
	}
	w.from, err = new(net.Dialer).DialContext(ctx, "tcp", w.proxy.Address())
	if err == nil {
		w.to, err = listener.Accept()
	}
	if err != nil {
		w.End()
		return nil, fmt.Errorf("watch the ways between members: %w", err)
	}
	w.both.Go(func() { w.send(ctx) })
	w.both.Go(w.receive)
	return w, nil
}

// send sends, again and again, the instant at which that was to be.
func (w *Ways) send(ctx context.Context) {
	for ctx.Err() == nil {
		due := register.Now().Add(probe)
		select {
		case <-time.After(probe):
		case <-ctx.Done():
		}
		if binary.Write(w.from, binary.BigEndian, due) != nil {
			return // it was ended
		}
	}
}

// receive notes what arrives late.
func (w *Ways) receive() {
	var message [8]byte
	for {
		if _, err := io.ReadFull(w.to, message[:]); err != nil {
			return // it was ended
		}
		//nolint:gosec // it was an instant when it was sent
		due := register.Instant(binary.BigEndian.Uint64(message[:]))
		if now := register.Now(); now.Sub(due) >= Least {
			w.late.add(Late{due, now})
		}
	}
}

// Within returns the times that ended within a span in which messages were late, by their begin.
func (w *Ways) Within(from, to register.Instant) []Late { return w.late.within(from, to) }

// End ends the watch.
func (w *Ways) End() {
	for _, c := range []net.Conn{w.from, w.to} {
		if c != nil {
			_ = c.Close()
		}
	}
	w.proxy.Close()
	w.both.Wait()
}
