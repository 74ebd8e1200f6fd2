package connlimit

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"time"

	"github.com/podesta-dev/podesta/internal/backoff"
)

const firstPause, longestPause = 5 * time.Millisecond, time.Second

// Each calls serve with every connection until ctx ends. Serve must not wait. When ctx ends, Each
// returns nil, and another listener may have the address at once. While no connection can be
// accepted, because the process cannot have more files open, Each tries again.
func (l *Listener) Each(ctx context.Context, log *slog.Logger, serve func(net.Conn)) error {
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(closed)
		l.Close()
	})
	defer func() {
		if !stop() {
			<-closed
		}
	}()
	for failures := 0; ; {
		conn, err := l.Accept()
		switch {
		case err == nil:
			failures = 0
			serve(conn)
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, net.ErrClosed):
			return err
		default:
			failures++
			pause := backoff.Wait(firstPause, longestPause, failures)
			log.Error("cannot accept connections", "at", l.Addr(), "error", err, "retryIn", pause)
			select {
			case <-time.After(pause):
			case <-ctx.Done():
			}
		}
	}
}
