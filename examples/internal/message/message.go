// Package message sends messages between the processes of an example: JSON over HTTP, each with a
// response. Each message has a connection of its own, so that a refused connection (Gone) means
// that nobody listens there.
//
// A message that fails in another way may have been received: the sender cannot know. Nothing is
// sent again by itself.
package message

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/podesta-dev/podesta/client/fence"
)

const (
	maxBytes     = 64 << 10
	readPatience = 5 * time.Second
)

// RefusedError is the receiver's answer that it does not do what it was asked to.
type RefusedError struct{ Why string }

func (e *RefusedError) Error() string { return e.Why }

// Refuse makes a RefusedError, for a Handler to answer with.
func Refuse(format string, args ...any) error {
	return &RefusedError{Why: fmt.Sprintf(format, args...)}
}

// Refused reports whether the receiver has answered that it does not do it.
func Refused(err error) bool {
	var refused *RefusedError
	return errors.As(err, &refused)
}

// Gone reports whether the message was not received because nobody listens at the address.
func Gone(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

// Sender sends messages.
type Sender struct{ client *http.Client }

// NewSender returns a sender that waits so long for each response.
func NewSender(patience time.Duration) Sender {
	return Sender{&http.Client{
		Transport: &http.Transport{DisableKeepAlives: true},
		Timeout:   patience,
	}}
}

// Fenced returns a sender whose messages carry the epoch that is in their context.
func (s Sender) Fenced() Sender {
	fenced := *s.client
	fenced.Transport = fence.Transport{Base: fenced.Transport}
	return Sender{&fenced}
}

// Send sends a message, and decodes the response into answer unless that is nil. If the receiver's
// fence refuses the epoch, the error is fence.ErrStale.
func (s Sender) Send(ctx context.Context, url string, message, answer any) error {
	body, err := json.Marshal(message)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := fence.CheckResponse(resp); err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxBytes))
	switch {
	case err != nil:
		return err
	case resp.StatusCode == http.StatusConflict:
		return &RefusedError{Why: string(text)}
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("%s answered %s: %.200s", url, resp.Status, text)
	case answer == nil:
		return nil
	}
	return json.Unmarshal(text, answer)
}

// Handler answers messages of type In. An error that Refuse has made is a refusal; any other one
// says that the receiver has failed.
func Handler[In, Out any](answer func(ctx context.Context, message In) (Out, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in In
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBytes)).Decode(&in); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		out, err := answer(r.Context(), in)
		var refused *RefusedError
		switch {
		case errors.As(err, &refused):
			w.WriteHeader(http.StatusConflict)
			_, _ = io.WriteString(w, refused.Why) // if it fails, the sender has gone
			return
		case err != nil:
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_ = json.NewEncoder(w).Encode(out)
	})
}

// Serve serves messages at the address until ctx ends.
func Serve(ctx context.Context, address string, handler http.Handler) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return ServeOn(ctx, listener, handler)
}

// ServeOn is Serve with a listener.
func ServeOn(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{
		Handler:     handler,
		ReadTimeout: readPatience,
	}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(listener); ctx.Err() == nil {
		return err
	}
	return ctx.Err()
}
