package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"syscall"
	"time"
)

// waking is what a paused process answered to a question that lay before it when it went on.
type waking struct {
	acts  bool // /v1/permission said 200
	after time.Duration
}

// wake lets a coordinator that has been paused for two leases go on. The question whether it may
// act is sent before that, so that it lies there with the mail from the others, and comes no later.
func wake(ctx context.Context, g *group, coordinator string, t *trial) error {
	if err := g.until(ctx, t.struck.Add(2*g.lease)); err != nil {
		return err
	}
	written := make(chan struct{})
	ctx = httptrace.WithClientTrace(ctx,
		&httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) {
			close(written)
		}})
	ctx, cancel := g.patiently(ctx)
	defer cancel()
	type reply struct {
		acts bool
		err  error
		at   time.Time
	}
	replies := make(chan reply, 1)
	go func() {
		acts, err := g.leads(ctx, coordinator)
		replies <- reply{acts, err, time.Now()}
	}()
	select {
	case <-written:
	case r := <-replies:
		return fmt.Errorf("%s, which is paused, cannot be asked: %w", coordinator, r.err)
	}
	woken := time.Now()
	if err := g.signal(coordinator, syscall.SIGCONT); err != nil {
		return err
	}
	r := <-replies
	t.woken = &waking{acts: r.acts, after: r.at.Sub(woken)}
	return r.err
}

// leads asks an agent whether its process may act.
func (g *group) leads(ctx context.Context, process string) (bool, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet,
		"http://"+g.app(process)+"/v1/permission", nil)
	if err != nil {
		return false, err
	}
	response, err := g.apps.http.Do(request)
	if err != nil {
		return false, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusServiceUnavailable {
		return false, fmt.Errorf("/v1/permission of %s: %s", process, response.Status)
	}
	return response.StatusCode == http.StatusOK, nil
}
