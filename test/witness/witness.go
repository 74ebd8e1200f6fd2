// Package witness watches what the agents of a group say, all at once, and tells when they agree. It reads their event
// streams as an app would; what it measures includes the way from the agent to the app.
package witness

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Witness follows the event streams of agents. It is safe for concurrent use.
type Witness struct {
	client *http.Client

	mu      sync.Mutex
	views   map[string]view // by process; absent while its stream is not open
	changed chan struct{}
	streams map[string]context.CancelFunc
	group   sync.WaitGroup
}

// view is what a process said last, and when that was heard.
type view struct {
	coordinator string
	electing    bool
	at          time.Time
}

// retry is how long a stream that could not be opened waits for the next attempt.
const retry = 20 * time.Millisecond

// New returns a witness that watches nobody.
func New() *Witness {
	return &Witness{
		client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
		views:  map[string]view{}, streams: map[string]context.CancelFunc{}, changed: make(chan struct{}),
	}
}

// Watch follows a process whose app API is at the given address, until Forget or Close. A stream that ends is opened again.
func (w *Witness) Watch(process, address string) {
	w.Forget(process)
	ctx, cancel := context.WithCancel(context.Background())
	w.mu.Lock()
	w.streams[process] = cancel
	w.mu.Unlock()
	w.group.Go(func() {
		for ctx.Err() == nil {
			w.follow(ctx, process, address)
			w.set(process, nil)
			select {
			case <-ctx.Done():
			case <-time.After(retry):
			}
		}
	})
}

// Forget ends watching a process.
func (w *Witness) Forget(process string) {
	w.mu.Lock()
	cancel := w.streams[process]
	delete(w.streams, process)
	w.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// Close ends watching all.
func (w *Witness) Close() {
	w.mu.Lock()
	for _, cancel := range w.streams {
		cancel()
	}
	w.mu.Unlock()
	w.group.Wait()
}

func (w *Witness) follow(ctx context.Context, process, address string) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/v1/events", nil)
	if err != nil {
		return
	}
	response, err := w.client.Do(request)
	if err != nil {
		return
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		at := time.Now()
		var said struct {
			Name     string
			Electing bool
		}
		if json.Unmarshal([]byte(data), &said) == nil {
			w.set(process, &view{coordinator: said.Name, electing: said.Electing, at: at})
		}
	}
}

func (w *Witness) set(process string, v *view) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if v == nil {
		delete(w.views, process)
	} else {
		w.views[process] = *v
	}
	close(w.changed)
	w.changed = make(chan struct{})
}

// Agreement is one coordinator for all.
type Agreement struct {
	Coordinator string
	At          time.Time // when the last of the processes was heard to name it
}

// Await returns when all the given processes name the same coordinator, none of them electing, and accept holds for it (nil:
// any will do). The error tells who says what.
func (w *Witness) Await(ctx context.Context, processes []string, accept func(coordinator string) bool) (Agreement, error) {
	for {
		w.mu.Lock()
		agreement, ok := w.agreement(processes)
		changed := w.changed
		w.mu.Unlock()
		if ok && (accept == nil || accept(agreement.Coordinator)) {
			return agreement, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Agreement{}, fmt.Errorf("no agreement: %s: %w", w.Describe(processes), context.Cause(ctx))
		}
	}
}

func (w *Witness) agreement(processes []string) (a Agreement, ok bool) {
	for _, p := range processes {
		v, seen := w.views[p]
		if !seen || v.coordinator == "" || v.electing || a.Coordinator != "" && a.Coordinator != v.coordinator {
			return a, false
		}
		a.Coordinator = v.coordinator
		if v.at.After(a.At) {
			a.At = v.at
		}
	}
	return a, len(processes) > 0
}

// Describe tells who says what.
func (w *Witness) Describe(processes []string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	said := make([]string, 0, len(processes))
	for _, p := range processes {
		v, seen := w.views[p]
		switch {
		case !seen:
			said = append(said, p+" is not heard")
		case v.electing:
			said = append(said, p+" elects")
		default:
			said = append(said, fmt.Sprintf("%s says %q", p, v.coordinator))
		}
	}
	slices.Sort(said)
	return strings.Join(said, ", ")
}
