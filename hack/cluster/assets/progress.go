package assets

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"
)

// heartbeat is the longest silence while a step goes on.
const heartbeat = 5 * time.Second

// progress tells a person what goes on, with the seconds since the start.
type progress struct {
	start time.Time
	every time.Duration
	mu    sync.Mutex
	log   io.Writer
}

func newProgress(log io.Writer) *progress {
	return &progress{start: time.Now(), every: heartbeat, log: log}
}

func (p *progress) say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = fmt.Fprintf(p.log, "%4.0f s  %s\n", time.Since(p.start).Seconds(), fmt.Sprintf(format, args...))
}

// step runs work, saying so first and again at every heartbeat. The hint tells how long it may take.
func (p *progress) step(ctx context.Context, name, hint string, work func(context.Context) error) error {
	p.say("%s", name)
	began := time.Now()
	done := make(chan error, 1)
	go func() { done <- work(ctx) }()
	ticker := time.NewTicker(p.every)
	defer ticker.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-ticker.C:
			p.say("  still %s, %.0f s%s", name, time.Since(began).Seconds(), hint)
		}
	}
}
