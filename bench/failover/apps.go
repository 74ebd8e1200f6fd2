package main

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/podesta-dev/podesta/client/agent"
)

// apps stand for the apps beside the agents: each keeps its agent's session open, and so learns
// whether it may act. An app of a Guarded group that is told to stop has nothing to finish here: it
// ends the session, which gives its permission back, and opens the next. Safe for concurrent use.
type apps struct {
	guarded bool
	http    *http.Client

	mu sync.Mutex
	// by process: since when it may act, as its app heard it; absent: it may not
	since   map[string]time.Time
	changed chan struct{}
	ends    []func()
}

func newApps(guarded bool) *apps {
	return &apps{
		guarded: guarded,
		http:    &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
		since:   map[string]time.Time{},
		changed: make(chan struct{}),
	}
}

// retry is how long an app waits before it tries again to reach an agent that is not there.
const retry = 20 * time.Millisecond

// start starts the app of a process whose app API is at the given address. It runs until
// close, or until ctx ends.
func (a *apps) start(ctx context.Context, process, address string) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	a.ends = append(a.ends, func() { cancel(); <-done })
	client := &agent.Client{URL: "http://" + address, HTTP: a.http}
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if a.session(ctx, process, client) {
				continue
			}
			select {
			case <-ctx.Done():
			case <-time.After(retry):
			}
		}
	}()
}

// session keeps one session open. It reports whether the app ended it.
func (a *apps) session(ctx context.Context, process string, client *agent.Client) (ended bool) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	acted := false
	// the error says that the agent is gone, or that we ended it
	_ = client.Session(ctx, func(p agent.Permission) {
		a.told(process, p.Granted)
		if acted && !p.Granted && a.guarded {
			ended = true
			end()
		}
		acted = p.Granted
	})
	return ended
}

func (a *apps) told(process string, mayAct bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, before := a.since[process]
	switch {
	case mayAct == before:
		return
	case mayAct:
		a.since[process] = time.Now()
	default:
		delete(a.since, process)
	}
	close(a.changed)
	a.changed = make(chan struct{})
}

// await returns since when a process may act, once it may.
func (a *apps) await(ctx context.Context, process string) (time.Time, error) {
	for {
		a.mu.Lock()
		since, may := a.since[process]
		changed := a.changed
		a.mu.Unlock()
		if may {
			return since, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("%s is not told that it may act: %w", process, context.Cause(ctx))
		}
	}
}

func (a *apps) close() {
	for _, end := range a.ends {
		end()
	}
}
