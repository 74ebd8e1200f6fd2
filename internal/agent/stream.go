package agent

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"time"
)

// keepAlive is how often something is sent on an idle event stream, so that proxies leave it open.
const keepAlive = 15 * time.Second

// writeWithin is how long a client may take to read an event before its stream is closed.
const writeWithin = 5 * time.Second

// maxStreams and maxSessions bound how many streams of each kind are open at once. An app that
// forgets to close other streams can still open a session.
const maxStreams, maxSessions = 64, 64

// stream serves server-sent events to as many clients at once as there are slots.
type stream struct {
	slots  chan struct{}
	states bool // each event is a whole state, with an id that names it
	follow func(ctx context.Context, say say)
	// acknowledged follows in place of follow if the client says that it answers. If nil, the stream
	// is no session. Opening a session means something: the client says that it means it.
	acknowledged func(ctx context.Context, say say)
}

// say sends an event, or a comment if there is no data. After an error nothing more can be sent.
type say func(event string, data any) error

func (s *stream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet { // a HEAD would open a session and close it
		w.Header().Set("Allow", http.MethodGet)
		http.Error(w, "an event stream is read with GET", http.StatusMethodNotAllowed)
		return
	}
	follow := s.follow
	if s.acknowledged != nil {
		switch r.Header.Get(sessionHeader) {
		case sessionOpen:
		case sessionAcknowledged:
			follow = s.acknowledged
		default:
			http.Error(w, noSession, http.StatusBadRequest)
			return
		}
	}
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	default:
		http.Error(w, fmt.Sprintf("%d streams like this one are open, and no more are served: close one "+
			"first", cap(s.slots)), http.StatusTooManyRequests)
		return
	}
	beginStream(r.Context())
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	control := http.NewResponseController(w)
	follow(r.Context(), func(event string, data any) error {
		if err := control.SetWriteDeadline(time.Now().Add(writeWithin)); err != nil {
			return err
		}
		text, err := s.encode(event, data)
		if err != nil {
			return err
		}
		if _, err = w.Write(text); err != nil {
			return err
		}
		return control.Flush()
	})
}

// encode returns the text of an event; without data, of a comment.
func (s *stream) encode(event string, data any) ([]byte, error) {
	if data == nil {
		return []byte(": still here\n\n"), nil
	}
	state, err := json.Marshal(data)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if event != "" {
		fmt.Fprintf(&text, "event: %s\n", event)
	}
	fmt.Fprintf(&text, "data: %s\n", state)
	if s.states {
		fmt.Fprintf(&text, "id: %s\n", stateID(state))
	}
	text.WriteByte('\n')
	return text.Bytes(), nil
}

// stateID names a state: the same state has the same ID in each connection. Clients send the last
// one that they got when they connect again (Last-Event-ID). No answer depends on it: a stream
// begins with the present state, which is all that there is to resume, and a client that forgot the
// state when its connection broke needs it again even if it is the same.
func stateID(state []byte) string {
	h := fnv.New64a()
	h.Write(state)
	return hex.EncodeToString(h.Sum(nil))
}

// followCoordinator sends who coordinates: now, and at each change.
func (a appAPI) followCoordinator(ctx context.Context, say say) {
	idle := time.NewTicker(keepAlive)
	defer idle.Stop()
	said := false
	var last coordinatorJSON
	for {
		v, changed := a.views.Read()
		c := describe(v)
		if !said || !same(c, last) {
			if said, last = true, c; say("coordinator", c) != nil {
				return
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-idle.C:
			if say("", nil) != nil {
				return
			}
		}
	}
}

func same(a, b coordinatorJSON) bool {
	sinceA, sinceB := a.Since, b.Since
	a.Since, b.Since = nil, nil
	return a == b && (sinceA == nil) == (sinceB == nil) && (sinceA == nil || sinceA.Equal(*sinceB))
}
