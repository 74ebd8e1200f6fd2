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
	ends    map[string]func()
}

func newApps(guarded bool) *apps {
	return &apps{
		guarded: guarded,
		http:    &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
		since:   map[string]time.Time{},
		changed: make(chan struct{}),
		ends:    map[string]func(){},
	}
}

// retry is how long an app waits before it tries again to reach an agent that is not there.
const retry = 20 * time.Millisecond

// start starts the app of a process whose app API is at the given address. It runs until end, or
// until ctx ends.
func (a *apps) start(ctx context.Context, process, address string) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	a.mu.Lock()
	a.ends[process] = func() { cancel(); <-done }
	a.mu.Unlock()
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

// next returns the first process whose app has heard since an instant that it may act, and when,
// once there is one. One that could act before does not count.
func (a *apps) next(
	ctx context.Context, after time.Time,
) (process string, at time.Time, err error) {
	for {
		a.mu.Lock()
		for p, since := range a.since {
			if since.After(after) && (process == "" || since.Before(at)) {
				process, at = p, since
			}
		}
		changed := a.changed
		a.mu.Unlock()
		if process != "" {
			return process, at, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return "", time.Time{}, fmt.Errorf("no app is told that it may act: %w", context.Cause(ctx))
		}
	}
}

// end is the death of an app: its session closes.
func (a *apps) end(process string) {
	a.mu.Lock()
	end := a.ends[process]
	delete(a.ends, process)
	a.mu.Unlock()
	if end != nil {
		end()
	}
}

func (a *apps) close() {
	a.mu.Lock()
	processes := make([]string, 0, len(a.ends))
	for p := range a.ends {
		processes = append(processes, p)
	}
	a.mu.Unlock()
	for _, p := range processes {
		a.end(p)
	}
}
