package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/client/fence"
	"github.com/podesta-dev/podesta/examples/internal/message"
)

// served is a process whose messages a test sends.
func served(t *testing.T, name string, handler http.Handler) message.Peer {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return message.Peer{Name: name, URL: server.URL}
}

func processOf(t *testing.T, name string, ring ...message.Peer) *process {
	t.Helper()
	if len(ring) == 0 {
		ring = []message.Peer{{Name: name}}
	}
	p, err := newProcess(name, ring, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A token that was only late is no second one: a process refuses it if it has had a later one, or
// if a coordinator has said that it is void.
func TestALateTokenIsRefused(t *testing.T) {
	p := processOf(t, "p")
	for _, step := range []struct {
		void, token Token
		taken       bool
	}{
		{token: Token{Epoch: 1, Number: 1, Hop: 4}, taken: true},
		{token: Token{Epoch: 1, Number: 1, Hop: 4}},                                                        // twice
		{token: Token{Epoch: 1, Number: 1, Hop: 3}},                                                        // late
		{void: Token{Epoch: 1, Number: 2}, token: Token{Epoch: 1, Number: 1, Hop: 9}},                      // replaced
		{token: Token{Epoch: 1, Number: 2, Hop: 1}, taken: true},                                           // what replaces it
		{void: Token{Epoch: 2, Number: 1}, token: Token{Epoch: 1, Number: 3, Hop: 1}},                      // by a newer coordinator
		{void: Token{Epoch: 1, Number: 9}, token: Token{Epoch: 2, Number: 1, Hop: 1}, taken: true},         // an old one voids nothing
		{void: Token{Epoch: 2, Number: 2}, token: Token{Epoch: 2, Number: 2}},                              // void is not valid
		{void: Token{Epoch: 2, Number: 2}, token: Token{Epoch: 2, Number: 2, Hop: 1}, taken: true},         // the token that follows
		{void: Token{Epoch: 2, Number: 2, Hop: 1}, token: Token{Epoch: 2, Number: 2, Hop: 2}, taken: true}, // it is passed on
	} {
		if _, err := p.answer(t.Context(), question{Void: step.void}); err != nil {
			t.Fatal(err)
		}
		if _, err := p.take(t.Context(), step.token); (err == nil) != step.taken {
			t.Errorf("%+v: %v", step, err)
		}
	}
	if _, err := p.answer(t.Context(), question{Void: Token{Epoch: 3}}); err != nil {
		t.Fatal(err)
	}
	if held, valid := p.token(); valid || p.state().Holds {
		t.Errorf("%v is void, and still valid", held)
	}
}

// A coordinator that was paused, and goes on when a newer one has asked, replaces nothing.
func TestAFormerCoordinatorReplacesNothing(t *testing.T) {
	p := processOf(t, "p")
	q := processOf(t, "q", served(t, "p", p.handler()), message.Peer{Name: "q", URL: "http://127.0.0.1:1"})
	former, newer := fence.WithEpoch(t.Context(), 1), fence.WithEpoch(t.Context(), 2)
	for _, ctx := range []context.Context{former, newer} {
		if r, _, err := q.ask(ctx, question{}); err != nil || r.silent != 0 {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	if err := q.replace(former, 1, Token{}); !errors.Is(err, fence.ErrStale) {
		t.Errorf("the former coordinator asks: %v", err)
	}
	err := q.passer.Fenced().Send(former, q.ring[0].URL+"/coordinator/token", Token{Epoch: 1, Number: 1}, nil)
	if !errors.Is(err, fence.ErrStale) {
		t.Errorf("the former coordinator sends a token: %v", err)
	}
	if err := q.replace(newer, 2, Token{}); err != nil || !p.state().Holds {
		t.Errorf("the newer one replaces the token: %v", err)
	}
}

// A token is passed over processes that are not there. It is not sent to a second one if the first
// may have it.
func TestPass(t *testing.T) {
	last := processOf(t, "last")
	stopped := make(chan struct{})
	silent := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/token") {
			<-stopped
			return
		}
		_, _ = w.Write([]byte("{}"))
	})
	lastPeer, silentPeer := served(t, "last", last.handler()), served(t, "silent", silent)
	t.Cleanup(func() { close(stopped) })
	gone := message.Peer{Name: "gone", URL: "http://127.0.0.1:1"}
	p, token := message.Peer{Name: "p"}, Token{Epoch: 1, Number: 1}

	hasty := processOf(t, "p", p, silentPeer, lastPeer)
	hasty.passer = message.NewSender(100 * time.Millisecond)
	hasty.pass(t.Context(), token)
	if s := last.state(); s.Holds {
		t.Errorf("two may have the token: %+v", s)
	}
	processOf(t, "p", p, gone, lastPeer).pass(t.Context(), token)
	if s := last.state(); !s.Holds || s.Seen.Hop != 1 {
		t.Errorf("nobody has the token: %+v", s)
	}
}
